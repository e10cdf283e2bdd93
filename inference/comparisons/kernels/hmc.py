"""Split Hamiltonian Monte Carlo: exact flow of the Laplace approximation, kicks by the rest of the posterior.

    theta = centre + L^-T z,     H = L L' the information at the centre,     -log p(theta) = |z|^2 / 2 + V(z)

A transition draws a momentum p and repeats n times: p += h f / 2 with f = -grad V = L^-1 grad log p + z,
rotation of (z, p) by the angle h, p += h f / 2. It is accepted with the Metropolis probability. For a normal
posterior f is zero, and a rotation by a quarter circle is an independent draw. The total angle is pi / 2
times U(.8, 1.2): at a quarter circle neither z nor its square remembers the start. Invariant for any centre and L.

Further moves: common scale and shift from their exact conditional under a box prior (`draw_units`); a poorly
identified scale jointly with all that it scales (`draw_scales`); the mirror image of raters (`draw_mirrored`).

References
----------
Shahbaba, Lan, Johnson and Neal (2014), Split Hamiltonian Monte Carlo, Statistics and Computing 24, section
2.1, doi:10.1007/s11222-012-9373-1.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import FAST, copy_into, mean_of
from ...kernels.random_streams import standard_normal, uniform
from .likelihood import PairCells
from .posterior import BOX, NONE, PairPrior, anchored_log_p

BISECTIONS = 60
MARGIN = 1e-12  # margin, as a share of the box: closer to the walls coordinates lose digits; no move


@inner_njit(**FAST)
def _mass(g, reach, power, unit):
    """Return the antiderivative of g^power (1 - reach / g), over unit^power."""
    ratio = math.log(g / unit)
    if power == 0:
        return g - reach * ratio
    if power == -1:
        return unit * ratio + unit * reach / g
    return g * math.exp(power * ratio) / (power + 1) - reach * math.exp(power * ratio) / power


@inner_njit(**FAST)
def draw_scale(rng, reach, span, power):
    """Draw g from the density g^power (1 - reach / g) on `span`, by bisection of its distribution function."""
    low, high = span
    unit = high if power > 0 else low
    least = _mass(low, reach, power, unit)
    target = least + uniform(rng) * (_mass(high, reach, power, unit) - least)
    for _ in range(BISECTIONS):
        middle = 0.5 * (low + high)
        if _mass(middle, reach, power, unit) < target:
            low = middle
        else:
            high = middle
    return 0.5 * (low + high)


@inner_njit(**FAST)
def draw_units(rng, prior, theta):
    """Redraw scale and shift of theta (coordinate,) under a BOX prior, in place; return whether theta has changed.

    With g the geometric mean of the reliabilities, the answers depend on eta = rho / g and differences of x = g q
    only. Given these, under q ~ U(0, 1) and rho ~ U(low, high),

        p(g) ~ g^(K - N) (1 - range(x) / g)     from max(range x, low / min eta) to high / max eta
        shift ~ U(0, 1 - range(x) / g)
    """
    n, k = prior.n_items, prior.n_raters
    width = prior.high - prior.low
    moved = np.empty(n + k)  # x, then eta
    unit = 0.0
    for r in range(n, n + k):
        moved[r] = prior.low + width / (1.0 + math.exp(-theta[r]))
        unit += math.log(moved[r])
    unit = math.exp(unit / k)  # g before the move
    lowest, highest, least, most = np.inf, -np.inf, np.inf, -np.inf
    for i in range(n):
        moved[i] = unit / (1.0 + math.exp(-theta[i]))
        lowest, highest = min(lowest, moved[i]), max(highest, moved[i])
    for r in range(n, n + k):
        moved[r] /= unit
        least, most = min(least, moved[r]), max(most, moved[r])
    reach = highest - lowest
    # support of p(g)
    low, high = max(reach, prior.low / least), prior.high / most
    if not low < high:
        return False
    g = draw_scale(rng, reach, (low, high), k - n)  # p(g) ~ g^(K - N) (1 - range(x) / g)
    # shift ~ U(0, 1 - range(x) / g)
    shift, least, most = uniform(rng) * (1.0 - reach / g), np.inf, -np.inf
    for i in range(n + k):
        moved[i] = (moved[i] - lowest) / g + shift if i < n else (moved[i] * g - prior.low) / width
        least, most = min(least, moved[i]), max(most, moved[i])
    if least < MARGIN or most > 1.0 - MARGIN:
        return False
    for i in range(n + k):
        theta[i] = math.log(moved[i] / (1.0 - moved[i]))
    return True


# --- Metropolis move to the mirror image: qualities and rater coordinates are reflected about their means ---


@inner_njit(**FAST)
def mirror(prior, theta, image):
    """Write the mirror image of the coordinates `theta` into `image`, both (coordinate,)."""
    for i in range(len(theta)):
        image[i] = theta[i]
    for low, n in ((0, prior.n_items), (prior.n_items, prior.n_raters)):
        total = 0.0
        for i in range(low, low + n):
            total += theta[i]
        for i in range(low, low + n):
            image[i] = 2.0 * total / n - theta[i]


@inner_njit(**FAST)
def draw_mirrored(rng, cells, prior, theta, log_p, work):
    """Propose the mirror image in place; return whether it was accepted, and log p.

        q - mean q -> -(q - mean q),     r - mean r -> -(r - mean r)

    leaves every prior unchanged and is its own inverse: the acceptance ratio is the likelihood ratio. Raters who
    contradict each other give two modes, according to who is taken to err.

    Shapes: theta (coordinate,), work: two such arrays, overwritten. `log_p` is that of theta; prior LOG or SIGNED.
    """
    image, gradient = work
    mirror(prior, theta, image)
    tried = anchored_log_p(image, cells, prior, gradient)
    if tried > -1e300 and math.log(uniform(rng)) < tried - log_p:  # a NaN is rejected, too
        copy_into(theta, image)
        return True, tried
    return False, log_p


# --- Joint Metropolis moves of a scale and all that it scales, for scales on which the answers say little ---

LEAST_SIZE, MOST_SIZE = 0.03, 1.5


@inner_njit(**FAST)
def draw_scales(rng, cells, prior, theta, log_p, work):
    """Propose one move of each scale in place; return whether any was accepted, and log p.

        deviations -> c deviations,     tau -> tau + log c,     log c ~ Normal(0, size^2)

    leaves the prior of the deviations given their scale unchanged: likelihood and prior of the scale decide (Yu and
    Meng 2011, To center or not to center: that is not the question, JCGS 20(3), doi:10.1198/jcgs.2011.203main).

    Shapes: theta (coordinate,), work: two arrays (coordinate,), overwritten. `log_p` is that of theta.
    """
    trial, gradient = work
    moved = False
    for which in range(2):
        place = prior.at[which]
        if place == NONE:
            continue
        low, n = (0, prior.n_items) if which == 0 else (prior.n_items, prior.n_raters)
        size = LEAST_SIZE * (MOST_SIZE / LEAST_SIZE) ** uniform(rng)
        log_c = size * standard_normal(rng)
        c, mean = math.exp(log_c), mean_of(theta[low : low + n])
        copy_into(trial, theta)
        for i in range(low, low + n):
            trial[i] = mean + c * (theta[i] - mean)
        trial[place] += log_c
        tried = anchored_log_p(trial, cells, prior, gradient)
        change = tried - log_p + (n - 1) * log_c  # Jacobian c^(n - 1)
        if change > -1e300 and math.log(uniform(rng)) < change:  # a NaN is rejected, too
            copy_into(theta, trial)
            log_p, moved = tried, True
    return moved, log_p


# --- Split Hamiltonian Monte Carlo: exact flow of the Laplace approximation, kicks by the rest of the posterior ---

QUARTER = math.pi / 2
# factor on the number of steps in warm-up, first and largest; doubled by rejection, halved by acceptance
WARM_UP_FACTOR, MOST_WARM_UP_FACTOR = 4, 64


class Laplace(NamedTuple):
    """Normal approximation of a posterior."""

    centre: np.ndarray  # (coordinate,), mean
    factor: np.ndarray  # (coordinate, coordinate), L, lower triangular, L L' the information
    inverse: np.ndarray  # (coordinate, coordinate), L^-1


class HmcSchedule(NamedTuple):
    """Length of a chain, and its moves."""

    tune: int  # transitions before the first stored draw
    steps: int  # of a transition
    move_scales: bool  # also run `draw_scales`
    mirror: bool  # also run `draw_mirrored`
    fresh: bool = False  # first compute the state from its theta


class PairState(NamedTuple):
    """State of a chain, overwritten in place."""

    theta: np.ndarray  # (coordinate,)
    z: np.ndarray  # (coordinate,), whitened theta, with rounding errors of its own
    gradient: np.ndarray  # (coordinate,), of log p
    force: np.ndarray  # (coordinate,), f
    numbers: np.ndarray  # (2,): log p, sum of acceptance probabilities over stored draws


@inner_njit(**FAST)
def _spread(laplace, z, theta):
    """Write theta = centre + L^-T z."""
    copy_into(theta, laplace.centre)
    for j in range(len(z)):
        row, by = laplace.inverse[j], z[j]
        for i in range(j + 1):
            theta[i] += by * row[i]


@inner_njit(**FAST)
def _whiten(laplace, theta, z):
    """Write z = L' (theta - centre)."""
    z[:] = 0.0
    for j in range(len(z)):
        row, by = laplace.factor[j], theta[j] - laplace.centre[j]
        for i in range(j + 1):
            z[i] += by * row[i]


