"""EM of prevalence and confusion: expected counts from one pass over the answers, then their maximum.

    prevalence_j     proportional to  alpha_j + expected number of items of category j
    confusion_kjl    proportional to  beta_kjl + expected number of labels l of rater k on items of category j

With alpha = beta = 0 this maximises the likelihood; a row without expected labels stays zero and has no
effect. With positive alpha and beta it maximises the posterior of the log odds, whose Dirichlet density has
exponents alpha and beta (not alpha - 1 and beta - 1), so that its mode is never on the border.

References
----------
Dawid and Skene (1979), equations 2.3 to 2.5, doi:10.2307/2346806.
"""

import math
import os
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit
from ....models.distributions.marginal_labels_kernels import Answers, answer_codes, answer_sweeps


class AnswerPatterns(NamedTuple):
    """Distinct patterns of answers."""

    answers: Answers  # of each pattern
    multiplicity: np.ndarray  # float64 (pattern,); number of items
    pattern: np.ndarray  # int64 (item,); pattern of each item


def answer_patterns(answers: Answers) -> AnswerPatterns:
    """Group items with equal answers (sorted within an item) and equal gold labels."""
    n_items = len(answers.gold_category)
    pattern, kept = _pattern_of_items(answers)
    if len(kept) == n_items:
        return AnswerPatterns(answers, np.ones(n_items), np.arange(n_items))
    length = np.diff(answers.start)[kept]
    start = np.concatenate([[0], np.cumsum(length)])
    place = np.repeat(answers.start[kept] - start[:-1], length) + np.arange(start[-1])
    distinct = Answers(start, answers.code[place], answers.gold_category[kept])
    return AnswerPatterns(distinct, np.bincount(pattern).astype(np.float64), pattern)


def _pattern_of_items(answers: Answers) -> tuple[np.ndarray, np.ndarray]:
    """Pattern of each item, (item,), and first item of each (pattern,): by a hash, a sum of random words, then equality."""
    length = np.diff(answers.start)
    words = np.random.default_rng(0).integers(0, 2**64, answers.code.max(initial=0) + 1, np.uint64)
    digest = _digests(answers, words)
    ordered = np.sort(digest)
    if (ordered[1:] != ordered[:-1]).all():
        kept = np.arange(len(digest))
        return kept, kept
    _, kept, pattern = np.unique(digest, return_index=True, return_inverse=True)
    first = kept[pattern]
    same = (length == length[first]) & (answers.gold_category == answers.gold_category[first])
    if same.all():
        shift = np.repeat(answers.start[first] - answers.start[:-1], length)
        same = answers.code == answers.code[np.arange(len(answers.code)) + shift]
    if not same.all():  # hash collision, p = 1e-7 for a million items: no grouping
        kept = pattern = np.arange(len(answers.gold_category))
    return pattern, kept


@cached_njit(error_model="numpy")
def _digests(answers: Answers, words: np.ndarray) -> np.ndarray:
    """Sum the random words of the answers of each item, (item,), mixed with its gold label."""
    start, code, gold_category = answers
    digest = np.empty(len(start) - 1, np.uint64)
    for i in range(len(digest)):
        total = np.uint64(0)
        for a in range(start[i], start[i + 1]):
            total += words[code[a]]
        digest[i] = total ^ (np.uint64(gold_category[i]) * np.uint64(0x9E3779B97F4A7C15))
    return digest


