"""Reading a label model from its graph: Dirichlet or Beta priors behind answers whose true category is summed out."""

from dataclasses import dataclass

import numpy as np
import pymc as pm
from pytensor.compile.maker import function
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import BetaRV, DirichletRV
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.answer_sweep import Answers, answer_codes
from ...models.distributions.counted_labels import CountedLabelsRV
from ...models.distributions.marginal_labels import MarginalLabelsRV
from ..kernels.confusion import COIN, COINS, ROWS, ConfusionPrior
from .reading import NotConjugate, lengths, number

__all__ = ["LabelStructure", "as_table", "constant_prior", "read_counted_labels", "read_labels"]


@dataclass(frozen=True, eq=False)
class LabelStructure:
    """Observed answers of a model, and the free random variables behind them.

    Attributes
    ----------
    answers : Answers
        What the raters said.
    prevalence, skill : TensorVariable
        The free random variables: prevalence, and confusion or ability.
    confusion : Variable
        The confusion matrices, a function of `skill`.
    shape : tuple of int
        Of `skill`.
    kind : int
        What is drawn of a confusion matrix: `ROWS`, `COIN` or `COINS`.
    """

    answers: Answers
    prevalence: TensorVariable
    skill: TensorVariable
    confusion: Variable
    shape: tuple[int, ...]
    kind: int

    @property
    def concentrations(self) -> list[Variable]:
        """Parameters of the priors: of prevalence one, of confusion one, of ability two."""
        return [
            p for rv in (self.prevalence, self.skill) for p in rv.owner.op.dist_params(rv.owner)
        ]

    def prior(self, prevalence: np.ndarray, *skill: np.ndarray) -> ConfusionPrior:
        """Return the priors in the layout of the kernels, given the values of `concentrations`."""
        alpha = np.array(prevalence, np.float64)
        own = [np.broadcast_to(p, self.shape) for p in skill]
        if self.kind == ROWS:
            return ConfusionPrior(alpha, as_table(own[0].reshape(-1, *self.shape[-2:])), ROWS)
        n, n_raters = len(alpha), self.shape[0]
        coins = np.zeros((n_raters, n, n))
        coins[:, 0], coins[:, 1] = (p.reshape(n_raters, -1) for p in own)
        return ConfusionPrior(alpha, coins.reshape(-1, n), self.kind)

    def skill_of(self, confusion: np.ndarray) -> np.ndarray:
        """Return the values of `skill` that make up draws of confusion matrices, shape (..., rater, category, label)."""
        if self.kind == ROWS:
            return confusion if len(self.shape) == 3 else confusion[..., 0, :, :]
        ability = np.diagonal(confusion, axis1=-2, axis2=-1)
        return ability[..., 0] if self.kind == COIN else ability


def read_labels(model: pm.Model) -> LabelStructure:
    """Read a model whose true categories have closed conditionals.

    Parameters
    ----------
    model : pymc.Model
        A model whose one observed variable is a `MarginalLabels` of free Dirichlet prevalence and of confusion matrices that are
        free Dirichlet rows, or made of free Beta abilities.

    Returns
    -------
    LabelStructure
        What was read.

    Raises
    ------
    NotConjugate
        If the model is any other; the message says where it differs.
    """
    observed = _only_observed(model, MarginalLabelsRV, "MarginalLabels")
    prevalence, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    if prevalence not in model.free_RVs:
        raise NotConjugate("the prevalence is not a free random variable of the model")
    if not isinstance(prevalence.owner.op, DirichletRV):
        raise NotConjugate(f"the prior of the prevalence is {prevalence.owner.op}, not a Dirichlet")
    skill = _behind(confusion, model, prevalence)
    shape = lengths(skill)
    (n,) = lengths(prevalence)
    kind = _kind(skill, shape, confusion, n)
    who, items = number(rater, "the raters"), number(start, "the items")
    code = answer_codes(who, number(model.rvs_to_values[observed], "the observed labels"), n)
    answers = Answers(items.astype(np.int64), code, number(known, "gold").astype(np.int64))
    return LabelStructure(answers, prevalence, skill, confusion, shape, kind)


def constant_prior(model: pm.Model, structure: LabelStructure) -> ConfusionPrior:
    """Return the priors of a model whose only free variables are prevalence and skill.

    Parameters
    ----------
    model : pymc.Model
        The model.
    structure : LabelStructure
        What `read_labels` read of it.

    Returns
    -------
    ConfusionPrior
        Its priors.

    Raises
    ------
    NotConjugate
        If there are other free variables.
    """
    own = (structure.prevalence, structure.skill)
    if others := [rv.name for rv in model.free_RVs if rv not in own]:
        raise NotConjugate(
            f"{others[0]!r} is free besides prevalence and {structure.skill.name!r}; use ConfusionGibbs as a step of pm.sample"
        )
    return structure.prior(*(number(p, "a concentration") for p in structure.concentrations))