@inner_njit(**FAST)
def _force(laplace, z, gradient, force):
    """Write f = L^-1 gradient + z."""
    for j in range(len(z)):
        row, total = laplace.inverse[j], z[j]
        for i in range(j + 1):
            total += row[i] * gradient[i]
        force[j] = total


@inner_njit(**FAST)
def _density(laplace, cells, prior, z, work):
    """Return log p at z; overwrite theta, gradient and force, the arrays of `work`."""
    theta, gradient, force = work
    _spread(laplace, z, theta)
    log_p = anchored_log_p(theta, cells, prior, gradient)
    _force(laplace, z, gradient, force)
    return log_p


@inner_njit(**FAST)
def _transition(rng, laplace, cells, prior, steps, state, trial):
    """Run one transition in place; return its acceptance probability and log p."""
    (z, theta, gradient, force, p), log_p = state
    z_new, theta_new, gradient_new, force_new = trial
    kinetic = 0.0
    for i in range(len(p)):
        p[i] = standard_normal(rng)
        kinetic += p[i] * p[i]
    start = log_p - 0.5 * kinetic
    h = QUARTER * (0.8 + 0.4 * uniform(rng)) / steps
    turn, across = math.cos(h), math.sin(h)
    copy_into(z_new, z)
    copy_into(force_new, force)
    log_p_new = log_p
    for _ in range(steps):
        for i in range(len(p)):
            pushed = p[i] + 0.5 * h * force_new[i]  # half kick, then rotation of (z, p) by h
            p[i] = turn * pushed - across * z_new[i]
            z_new[i] = turn * z_new[i] + across * pushed
        work = (theta_new, gradient_new, force_new)
        log_p_new = _density(laplace, cells, prior, z_new, work)
        for i in range(len(p)):
            p[i] += 0.5 * h * force_new[i]  # half kick
    kinetic = 0.0
    for i in range(len(p)):
        kinetic += p[i] * p[i]
    change = log_p_new - 0.5 * kinetic - start  # minus the change of the Hamiltonian
    accept = math.exp(min(0.0, change)) if change > -1e300 else 0.0  # a NaN is rejected, too
    if uniform(rng) < accept:
        copy_into(z, z_new)
        copy_into(theta, theta_new)
        copy_into(gradient, gradient_new)
        copy_into(force, force_new)
        log_p = log_p_new
    return accept, log_p


