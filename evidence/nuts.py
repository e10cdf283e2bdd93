"""NUTS on new annotations without compiling again: whole runs, and transitions from given parameters.

Runs are nutpie's, which `pymc.sample` takes where it is installed; transitions are PyMC's.
"""

import warnings
from typing import Any

import numpy as np
import nutpie
import pymc as pm
from pytensor.compile.maker import function
from pytensor.compile.sharedvalue import shared

from .chains import KEPT
from .joint_law import Values

__all__ = ["NutsMoves", "NutsRuns", "open_to_data"]

TUNE, THIN, CHAINS = 300, 10, 2
LEARNING = 300  # transitions on annotations of their own that set the step and metric of `NutsMoves`


def open_to_data(model: pm.Model) -> pm.Model:
    """Replace the observed annotations by a shared variable.

    Parameters
    ----------
    model : pymc.Model
        Changed in place.

    Returns
    -------
    pymc.Model
        The same.
    """
    (observed,) = model.observed_RVs
    value = model.rvs_to_values[observed]
    answers = shared(value.data.copy(), name="answers", shape=value.type.shape)
    model.rvs_to_values[observed] = answers
    del model.values_to_rvs[value]
    model.values_to_rvs[answers] = observed
    return model


class NutsRuns:
    """Whole runs by nutpie, adapted to the annotations of each simulation.

    Parameters
    ----------
    model : pymc.Model
        Compiled once; its own annotations are not used.
    target_accept : float, default .8
        As of `pymc.sample`.
    """

    def __init__(self, model: pm.Model, target_accept: float = 0.8) -> None:
        self.names = [str(rv.name) for rv in model.free_RVs]
        self.target_accept, self.divergences = target_accept, 0
        self._compiled: Any = nutpie.compile_pymc_model(open_to_data(model), var_names=self.names)

    def run(self, answers: np.ndarray, seed: int) -> Values:
        """Return the kept draws of two chains."""
        with warnings.catch_warnings(action="ignore", category=FutureWarning):
            tree: Any = nutpie.sample(
                self._compiled.with_data(answers=answers),
                draws=-(-KEPT // CHAINS) * THIN,
                tune=TUNE,
                chains=CHAINS,
                cores=1,
                seed=seed,
                target_accept=self.target_accept,
                progress_bar=False,
                save_warmup=False,
            )
        self.divergences += int(tree["sample_stats"]["diverging"].sum())
        drawn = {}
        for name in self.names:
            own = tree["posterior"][name].to_numpy()[:, ::THIN]
            drawn[name] = own.reshape(-1, *own.shape[2:])[:KEPT]
        return drawn


class NutsMoves:
    """Transitions of PyMC's NUTS with the step size and metric of a run on other annotations.

    Parameters
    ----------
    model : pymc.Model
        Its annotations are replaced.
    values, answers : dict of str to ndarray, and ndarray
        Where that run starts, and its annotations.
    seed : int
        Of that run.
    """

    def __init__(self, model: pm.Model, values: Values, answers: np.ndarray, seed: int) -> None:
        self.model = open_to_data(model)
        self._answers: Any = next(v for v in model.values_to_rvs if v.name == "answers")
        self._answers.set_value(answers)
        self.names = [str(rv.name) for rv in model.free_RVs]
        self.raw = [str(model.rvs_to_values[rv].name) for rv in model.free_RVs]
        self._forward: Any = function(model.free_RVs, self._raw_of(), on_unused_input="ignore")
        drawn = model.replace_rvs_by_values(model.free_RVs)
        inputs = [model.rvs_to_values[rv] for rv in model.free_RVs]
        self._backward: Any = function(inputs, drawn, on_unused_input="ignore")
        with model:
            self.step: Any = pm.NUTS(target_accept=0.9, rng=np.random.default_rng(seed))
        point = self._point(values)
        for _ in range(LEARNING):
            point, _ = self.step.step(point)
        self.step.stop_tuning()

    def _raw_of(self) -> list[Any]:
        """Return the free variables as PyMC moves them, as functions of themselves."""
        found = []
        for rv in self.model.free_RVs:
            transform = self.model.rvs_to_transforms[rv]
            found.append(rv.copy() if transform is None else transform.forward(rv, *rv.owner.inputs))  # fmt: skip
        return found

    def _point(self, values: Values) -> dict[str, np.ndarray]:
        raw = self._forward(*(values[name] for name in self.names))
        return dict(zip(self.raw, (np.asarray(x) for x in raw), strict=True))

    def move(self, values: Values, answers: np.ndarray, moves: int, rng: np.random.Generator) -> Values:  # fmt: skip
        """Make transitions from given parameters; return the new parameters."""
        self._answers.set_value(answers)
        point = self._point(values)
        for _ in range(moves):
            point, _ = self.step.step(point)
        drawn = self._backward(*(point[name] for name in self.raw))
        return dict(zip(self.names, (np.asarray(x) for x in drawn), strict=True))
