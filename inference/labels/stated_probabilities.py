"""Sampler of labels beside which raters state probabilities: its law read from the PyMC graph, and the compiled Gibbs loop."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.tensor.random.basic import DirichletRV, InvGammaRV, NormalRV
from pytensor.tensor.variable import TensorVariable
from scipy.special import log_softmax, ndtr
from scipy.stats import invgamma, norm

from ...models.distributions.marginal_labels import RaterLabelsByItemRV, RaterLabelsRV
from ...models.distributions.stated_log_odds import StatedLogOddsRV
from ...models.labels.dawid_skene import SPEC as DAWID_SKENE
from ...models.labels.stated_probabilities import MEAN, OBSERVED, SHARE, VARIANCE
from ...posterior.schema import SAMPLE
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
    dirichlet_concentration,
    evaluator,
    is_equal,
    positive_constant,
    shape_of,
)
from ..runs.run import ChainPlan, Draws, Run, Sampler, Tuning, begun, run_chains, thinned
from ..runs.trees import groups_by_item
from .gibbs import BLOCK, dirichlet_log_density
from .kernels.gibbs import FREE_ROWS, ConfusionPrior
from .kernels.stated_probabilities import KINDS, StatedAnswers, StatedDraws, StatedPrior, sample_statements
from .recognition import PRIOR_BY_ITEM, as_table

# --- Reader of the model: answers and priors, from the PyMC graph ---


@dataclass(frozen=True, eq=False)
class StatedLaw:
    """Observed answers, the priors, who states probabilities, and the free variables."""

    answers: StatedAnswers
    prior: StatedPrior
    judges: np.ndarray  # (judge,)
    free: tuple[TensorVariable, ...]  # prevalence, shares, variances, means


def read_stated(model: pm.Model) -> StatedLaw:
    """Read a model of labels and stated log odds with conjugate priors; raise NotConjugate for any other."""
    found = {type(rv.owner.op): rv for rv in model.observed_RVs}
    if RaterLabelsByItemRV in found:
        raise NotConjugate(PRIOR_BY_ITEM)
    if set(found) != {RaterLabelsRV, StatedLogOddsRV} or model.potentials:
        raise NotConjugate("the model does not observe labels and the log odds stated beside them alone")
    labels, stated = found[RaterLabelsRV], found[StatedLogOddsRV]
    prevalence, confusion, start, rater, gold = labels.owner.op.dist_params(labels.owner)
    free: tuple[Any, ...] = (prevalence, model[SHARE], model[VARIANCE], model[MEAN])
    laws = [type(rv.owner.op) if rv in model.free_RVs else None for rv in free]
    if laws != [DirichletRV, DirichletRV, InvGammaRV, NormalRV]:
        raise NotConjugate("prevalence, shares, variances and means do not have their conjugate priors")
    if others := [rv.name for rv in model.free_RVs if rv not in free]:
        raise NotConjugate(f"{others[0]!r} is free besides prevalence, shares, variances and means")
    n_raters, n, _ = shape_of(free[1])
    judges = np.flatnonzero(np.isin(np.asarray(model.coords["rater"]), np.asarray(model.coords["judge"])))
    shape, rate, place, weight = _normal_prior(free, len(judges))
    rates, means = np.zeros(n_raters), np.zeros((n_raters, n))
    rates[judges], means[judges] = rate, place
    beta = np.broadcast_to(dirichlet_concentration(free[1]), shape_of(free[1]))
    rows = ConfusionPrior(dirichlet_concentration(prevalence), as_table(beta), FREE_ROWS, n_labels=KINDS)
    codes = [constant_value(rv, "the answers").astype(np.int64) for rv in (start, rater, gold)]
    label = constant_value(model.rvs_to_values[labels], "the observed labels").astype(np.int64)
    log_odds = constant_value(model.rvs_to_values[stated], "the log odds").astype(np.float64)
    answers = StatedAnswers(codes[0], codes[1], label, log_odds, codes[2])
    law = StatedLaw(answers, StatedPrior(rows, means, weight, shape, rates), judges, free)
    _check_law(law, confusion, stated)
    return law


def _normal_prior(free: tuple[Any, ...], n_judges: int) -> tuple[float, np.ndarray, np.ndarray, float]:
    """Return a, b u^2 (judge,), m u (judge, category) and c of the priors of variances and means, or raise NotConjugate."""
    shape, rate = (
        positive_constant(p, "the prior of a variance") for p in free[2].owner.op.dist_params(free[2].owner)
    )
    mean, sd = free[3].owner.op.dist_params(free[3].owner)
    size = (n_judges, 2)
    rate, place = (
        np.broadcast_to(rate, size),
        np.broadcast_to(constant_value(mean, "the prior of a mean"), size),
    )
    variance = np.random.default_rng(0).uniform(0.5, 2.0, size)
    scale = np.broadcast_to(evaluator([free[2]], sd)(variance), size)
    weight = variance / scale**2
    alike = [np.ptp(shape), np.ptp(weight) / weight.max(), *np.ptp(rate, axis=1)]
    if not is_equal(alike, 0.0, atol=1e-9):
        raise NotConjugate(
            "the priors of the log odds are not those of one weight, shape and unit of a rater"
        )
    return float(np.max(shape)), rate[:, 0], place, float(weight.flat[0])


def _check_law(law: StatedLaw, confusion: Any, stated: Any) -> None:
    """Raise NotConjugate unless matrices, and the law of what is stated, are those of the parameters, at random values."""
    rng = np.random.default_rng(1)
    share = rng.dirichlet(np.ones(KINDS), shape_of(law.free[1])[:2])
    values = (rng.dirichlet(np.ones(2)), share, *rng.uniform(0.5, 2.0, (2, len(law.judges), 2)))
    mean, variance = np.zeros(share.shape[:2]), np.ones(share.shape[:2])
    mean[law.judges], variance[law.judges] = values[3], values[2]
    hard = hard_labels_of(share, mean, variance)
    answers = law.answers
    item = np.repeat(np.arange(len(answers.gold)), np.diff(answers.start))
    joint = np.tile(np.log(values[0]), (len(answers.gold), 1))
    np.add.at(joint, item, np.log(hard[answers.rater, :, answers.label]))
    joint[(answers.gold[:, None] >= 0) & (answers.gold[:, None] != np.arange(2))] = -np.inf
    prior, *own, of_item, of_rater, of_label = stated.owner.op.dist_params(stated.owner)
    found = evaluator(law.free, [confusion, prior, *own, of_item, of_rater, of_label])(*values)
    expected = (
        hard,
        np.exp(log_softmax(joint, axis=1)),
        share,
        mean,
        np.sqrt(variance),
        item,
        answers.rater,
        answers.label,
    )
    if not all(
        f.shape == e.shape and is_equal(f, e, rtol=1e-8, atol=1e-12)
        for f, e in zip(found, expected, strict=True)
    ):
        raise NotConjugate(
            "the labels, or what is stated beside them, do not have the law of their parameters"
        )


def hard_labels_of(share: np.ndarray, mean: np.ndarray, variance: np.ndarray) -> np.ndarray:
    """Return p(label | rater, true category) (..., rater, category, 2) of shares (..., rater, category, kind) and log odds."""
    away = mean / np.sqrt(variance)
    return share[..., :2] + share[..., 2:] * np.stack([ndtr(-away), ndtr(away)], axis=-1)


# --- Chains ---


def begin_chains(law: StatedLaw, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Initialise every chain near the mean of the probabilities: stream (chain, word) and category (chain, item)."""
    answers = law.answers
    item = np.repeat(np.arange(len(answers.gold)), np.diff(answers.start))
    votes = np.bincount(item, answers.label, len(answers.gold)) + 0.5
    share = votes / (np.diff(answers.start) + 1)

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        return {"category": np.where(answers.gold < 0, rng.random(len(share)) < share, answers.gold)}

    return begun(plan, begin)


