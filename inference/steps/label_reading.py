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

__all__ = ["LabelLikelihood", "read_counted_labels", "read_labels"]


@dataclass(frozen=True, eq=False)
class LabelLikelihood:
    """Observed answers of a model, and the priors behind them.

    Attributes
    ----------
    answers : Answers
        What the raters said.
    prior : ConfusionPrior
        Priors of prevalence and confusion, in the layout of the kernels.
    prevalence, skill : TensorVariable
        The free random variables: prevalence, and confusion or ability.
    """

    answers: Answers
    prior: ConfusionPrior
    prevalence: TensorVariable
    skill: TensorVariable


def read_labels(model: pm.Model) -> LabelLikelihood:
    """Read a model whose true categories have closed conditionals.

    Parameters
    ----------
    model : pymc.Model
        A model whose one observed variable is a `MarginalLabels` of free Dirichlet prevalence and of confusion matrices that are
        free Dirichlet rows, or made of free Beta abilities.

    Returns
    -------
    LabelLikelihood
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
    alpha = _dirichlet(prevalence)
    (skill,) = _others(model, prevalence)
    label = number(model.rvs_to_values[observed], "the observed labels")
    who, items = number(rater, "the raters"), number(start, "the items")
    code = answer_codes(who, label, len(alpha))
    answers = Answers(items.astype(np.int64), code, number(known, "gold").astype(np.int64))
    prior = _rows(alpha, skill, confusion) or _coins(alpha, skill, confusion)
    if prior is None:
        raise NotConjugate(
            f"the confusion matrices are neither the rows of {skill.name!r} nor its abilities with wrong labels alike"
        )
    return LabelLikelihood(answers, prior, prevalence, skill)


def read_counted_labels(model: pm.Model) -> tuple[TensorVariable, np.ndarray]:
    """Read a model of counted labels.

    Parameters
    ----------
    model : pymc.Model
        A model whose one observed variable is `CountedLabels` of a free Dirichlet plausibility.

    Returns
    -------
    plausibility : TensorVariable
        The free random variable.
    concentration : ndarray, shape (item, category)
        Of its posterior, Dirichlet(alpha + reliability * counts).

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
    return plausibility, _dirichlet(plausibility) + power[..., None] * counts


def _only_observed(model: pm.Model, law: type, name: str) -> TensorVariable:
    if len(model.observed_RVs) != 1 or not isinstance(model.observed_RVs[0].owner.op, law):
        found = ", ".join(f"{rv.name} ({rv.owner.op})" for rv in model.observed_RVs) or "nothing"
        raise NotConjugate(f"it needs one observed {name}, and the model observes {found}")
    if model.potentials:
        raise NotConjugate(
            f"the potential {model.potentials[0].name!r} is not part of the Gibbs conditionals"
        )
    return model.observed_RVs[0]


def _others(model: pm.Model, prevalence: Variable) -> list[TensorVariable]:
    """Return the one free variable besides the prevalence, or raise."""
    others = [rv for rv in model.free_RVs if rv is not prevalence]
    if len(others) != 1 or prevalence in ancestors(others):
        names = ", ".join(str(rv.name) for rv in others) or "nothing"
        raise NotConjugate(
            f"besides the prevalence one variable, confusion or ability, may be free and independent of it; the model has {names}"
        )
    return others


def _dirichlet(variable: TensorVariable) -> np.ndarray:
    """Return the concentration of a Dirichlet prior with constant parameters."""
    if not isinstance(variable.owner.op, DirichletRV):
        raise NotConjugate(
            f"the prior of {variable.name!r} is {variable.owner.op}, not a Dirichlet"
        )
    (alpha,) = variable.owner.op.dist_params(variable.owner)
    value = number(alpha, f"the concentration of {variable.name!r}")
    return np.array(np.broadcast_to(value, lengths(variable)), np.float64)


def _rows(
    alpha: np.ndarray, skill: TensorVariable, confusion: TensorVariable
) -> ConfusionPrior | None:
    """Return the prior of free rows, of each rater's matrix or of one that all share."""
    if not isinstance(skill.owner.op, DirichletRV) or skill.type.ndim not in (2, 3):
        return None
    beta = _dirichlet(skill)
    shared = beta.reshape(-1, *beta.shape[-2:])
    trial = np.random.default_rng(0).dirichlet(np.ones(beta.shape[-1]), beta.shape[:-1])
    if not _is(confusion, skill, trial, trial.reshape(shared.shape)):
        return None
    return ConfusionPrior(alpha, _as_table(shared), ROWS)


def _coins(
    alpha: np.ndarray, skill: TensorVariable, confusion: TensorVariable
) -> ConfusionPrior | None:
    """Return the prior of abilities, one or one for each category, with wrong labels alike."""
    n = len(alpha)
    if not isinstance(skill.owner.op, BetaRV) or skill.type.ndim not in (1, 2):
        return None
    trial = np.random.default_rng(0).uniform(size=lengths(skill))
    ability = trial.reshape(len(trial), -1, 1)
    expected = np.where(np.eye(n, dtype=bool), ability, (1 - ability) / (n - 1))
    if not _is(confusion, skill, trial, expected):
        return None
    right, wrong = (
        np.broadcast_to(number(p, f"a parameter of the prior of {skill.name!r}"), trial.shape)
        for p in skill.owner.op.dist_params(skill.owner)
    )
    prior = np.zeros((len(trial), n, n))
    prior[:, 0], prior[:, 1] = (p.reshape(len(trial), -1) for p in (right, wrong))
    return ConfusionPrior(alpha, prior.reshape(-1, n), COIN if trial.ndim == 1 else COINS)


def _is(
    confusion: TensorVariable, skill: TensorVariable, trial: np.ndarray, expected: np.ndarray
) -> bool:
    """Tell whether the confusion matrices are what is expected of a trial value of the free variable."""
    compiled = function([skill], confusion, mode="FAST_COMPILE", on_unused_input="ignore")
    found = np.asarray(compiled(trial))
    return found.shape == expected.shape and np.allclose(found, expected, rtol=1e-12, atol=0)


def _as_table(confusion: np.ndarray) -> np.ndarray:
    """Return (rater, category, label) as (rater * label, category)."""
    n = confusion.shape[-1]
    return np.ascontiguousarray(confusion.transpose(0, 2, 1)).reshape(-1, n)
