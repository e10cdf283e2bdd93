"""Hamiltonian Monte Carlo that follows the Laplace approximation exactly, and lets the rest of the posterior push.

    theta = centre + L^-T z,     H = L L' the information at the centre,     -log p(theta) = |z|^2 / 2 + V(z)

A transition draws a momentum p and, n times, pushes p by h f / 2 with f = -grad V = L^-1 grad log p + z, turns (z, p) by the
angle h, and pushes again; it is accepted as any leapfrog is. Were the posterior normal, f would be zero, and a turn by a quarter
of a circle an independent draw. The angle is pi / 2 times U(.8, 1.2): at a quarter neither z nor its square remembers the start.
Any centre and any L leave the posterior invariant.

Under a box prior of qualities and reliabilities a second move draws their common scale and shift from their exact conditional;
where the answers leave a scale open, another tries it together with all that it scales; and where raters contradict each other,
one tries the mirror image.

References
----------
Shahbaba, Lan, Johnson and Neal (2014), Split Hamiltonian Monte Carlo, Statistics and Computing 24, section 2.1,
doi:10.1007/s11222-012-9373-1.
"""

import math
from typing import NamedTuple

import numba as nb
import numpy as np

from ...models.distributions.compiling import kept
from ...models.distributions.vector_math import FAST
from .anchored_posterior import BOX, PairPrior, anchored_log_p
from .box_units import draw_units
from .mirror_move import draw_mirrored
from .pair_likelihood import PairCells
from .random_stream import standard_normal, uniform
from .scale_moves import draw_scales

__all__ = [
    "COMING_IN",
    "MOST_COMING_IN",
    "HmcSchedule",
    "Laplace",
    "PairState",
    "begin_pairs",
    "continue_pairs",
    "sample_pairs",
]

QUARTER = math.pi / 2
# times the steps while a chain comes from afar: doubled when refused, halved when not
COMING_IN, MOST_COMING_IN = 4, 64


class Laplace(NamedTuple):
    """The normal approximation of a posterior.

    Attributes
    ----------
    centre : ndarray, shape (coordinate,)
        Its mean.
    factor, inverse : ndarray, shape (coordinate, coordinate)
        L, lower triangular with L L' the information, and its inverse.
    """

    centre: np.ndarray
    factor: np.ndarray
    inverse: np.ndarray


class HmcSchedule(NamedTuple):
    """Transitions before the first stored draw, pushes in a transition, and which moves are made besides."""

    tune: int
    steps: int
    move_scales: bool
    mirror: bool


class PairState(NamedTuple):
    """Where a chain stands; all arrays are changed in place.

    Attributes
    ----------
    theta, z : ndarray, shape (coordinate,)
        Coordinates, and the same whitened; each is rounded for itself.
    gradient, force : ndarray, shape (coordinate,)
        Of log p, and what pushes.
    numbers : ndarray, shape (2,)
        log p, and the sum of the probabilities of accepting over the draws that were kept.
    """

    theta: np.ndarray
    z: np.ndarray
    gradient: np.ndarray
    force: np.ndarray
    numbers: np.ndarray


@nb.njit(**FAST)
def _spread(laplace, z, theta):
    """Write centre + L^-T z into theta."""
    theta[:] = laplace.centre
    for j in range(len(z)):
        row, by = laplace.inverse[j], z[j]
        for i in range(j + 1):
            theta[i] += by * row[i]


@nb.njit(**FAST)
def _whiten(laplace, theta, z):
    """Write L' (theta - centre) into z."""
    z[:] = 0.0
    for j in range(len(z)):
        row, by = laplace.factor[j], theta[j] - laplace.centre[j]
        for i in range(j + 1):
            z[i] += by * row[i]


@nb.njit(**FAST)
def _force(laplace, z, gradient, force):
    """Write L^-1 gradient + z into force."""
    for j in range(len(z)):
        row, total = laplace.inverse[j], z[j]
        for i in range(j + 1):
            total += row[i] * gradient[i]
        force[j] = total


@nb.njit(**FAST)
def _density(laplace, cells, prior, z, work):
    """Compute log p at z; overwrite theta and the force."""
    theta, gradient, force = work
    _spread(laplace, z, theta)
    log_p = anchored_log_p(theta, cells, prior, gradient)
    _force(laplace, z, gradient, force)
    return log_p


