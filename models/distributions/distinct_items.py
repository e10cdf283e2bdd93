"""Items with the same answers, which have the same probability: the law need be computed once for all of them.

Where raters share their probabilities there are few kinds of items: 21 of five answers with three labels.
"""

import numpy as np

from .answer_sweep import Answers

__all__ = ["distinct_items"]


def distinct_items(answers: Answers) -> tuple[Answers, np.ndarray]:
    """Keep one item of each kind.

    Parameters
    ----------
    answers : Answers
        The answers of all items; their order within an item says nothing.

    Returns
    -------
    answers : Answers
        Those of items that differ, in order of first appearance.
    kind : ndarray of int64, shape (item,)
        Which of them each item is like.
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