def read_counted_labels(
    model: pm.Model,
) -> tuple[TensorVariable, np.ndarray, np.ndarray, np.ndarray]:
    """Read a model of counted labels.

    Parameters
    ----------
    model : pymc.Model
        A model whose one observed variable is `CountedLabels` of a free Dirichlet plausibility.

    Returns
    -------
    plausibility : TensorVariable
        The free random variable.
    alpha, counts : ndarray, shape (item, category)
        Its prior, and what was observed; the posterior is Dirichlet(alpha + reliability * counts).
    reliability : ndarray, shape () or (item,)
        Power of the likelihood.

    Raises
    ------
    NotConjugate
        If the model is any other; the message says where it differs.
    """
    observed = _only_observed(model, CountedLabelsRV, "CountedLabels")
    plausibility, _, reliability = observed.owner.op.dist_params(observed.owner)
    if list(model.free_RVs) != [plausibility]:
        raise NotConjugate("the plausibilities are not the only free random variable of the model")
    counts = number(model.rvs_to_values[observed], "the observed counts")
    power = number(reliability, "reliability")
    return plausibility, _dirichlet(plausibility), counts, power


def _only_observed(model: pm.Model, law: type, name: str) -> TensorVariable:
    if len(model.observed_RVs) != 1 or not isinstance(model.observed_RVs[0].owner.op, law):
        found = ", ".join(f"{rv.name} ({rv.owner.op})" for rv in model.observed_RVs) or "nothing"
        raise NotConjugate(f"it needs one observed {name}, and the model observes {found}")
    if model.potentials:
        raise NotConjugate(
            f"the potential {model.potentials[0].name!r} is not part of the Gibbs conditionals"
        )
    return model.observed_RVs[0]


def _behind(confusion: Variable, model: pm.Model, prevalence: Variable) -> TensorVariable:
    """Return the one free variable that the confusion matrices are made of, or raise."""
    near = set(ancestors([confusion], blockers=model.free_RVs))
    found = [rv for rv in model.free_RVs if rv in near]
    if len(found) != 1 or found[0] is prevalence:
        names = ", ".join(str(rv.name) for rv in found) or "nothing"
        raise NotConjugate(
            f"the confusion matrices must be made of one free variable, confusion or ability; they are made of {names}"
        )
    for rv in model.free_RVs:
        for own in (prevalence, found[0]):
            if rv is not own and own in ancestors([rv]):
                raise NotConjugate(f"{rv.name!r} depends on {own.name!r}, too")
    return found[0]


def _dirichlet(variable: TensorVariable) -> np.ndarray:
    """Return the concentration of a Dirichlet prior with constant parameters."""
    if not isinstance(variable.owner.op, DirichletRV):
        raise NotConjugate(
            f"the prior of {variable.name!r} is {variable.owner.op}, not a Dirichlet"
        )
    (alpha,) = variable.owner.op.dist_params(variable.owner)
    value = number(alpha, f"the concentration of {variable.name!r}")
    return np.array(np.broadcast_to(value, lengths(variable)), np.float64)


def _kind(skill: TensorVariable, shape: tuple[int, ...], confusion: Variable, n: int) -> int:
    """Tell what is free: rows, of each rater or shared; abilities, one or one for each category, with wrong labels alike."""
    rng = np.random.default_rng(0)
    if isinstance(skill.owner.op, DirichletRV) and len(shape) in (2, 3):
        trial = rng.dirichlet(np.ones(shape[-1]), shape[:-1])
        if _is(confusion, skill, trial, trial.reshape(-1, *shape[-2:])):
            return ROWS
    if isinstance(skill.owner.op, BetaRV) and len(shape) in (1, 2):
        trial = rng.uniform(size=shape)
        ability = trial.reshape(len(trial), -1, 1)
        expected = np.where(np.eye(n, dtype=bool), ability, (1 - ability) / (n - 1))
        if _is(confusion, skill, trial, expected):
            return COIN if len(shape) == 1 else COINS
    raise NotConjugate(
        f"the confusion matrices are neither the rows of {skill.name!r} nor its abilities with wrong labels alike"
    )


def _is(
    confusion: Variable, skill: TensorVariable, trial: np.ndarray, expected: np.ndarray
) -> bool:
    """Tell whether the confusion matrices are what is expected of a trial value of the free variable."""
    compiled = function([skill], confusion, mode="FAST_COMPILE", on_unused_input="ignore")
    found = np.asarray(compiled(trial))
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-12, atol=0)


def as_table(confusion: np.ndarray) -> np.ndarray:
    """Return (rater, category, label) as (rater * label, category), the layout of the kernels."""
    n = confusion.shape[-1]
    return np.ascontiguousarray(confusion.transpose(0, 2, 1), np.float64).reshape(-1, n)
