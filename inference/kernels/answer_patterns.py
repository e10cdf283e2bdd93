"""Answer patterns: items with equal answers are stored once, with a multiplicity.

Binary labels by the same five raters make at most 32 patterns.
"""

from typing import NamedTuple

import numpy as np

from ...models.distributions.answer_sweep import Answers, answer_codes

__all__ = ["AnswerPatterns", "answer_patterns", "coded_answers"]


class AnswerPatterns(NamedTuple):
    """Distinct patterns of answers."""

    answers: Answers  # of each pattern
    multiplicity: np.ndarray  # float64 (pattern,); number of items
    pattern: np.ndarray  # int64 (item,); pattern of each item


def answer_patterns(answers: Answers) -> AnswerPatterns:
    """Group items with equal answers (sorted within an item) and equal gold labels."""
    n_items = len(answers.known)
    pattern, kept = _alike(answers)
    if len(kept) == n_items:
        return AnswerPatterns(answers, np.ones(n_items), np.arange(n_items))
    length = np.diff(answers.start)[kept]
    start = np.concatenate([[0], np.cumsum(length)])
    place = np.repeat(answers.start[kept] - start[:-1], length) + np.arange(start[-1])
    distinct = Answers(start, answers.code[place], answers.known[kept])
    return AnswerPatterns(distinct, np.bincount(pattern).astype(np.float64), pattern)


def _alike(answers: Answers) -> tuple[np.ndarray, np.ndarray]:
    """Return the pattern of each item, (item,), and the first item of each pattern, (pattern,).

    Items are hashed by a sum of random words; equality is then checked.
    """
    length = np.diff(answers.start)
    words = np.random.default_rng(0).integers(0, 2**64, answers.code.max(initial=0) + 1, np.uint64)
    total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(words[answers.code])])
    digest = total[answers.start[1:]] - total[answers.start[:-1]]
    digest ^= answers.known.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    _, kept, pattern = np.unique(digest, return_index=True, return_inverse=True)
    first = kept[pattern]
    same = (length == length[first]) & (answers.known == answers.known[first])
    if same.all():
        shift = np.repeat(answers.start[first] - answers.start[:-1], length)
        same = answers.code == answers.code[np.arange(len(answers.code)) + shift]
    if not same.all():  # hash collision, p = 1e-7 for a million items: no grouping
        kept = pattern = np.arange(len(answers.known))
    return pattern, kept


def coded_answers(
    item: np.ndarray, rater: np.ndarray, label: np.ndarray, known: np.ndarray, n_labels: int
) -> Answers:
    """Encode answers, sorted by item, for compiled code.

    Shapes: item, rater, label (answer,), codes, items ascending; known (item,), gold category or -1.
    """
    start = np.searchsorted(item, np.arange(len(known) + 1)).astype(np.int64)
    return Answers(start, answer_codes(rater, label, n_labels), known.astype(np.int64))
