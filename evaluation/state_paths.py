"""Power curves beyond the count vectors that can be summed over: the labels of drawn items, one rater after the other.

A drawn item has probabilities pi, after k raters the counts y_k, and q_k is the law of its next label given them. One more label
raises what the combiner that knows the mixture (ABC) expects by

    g_k = sum_c q_kc S(q(y_k + e_c), q(y_k + e_c)) - S(q_k, q_k)  >=  0

on average over what it may be; and after the last one the combiner still lacks

    l = S(pi, pi) - S(q_last, pi)  >=  0,        E (sum_k g_k + l) = asymptote - c_first

which is known, as c_first is summed over all count vectors. With means over the drawn items,

    c_k = c_first + (asymptote - c_first) (g_first + ... + g_{k-1}) / (g_first + ... + g_{last-1} + l)

rises with k and stays below the asymptote whatever is drawn, as the curve does. The same items serve all k: what is random in one
point is so in its neighbours. A ratio of means has a bias, of the order of its squared error; its error is the jackknife's.

Plurality falls short of ABC by r_k = S(q_k, q_k) - S(plurality of y_k, q_k) >= 0: its mean over the items, corrected by
regression on r_first, whose expectation is known.
"""

from typing import NamedTuple

import numpy as np

from .state_curves import ItemStates, curve_at, item_probabilities, parts
from .state_scores import Score, best_labels
from .threads import in_threads

__all__ = ["drawn_curve"]

LABELS_TRIED = 300  # at each k in each sample: items, times the labels that each could have next
LEAST_ITEMS = 40
ROUNDING = 1e-14  # of a score


class _Paths(NamedTuple):
    """What was found on the way: of each k (step, sample, item), and at the end (sample, item)."""

    gain: np.ndarray
    shortfall: np.ndarray
    lack: np.ndarray


def drawn_curve(
    states: ItemStates,
    ks: range,
    limit: np.ndarray,
    how: tuple[Score, str],
    rng: np.random.Generator,
) -> tuple[np.ndarray, np.ndarray]:
    """Estimate power curves after the first k, where they are summed over all count vectors.

    Parameters
    ----------
    states : ItemStates
        Draws of the mixture.
    ks : range
        Numbers of raters, one by one.
    limit : ndarray, shape (sample,)
        Asymptotes.
    how : Score and {"abc", "plurality"}
        The scorer, and the combiner.
    rng : numpy.random.Generator
        Of the items and their labels.

    Returns
    -------
    curve, error : ndarray, shape (sample, k)
        Estimates of all but the first, and their Monte-Carlo standard errors.
    """
    items = max(LEAST_ITEMS, LABELS_TRIED // states.probability.shape[2])
    blocks = list(parts(states, items * states.probability.shape[2] ** 2))

    def of_block(block: slice, own_rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
        own = states.taken(block)
        return _estimated(own, ks, limit[block], how, _walked(own, ks, how, items, own_rng))

    curves, errors = zip(*in_threads(of_block, blocks, rng.spawn(len(blocks))), strict=True)
    return np.concatenate(curves), np.concatenate(errors)


def _walked(
    states: ItemStates, ks: range, how: tuple[Score, str], items: int, rng: np.random.Generator
) -> _Paths:
    """Draw items and their labels."""
    score, combiner = how
    n_samples, n_states, n = states.probability.shape
    # one item in each of so many equal parts of the mixture
    place = (np.arange(items) + rng.random((n_samples, items))) / items
    truth = item_probabilities(states, place, rng)
    below = truth.cumsum(axis=2)[..., :-1]
    state = np.broadcast_to(states.weight[..., None], (n_samples, n_states, items))
    counts = np.zeros((n_samples, items, n))
    gain, shortfall = np.zeros((2, len(ks), n_samples, items))
    for k in range(ks[-1] + 1):
        if k > 0:
            label = (rng.random((n_samples, items, 1)) > below).sum(axis=2)
            state = state * states.answered(label, counts)
            state /= state.sum(axis=1, keepdims=True)
            one_more = 1 + np.take_along_axis(counts, label[..., None], 2)
            np.put_along_axis(counts, label[..., None], one_more, 2)
        if k >= ks[0]:
            two = states.next_two(state, counts)
            q = two.sum(axis=3)
            gain[k - ks[0]] = _after_one_more(two, q, score) - score.attained(q)
            if combiner == "plurality":
                voted = score.expected(best_labels(counts), q)
                shortfall[k - ks[0]] = score.attained(q) - voted
    q = states.next_two(state, counts).sum(axis=3)
    lack = score.attained(truth) - score.expected(q, truth)
    # below is the rounding of scores that are equal
    return _Paths(np.where(gain > ROUNDING, gain, 0.0), shortfall, lack)


def _after_one_more(two: np.ndarray, q: np.ndarray, score: Score) -> np.ndarray:
    """Return the score of ABC that is expected after one more label, shape (sample, item)."""
    then = two / np.where(q > 0, q, 1.0)[..., None]
    return (q * score.attained(then)).sum(axis=2)


def _estimated(
    states: ItemStates, ks: range, limit: np.ndarray, how: tuple[Score, str], paths: _Paths
) -> tuple[np.ndarray, np.ndarray]:
    """Return curves after the first k and their errors (sample, k)."""
    score, combiner = how
    start = curve_at(states, ks[0], score, "abc")
    risen = np.concatenate([np.zeros_like(paths.gain[:1]), paths.gain[:-1].cumsum(axis=0)])
    whole = risen[-1] + paths.lack
    mean, room = whole.mean(axis=1), limit - start
    told = mean > 0
    share = risen.mean(axis=2) / np.where(told, mean, 1.0)
    curve = start + room * share
    # each item left out in turn: where few tell anything, one of them moves the ratio far
    others = whole.sum(axis=1, keepdims=True) - whole
    without = risen.sum(axis=2, keepdims=True) - risen
    without = np.where(others > ROUNDING, without / np.where(others > ROUNDING, others, 1.0), 0.0)
    residual = room[:, None] * (share[..., None] - without) * (whole.shape[1] - 1)
    if combiner == "plurality":
        expected = start - curve_at(states, ks[0], score, combiner)
        short, own = _regressed_on_first(paths.shortfall, expected)
        curve, residual = curve - short, residual - own
    error = residual.std(axis=2, ddof=1) / np.sqrt(residual.shape[2])
    # items that gain nothing do not say where in the room the curve is
    return curve[1:].T, np.where(told, error, np.abs(room))[1:].T


def _regressed_on_first(values: np.ndarray, expected: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return means (k, sample) of values that are never negative, given the first one's expectation, and residuals by item."""
    centred = values - values.mean(axis=2, keepdims=True)
    variance = (centred[0] ** 2).sum(axis=1)
    slope = (centred * centred[0]).sum(axis=2) / np.where(variance > 0, variance, np.inf)
    slope = np.clip(slope, 0, 1)  # outside it is chance: the shortfall of the first k fades
    mean = values.mean(axis=2) + slope * (expected - values[0].mean(axis=1))
    return np.maximum(mean, 0), centred - slope[..., None] * centred[0]
