"""Deduplicate items with the same answers, so that the likelihood is computed once per distinct item.

Where raters share probabilities there are few: 21 distinct items of five answers with three labels.
"""

import numpy as np

from .answer_sweep import Answers

__all__ = ["distinct_items"]


def distinct_items(answers: Answers) -> tuple[Answers, np.ndarray]:
    """Return the answers of distinct items, in order of first appearance, and the distinct item of each item.

    The order of answers within an item is ignored.

    Shapes: second result int64 (item,), an index into the distinct items.
    """
    start, code, known = answers
    item = np.repeat(np.arange(len(known)), np.diff(start))
    code = code[np.lexsort((code, item))]  # within each item
    kinds: dict[tuple[int, bytes], int] = {}
    kind, first = np.empty(len(known), np.int64), []
    for i in range(len(known)):
        key = (int(known[i]), code[start[i] : start[i + 1]].tobytes())
        if key not in kinds:
            kinds[key] = len(kinds)
            first.append(i)
        kind[i] = kinds[key]
    length = np.diff(start)[first]
    kept = [code[start[i] : start[i + 1]] for i in first]
    own = Answers(
        np.concatenate([[0], np.cumsum(length)]).astype(start.dtype),
        np.concatenate([*kept, code[:0]]),
        known[first],
    )
    return own, kind
