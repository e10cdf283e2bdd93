"""Gibbs of models with the probabilities of a classifier in the prior on new annotations."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
from raterzoo.inference.labels import predicted as count_chains
from raterzoo.inference.labels.kernels import predicted as count_chain
from raterzoo.inference.labels.kernels.item_states import DirichletDraws
from raterzoo.inference.labels.predicted import begin_predicted_counts, read_predicted_counts
from raterzoo.inference.rankings import gibbs as worth_chains
from raterzoo.inference.rankings import predicted as ranking_chains
from raterzoo.inference.rankings.kernels import predicted as ranking_chain
from raterzoo.inference.rankings.kernels.predicted import StrengthDraws, StrengthState
from raterzoo.inference.rankings.predicted import begin_predicted_worths, read_predicted_worths
from raterzoo.inference.runs.run import ChainPlan, stream
from raterzoo.models._prior_predictions import STRENGTH

from .chains import KEPT, Chains
from .joint_law import Values

__all__ = ["CHAINS", "CountChains", "StrengthChains"]


class StrengthChains(Chains):
    """Gibbs of Plackett-Luce with predictions in the prior."""

    begun_by = begin_predicted_worths

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_predicted_worths(model)
        self.shape = tuple(int(n) for n in np.asarray(model["worth"].shape.eval()))

    def told(self, answers: np.ndarray) -> Any:
        """Return the law with these rankings."""
        return replace(self.law, likelihood=replace(self.law.likelihood, block=answers))

    def named(self, draws: StrengthDraws) -> Values:
        """Return draws by the names of the free variables."""
        values = {"worth": np.exp(draws.log_worth).reshape(-1, *self.shape), STRENGTH: draws.strength}
        return {str(rv.name): values[str(rv.name)] for rv in self.model.free_RVs}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin)
        drawn = ranking_chains.draw_strengths(self.told(answers), 1, plan)
        return self.named(StrengthDraws(*(x[0] for x in drawn)))

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Sweep, the first item twice for each move of the strength."""
        law = self.told(answers)
        posterior = ranking_chains.posterior_of(law)
        log_worth, strength = np.log(values["worth"]).ravel(), np.atleast_1d(values[STRENGTH]).astype(float)
        repeats = np.ones(len(posterior.candidate_start) - 1, np.int64)
        repeats[0] = 2
        state = StrengthState(log_worth, strength.copy(), np.full(2, 3.0))
        draws = StrengthDraws(np.empty((1, len(log_worth))), np.empty(1))
        ranking_chain.sample_strengths(stream(rng), posterior, law.prior, (0, moves, repeats), (state, draws))
        return {name: x[0] for name, x in self.named(draws).items()}


class CountChains(Chains):
    """Chains of the strength of predictions in a prior of label counts."""

    begun_by = begin_predicted_counts

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_predicted_counts(model)
        self.keys = worth_chains.item_keys(np.asarray(model.coords["item"]))

    def told(self, answers: np.ndarray) -> Any:
        """Return the law with these counts."""
        return replace(self.law, items=self.law.items._replace(counts=answers.astype(np.float64)))

    def named(self, strength: np.ndarray, draws: DirichletDraws) -> Values:
        """Return draws of one chain by the names of the free variables."""
        values = {STRENGTH: strength, self.law.name: draws.plausibility}
        return {str(rv.name): values[str(rv.name)][0] for rv in self.model.free_RVs}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan, law = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin), self.told(answers)
        strength = count_chains.continue_strength(law, plan, count_chains.begin_strength(law, plan))
        streams = count_chains.streams_of_items(self.keys, 1, seed)
        return self.named(strength, count_chains.draw_items(law, streams, strength, plan))

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Move the strength, then draw the plausibilities given it."""
        law, plan = self.told(answers), ChainPlan(1, 1, 0, 0, 1, "float64")
        state, strength = np.array([float(values[STRENGTH]), 3.0]), np.empty(1)
        count_chain.sample_strength(stream(rng), law.telling, law.scale, (0, moves), (state, strength))
        streams = count_chains.streams_of_items(self.keys, 1, int(rng.integers(2**32)))
        drawn = self.named(strength[None], count_chains.draw_items(law, streams, strength[None], plan))
        return {name: x[0] for name, x in drawn.items()}


CHAINS: Mapping[str, type[Chains]] = {
    "dirichlet_with_predictions": CountChains,
    "plackett_luce_with_predictions": StrengthChains,
}