def pattern_plausibility(
    patterns: AnswerPatterns, prevalence: np.ndarray, table: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return p(true category | answers), shape (pattern, category), and log p of the answers, (pattern,)."""
    log_p = np.empty(len(patterns.multiplicity))
    plausibility = np.empty((len(log_p), len(prevalence)))
    sweep = answer_sweeps(len(prevalence)).log_p
    sweep(prevalence, np.ascontiguousarray(table), patterns.answers, log_p, plausibility)
    return plausibility, log_p


def coded_answers(
    item: np.ndarray, rater: np.ndarray, label: np.ndarray, known: np.ndarray, n_labels: int
) -> Answers:
    """Encode answers (answer,) sorted by item for compiled code; known (item,), gold category or -1."""
    start = np.searchsorted(item, np.arange(len(known) + 1)).astype(np.int64)
    return Answers(start, answer_codes(rater, label, n_labels), known.astype(np.int64))


# --- Starting points of EM and of chains: vote shares of the items, and random draws near them ---

VOTE_WEIGHT, VOTE_JITTER = 20.0, 0.3
NO_WEIGHTS = np.empty(0)


def jittered_vote(
    answers: Answers, n_categories: int, rng: np.random.Generator, weight: np.ndarray | None = None
) -> np.ndarray:
    """Draw p(true category) (item, category) from Dirichlet(20 vote share + .3); one for the true category of gold items.

    Shapes: weight of each answer in the vote (answer,), by default one.
    """
    share = vote_share(answers, n_categories, weight)
    jitter = rng.standard_gamma(VOTE_WEIGHT * share + VOTE_JITTER)
    jitter /= jitter.sum(axis=1, keepdims=True)
    return np.where(answers.gold_category[:, None] < 0, jitter, share)


def drawn_near_vote(
    answers: Answers, n_categories: int, rng: np.random.Generator, weight: np.ndarray | None = None
) -> np.ndarray:
    """Draw the true category of every item (item,) by `jittered_vote`."""
    vote = jittered_vote(answers, n_categories, rng, weight)
    return (vote.cumsum(axis=1)[:, :-1] < rng.random((len(vote), 1))).sum(axis=1)


def vote_share(answers: Answers, n_categories: int, weight: np.ndarray | None = None) -> np.ndarray:
    """Share of each label (item, category) among the answers of an item, or its gold label; uniform without answers.

    Shapes: weight of each answer (answer,), by default one.
    """
    votes = _votes(answers, n_categories, NO_WEIGHTS if weight is None else weight)
    total = votes.sum(axis=1, keepdims=True)
    share = np.where(total > 0, votes / np.where(total > 0, total, 1), 1 / n_categories)
    gold = np.flatnonzero(answers.gold_category >= 0)
    share[gold] = np.eye(n_categories)[answers.gold_category[gold]]
    return share


@cached_njit(error_model="numpy")
def _votes(answers: Answers, n_categories: int, weight: np.ndarray) -> np.ndarray:
    """Sum the weights of the answers by label, (item, category); each is one if `weight` is empty."""
    start, code, _ = answers
    votes = np.zeros((len(start) - 1, n_categories))
    for i in range(len(votes)):
        for a in range(start[i], start[i + 1]):
            votes[i, code[a] % n_categories] += weight[a] if len(weight) else 1.0
    return votes


# --- Both steps ---

Counts = tuple[np.ndarray, np.ndarray]  # of items (category,) and of labels (rater * label, category)

LEAST_PART = 400_000  # answers; smaller parts are not worth a thread
MOST_PARTS = 4  # the parts, hence the rounding of sums, do not depend on the number of threads


def e_step(patterns: AnswerPatterns, prevalence: np.ndarray, table: np.ndarray) -> tuple[Counts, float]:
    """Return expected counts and log likelihood, on threads if they pay."""
    answers, weight, _ = patterns
    sweep = answer_sweeps(len(prevalence)).log_p_and_counts

    def part(own: Answers, weight: np.ndarray) -> tuple[Counts, float]:
        counts = np.empty_like(prevalence), np.empty_like(table)
        return counts, sweep(prevalence, table, own, weight, counts)

    n_parts = min(MOST_PARTS, len(answers.code) // LEAST_PART)
    if n_parts < 2:
        return part(answers, weight)
    edges = np.searchsorted(answers.start, np.linspace(0, len(answers.code), n_parts + 1))
    edges[0], edges[-1] = 0, len(weight)
    owns = [
        Answers(answers.start[first : last + 1], answers.code, answers.gold_category[first:last])
        for first, last in pairwise(edges)
    ]
    with ThreadPoolExecutor(min(n_parts, os.cpu_count() or 1)) as pool:
        parts = list(pool.map(part, owns, (weight[first:last] for first, last in pairwise(edges))))
    categories, counts = (np.sum(own, axis=0) for own in zip(*(own for own, _ in parts), strict=True))
    return (categories, counts), sum(log_p for _, log_p in parts)


@cached_njit(error_model="numpy")
def m_step(prior: Counts, expected: Counts) -> tuple[Counts, float]:
    """Return prevalence and table, and the log prior, sum of pseudo-counts times log p.

    Shapes: prior (alpha and beta), expected, result: (category,) and (rater * label, category).
    """
    (alpha, beta), (categories, counts) = prior, expected
    prevalence, table = np.empty(categories.shape), np.empty(counts.shape)
    n = len(alpha)
    log_prior, total = 0.0, (alpha + categories).sum()
    for j in range(n):
        prevalence[j] = (alpha[j] + categories[j]) / total  # equation 2.4
        if alpha[j] > 0.0:
            log_prior += alpha[j] * math.log(prevalence[j])
    for first in range(0, len(table), n):
        for j in range(n):
            total = 0.0
            for row in range(first, first + n):
                total += beta[row, j] + counts[row, j]
            for row in range(first, first + n):
                # equation 2.3
                table[row, j] = 0.0 if total == 0.0 else (beta[row, j] + counts[row, j]) / total
                if beta[row, j] > 0.0:
                    log_prior += beta[row, j] * math.log(table[row, j])
    return (prevalence, table), log_prior
