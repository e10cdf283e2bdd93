"""Joint distribution of parameters and annotations of a model, simulated by the model's own graph."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.compile.maker import function

__all__ = ["JointLaw", "Values", "answered"]

MOST_ENTRIES = 3  # of a variable that are ranked: the others are exchangeable with these
Values = dict[str, np.ndarray]


class JointLaw:
    """Joint distribution of the parameters and annotations of a model.

    Parameters
    ----------
    model : pymc.Model
        With one observed variable.
    derived : callable
        From the model and a variable in the place of the annotations to named tensors, each one number.
    ranked : sequence of str, optional
        Free variables whose first entries are quantities; all by default.
    """

    def __init__(
        self,
        model: pm.Model,
        derived: Callable[[pm.Model, Any], Mapping[str, Any]],
        ranked: tuple[str, ...] | None = None,
    ) -> None:
        self.model, self.names = model, tuple(str(rv.name) for rv in model.free_RVs)
        (self.observed,) = model.observed_RVs
        self.ranked = self.names if ranked is None else ranked
        answers = self.observed.type("answers")
        log_p = pt.sum(pm.logp(self.observed, answers))
        found = {"log likelihood": log_p} | dict(derived(model, answers))
        self.derived = tuple(found)
        stacked = pt.stack([pt.cast(x, "float64") for x in found.values()])
        self._derived = function([*model.free_RVs, answers], stacked, on_unused_input="ignore")  # fmt: skip
        self._answer: Any = None

    def simulate(self, simulations: int, seed: int) -> tuple[Values, np.ndarray]:
        """Draw parameters from their prior, and annotations from the law."""
        with self.model:
            tree = pm.sample_prior_predictive(simulations, random_seed=seed)
        values = {name: tree["prior"][name].to_numpy()[0] for name in self.names}
        answers = tree["prior_predictive"][str(self.observed.name)].to_numpy()[0]
        return values, answers.astype(self.observed.dtype)

    def answer(self, values: Values, rng: np.random.Generator) -> np.ndarray:
        """Draw annotations given one draw of the parameters."""
        if self._answer is None:
            free, seed = self.model.free_RVs, int(rng.integers(2**31))
            self._answer = pm.pytensorf.compile(free, self.observed, random_seed=seed, on_unused_input="ignore")  # fmt: skip
        return np.asarray(self._answer(*(values[name] for name in self.names)))

    def quantities(self, values: Values, answers: np.ndarray, *, paired: bool = False) -> np.ndarray:
        """Return the quantities of draws, shape (draw, quantity).

        Parameters
        ----------
        values : dict of str to ndarray, shapes (draw, ...)
            Free variables.
        answers : ndarray
            The annotations; if `paired`, those of each draw.
        paired : bool, default False
            Whether every draw has annotations of its own.
        """
        n = len(next(iter(values.values())))
        own = [values[name].reshape(n, -1)[:, :MOST_ENTRIES] for name in self.ranked]
        rows = [
            self._derived(*(values[name][d] for name in self.names), answers[d] if paired else answers)
            for d in range(n)
        ]  # fmt: skip
        return np.column_stack([*own, np.array(rows)])

    def labels(self) -> list[str]:
        """Return names of the quantities."""
        names = []
        for name in self.ranked:
            shape = tuple(int(n) for n in self.model[name].shape.eval())
            index = list(np.ndindex(shape))[:MOST_ENTRIES]
            names += [name + (f"[{','.join(map(str, i))}]" if i else "") for i in index]
        return [*names, *self.derived]


def answered(model: pm.Model, answers: np.ndarray) -> pm.Model:
    """Replace the annotations that a model observes.

    Parameters
    ----------
    model : pymc.Model
        Changed in place.
    answers : ndarray
        Of the shape of its own.

    Returns
    -------
    pymc.Model
        The same.
    """
    (observed,) = model.observed_RVs
    before = model.rvs_to_values[observed]
    value: Any = pt.constant(np.asarray(answers, before.dtype), name=before.name)
    model.rvs_to_values[observed] = value
    del model.values_to_rvs[before]
    model.values_to_rvs[value] = observed
    return model
