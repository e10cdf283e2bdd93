"""Sampler of the item-response model: its law read from the PyMC graph, and the compiled Gibbs loop."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.tensor.random.basic import BetaRV, DirichletRV, HalfNormalRV, NormalRV
from pytensor.tensor.variable import TensorVariable
from scipy.stats import halfnorm, norm

from ...models.distributions.marginal_labels import RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers
from ...models.labels.item_response import LEAST_LOG, node_confusion, node_weight
from ...models.labels.item_response import SPEC as ITEM_RESPONSE
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
    dirichlet_concentration,
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
from .gibbs import BLOCK, beta_log_density, dirichlet_log_density
from .kernels.em import drawn_near_vote
from .kernels.item_response import ResponseDraws, ResponsePrior, Responses, ResponseState, sample_responses
from .recognition import answers_of_variable

SWEEPS_BEFORE = 100  # default warm-up
ABILITY, SPREAD, RELIABILITY = "ability", "difficulty_spread", "key_reliability"


@dataclass(frozen=True, eq=False)
class ResponseLaw:
    """Answers of models and key-makers, the priors, and which raters make the key."""

    answers: Answers  # of all raters
    data: Responses
    prior: ResponsePrior
    makes_key: np.ndarray  # (rater,)
    key_free: bool  # whether there are key-makers


# --- Reader: answers and priors, from the PyMC graph ---


def read_responses_of_models(model: pm.Model) -> ResponseLaw:
    """Read a `RaterLabels` of nodes whose confusion matrices are those of abilities and key-makers; NotConjugate for others."""
    observed = only_observed(model, RaterLabelsRV)
    probability, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    ability, spread, *rest = _free(model)
    prevalence = next((rv for rv in rest if isinstance(rv.owner.op, DirichletRV)), None)
    reliability = next((rv for rv in rest if isinstance(rv.owner.op, BetaRV)), None)
    refuse_further(model, [ability, spread, *rest])
    nodes = [
        constant_value(model[name], "a node").astype(np.float64)
        for name in ("node_difficulty", "node_discrimination")
    ]
    sharpness = np.unique(nodes[1])
    difficulty = nodes[0][:: len(sharpness)]
    _, n_states, n = (int(k) for k in np.asarray(evaluator([], list(confusion.shape))()))
    makes_key = np.isin(np.asarray(model.coords["rater"]), np.asarray(model.coords["key_maker"]))
    sizes = [shape_of(ability)[0], 0 if reliability is None else shape_of(reliability)[0]]
    if sizes != [(~makes_key).sum(), makes_key.sum()] or n_states != n * len(nodes[0]):
        raise NotConjugate("the confusion matrices are not those of the models and key-makers")
    log_weight = _log_weight_of(model, sharpness)
    _check_law(
        (ability, spread, reliability, prevalence),
        (probability, confusion),
        (nodes, log_weight, makes_key, n),
    )
    answers = answers_of_variable(model, (observed, start, rater, known), n)
    mean, sd = (
        np.broadcast_to(constant_value(p, "the prior of the abilities"), sizes[:1]).astype(np.float64)
        for p in ability.owner.op.dist_params(ability.owner)
    )
    beta = (np.zeros(0),) * 2
    if reliability is not None:
        beta = tuple(
            np.broadcast_to(positive_constant(p, "a concentration"), sizes[1:]).astype(np.float64)
            for p in reliability.owner.op.dist_params(reliability.owner)
        )
    alpha = np.full(n, 1 / n) if prevalence is None else dirichlet_concentration(prevalence)
    scale = float(positive_constant(spread.owner.op.dist_params(spread.owner)[-1], "the scale of the spread"))
    prior = ResponsePrior(
        mean.copy(), sd.copy(), scale, beta[0].copy(), beta[1].copy(), alpha, prevalence is None,
        difficulty.copy(), sharpness, log_weight, LEAST_LOG,
    )  # fmt: skip
    return ResponseLaw(
        answers, responses_of(answers, makes_key, n), prior, makes_key, reliability is not None
    )


def _free(model: pm.Model) -> list[TensorVariable]:
    """Return abilities, spread and the other free variables, or raise NotConjugate."""
    named = {rv.name: rv for rv in model.free_RVs}
    laws = {ABILITY: NormalRV, SPREAD: HalfNormalRV, RELIABILITY: BetaRV, "prevalence": DirichletRV}
    for name, law in laws.items():
        if name in named:
            require_prior(named[name], law)
    if not {ABILITY, SPREAD} <= {*named}:
        raise NotConjugate(f"{ABILITY!r} and {SPREAD!r} are not both free random variables of the model")
    return [named[name] for name in laws if name in named]


def _log_weight_of(model: pm.Model, sharpness: np.ndarray) -> np.ndarray:
    """Return the normalised log prior weight of the discriminations."""
    log_weight = constant_value(model["node_log_weight"], "the weight of a node")[: len(sharpness)]
    return np.asarray(log_weight - np.logaddexp.reduce(log_weight), np.float64)


def _check_law(variables: tuple, found: tuple, law: tuple) -> None:
    """Raise NotConjugate unless prior and confusion matrices have the values of the law at random ones of the variables."""
    (nodes, log_weight, makes_key, n), rng = law, np.random.default_rng(0)
    free = [rv for rv in variables if rv is not None]
    trials: dict[Any, np.ndarray] = {
        rv: rng.dirichlet(np.ones(n)) if isinstance(rv.owner.op, DirichletRV) else rng.uniform(0.5, 0.9, shape_of(rv))
        for rv in free
    }  # fmt: skip
    ability, spread, reliability, prevalence = (trials.get(rv) for rv in variables)
    assert ability is not None and spread is not None
    weight = node_weight(nodes[0], np.tile(log_weight, len(nodes[0]) // len(log_weight)), spread)
    p = np.full(n, 1 / n) if prevalence is None else prevalence
    odds = np.empty((len(makes_key), len(nodes[0])))
    odds[~makes_key] = nodes[1] * (ability[:, None] - nodes[0])
    if reliability is not None:
        odds[makes_key] = np.log(reliability / (1 - reliability))[:, None]
    rows = np.asarray(node_confusion(odds, n).eval())
    expected = [(p[:, None] * weight.eval()).ravel(), rows.reshape(len(rows), -1, n)]
    values = evaluator(free, list(found))(*trials.values())
    if not all(is_equal(x, y, 1e-9, 1e-12) for x, y in zip(values, expected, strict=True)):
        raise NotConjugate("the confusion matrices are not those of abilities, difficulties and key-makers")


def responses_of(answers: Answers, makes_key: np.ndarray, n: int) -> Responses:
    """Return answers as the kernel reads them: those of models and of key-makers apart, items by who answered."""
    rater, label = answers.code // n, answers.code % n
    n_items = len(answers.gold_category)
    item = np.repeat(np.arange(n_items), np.diff(answers.start))
    own, whose = np.cumsum(~makes_key) - 1, np.cumsum(makes_key) - 1
    of_model = ~makes_key[rater]

    def part(mask: np.ndarray, code: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        start = np.append(0, np.cumsum(np.bincount(item[mask], minlength=n_items))).astype(np.int64)
        order = np.lexsort((code[rater[mask]], item[mask]))
        return start, code[rater[mask]][order].astype(np.int32), label[mask][order].astype(np.int32)

    start, who, said = part(of_model, own)
    cell = item[of_model] * n + said
    number = np.bincount(cell, minlength=n_items * n).reshape(n_items, n)
    by_label = np.append(0, np.cumsum(number)).astype(np.int64), who[np.argsort(cell, kind="stable")]
    seen: dict[bytes, int] = {}
    sets: list[np.ndarray] = []
    of_item = np.empty(n_items, np.int64)
    for i in range(n_items):
        members = who[start[i] : start[i + 1]]
        of_item[i] = seen.setdefault(members.tobytes(), len(seen))
        if of_item[i] == len(sets):
            sets.append(members)
    set_start = np.append(0, np.cumsum([len(members) for members in sets])).astype(np.int64)
    first = np.append(0, np.cumsum(np.bincount(of_item, minlength=len(sets)))).astype(np.int64)
    return Responses(
        *by_label, number.astype(np.int64), *part(~of_model, whose), answers.gold_category.astype(np.int64),
        set_start, np.concatenate(sets), first, np.argsort(of_item, kind="stable"),
    )  # fmt: skip


# --- Chains ---


def begin_responses(law: ResponseLaw, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Start at the key, elsewhere near the majority vote: stream (chain, word), and `ResponseState` with a leading dim chain."""
    data, prior = law.data, law.prior
    has_key = (np.diff(data.key_start) > 0) & (data.gold < 0)

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        category = drawn_near_vote(law.answers, len(prior.prevalence), rng)
        category[has_key] = data.key_label[data.key_start[:-1][has_key]]
        ability = prior.mean + 0.3 * rng.standard_normal(len(prior.mean))
        return {"category": category, "ability": ability, "spread": np.ones(1), "widths": np.full(3, 0.3)}

    return begun(plan, begin)


