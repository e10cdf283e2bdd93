"""Monte-Carlo power curves beyond the count vectors that can be enumerated: label paths of simulated items.

An item with label distribution pi has counts y_k after k raters, and q_k is the law of its next label given
them. One more label raises the expected score of the combiner that knows the mixture (ABC) by

    g_k = sum_c q_kc S(q(y_k + e_c), q(y_k + e_c)) - S(q_k, q_k)  >=  0

and after the last label the combiner still lacks

    l = S(pi, pi) - S(q_last, pi)  >=  0,        E (g_first + ... + g_{last-1} + l) = asymptote - c_first

which is known, because c_first is summed over all count vectors. With means over the simulated items,

    c_k = c_first + mean of (g_first + ... + g_{k-1}) - b_k (mean of (g_first + ... + l) - (asymptote -
    c_first))

where b_k is the slope of the regression of the first sum on the second, for each item that of all others, so
that the mean is unbiased for any number of items. The curve is constrained to rise with k and to stay below
the asymptote. The same items serve all k (common random numbers).

Defensive importance sampling: half of the items are drawn with first labels y in proportion to p(y), half in
proportion to p(y) times the variance of pi given y, because few y often leave most to be learned. Their
weights p(y) / p(drawn y) are below two. Further labels follow q_k.

Plurality falls short of ABC by r_k = S(q_k, q_k) - S(plurality of y_k, q_k) >= 0: its mean over the items,
corrected by regression on r_first, whose expectation is known.

References
----------
Owen (2013), Monte Carlo theory, methods and examples, chapters 8 (control variates) and 9 (defensive
importance sampling).
"""

from typing import NamedTuple

import numpy as np

from ....posterior.plausibility import in_threads
from .curves import ItemStates, Score, best_labels, count_vectors, dirichlet_draws, n_count_vectors, parts

LABELS_TRIED = 300  # (item, next label) pairs at each k in each sample
LEAST_ITEMS = 40
ROUNDING = 1e-14  # absolute error of a score


class _Paths(NamedTuple):
    """Score increments of simulated items, multiplied by the importance weights of the items."""

    start: np.ndarray  # (2, sample), scores of ABC and of the combiner at the first k
    gain: np.ndarray  # (step, sample, item), g_k
    shortfall: np.ndarray  # (step, sample, item), r_k of plurality
    lack: np.ndarray  # (sample, item), l


