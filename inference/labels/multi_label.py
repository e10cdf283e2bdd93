"""Sampler of sets of tags: its law read from the PyMC graph, and the compiled Gibbs loop."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.tensor.random.basic import BetaRV, LogNormalRV, NormalRV
from scipy.special import logsumexp
from scipy.stats import lognorm, norm

from ...models.data.reading.tag_sets import bits_of_sets
from ...models.distributions.marginal_labels import RaterLabelsByItemRV, RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers
from ...models.labels.multi_label import LOG_ODDS_RATIO, RATES, SKILL, STRENGTH, TAG_LOG_ODDS
from ...models.labels.multi_label import SPEC as MULTI_LABEL
from ...models.labels.population import SKILL_BEGIN, STRENGTH_BEGIN
from ...models.labels.tag_laws import (
    concentrations_of_rates,
    confusion_of_sets,
    features_of_sets,
    log_odds_of_sets,
)
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
    evaluator,
    is_equal,
    only_observed,
    positive_constant,
    refuse_further,
    require_prior,
    shape_of,
)
from ..runs.run import ChainPlan, Draws, Run, Sampler, Tuning, begun, run_chains, thinned
from ..runs.trees import groups_by_item
from .gibbs import BLOCK, beta_log_density
from .kernels.em import drawn_near_vote
from .kernels.multi_label import TagDraws, TagPrior, TagState, sample_tags
from .recognition import PRIOR_BY_ITEM, answers_of_variable

SWEEPS_BEFORE = 300  # default warm-up
LAWS = {TAG_LOG_ODDS: NormalRV, LOG_ODDS_RATIO: NormalRV, SKILL: BetaRV, STRENGTH: LogNormalRV}
LAWS |= dict.fromkeys(RATES, BetaRV)


@dataclass(frozen=True, eq=False)
class TagLaw:
    """Answers, whose categories are sets by their bits, and the priors."""

    answers: Answers
    prior: TagPrior
    n_tags: int

    @property
    def n_raters(self) -> int:
        """Number of raters."""
        return len(self.prior.skill)


def read_tag_sets(model: pm.Model) -> TagLaw:
    """Read a `RaterLabels` of sets whose tags are told by raters one by one; raise NotConjugate for any other model."""
    observed = only_observed(model, RaterLabelsRV)
    if isinstance(observed.owner.op, RaterLabelsByItemRV):
        raise NotConjugate(PRIOR_BY_ITEM)
    probability, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    free: list[Any] = [model[name] for name in LAWS]
    for rv, law in zip(free, LAWS.values(), strict=True):
        require_prior(rv, law)
    refuse_further(model, free)
    n_tags, (n_raters,) = shape_of(free[0])[0], shape_of(free[2])
    _check_law(free, (probability, confusion), n_tags)

    def numbers(rv: Any, n: int, *, positive: int = 0) -> list[np.ndarray]:
        """Return the parameters of a prior (n,) each, of which the last `positive` are."""
        own = rv.owner.op.dist_params(rv.owner)
        read = [constant_value] * (2 - positive) + [positive_constant] * positive
        found = (f(p, f"the prior of {rv.name!r}") for f, p in zip(read, own, strict=True))
        return [np.array(np.broadcast_to(x, n), np.float64) for x in found]

    feature = features_of_sets(n_tags)
    weights = zip(*(numbers(rv, shape_of(rv)[0], positive=1) for rv in free[:2]), strict=True)
    hyper = [
        np.stack(numbers(rv, n_raters, positive=k), axis=1) for rv, k in zip(free[2:4], (2, 1), strict=True)
    ]
    prior = TagPrior(feature, *(np.concatenate(own) for own in weights), *hyper)
    answers = answers_of_variable(model, (observed, start, rater, known), feature.shape[1])
    return TagLaw(answers, prior, n_tags)


def _check_law(free: list[Any], found: tuple[Any, Any], n_tags: int) -> None:
    """Raise NotConjugate unless priors and confusion matrices have the values of the law at random ones of the variables."""
    rng = np.random.default_rng(0)
    trial = [rng.uniform(0.2, 0.8, shape_of(rv)) for rv in free]
    weight, ratio, skill, strength, *rates = trial
    log_odds = log_odds_of_sets(weight, ratio, n_tags)
    expected = [np.exp(log_odds - logsumexp(log_odds)), confusion_of_sets(rates[0], rates[1], n_tags)]
    expected += 2 * [*concentrations_of_rates(skill, strength)]
    given = [p for rv in free[4:] for p in rv.owner.op.dist_params(rv.owner)]
    values = evaluator(free, [*found, *given])(*trial)
    if not all(
        is_equal(x, np.broadcast_to(y, np.shape(x)), 1e-9) for x, y in zip(values, expected, strict=True)
    ):
        raise NotConjugate("sets of tags and the answers to them are not those of tags told one by one")


# --- Chains ---


def begin_tags(law: TagLaw, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Start near the majority vote: stream (chain, word), and `TagState` with a leading dim chain."""
    n_weights, n_sets = law.prior.feature.shape

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        truth = drawn_near_vote(law.answers, n_sets, rng)
        skill = np.tile([SKILL_BEGIN, STRENGTH_BEGIN], (law.n_raters, 1))
        return {"truth": truth, "weight": np.zeros(n_weights), "skill": skill, "done": np.zeros(1, np.int64)}

    return begun(plan, begin)