@nb.njit(**FAST)
def _transition(rng, laplace, cells, prior, steps, state, trial):
    """Make one transition from `state` in place; return the probability that it is accepted, and log p."""
    (z, theta, gradient, force, p), log_p = state
    z_new, theta_new, gradient_new, force_new = trial
    kinetic = 0.0
    for i in range(len(p)):
        p[i] = standard_normal(rng)
        kinetic += p[i] * p[i]
    start = log_p - 0.5 * kinetic
    h = QUARTER * (0.8 + 0.4 * uniform(rng)) / steps
    turn, across = math.cos(h), math.sin(h)
    z_new[:] = z
    force_new[:] = force
    log_p_new = log_p
    for _ in range(steps):
        for i in range(len(p)):
            pushed = p[i] + 0.5 * h * force_new[i]
            p[i] = turn * pushed - across * z_new[i]
            z_new[i] = turn * z_new[i] + across * pushed
        work = (theta_new, gradient_new, force_new)
        log_p_new = _density(laplace, cells, prior, z_new, work)
        for i in range(len(p)):
            p[i] += 0.5 * h * force_new[i]
    kinetic = 0.0
    for i in range(len(p)):
        kinetic += p[i] * p[i]
    change = log_p_new - 0.5 * kinetic - start
    accept = math.exp(min(0.0, change)) if change > -1e300 else 0.0  # a NaN is refused, too
    if uniform(rng) < accept:
        z[:] = z_new
        theta[:] = theta_new
        gradient[:] = gradient_new
        force[:] = force_new
        log_p = log_p_new
    return accept, log_p


@kept(nogil=True, **FAST)
def sample_pairs(
    rng: np.ndarray,
    model: tuple[PairCells, PairPrior],
    laplace: Laplace,
    schedule: HmcSchedule,
    start_and_draws: tuple[np.ndarray, np.ndarray],
) -> float:
    """Run one chain.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of this chain, advanced in place.
    model : tuple of PairCells and PairPrior
        Answers and priors.
    laplace : Laplace
        Centre and metric.
    schedule : HmcSchedule
        Warm-up and steps.
    start_and_draws : tuple of ndarray, shapes (coordinate,) and (draw, coordinate)
        Coordinates to start from, overwritten with the last draw; and where the draws go.

    Returns
    -------
    float
        Mean probability of accepting, over the draws that are kept.
    """
    theta, draws = start_and_draws
    n = len(theta)
    state = PairState(theta, np.empty(n), np.empty(n), np.empty(n), np.empty(2))
    begin_pairs(model, laplace, state)
    continue_pairs(rng, model, laplace, schedule, (state, draws))
    return state.numbers[1] / max(1, len(draws))


@kept(nogil=True, **FAST)
def begin_pairs(model: tuple[PairCells, PairPrior], laplace: Laplace, state: PairState) -> None:
    """Fill in what follows from the coordinates that a chain starts from.

    Parameters
    ----------
    model : tuple of PairCells and PairPrior
        Answers and priors.
    laplace : Laplace
        Centre and metric.
    state : PairState
        With ``theta``; the rest is overwritten.
    """
    theta, z, gradient, force, numbers = state
    _whiten(laplace, theta, z)
    numbers[0] = _density(laplace, model[0], model[1], z, (theta, gradient, force))
    numbers[1] = 0.0


@kept(nogil=True, **FAST)
def continue_pairs(
    rng: np.ndarray,
    model: tuple[PairCells, PairPrior],
    laplace: Laplace,
    schedule: HmcSchedule,
    state_and_draws: tuple[PairState, np.ndarray],
) -> None:
    """Run one chain on from where it stands.

    Parameters
    ----------
    rng : ndarray of uint64, shape (4,)
        Stream of this chain, advanced in place.
    model : tuple of PairCells and PairPrior
        Answers and priors.
    laplace : Laplace
        Centre and metric.
    schedule : HmcSchedule
        Transitions before the first stored draw, and steps.
    state_and_draws : tuple of PairState and ndarray, shape (draw, coordinate)
        Where the chain stands, changed in place; and where the draws go.
    """
    (cells, prior), (own, draws) = model, state_and_draws
    theta, z, gradient, force, numbers = own
    n = len(theta)
    p, trial = np.empty(n), (np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    log_p, accepted, finer = numbers[0], numbers[1], COMING_IN
    for t in range(schedule.tune + len(draws)):
        finer = finer if t < schedule.tune else 1
        before, state = log_p, ((z, theta, gradient, force, p), log_p)
        steps = finer * schedule.steps
        accept, log_p = _transition(rng, laplace, cells, prior, steps, state, trial)
        finer = min(2 * finer, MOST_COMING_IN) if log_p == before else max(finer // 2, 1)
        moved = prior.form == BOX and draw_units(rng, prior, theta)
        if moved:
            log_p = anchored_log_p(theta, cells, prior, gradient)
        scaled, turned = False, False
        if schedule.move_scales:
            scaled, log_p = draw_scales(rng, cells, prior, theta, log_p, trial[1:3])
        if schedule.mirror:
            turned, log_p = draw_mirrored(rng, cells, prior, theta, log_p, trial[1:3])
        if scaled or turned:
            log_p = anchored_log_p(theta, cells, prior, gradient)
        if moved or scaled or turned:
            _whiten(laplace, theta, z)
            _force(laplace, z, gradient, force)
        if t >= schedule.tune:
            accepted += accept
            draws[t - schedule.tune] = theta
    numbers[0], numbers[1] = log_p, accepted
