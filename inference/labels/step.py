"""ConfusionGibbs: the Gibbs sweep of `kernels.gibbs`, which `inference.sample` loops over, as a PyMC step."""

from typing import Any, cast

import numpy as np
import pymc as pm
from pymc.model import modelcontext
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor.graph.basic import Variable

from ..kernels.random_streams import stream
from ..runs.model_graph import GibbsStep, NotConjugate, compiled_values
from .kernels.gibbs import sweep_labels
from .recognition import as_table, read_labels

# bounds of probabilities, of which PyMC's transforms take logs
SMALLEST, NEARLY_ONE = np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0)


class ConfusionGibbs(GibbsStep):
    """Gibbs step of prevalence and of confusion, ability, or competence and spam.

    With T the true categories, a step draws

        T | prevalence, confusion, answers        then        prevalence, confusion | T, answers

    The concentrations of the priors may be random (the spread of a population of raters, say): they are read
    at every step, and another step, such as NUTS, draws them.

    Parameters
    ----------
    vars : list of Variable, optional
        All of ``[model["prevalence"], model["confusion"]]``, or ``ability`` instead of ``confusion``, or
        ``competence`` and ``spam``; by default those that the model has.
    model, rng, initial_point, compile_kwargs, blocked
        As PyMC passes them to every step; `initial_point` is not used.

    Raises
    ------
    NotConjugate
        If these have no Dirichlet or Beta conditionals given the true categories; the message says why.

    Examples
    --------
    >>> import pymc as pm
    >>> from raterzoo import inference, models
    >>> labels = models.simulators.labels(items=20, raters=3, random_seed=1).data
    >>> with models.dawid_skene(labels):
    ...     step = inference.ConfusionGibbs()
    ...     trace = pm.sample(
    ...         200, tune=20, chains=2, cores=1, step=step, random_seed=1, progressbar=False,
    ...         compute_convergence_checks=False, quiet=True,
    ...     )
    >>> dict(trace["posterior"]["confusion"].sizes)
    {'chain': 2, 'draw': 200, 'rater': 3, 'category': 3, 'answer': 3}

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
            moved, names = " and ".join(repr(rv.name) for rv in own), ", ".join(map(str, self.vars))
            raise NotConjugate(f"ConfusionGibbs moves {moved} together, not {names}")
        self._names = [str(v.name) for v in values]
        options = compile_kwargs or {}
        state = [structure.prevalence, structure.confusion, *structure.concentrations]
        drawn = model.replace_rvs_by_values(state)
        self._state = model.compile_fn(drawn, on_unused_input="ignore", **options)
        self._values = compiled_values(model, own, options)
        self._category = np.zeros(len(structure.answers.gold_category), np.int64)
        self.blocked, self.tune = blocked, True
        self.rng = get_random_generator(rng)

    def step(self, point: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[dict]]:
        """Run one sweep; return the new point and its statistics."""
        prevalence, confusion, *concentrations = self._state(point)
        prior = self._structure.prior(*concentrations)
        prevalence, table = np.array(prevalence), as_table(confusion)
        sweep_labels(stream(self.rng), self._structure.answers, prior, (prevalence, table), self._category)
        n = len(prevalence)
        moved = (prevalence, *self._structure.skills_of(table.reshape(-1, n, n).swapaxes(1, 2)))
        values = self._values(*(np.clip(p, SMALLEST, NEARLY_ONE) for p in moved))
        return point | dict(zip(self._names, values, strict=True)), [{"tune": self.tune}]