def continue_tags(
    law: TagLaw, plan: ChainPlan, state: dict[str, np.ndarray], *, of_items: bool = True
) -> TagDraws:
    """Run all chains on from their state, in place; returns `TagDraws` (chain, draw, ...), of no items without `of_items`."""
    (n_weights, n_sets), n_raters = law.prior.feature.shape, law.n_raters
    n_items, size = len(law.answers.gold_category) if of_items else 0, (plan.chains, plan.draws)
    shapes = (
        (n_weights,),
        (n_raters, 2),
        (n_raters, law.n_tags, 2),
        (n_sets,),
        (n_items, n_sets),
        (n_items,),
    )
    draws = TagDraws(*(np.empty((*size, *shape), plan.dtype) for shape in shapes))
    block = min(plan.draws, max(1, BLOCK // (n_items * n_sets + n_raters * law.n_tags)))

    def sample(chain: int, places: TagDraws, sweeps: tuple[int, int]) -> None:
        own = TagState(*(state[name][chain] for name in TagState._fields))
        sample_tags(state["stream"][chain], law.answers, law.prior, sweeps, (own, places))

    return run_chains(draws, plan, block, sample)


# --- The sampler as a run ---


def begin_multi_label(law: TagLaw, model: pm.Model, plan: Draws, found: Tuning | None = None) -> Run:
    """Set up the compiled Gibbs loop of a law of `read_tag_sets`; `found` restores the thinning."""

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = continue_tags(law, trial, begin_tags(law, trial), of_items=False)
        return np.concatenate([x.reshape(trial.chains, trial.draws, -1) for x in draws[:3]], axis=2)

    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters)
    state = begin_tags(law, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        return _groups(model, law, continue_tags(law, chains.part(drawn, n), state), plan) | stats

    return Run(found, state, draw)


def values_of(law: TagLaw, drawn: TagDraws) -> dict[str, np.ndarray]:
    """Return draws (chain, draw, ...) of the free variables."""
    weight, ratio = drawn.weight[..., : law.n_tags], drawn.weight[..., law.n_tags :]
    skill, strength = np.moveaxis(drawn.skill, -1, 0)
    no, yes = np.moveaxis(drawn.rate, -1, 0)
    return dict(zip(LAWS, (weight, ratio, skill, strength, yes, no), strict=True))


def _groups(model: pm.Model, law: TagLaw, drawn: TagDraws, plan: Draws) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to those of the model's variables, with log densities if the plan asks for them."""
    values = values_of(law, drawn)
    arrays = values | {"prevalence": drawn.prevalence, "plausibility": drawn.plausibility}
    arrays["tag_plausibility"] = drawn.plausibility @ bits_of_sets(law.n_tags).astype(plan.dtype)
    if "confusion" in model.named_vars:
        arrays["confusion"] = confusion_of_sets(values[RATES[0]], values[RATES[1]], law.n_tags)
    return groups_by_item(model, arrays, plan, drawn.log_p, lambda: _log_prior(law, values))


def _log_prior(law: TagLaw, values: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """Log prior density of the free variables (chain, draw, ...)."""
    prior, n = law.prior, law.n_tags
    skill, strength = (values[name].astype(np.float64) for name in (SKILL, STRENGTH))
    about = [
        own.reshape(*skill.shape, 1)
        for own in concentrations_of_rates(skill.reshape(-1), strength.reshape(-1))
    ]
    return {
        TAG_LOG_ODDS: norm.logpdf(values[TAG_LOG_ODDS], prior.mean[:n], prior.sd[:n]),
        LOG_ODDS_RATIO: norm.logpdf(values[LOG_ODDS_RATIO], prior.mean[n:], prior.sd[n:]),
        SKILL: beta_log_density(values[SKILL], *prior.skill.T),
        STRENGTH: lognorm.logpdf(strength, prior.strength[:, 1], scale=np.exp(prior.strength[:, 0])),
    } | {name: beta_log_density(values[name], *about) for name in RATES}


SAMPLER = Sampler(
    law=RaterLabelsRV,
    variables=tuple(LAWS),
    read=read_tag_sets,
    begin=begin_multi_label,
    reason="given the sets of tags, rates are conjugate, and the weights of tags and pairs have log-concave conditionals",
    name=MULTI_LABEL.name,
)
