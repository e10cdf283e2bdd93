"""ConfusionGibbs: the Gibbs sweep of a label model as a PyMC step.

    T | prevalence, confusion, answers, then prevalence and confusion | T, answers      `kernels.label_chain.sweep_labels`

The concentrations of the priors may be random (how much the raters of a population differ, say): they are read at every step, and
another step, such as NUTS, moves them. The step and the compiled loop of `inference.sample` share one kernel.
"""

from typing import Any, cast

import numpy as np
import pymc as pm
from pymc.model import modelcontext
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.basic import Variable

from ..kernels.label_chain import sweep_labels
from ..kernels.random_stream import stream
from .gibbs_step import GibbsStep
from .label_reading import as_table, read_labels
from .reading import NotConjugate
from .transforms import compiled_values

__all__ = ["ConfusionGibbs"]

SMALLEST = np.finfo(np.float64).tiny  # simplexes and odds are moved in logs, where there is no zero
NEARLY_ONE = np.nextafter(1.0, 0.0)


class ConfusionGibbs(GibbsStep):
    """Gibbs step of prevalence and of confusion, ability, or competence and spam.

    Parameters
    ----------
    vars : list of Variable
        All: ``[model["prevalence"], model["confusion"]]``, or ``ability`` instead of ``confusion``, or ``competence`` and
        ``spam``.
    model : pymc.Model, optional
        The model in context by default.
    rng : numpy.random.Generator or int, optional
        Source of randomness; PyMC sets one for each chain.
    initial_point, compile_kwargs, blocked
        As PyMC hands them to every step; only `compile_kwargs` is used.

    Raises
    ------
    NotConjugate
        If given the true categories these have no Dirichlet or Beta conditionals; the message says why.

    References
    ----------
    Paun et al. (2018), Comparing Bayesian models of annotation, TACL 6, section 3, doi:10.1162/tacl_a_00040.
    """

    name = "confusion_gibbs"
    stats_dtypes_shapes = {"tune": (bool, [])}  # noqa: RUF012

    def __init__(
        self,
        vars: list[Variable] | None = None,
        *,
        model: pm.Model | None = None,
        rng: np.random.Generator | int | None = None,
        initial_point: dict[str, np.ndarray] | None = None,
        compile_kwargs: dict[str, Any] | None = None,
        blocked: bool = True,
    ) -> None:
        model = cast(pm.Model, modelcontext(model))
        self._structure = structure = read_labels(model)
        own = list(structure.free)
        self.vars = get_value_vars_from_user_vars(vars or own, model)
        values = [model.rvs_to_values[rv] for rv in own]
        if set(self.vars) != set(values):
            names = ", ".join(str(v) for v in self.vars)
            moved = " and ".join(repr(rv.name) for rv in own)
            raise NotConjugate(f"ConfusionGibbs moves {moved} together, not {names}")
        self._names = [str(v.name) for v in values]
        options = compile_kwargs or {}
        state = [structure.prevalence, structure.confusion, *structure.concentrations]
        self._state = model.compile_fn(
            model.replace_rvs_by_values(state), on_unused_input="ignore", **options
        )
        self._values = compiled_values(model, own, options)
        self._category = np.zeros(len(structure.answers.known), np.int64)
        self.blocked, self.tune = blocked, True
        self.rng = get_random_generator(rng)

    def step(self, point: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[dict]]:
        """Make one sweep; return the new point and its statistics."""
        prevalence, confusion, *concentrations = self._state(point)
        prior = self._structure.prior(*concentrations)
        prevalence, table = np.array(prevalence), as_table(confusion)
        sweep_labels(
            stream(self.rng), self._structure.answers, prior, (prevalence, table), self._category
        )
        n = len(prevalence)
        drawn = table.reshape(-1, n, n).swapaxes(1, 2)
        moved = (prevalence, *self._structure.skills_of(drawn))
        values = self._values(*(np.clip(p, SMALLEST, NEARLY_ONE) for p in moved))
        return point | dict(zip(self._names, values, strict=True)), [{"tune": self.tune}]