def drawn_curve(
    states: ItemStates, ks: range, limit: np.ndarray, how: tuple[Score, str], rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate power curves (sample, k) with asymptotes `limit` after the first of `ks`, and their Monte-Carlo error."""
    n = states.probability.shape[2]
    items = max(LEAST_ITEMS, LABELS_TRIED // n)
    rows = max(items * n**2, items * len(ks), n_count_vectors(ks[0], n))
    blocks = list(parts(states, rows))

    def of_block(block: slice, own_rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        own = states.select(block)
        return _estimated(_simulate(own, ks, how, items, own_rng), limit[block], how)

    curves, errors = zip(*in_threads(of_block, blocks, rng.spawn(len(blocks))), strict=True)
    return np.concatenate(curves), np.concatenate(errors)


def _simulate(
    states: ItemStates, ks: range, how: tuple[Score, str], items: int, rng: np.random.Generator
) -> _Paths:
    """Simulate items from their first labels on through all k of `ks`."""
    score, combiner = how
    start, state, counts, weight = _initial_items(states, ks[0], how, items, rng)
    gain, shortfall = np.zeros((2, len(ks), *weight.shape))
    for step in range(len(ks)):
        two = states.next_two(state, counts)
        q = np.einsum("sicd->sic", two)
        gain[step] = _after_one_more(two, q, score) - score.self_expected(q)
        if combiner == "plurality":
            shortfall[step] = score.self_expected(q) - score.expected(best_labels(counts), q)
        if step + 1 < len(ks):
            below = q.cumsum(axis=2)[..., :-1]
            label = (rng.random((*weight.shape, 1)) > below).sum(axis=2)
            state = state * states.label_probability(label, counts)
            state /= state.sum(axis=1, keepdims=True)
            counts = counts + np.eye(counts.shape[2])[label]
    lack = _gap_to_asymptote(states, state, counts, score, rng)
    # smaller gains are rounding errors of equal scores
    gain = np.where(gain > ROUNDING, gain, 0.0)
    return _Paths(start, weight * gain, weight * shortfall, weight * lack)


def _initial_items(
    states: ItemStates, k: int, how: tuple[Score, str], items: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Return exact scores after k labels, and simulated items with their first k labels.

    Shapes: scores of ABC and of the combiner (2, sample); p(state | y) (sample, state, item); y
    (sample, item, category); importance weights (sample, item).
    """
    score, combiner = how
    vectors = count_vectors(k, states.probability.shape[2])
    joint = states.joint(vectors)
    seen, q = states.next_label(joint, vectors)
    predictions = (q, q if combiner == "abc" else best_labels(vectors))
    start = [(seen * score.expected(prediction, q)).sum(axis=1) for prediction in predictions]
    open_ = seen * _variance(states, joint / np.where(seen > 0, seen, 1.0)[:, None], vectors, q)
    total = open_.sum(axis=1, keepdims=True)
    # half of the items from p(y) itself: the weights stay below two
    chance = np.where(total > 0, (seen + open_ / np.where(total > 0, total, 1.0)) / 2, seen)
    upto = chance.cumsum(axis=1)
    # stratified: one item in each of `items` equal strata
    place = (np.arange(items) + rng.random((len(seen), items))) / items * upto[:, -1:]
    drawn = np.array([np.searchsorted(*own) for own in zip(upto, place, strict=True)])
    weight = np.take_along_axis(seen / np.where(chance > 0, chance, 1.0), drawn, 1)
    state = np.take_along_axis(joint, drawn[:, None], 2)
    state /= state.sum(axis=1, keepdims=True)
    return np.array(start), state, vectors[drawn].astype(float), weight


def _variance(states: ItemStates, state: np.ndarray, counts: np.ndarray, q: np.ndarray) -> np.ndarray:
    """Return sum_c Var(pi_c | y) (sample, row): the gain in Brier score that is still possible.

    Shapes: state (sample, state, row), p(state | y); counts (row, category); q (sample, row, category).
    """
    theta, step = states.probability, states.step[..., None]
    k = counts[0].sum()
    # pi is Dirichlet with mean (theta + t y) / (1 + t k), and 1 + its concentration is (1 + t (k + 1)) / t
    square = (theta**2).sum(axis=2)[..., None] + 2 * step * (theta @ counts.T)
    square = (square + step**2 * (counts**2).sum(axis=1)) / (1 + step * k) ** 2
    spread = step / (1 + step * (k + 1))
    return np.maximum((state * (square + spread * (1 - square))).sum(axis=1) - (q**2).sum(axis=2), 0)


def _gap_to_asymptote(
    states: ItemStates, state: np.ndarray, counts: np.ndarray, score: Score, rng: np.random.Generator
) -> np.ndarray:
    """Return the mean gap l (sample, item) of ABC to the omniscient rater, given p(state | y) (sample, state, item); draws pi."""
    q = states.next_two(state, counts).sum(axis=3)[:, None]
    pi = np.repeat(states.probability[:, :, None], counts.shape[1], axis=2)
    if states.spread.any():
        concentration = 1 / np.maximum(states.spread, 1e-12) - 1
        pi = dirichlet_draws(concentration[..., None, None] * pi + counts[:, None], rng)
    return (state * (score.self_expected(pi) - score.expected(q, pi))).sum(axis=1)


def _after_one_more(two: np.ndarray, q: np.ndarray, score: Score) -> np.ndarray:
    """Return the expected score of ABC after one more label, shape (sample, item)."""
    then = two / np.where(q > 0, q, 1.0)[..., None]
    return np.einsum("sic,sic->si", q, score.self_expected(then))


def _estimated(paths: _Paths, limit: np.ndarray, how: tuple[Score, str]) -> tuple[np.ndarray, np.ndarray]:
    """Return the curves after the first k and their standard errors, (sample, k), by control variates."""
    start, room = paths.start[0], limit - paths.start[0]
    risen = np.concatenate([np.zeros_like(paths.gain[:1]), paths.gain[:-1].cumsum(axis=0)])
    whole = risen[-1] + paths.lack
    off = whole - room[:, None]
    risen -= _slope_of_others(risen, off) * off
    curve = start + risen.mean(axis=2)
    residual = risen - risen.mean(axis=2, keepdims=True)
    curve = np.minimum(np.maximum.accumulate(np.maximum(curve, start)), limit)
    if how[1] == "plurality":
        short, own = _regressed_on_first(paths.shortfall, start - paths.start[1])
        curve, residual = curve - short, residual - own
    error = residual.std(axis=2, ddof=1) / np.sqrt(residual.shape[2])
    # if no item gains anything, the error is the whole gap to the asymptote
    error = np.where(whole.any(axis=1), error, np.hypot(error, room))
    return curve[1:].T, error[1:].T


def _slope_of_others(values: np.ndarray, off: np.ndarray) -> np.ndarray:
    """Return regression slopes (step, sample, item) of values on a control variate, from all other items.

    Shapes: values (step, sample, item); off (sample, item), of mean 0. The slope of the item itself would
    correlate with it and bias the mean. Slopes outside of 0 and 1 are noise and are clipped.
    """
    product, square = values * off, off**2
    product = product.sum(axis=2, keepdims=True) - product
    square = square.sum(axis=1, keepdims=True) - square
    return np.clip(product / np.where(square > 0, square, np.inf), 0, 1)


def _regressed_on_first(values: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means (k, sample) of values (k, sample, item) by regression on the first, of mean `expected`, and residuals."""
    centred = values - values.mean(axis=2, keepdims=True)
    variance = (centred[0] ** 2).sum(axis=1)
    slope = (centred * centred[0]).sum(axis=2) / np.where(variance > 0, variance, np.inf)
    slope = np.clip(slope, 0, 1)  # outside it is noise: the shortfall fades with k
    mean = values.mean(axis=2) + slope * (expected - values[0].mean(axis=1))
    return np.maximum(mean, 0), centred - slope[..., None] * centred[0]
