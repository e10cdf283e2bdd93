"""What Gibbs steps have in common: nothing to tune, and a generator of their own in every chain."""

import numpy as np
from pymc.step_methods.compound import BlockedStep, StepMethodState
from pymc.step_methods.state import dataclass_state

__all__ = ["GibbsStep"]


@dataclass_state
class GibbsState(StepMethodState):
    """What a chain needs to go on, besides its generator."""

    tune: bool


class GibbsStep(BlockedStep):
    """Base of the steps; `tune` tells warm-up from draws that are kept."""

    default_tune_steps = 200
    _state_class = GibbsState
    tune: bool

    def setup_chain(self, rng: np.random.Generator, tune: int, draws: int) -> None:
        """Start a chain with its generator."""
        super().setup_chain(rng, tune, draws)
        self.tune = tune > 0

    def stop_tuning(self) -> None:
        """Take the draws to come for keeps; the sweep has nothing to tune."""
        self.tune = False