def continue_chains(
    law: StatedLaw, plan: ChainPlan, state: dict[str, np.ndarray], *, of_items: bool = True
) -> StatedDraws:
    """Run all chains on from their state, in place; returns `StatedDraws` (chain, draw, ...), of no items without `of_items`."""
    (raters, n), items = law.prior.mean.shape, len(law.answers.gold) if of_items else 0
    size = (plan.chains, plan.draws)
    shapes = ((n,), (raters * KINDS, n), (raters, n), (raters, n), (items, n), (items, 2))
    draws = StatedDraws(
        *(np.empty((*size, *own), "float64" if k == 5 else plan.dtype) for k, own in enumerate(shapes))
    )
    block = min(plan.draws, max(1, BLOCK // (items * n + 1)))

    def sample(chain: int, places: StatedDraws, sweeps: tuple[int, int]) -> None:
        own = (state["category"][chain], places)
        sample_statements(state["stream"][chain], law.answers, law.prior, sweeps, own)

    return run_chains(draws, plan, block, sample)


# --- The sampler as a run ---

SWEEPS_BEFORE = 200  # default warm-up


def begin_stated(law: StatedLaw, model: pm.Model, plan: Draws, found: Tuning | None = None) -> Run:
    """Set up the compiled Gibbs loop; `found` restores the thinning."""

    def parameters(trial: ChainPlan) -> np.ndarray:
        drawn = continue_chains(law, trial, begin_chains(law, trial), of_items=False)
        kept = (drawn.prevalence, drawn.table, drawn.mean[:, :, law.judges], drawn.variance[:, :, law.judges])
        return np.concatenate([x.reshape(trial.chains, trial.draws, -1) for x in kept], axis=2)

    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters)
    state = begin_chains(law, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        own = continue_chains(law, chains.part(drawn, n), state)
        return _groups(model, law, own, plan) | stats

    return Run(found, state, draw)


def _groups(model: pm.Model, law: StatedLaw, drawn: StatedDraws, plan: Draws) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to draws of the model's variables, with log densities if the plan asks for them."""
    raters, n = law.prior.mean.shape
    share = drawn.table.reshape(*drawn.table.shape[:2], raters, KINDS, n).swapaxes(-1, -2)
    mean, variance = drawn.mean[:, :, law.judges], drawn.variance[:, :, law.judges]
    values = (drawn.prevalence, share, variance, mean)
    arrays = {str(rv.name): own for rv, own in zip(law.free, values, strict=True)}
    arrays |= {
        "plausibility": drawn.plausibility,
        "confusion": hard_labels_of(share, drawn.mean, drawn.variance),
    }
    of_labels, of_all = np.moveaxis(drawn.log_p, -1, 0)
    log_p = of_labels.astype(plan.dtype)
    groups = groups_by_item(model, arrays, plan, log_p, lambda: _log_prior(law, values))
    if plan.densities:
        groups["log_likelihood"][OBSERVED] = (*SAMPLE, "item"), (of_all - of_labels).astype(plan.dtype)
    return groups


def _log_prior(law: StatedLaw, drawn: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    """Log prior densities of the free variables, with their batch dims."""
    prevalence, share, variance, mean = drawn
    prior, judges = law.prior, law.judges
    beta = prior.answers.confusion.reshape(-1, KINDS, share.shape[-2]).swapaxes(-1, -2)
    log_p = (
        dirichlet_log_density(prevalence, prior.answers.prevalence),
        dirichlet_log_density(share, beta),
        invgamma.logpdf(variance, prior.shape, scale=prior.rate[judges][:, None]),
        norm.logpdf(mean, prior.mean[judges], np.sqrt(variance / prior.weight)),
    )
    return {str(rv.name): own for rv, own in zip(law.free, log_p, strict=True)}


SAMPLER = Sampler(
    law=StatedLogOddsRV,
    read=read_stated,
    begin=begin_stated,
    reason="given the true categories, kinds of answers are conjugate, and so are means and variances of the log odds",
    name=DAWID_SKENE.name,
)
