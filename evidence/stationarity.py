"""Tests that transitions leave the joint distribution of parameters and annotations invariant; neither needs burn-in.

invariance
    (theta, y) from the joint law, a few transitions to theta': theta' has the law of theta. Each simulation is its own pair.
joint
    chains that alternate a transition with new annotations (Geweke 2004), started from the joint law: every step of them, taken
    with the annotations before, has that law, and each chain is one independent observation.

Quantities are taken as shares u of an independent sample of the joint law below them, which are bounded; compared are the means
of u, of u^2 and of the products of two. The test of invariance also has the scores of the priors (`prior_scores`), whose means
are zero: what they owe to where the transitions began is regressed out.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from tests.support.monte_carlo import bonferroni_threshold, seed_of

from .joint_law import JointLaw, Values
from .prior_scores import PriorScores

__all__ = ["Move", "Moved", "invariance_z", "joint_z", "scores_z", "threshold_of"]

Move = Callable[[Values, np.ndarray, int, np.random.Generator], Values]
REFERENCE = 4000  # draws of the joint law that tell the share below a value
MOVES = 3
STEPS = 30  # of every chain


class _Shares:
    """Shares of the reference sample below the values of each quantity."""

    def __init__(self, reference: np.ndarray) -> None:
        self.sorted = np.sort(reference, axis=0)

    def features(self, quantities: np.ndarray) -> np.ndarray:
        """Return u and all products of two, along the last axis."""
        u = np.empty(quantities.shape)
        for q in range(quantities.shape[-1]):
            sides = [np.searchsorted(self.sorted[:, q], quantities[..., q], s) for s in ("left", "right")]  # fmt: skip
            u[..., q] = (sides[0] + sides[1]) / (2 * len(self.sorted))
        first, second = np.triu_indices(u.shape[-1])
        centred = u - 0.5
        return np.concatenate([u, centred[..., first] * centred[..., second]], axis=-1)


class Moved(NamedTuple):
    """Parameters before and after a few transitions, and annotations; each of shape (pair, ...)."""

    before: Values
    after: Values
    answers: np.ndarray


def moved(law: JointLaw, move: Move, simulated: tuple[Values, np.ndarray], seed: int) -> Moved:
    """Make a few transitions from each of the simulated parameters."""
    (truth, answers), after = simulated, []
    rng = np.random.default_rng(seed)
    for s in range(len(answers)):
        own = {variable: x[s].copy() for variable, x in truth.items()}
        after.append(move(own, answers[s], MOVES, rng))
    return Moved(truth, _stacked(after), answers)


def invariance_z(law: JointLaw, move: Move, simulations: int, name: str) -> tuple[np.ndarray, Moved]:
    """Compare parameters before and after a few transitions.

    Parameters
    ----------
    law : JointLaw
        What is simulated, and measured.
    move : callable
        The transitions.
    simulations : int
        How many pairs.
    name : str
        Seeds them.

    Returns
    -------
    z : ndarray, shape (feature,)
        Standard normal if the transitions leave the law as it is; infinite where nothing has moved at all.
    pairs : Moved
        The parameters, for `scores_z`.
    """
    seed = seed_of(name)
    truth, answers = law.simulate(REFERENCE + simulations, seed)
    shares = _Shares(law.quantities(_part(truth, slice(REFERENCE)), answers[:REFERENCE], paired=True))
    pairs = moved(law, move, (_part(truth, slice(REFERENCE, None)), answers[REFERENCE:]), seed)
    before, after = (
        shares.features(law.quantities(values, pairs.answers, paired=True))
        for values in (pairs.before, pairs.after)
    )
    change = after - before
    return _z(change.mean(axis=0), change.std(axis=0, ddof=1) / np.sqrt(simulations)), pairs


def scores_z(scores: PriorScores, pairs: Moved) -> tuple[np.ndarray, np.ndarray]:
    """Test that the scores of the priors have mean zero after the transitions.

    Parameters
    ----------
    scores : PriorScores
        Of the law that was simulated.
    pairs : Moved
        Parameters before and after.

    Returns
    -------
    z : ndarray, shape (score,)
        Standard normal if the transitions leave the law as it is; infinite where nothing has moved at all.
    shift : ndarray, shape (score,)
        Change of z by a dose of one of the prior, to first order.
    """
    before, after = scores.of(pairs.before), scores.of(pairs.after)
    residual = after - before @ np.linalg.lstsq(before, after)[0]  # of mean zero, as both are
    error = residual.std(axis=0, ddof=1) / np.sqrt(len(residual))
    error = np.where((after == before).all(axis=0), 0.0, error)
    half = ((after - before) ** 2).mean(axis=0) / 2
    return _z(residual.mean(axis=0), error), half / np.where(error > 0, error, np.inf)


def joint_z(law: JointLaw, move: Move, chains: int, name: str) -> np.ndarray:
    """Compare chains over parameters and annotations with independent draws of both.

    Parameters
    ----------
    law : JointLaw
        What is simulated, and measured.
    move : callable
        The transitions.
    chains : int
        How many.
    name : str
        Seeds them.

    Returns
    -------
    ndarray, shape (feature,)
        Standard normal if the transitions leave the law as it is.
    """
    seed = seed_of(name)
    truth, answers = law.simulate(2 * REFERENCE + chains, seed)
    rng, means = np.random.default_rng(seed), []
    independent = law.quantities(truth, answers, paired=True)
    shares = _Shares(independent[:REFERENCE])
    expected = shares.features(independent[REFERENCE : 2 * REFERENCE])
    for s in range(2 * REFERENCE, 2 * REFERENCE + chains):
        own, given = {variable: x[s].copy() for variable, x in truth.items()}, answers[s]
        visited, seen = [], []
        for _ in range(STEPS):
            own = move(own, given, 1, rng)
            visited.append(own)
            seen.append(given)  # those that the sampler was told: what it forgot of them shows
            given = law.answer(own, rng).copy()
        rows = law.quantities(_stacked(visited), np.array(seen), paired=True)
        means.append(shares.features(rows).mean(axis=0))
    chained = np.array(means)
    error = np.hypot(
        chained.std(axis=0, ddof=1) / np.sqrt(chains), expected.std(axis=0, ddof=1) / np.sqrt(len(expected))
    )
    return _z(chained.mean(axis=0) - expected.mean(axis=0), error)


def threshold_of(z: np.ndarray) -> float:
    """Return the bound on the largest |z| of all features, at one false alarm in 10,000 tests."""
    return bonferroni_threshold(len(z))


def _part(values: Values, which: slice) -> Values:
    return {name: x[which] for name, x in values.items()}


def _stacked(draws: list[Values]) -> Values:
    return {name: np.stack([np.asarray(d[name]) for d in draws]) for name in draws[0]}


def _z(difference: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the ratio, infinite for a quantity that never moved."""
    return np.where(error > 0, difference / np.where(error > 0, error, 1.0), np.inf)