def continue_responses(
    law: ResponseLaw, plan: ChainPlan, state: dict[str, np.ndarray], *, of_items: bool = True
) -> ResponseDraws:
    """Run all chains on from their state, in place; returns `ResponseDraws` (chain, draw, ...), without `of_items` no items'."""
    prior, size = law.prior, (plan.chains, plan.draws)
    n, n_models, n_items = len(prior.prevalence), len(prior.mean), len(law.data.gold) if of_items else 0
    sharp = n_items if len(prior.sharpness) > 1 else 0
    shapes = [
        (n_models,),
        (),
        (len(prior.right),),
        (n,),
        (n_models,),
        (n_items, n),
        (n_items,),
        (sharp,),
        (n_items,),
    ]
    draws = ResponseDraws(*(np.empty((*size, *shape), plan.dtype) for shape in shapes))
    block = min(plan.draws, max(1, BLOCK // (n_items * n + n_models)))

    def sample(chain: int, places: ResponseDraws, sweeps: tuple[int, int]) -> None:
        own = ResponseState(*(state[name][chain] for name in ResponseState._fields))
        sample_responses(state["stream"][chain], law.data, prior, sweeps, (own, places))

    return run_chains(draws, plan, block, sample)


# --- The sampler as a run ---


def begin_item_response_gibbs(
    law: ResponseLaw, model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up the compiled Gibbs loop of a law of `read_responses_of_models`; `found` restores the thinning."""

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = continue_responses(law, trial, begin_responses(law, trial), of_items=False)
        return np.concatenate([draws.ability, draws.spread[..., None], draws.reliability], axis=2)

    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters)
    state = begin_responses(law, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_responses(law, chains.part(drawn, n), state)
        return _groups(model, law, draws, plan) | stats

    return Run(found, state, draw)


def _groups(model: pm.Model, law: ResponseLaw, drawn: ResponseDraws, plan: Draws) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to those of the model's variables, with log densities if the plan asks for them."""
    arrays = {ABILITY: drawn.ability, SPREAD: drawn.spread, "prevalence": drawn.prevalence}
    if law.key_free:
        arrays[RELIABILITY] = drawn.reliability
    right = np.empty((*drawn.spread.shape, len(law.makes_key)), plan.dtype)
    right[..., ~law.makes_key], right[..., law.makes_key] = drawn.right, drawn.reliability
    n = len(law.prior.prevalence)
    arrays["confusion"] = np.where(
        np.eye(n, dtype=bool), right[..., None, None], (1 - right[..., None, None]) / (n - 1)
    ).astype(plan.dtype)
    arrays |= {"plausibility": drawn.plausibility, "expected_difficulty": drawn.difficulty}
    arrays["expected_discrimination"] = drawn.sharpness
    return groups_by_item(model, arrays, plan, drawn.log_p, lambda: _log_prior(law, drawn))


def _log_prior(law: ResponseLaw, drawn: ResponseDraws) -> dict[str, np.ndarray]:
    """Log prior density of abilities (chain, draw, model), spread, reliabilities and prevalence."""
    prior = law.prior
    densities = {
        ABILITY: norm.logpdf(drawn.ability, prior.mean, prior.sd),
        SPREAD: halfnorm.logpdf(drawn.spread, scale=prior.scale),
    }
    if law.key_free:
        densities[RELIABILITY] = beta_log_density(drawn.reliability, prior.right, prior.wrong)
    if not prior.fixed:
        densities["prevalence"] = dirichlet_log_density(drawn.prevalence, prior.prevalence)
    return densities


SAMPLER = Sampler(
    law=RaterLabelsRV,
    variables=(SPREAD, "node_difficulty", "node_discrimination", "node_log_weight"),
    read=read_responses_of_models,
    begin=begin_item_response_gibbs,
    reason="given true categories and difficulties, abilities have log-concave conditionals, and difficulties are summed out",
    name=ITEM_RESPONSE.name,
    names_refused=True,
)
