"""ConfusionGibbs and GuessGibbs: the Gibbs sweeps that `inference.sample` loops over, as PyMC steps."""

from typing import Any

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable

from ...models.distributions.dirichlet_mixture import DirichletMixtureRV
from ..runs.model_graph import GibbsStep, NotConjugate, compiled_values
from ..runs.run import stream
from .kernels.gibbs import sweep_labels
from .kernels.shared_guess import GuessParameters, sweep_guesses
from .recognition import LabelStructure, as_table, read_labels
from .shared_guess import GuessStructure, read_shared_guess, values_of

# bounds of probabilities, of which PyMC's transforms take logs
SMALLEST, NEARLY_ONE = np.finfo(np.float64).tiny, np.nextafter(1.0, 0.0)


class ParameterGibbs(GibbsStep):
    """Base class of the steps that move all parameters of a law of labels together."""

    stats_dtypes_shapes = {"tune": (bool, [])}  # noqa: RUF012
    _structure: Any  # has `free`, the variables that the step moves, and `concentrations`, the parameters of their priors

    _begun_from: list[Variable]  # the variables that a sweep begins from

    def _sweep(self, values: list[np.ndarray], concentrations: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        """Run one sweep from the values of these variables; return those of the free variables."""
        raise NotImplementedError

    def _compile(self, model: pm.Model, own: list[Any], options: dict[str, Any]) -> None:
        begun: list[Any] = [*self._begun_from, *self._structure.concentrations]
        drawn = model.replace_rvs_by_values(begun)
        self._state = model.compile_fn(drawn, on_unused_input="ignore", **options)
        self._values = compiled_values(model, own, options)

    def step(self, point: dict[str, np.ndarray]) -> tuple[dict[str, np.ndarray], list[dict]]:
        """Run one sweep; return the new point and its statistics."""
        state = self._state(point)
        first = len(self._begun_from)
        moved = self._sweep(state[:first], state[first:])
        values = self._values(*(np.clip(p, SMALLEST, NEARLY_ONE) for p in moved))
        return point | dict(zip(self._names, values, strict=True)), [{"tune": self.tune}]


class ConfusionGibbs(ParameterGibbs):
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
    _structure: LabelStructure

    def _read(self, model: pm.Model) -> list[Any]:
        self._structure = read_labels(model)
        if isinstance(self._structure.skills[0].owner.op, DirichletMixtureRV):
            raise NotConjugate(
                "confusion has a history of the raters, whose weights the step does not draw; use inference.sample"
            )
        self._category = np.zeros(len(self._structure.answers.gold_category), np.int64)
        self._begun_from = [self._structure.prevalence, self._structure.confusion]
        return list(self._structure.free)

    def _sweep(self, values: list[np.ndarray], concentrations: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        prevalence, table = np.array(values[0]), as_table(values[1])
        prior, n = self._structure.prior(*concentrations), len(prevalence)
        sweep_labels(stream(self.rng), self._structure.answers, prior, (prevalence, table), self._category)
        return prevalence, *self._structure.skills_of(table.reshape(-1, n, n).swapaxes(1, 2))


class GuessGibbs(ParameterGibbs):
    """Gibbs step of the parameters of `models.shared_guess`.

    With T the true categories, G the guesses that groups of raters share, a step draws

        T, G, copies | parameters, answers        then        parameters | T, G, copies

    The concentrations of the priors may be random (``shared_concentration="learned"``, say): they are read at every
    step, and another step, such as NUTS, draws them.

    Parameters
    ----------
    vars : list of Variable, optional
        All of the model's ``prevalence``, ``own_confusion``, ``guess`` and ``shared``; by default these.
    model, rng, initial_point, compile_kwargs, blocked
        As PyMC passes them to every step; `initial_point` is not used.

    Raises
    ------
    NotConjugate
        If these have no Dirichlet or Beta conditionals given truth, guesses and copies; the message says why.

    Examples
    --------
    >>> import pymc as pm
    >>> from raterzoo import inference, models
    >>> simulated = models.simulators.labels(model="shared_guess", items=20, raters=5, random_seed=1)
    >>> with models.shared_guess(simulated.data, "kind", "person"):
    ...     step = inference.GuessGibbs()
    ...     trace = pm.sample(
    ...         50, tune=20, chains=2, cores=1, step=step, random_seed=1, progressbar=False,
    ...         compute_convergence_checks=False, quiet=True,
    ...     )
    >>> dict(trace["posterior"]["shared"].sizes)
    {'chain': 2, 'draw': 50, 'copier': 4}

    References
    ----------
    See `models.shared_guess`.
    """

    name = "guess_gibbs"
    _structure: GuessStructure

    def _read(self, model: pm.Model) -> list[Any]:
        self._structure = read_shared_guess(model)
        self._answers, self._begun_from = self._structure.grouped, list(self._structure.law)
        return list(self._structure.free)

    def _sweep(self, values: list[np.ndarray], concentrations: list[np.ndarray]) -> tuple[np.ndarray, ...]:
        prevalence, own, guess, shared = values
        drawn = GuessParameters(np.array(prevalence), as_table(own), np.array(guess), np.array(shared))
        prior = self._structure.prior(*concentrations)
        sweep_guesses(stream(self.rng), self._answers, prior, drawn)
        return values_of(self._structure, drawn)
