"""Simulation-based calibration: ranks of parameters from the prior among posterior draws given data simulated from them."""

from collections.abc import Callable

import numpy as np
from raterzoo import inference

from tests.support.monte_carlo import ecdf_band, sbc_ranks, seed_of

from .chains import KEPT, Chains
from .joint_law import JointLaw, Values, answered

__all__ = ["calibration_ranks", "deviation", "equals_end_to_end"]

END_TO_END = 3  # simulations that are drawn once more by `inference.sample`


def calibration_ranks(
    law: JointLaw, posterior: Callable[[np.ndarray, int], Values], simulations: int, name: str
) -> np.ndarray:
    """Rank the quantities of each simulation.

    Parameters
    ----------
    law : JointLaw
        What is simulated, and measured.
    posterior : callable
        From annotations and a seed to kept draws of the free variables.
    simulations : int
        How many.
    name : str
        Seeds the simulations.

    Returns
    -------
    ndarray of int, shape (simulation, quantity)
        Ranks 0 ... KEPT.
    """
    seed = seed_of(name)
    truth, answers = law.simulate(simulations, seed)
    rng, ranks = np.random.default_rng(seed), []
    known = law.quantities(truth, answers, paired=True)
    for s in range(simulations):
        drawn = law.quantities(posterior(answers[s], (seed + s) % 2**32), answers[s])
        ranks.append(sbc_ranks(known[s : s + 1], drawn[None], rng)[0])
    return np.array(ranks)


def deviation(ranks: np.ndarray, n_draws: int = KEPT) -> np.ndarray:
    """Return the largest deviation of each quantity's rank ECDF, in widths of the simultaneous 99 % band of all quantities.

    Parameters
    ----------
    ranks : ndarray of int, shape (simulation, quantity)
        Ranks 0 ... n_draws.
    n_draws : int
        Draws that each truth was ranked among.

    Returns
    -------
    ndarray, shape (quantity,)
        Below one inside the band.
    """
    lower, upper = ecdf_band(len(ranks), n_draws, 1 - 0.01 / ranks.shape[1])
    at_most = (ranks[..., None] <= np.arange(n_draws)).sum(axis=0)
    expected = len(ranks) * np.arange(1, n_draws + 1) / (n_draws + 1)
    # counts are whole: the band ends half way to the next
    above = (at_most - expected) / (upper + 0.5 - expected)
    below = (expected - at_most) / (expected - lower + 0.5)
    return np.maximum(above, below).max(axis=-1)


def equals_end_to_end(law: JointLaw, chains: Chains, name: str) -> bool:
    """Whether `inference.sample` returns the draws of the chains bit for bit."""
    seed = seed_of(f"{name} end to end")
    _, answers = law.simulate(END_TO_END, seed)
    for s in range(END_TO_END):
        tree = inference.sample(
            answered(chains.model, answers[s]),
            draws=KEPT,
            tune=chains.tune,
            thin=chains.thin,
            chains=1,
            cores=1,
            dtype="float64",
            random_seed=seed,
            log_likelihood=False,
            progressbar=False,
        )
        own = chains.run(answers[s], seed)
        for variable in law.names:
            if not np.array_equal(tree["posterior"][variable].to_numpy()[0], own[variable]):
                return False
    return True
