"""Counts of labels with the probabilities of a classifier in the prior: chains of their strength, draws given it.

    p_i ~ Dirichlet(a_i),  a_i = alpha_i + kappa f_i,  n_i ~ prod_k p_ik ^ (gamma n_ik),    kappa ~ HalfNormal(s)

    kappa | n           slice, plausibilities integrated out:
                        prod_i Gamma(A_i) / Gamma(A_i + N_i) prod_k Gamma(a_ik + gamma n_ik) / Gamma(a_ik),
                        with A_i and N_i the sums of a_i and of gamma n_i
    p_i | n, kappa      Dirichlet(a_i + gamma n_i)

Where gamma n_i are whole and few, the factor of an item is a product of as many ratios, and one logarithm.

References
----------
Neal (2003), Slice sampling, Annals of Statistics 31(3), doi:10.1214/aos/1056562461.
"""

import math
from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.vector_math import log_add
from ...kernels.random_streams import load_stream, log_standard_gamma, store_stream
from ...kernels.slice_sampling import adapted_width, slice_sampler
from .item_states import DirichletDraws

NARROWEST, WIDEST = 1e-6, 1e6  # slices
MOST_FACTORS, SMALL = 256, 1e-150


class PredictedItems(NamedTuple):
    """Counts of items, and their prior by the strength; rows of whole items."""

    base: np.ndarray  # (item, category), concentration without predictions
    slope: np.ndarray  # (item, category), probability of the classifier
    counts: np.ndarray  # (item, category), labels, each at power one
    power: np.ndarray  # (item,)


@inner_njit(error_model="numpy")
def _log_rising(x, n):
    """Return log(Gamma(x + n) / Gamma(x))."""
    return math.lgamma(x + n) - math.lgamma(x)


@inner_njit(error_model="numpy")
def _log_p_of_item(concentration, counts, power):
    """Return the log probability of an item's labels, plausibilities integrated out; arrays (category,)."""
    total, n, whole = 0.0, 0.0, True
    for k in range(len(counts)):
        total += concentration[k]
        n += power * counts[k]
        whole = whole and power * counts[k] == math.floor(power * counts[k])
    value = 0.0
    if not whole or n > MOST_FACTORS:
        for k in range(len(counts)):
            if counts[k] > 0.0:
                value += _log_rising(concentration[k], power * counts[k])
        return value - _log_rising(total, n)
    product, given = 1.0, 0
    for k in range(len(counts)):
        for j in range(int(power * counts[k])):
            product *= (concentration[k] + j) / (total + given)
            given += 1
            if product < SMALL:
                value += math.log(product)
                product = 1.0
    return value + math.log(product)


@inner_njit(error_model="numpy")
def _strength_density(strength, parameters):
    """Return the log density of the strength, up to a constant."""
    items, scale, own = parameters
    if strength < 0.0:
        return -np.inf
    value = -0.5 * (strength / scale) ** 2
    for i in range(len(items.counts)):
        for k in range(len(own)):
            own[k] = items.base[i, k] + strength * items.slope[i, k]
        value += _log_p_of_item(own, items.counts[i], items.power[i])
    return value


_move_strength = slice_sampler(_strength_density)


@cached_njit(nogil=True, error_model="numpy")
def sample_strength(
    rng: np.ndarray,
    items: PredictedItems,
    scale: float,
    schedule: tuple[int, int],
    state_and_draws: tuple[np.ndarray, np.ndarray],
) -> None:
    """Run a chain of the strength on from its state, strength and width of the slice (2,), into draws (draw,).

    `schedule` holds the moves of the warm-up and those of each kept draw. `items` are those that tell something: with
    labels and with a prediction.
    """
    (tune, thin), (state, draws) = schedule, state_and_draws
    own = np.empty(items.counts.shape[1])
    for move in range(1, tune + len(draws) * thin + 1):
        before = state[0]
        state[0] = _move_strength(rng, (items, scale, own), before, state[1])
        if move <= tune:
            state[1] = adapted_width(state[1], state[0] - before, NARROWEST, WIDEST)
        d, left = divmod(move - tune, thin)
        if left == 0 and d > 0:
            draws[d - 1] = state[0]


@cached_njit(nogil=True, error_model="numpy")
def draw_predicted_items(
    streams: np.ndarray, items: PredictedItems, strength: np.ndarray, draws: DirichletDraws
) -> None:
    """Draw plausibilities of a block of items given each draw of the strength, (draw,), with their densities.

    Streams uint64 (4, item) and `draws` change in place. Plausibilities are normalised in logs: a concentration of .001 gives
    tiny ones, not 0 / 0.
    """
    n_items, n = items.counts.shape
    rng, log_share = np.empty(4, np.uint64), np.empty(n)
    for i in range(n_items):
        load_stream(streams, i, rng)
        for d in range(len(strength)):
            log_total = -np.inf
            for k in range(n):
                prior = items.base[i, k] + strength[d] * items.slope[i, k]
                log_share[k] = log_standard_gamma(rng, prior + items.power[i] * items.counts[i, k])
                log_total = log_add(log_total, log_share[k])
            log_p, log_prior, total = 0.0, 0.0, 0.0
            for k in range(n):
                log_share[k] -= log_total
                draws.plausibility[d, i, k] = math.exp(log_share[k])
                prior = items.base[i, k] + strength[d] * items.slope[i, k]
                log_p += items.counts[i, k] * log_share[k]
                log_prior += (prior - 1.0) * log_share[k] - math.lgamma(prior)
                total += prior
            draws.log_p[d, i] = log_p
            draws.log_prior[d, i] = log_prior + math.lgamma(total)
        store_stream(streams, i, rng)
