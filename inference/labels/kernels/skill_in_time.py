"""Gibbs chains of labels whose raters change: prevalence, true categories T, log odds in windows, their steps.

    x_1 | prior          density e^{a x} / (1 + e^x)^{a + b} of the log odds of a Beta(a, b) variable
    x_w | x_{w-1}        Normal(x_{w-1}, sigma^2)
    h_w of n_w answers   right with probability 1 / (1 + e^{-x_w}), given T

The log odds of one walk are drawn together. Near their mode the law is that of a walk with normal observations, precision q_w and
place g_w / q_w, from which forward filtering, backward sampling draws exactly. The walk is then moved on the ellipse through this
draw and the present one, by what the law of the answers has beyond the normal one, so that the law itself is left invariant.
sigma is moved twice: given the walks, and given the steps in units of sigma, which then move with it.

References
----------
Frühwirth-Schnatter (1994), Data augmentation and dynamic linear models, Journal of Time Series Analysis 15,
doi:10.1111/j.1467-9892.1994.tb00184.x. Nishihara, Murray and Adams (2014), Parallel MCMC with generalized elliptical slice
sampling, JMLR 15. Yu and Meng (2011), To center or not to center, JCGS 20, doi:10.1198/jcgs.2011.203main.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.marginal_labels_kernels import Answers
from ....models.distributions.vector_math import copy_into, softplus
from ...kernels.random_streams import (
    exp_normalise,
    log_standard_gamma,
    standard_exponential,
    standard_normal,
    uniform,
)
from ...kernels.slice_sampling import slice_sampler
from .gibbs import draw_true_categories, recount

ROUNDS, CLOSE, LEAP = 12, 0.01, 3.0  # of Newton, in log odds
LEAST_LOG_STEP = -16.0  # steps that no data tell from none


class WalkPrior(NamedTuple):
    """Priors; a walk is a row of a rater's matrix, or the rater's one ability."""

    prevalence: np.ndarray  # (category,), Dirichlet concentration
    begin: np.ndarray  # (walk, 2), Beta concentrations of right and wrong answers in the first window
    wrong: np.ndarray  # (walk, label), Dirichlet concentration of the wrong labels; without walks: alike
    step: float  # scale of the half-normal prior of sigma


class WalkState(NamedTuple):
    """State of a chain, overwritten in place."""

    category: np.ndarray  # int64 (item,), true categories
    walk: np.ndarray  # (walk, window), log odds
    step: np.ndarray  # (1,), sigma


class WalkDraws(NamedTuple):
    """Output arrays of a chain."""

    prevalence: np.ndarray  # (draw, category)
    walk: np.ndarray  # (draw, walk, window)
    wrong: np.ndarray  # (draw, walk, label), shares of the wrong labels of a row; none if alike
    step: np.ndarray  # (draw,)
    plausibility: np.ndarray  # (draw, item, category)
    log_p: np.ndarray  # (draw, item)


# --- One walk ---


@inner_njit(error_model="numpy", inline="always")
def _observe(x, counts, w):
    """Return precision and precision times place of the normal observation of a window at log odds x; `counts` (window, 2)."""
    n = counts[w, 0] + counts[w, 1]
    p, rest = 1.0 / (1.0 + math.exp(-x)), 1.0 / (1.0 + math.exp(x))
    q = n * p * rest
    return q, q * x + counts[w, 0] * rest - counts[w, 1] * p


@inner_njit(error_model="numpy")
def filter_walk(seen: np.ndarray, variance: float, filtered: np.ndarray) -> None:
    """Overwrite mean and variance of each window given those up to it (window, 2); the first has no other prior.

    `seen` holds precision, which is positive in the first window, and precision times place of each observation (window, 2).
    """
    filtered[0, 0], filtered[0, 1] = seen[0, 1] / seen[0, 0], 1.0 / seen[0, 0]
    for w in range(1, len(seen)):
        ahead = filtered[w - 1, 1] + variance
        own = 1.0 / (1.0 + ahead * seen[w, 0])
        filtered[w, 0] = (filtered[w - 1, 0] + ahead * seen[w, 1]) * own
        filtered[w, 1] = ahead * own


@inner_njit(error_model="numpy")
def sample_back(
    rng: np.ndarray, filtered: np.ndarray, variance: float, mean: np.ndarray, drawn: np.ndarray, noisy: bool
) -> None:
    """Overwrite the mean of the walk given all observations, and, if `noisy`, a draw less this mean; both (window,)."""
    last = len(filtered) - 1
    mean[last] = filtered[last, 0]
    drawn[last] = math.sqrt(filtered[last, 1]) * standard_normal(rng) if noisy else 0.0
    for w in range(last - 1, -1, -1):
        back = filtered[w, 1] / (filtered[w, 1] + variance)
        mean[w] = filtered[w, 0] + back * (mean[w + 1] - filtered[w, 0])
        drawn[w] = back * drawn[w + 1]
        if noisy:
            drawn[w] += math.sqrt(back * variance) * standard_normal(rng)


@inner_njit(error_model="numpy", inline="always")
def _log_right(x, counts, w):
    """Return the log probability of the right and wrong answers of a window at log odds x."""
    return counts[w, 0] * x - (counts[w, 0] + counts[w, 1]) * softplus(x)


@inner_njit(error_model="numpy")
def _beyond(x, counts, seen):
    """Return what the law of the answers has beyond that of the normal observations, up to a constant."""
    value = 0.0
    for w in range(len(x)):
        value += _log_right(x[w], counts, w) + (0.5 * seen[w, 0] * x[w] - seen[w, 1]) * x[w]
    return value


@inner_njit(error_model="numpy")
def draw_walk(rng: np.ndarray, counts: np.ndarray, step: float, x: np.ndarray, work: np.ndarray) -> None:
    """Move one walk (window,), in place, given right and wrong answers (window, 2), those of the prior in the first window.

    `work` is room for seven numbers of each window.
    """
    seen, filtered, mean, drawn, trial = work[:, :2], work[:, 2:4], work[:, 4], work[:, 5], work[:, 6]
    right = wrong = 0.0
    for w in range(len(x)):
        right += counts[w, 0]
        wrong += counts[w, 1]
    typical = math.log(right / wrong)
    for w in range(len(mean)):
        mean[w] = typical
    variance = step * step
    for _ in range(ROUNDS):  # of a start that does not depend on x
        for w in range(len(x)):
            seen[w, 0], seen[w, 1] = _observe(mean[w], counts, w)
        filter_walk(seen, variance, filtered)
        copy_into(trial, mean)
        sample_back(rng, filtered, variance, mean, drawn, False)
        moved = 0.0
        for w in range(len(x)):
            leap = mean[w] - trial[w]
            moved = max(moved, abs(leap))
            mean[w] = trial[w] + min(max(leap, -LEAP), LEAP)
        if moved < CLOSE:
            break
    sample_back(rng, filtered, variance, mean, drawn, True)
    # ellipse about the mean
    level = _beyond(x, counts, seen) - standard_exponential(rng)
    angle = 2.0 * math.pi * uniform(rng)
    low, high = angle - 2.0 * math.pi, angle
    while True:
        c, s = math.cos(angle), math.sin(angle)
        for w in range(len(x)):
            trial[w] = mean[w] + c * (x[w] - mean[w]) + s * drawn[w]
        if _beyond(trial, counts, seen) >= level or high - low < 1e-12:
            break
        if angle < 0.0:
            low = angle
        else:
            high = angle
        angle = low + (high - low) * uniform(rng)
    copy_into(x, trial)


# --- The step of all walks ---


@inner_njit(error_model="numpy")
def _of_walks(log_step, parameters):
    """Return the log density of log sigma given the walks: their number of steps, and the sum of the squares."""
    number, squares, scale = parameters
    if log_step < LEAST_LOG_STEP:
        return -np.inf
    variance = math.exp(2.0 * log_step)
    return (1.0 - number) * log_step - 0.5 * (squares / variance + variance / (scale * scale))


@inner_njit(error_model="numpy")
def _of_changes(log_step, parameters):
    """Return the log density of log sigma given the changes in units of sigma: walks `x` are those of sigma `now`."""
    x, counts, now, scale = parameters
    if log_step < LEAST_LOG_STEP:
        return -np.inf
    step = math.exp(log_step)
    ratio, value = step / now, log_step - 0.5 * (step / scale) ** 2
    for k in range(len(x)):
        for w in range(1, x.shape[1]):
            value += _log_right(x[k, 0] + ratio * (x[k, w] - x[k, 0]), counts[k], w)
    return value


_move_by_walks, _move_by_changes = slice_sampler(_of_walks), slice_sampler(_of_changes)


@inner_njit(error_model="numpy")
def move_step(rng: np.ndarray, counts: np.ndarray, scale: float, state: WalkState) -> None:
    """Move sigma given the walks, then with the walks; shapes: counts (walk, window, 2)."""
    x, squares = state.walk, 0.0
    for k in range(len(x)):
        for w in range(1, x.shape[1]):
            squares += (x[k, w] - x[k, w - 1]) ** 2
    number = float(x.shape[0] * (x.shape[1] - 1))
    width = 2.5 / math.sqrt(1.0 + 2.0 * number)
    now = math.exp(_move_by_walks(rng, (number, squares, scale), math.log(state.step[0]), width))
    step = math.exp(_move_by_changes(rng, (x, counts, now, scale), math.log(now), 1.0))
    for k in range(len(x)):
        for w in range(1, x.shape[1]):
            x[k, w] = x[k, 0] + step / now * (x[k, w] - x[k, 0])
    state.step[0] = step


# --- Sweeps ---


@inner_njit(error_model="numpy")
def count_walks(labels: np.ndarray, begin: np.ndarray, counts: np.ndarray) -> None:
    """Overwrite the right and wrong answers of each walk and window (walk, window, 2), those of the prior in the first one.

    Shapes: labels int64 (rater * window * label, category), begin (walk, 2).
    """
    n, windows = labels.shape[1], counts.shape[1]
    raters = len(labels) // (windows * n)
    rows = len(counts) // raters  # walks of a rater
    counts[:] = 0.0
    for k in range(len(counts)):
        for side in range(counts.shape[2]):
            counts[k, 0, side] = begin[k, side]
    for place in range(raters * windows):
        for j in range(n):
            k = place // windows * rows + (j if rows > 1 else 0)
            for label in range(n):
                counts[k, place % windows, 0 if label == j else 1] += labels[place * n + label, j]


@inner_njit(error_model="numpy")
def draw_wrong(
    rng: np.ndarray, labels: np.ndarray, prior: WalkPrior, windows: int, wrong: np.ndarray
) -> None:
    """Overwrite the shares of the wrong labels (walk, label) given the answers in all windows."""
    n = labels.shape[1]
    for k in range(len(wrong)):
        rater, j = k // n, k % n
        for label in range(n):
            wrong[k, label] = -np.inf
            if label != j:
                given = prior.wrong[k, label]
                for w in range(windows):
                    given += labels[((rater * windows) + w) * n + label, j]
                wrong[k, label] = log_standard_gamma(rng, given)
        exp_normalise(wrong[k])


@inner_njit(error_model="numpy")
def fill_table(walk: np.ndarray, wrong: np.ndarray, table: np.ndarray) -> None:
    """Overwrite p(label | rater in a window, true category), (rater * window * label, category)."""
    n, windows = table.shape[1], walk.shape[1]
    raters = len(table) // (windows * n)
    rows = len(walk) // raters
    for place in range(raters * windows):
        for j in range(n):
            k = place // windows * rows + (j if rows > 1 else 0)
            x = walk[k, place % windows]
            missed = 1.0 / (1.0 + math.exp(x))
            for label in range(n):
                if label == j:
                    table[place * n + label, j] = 1.0 / (1.0 + math.exp(-x))
                else:
                    table[place * n + label, j] = missed * (wrong[k, label] if len(wrong) else 1.0 / (n - 1))


@cached_njit(nogil=True, error_model="numpy")
def sample_walks(
    rng: np.ndarray,
    answers: Answers,
    prior: WalkPrior,
    schedule: tuple[int, int],
    state_and_draws: tuple[WalkState, WalkDraws],
) -> None:
    """Run one chain on from its state, in place; `schedule` has the sweeps before the first draw, and for each."""
    state, draws = state_and_draws
    category, walk = state.category, state.walk
    n, windows = len(prior.prevalence), walk.shape[1]
    raters = len(walk) // (n if len(prior.wrong) else 1)
    table, wrong = np.empty((raters * windows * n, n)), np.empty(prior.wrong.shape)
    items, labels = np.zeros(n, np.int64), np.zeros(table.shape, np.int64)
    truth = (category, items, labels, np.zeros((raters * windows, n), np.int64))
    counts, work = np.empty((len(walk), windows, 2)), np.empty((windows, 7))
    prevalence = np.empty(n)
    recount(answers, truth)
    pointwise = (np.empty(draws.log_p.shape[1]), np.empty((len(category), n)))
    passing = (np.empty(0), pointwise[1])
    sweeps = schedule[0]
    for d in range(len(draws.step)):
        sweeps += schedule[1]
        for sweep in range(sweeps):
            for j in range(n):
                prevalence[j] = log_standard_gamma(rng, prior.prevalence[j] + items[j])
            exp_normalise(prevalence)
            count_walks(labels, prior.begin, counts)
            for k in range(len(walk)):
                draw_walk(rng, counts[k], state.step[0], walk[k], work)
            move_step(rng, counts, prior.step, state)
            draw_wrong(rng, labels, prior, windows, wrong)
            fill_table(walk, wrong, table)
            own = pointwise if sweep == sweeps - 1 else passing
            draw_true_categories(rng, answers, (prevalence, table), truth, own)
        sweeps = 0
        draws.prevalence[d], draws.walk[d], draws.wrong[d] = prevalence, walk, wrong
        draws.step[d] = state.step[0]
        if draws.log_p.shape[1]:
            draws.plausibility[d], draws.log_p[d] = pointwise[1], pointwise[0]


@cached_njit(error_model="numpy")
def sample_one_walk(
    rng: np.ndarray, counts: np.ndarray, step: float, x: np.ndarray, drawn: np.ndarray
) -> None:
    """Overwrite draws (draw, window) of a chain of one walk, given its answers (window, 2) and sigma; for tests."""
    work = np.empty((len(x), 7))
    for d in range(len(drawn)):
        draw_walk(rng, counts, step, x, work)
        drawn[d] = x