def sample_pairs(
    rng: np.ndarray,
    model: tuple[PairCells, PairPrior],
    laplace: Laplace,
    schedule: HmcSchedule,
    start_and_draws: tuple[np.ndarray, np.ndarray],
) -> float:
    """Run one chain; return the mean acceptance probability of stored draws.

    Shapes: start (coordinate,), overwritten with the last draw; draws (draw, coordinate), overwritten.
    """
    theta, draws = start_and_draws
    n = len(theta)
    state = PairState(theta, np.empty(n), np.empty(n), np.empty(n), np.empty(2))
    continue_pairs(rng, model, laplace, schedule._replace(fresh=True), (state, draws))
    return state.numbers[1] / max(1, len(draws))


@cached_njit(nogil=True, **FAST)
def continue_pairs(
    rng: np.ndarray,
    model: tuple[PairCells, PairPrior],
    laplace: Laplace,
    schedule: HmcSchedule,
    state_and_draws: tuple[PairState, np.ndarray],
) -> None:
    """Run one chain on from its state, which is overwritten like draws (draw, coordinate)."""
    (cells, prior), (own, draws) = model, state_and_draws
    theta, z, gradient, force, numbers = own
    n = len(theta)
    if schedule.fresh:
        _whiten(laplace, theta, z)
        numbers[0] = _density(laplace, cells, prior, z, (theta, gradient, force))
        numbers[1] = 0.0
    p, trial = np.empty(n), (np.empty(n), np.empty(n), np.empty(n), np.empty(n))
    log_p, accepted, finer = numbers[0], numbers[1], WARM_UP_FACTOR
    for t in range(schedule.tune + len(draws)):
        finer = finer if t < schedule.tune else 1
        before, state = log_p, ((z, theta, gradient, force, p), log_p)
        steps = finer * schedule.steps
        accept, log_p = _transition(rng, laplace, cells, prior, steps, state, trial)
        finer = min(2 * finer, MOST_WARM_UP_FACTOR) if log_p == before else max(finer // 2, 1)
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
            copy_into(draws[t - schedule.tune], theta)
    numbers[0], numbers[1] = log_p, accepted
