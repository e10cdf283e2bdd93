"""Base class of the PyMC steps: no tuning, and one random generator for each chain."""

import numpy as np
from pymc.step_methods.compound import BlockedStep, StepMethodState
from pymc.step_methods.state import dataclass_state

__all__ = ["GibbsStep"]


@dataclass_state
class GibbsState(StepMethodState):
    """State of a step, apart from its generator."""

    tune: bool


class GibbsStep(BlockedStep):
    """Base class of the steps; `tune` is True in warm-up."""

    default_tune_steps = 200
    _state_class = GibbsState
    tune: bool

    def setup_chain(self, rng: np.random.Generator, tune: int, draws: int) -> None:
        """Start a chain with its generator."""
        super().setup_chain(rng, tune, draws)
        self.tune = tune > 0

    def stop_tuning(self) -> None:
        """End the warm-up; nothing is tuned."""
        self.tune = False
