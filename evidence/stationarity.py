"""Tests that transitions leave the joint distribution of parameters and annotations invariant; neither needs burn-in.

invariance
    (theta, y) from the joint law, a few transitions to theta': theta' has the law of theta. Each simulation is its own pair.
joint
    chains that alternate a transition with new annotations (Geweke 2004), started from the joint law: every step of them, taken
    with the annotations before, has that law, and each chain is one independent observation.

Quantities are taken as shares u of an independent sample of the joint law below them, which are bounded; compared are the means
of u, of u^2 and of the products of two.
"""

from collections.abc import Callable

import numpy as np

from tests.support.monte_carlo import bonferroni_threshold, seed_of

from .joint_law import JointLaw, Values

__all__ = ["Move", "invariance_z", "joint_z", "threshold_of"]

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


def invariance_z(law: JointLaw, move: Move, simulations: int, name: str) -> np.ndarray:
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
    ndarray, shape (feature,)
        Standard normal if the transitions leave the law as it is; infinite where nothing has moved at all.
    """
    seed = seed_of(name)
    truth, answers = law.simulate(REFERENCE + simulations, seed)
    rng, moved = np.random.default_rng(seed), []
    before = law.quantities(truth, answers, paired=True)
    for s in range(REFERENCE, REFERENCE + simulations):
        own = {variable: x[s].copy() for variable, x in truth.items()}
        moved.append(move(own, answers[s], MOVES, rng))
    after = law.quantities(_stacked(moved), answers[REFERENCE:], paired=True)
    shares = _Shares(before[:REFERENCE])
    change = shares.features(after) - shares.features(before[REFERENCE:])
    return _z(change.mean(axis=0), change.std(axis=0, ddof=1) / np.sqrt(simulations))


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


def _stacked(draws: list[Values]) -> Values:
    return {name: np.stack([np.asarray(d[name]) for d in draws]) for name in draws[0]}


def _z(difference: np.ndarray, error: np.ndarray) -> np.ndarray:
    """Return the ratio, infinite for a quantity that never moved."""
    return np.where(error > 0, difference / np.where(error > 0, error, 1.0), np.inf)
