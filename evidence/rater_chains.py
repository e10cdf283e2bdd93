"""Gibbs of rankings by raters of unequal reliability on new annotations, and the sampler of every model."""

from dataclasses import replace
from typing import Any

import numpy as np
import pymc as pm
from raterzoo.inference.rankings import hierarchical as rater_chains
from raterzoo.inference.rankings.hierarchical import begin_rater_reliabilities, read_rater_reliabilities
from raterzoo.inference.rankings.kernels import hierarchical as rater_chain
from raterzoo.inference.rankings.kernels.hierarchical import RaterDraws, RaterState
from raterzoo.inference.runs.run import ChainPlan, stream

from .chains import KEPT, Chains, chains_of
from .joint_law import Values
from .predicted_chains import CHAINS

__all__ = ["ReliabilityChains", "sampler_of"]


class ReliabilityChains(Chains):
    """Gibbs of hierarchical Plackett-Luce."""

    begun_by = begin_rater_reliabilities

    def __init__(self, model: pm.Model, schedule: tuple[int, int]) -> None:
        super().__init__(model, schedule)
        self.law = read_rater_reliabilities(model)
        self.shape = tuple(int(n) for n in np.asarray(model["worth"].shape.eval()))

    def told(self, answers: np.ndarray) -> Any:
        """Return rankings and races as the kernel reads them."""
        return rater_chains.rater_rankings(replace(self.law, block=answers))

    def named(self, draws: RaterDraws) -> Values:
        """Return draws by the names of the free variables."""
        values = {"worth": np.exp(draws.log_worth).reshape(-1, *self.shape)} | rater_chains.rater_values(
            draws
        )
        return {str(rv.name): values[str(rv.name)] for rv in self.model.free_RVs}

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Run one chain."""
        plan = ChainPlan(1, KEPT, self.tune, seed, 1, "float64", self.thin)
        drawn = rater_chains.draw_raters(self.told(answers), plan)
        return self.named(RaterDraws(*(x[0] for x in drawn)))

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Sweep."""
        log_worth, spread = np.log(values["worth"]).ravel(), np.atleast_1d(values["population_spread"]).copy()
        log_reliability = spread * values["rater_deviation"]
        n, raters = len(log_worth), len(log_reliability)
        state = RaterState(log_worth, log_reliability, spread, np.ones(1 + raters), np.full(n, 4.0))
        draws = RaterDraws(np.empty((1, n)), np.empty((1, raters)), np.empty(1))
        rater_chain.sample_raters(stream(rng), *self.told(answers), (0, moves), (state, draws))
        return {name: x[0] for name, x in self.named(draws).items()}


def sampler_of(name: str) -> type[Chains]:
    """Return the class of the sampler of the model of a study."""
    own = {"hierarchical_plackett_luce": ReliabilityChains, **CHAINS}
    name = name.removesuffix("_with_shown_sets")
    return own[name] if name in own else chains_of(name)
