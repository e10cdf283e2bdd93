"""Sampler of the ordinal model: its law read from the PyMC graph, and the compiled Gibbs loop."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.tensor.random.basic import HalfNormalRV, NormalRV
from pytensor.tensor.variable import TensorVariable
from scipy.special import expit
from scipy.stats import halfnorm, norm

from ...models.distributions.marginal_labels import RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers
from ...models.labels.item_effects import normal_nodes
from ...models.labels.ordinal import SPEC as ORDINAL
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
from .gibbs import BLOCK
from .kernels.em import vote_share
from .kernels.ordinal import OrdinalAnswers, OrdinalDraws, OrdinalPrior, OrdinalState, sample_ordinal
from .recognition import answers_of_variable

SWEEPS_BEFORE = 100  # default warm-up
FREE = {
    "centre": NormalRV, "log_scale": NormalRV, "shift_spread": HalfNormalRV, "scale_spread": HalfNormalRV,
    "rater_centre": NormalRV, "rater_log_scale": NormalRV, "log_increment": NormalRV,
}  # fmt: skip
POPULATION = ("centre", "log_scale", "shift_spread", "scale_spread")
RATERS = {"rater_centre": "shift_spread", "rater_log_scale": "scale_spread"}
NODES = ("node_location", "label_place")


@dataclass(frozen=True, eq=False)
class OrdinalLaw:
    """Answers, places of the categories on the scale, and priors; answers once more as the kernel reads them."""

    answers: Answers
    place: np.ndarray  # (category,)
    prior: OrdinalPrior
    data: OrdinalAnswers


# --- Reader: answers and priors, from the PyMC graph ---


def read_ordinal(model: pm.Model) -> OrdinalLaw:
    """Read a `RaterLabels` of nodes whose confusion matrices are those of thresholds and scales; NotConjugate for others."""
    observed = only_observed(model, RaterLabelsRV)
    probability, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    named = {str(rv.name): rv for rv in model.free_RVs if rv.name in FREE}
    of_raters = RATERS if "rater_centre" in model.named_vars else {}
    missing = [name for name in ("centre", "log_scale", *of_raters, *of_raters.values()) if name not in named]
    if missing:
        raise NotConjugate(f"{missing[0]!r} is not a free random variable of the model")
    for name, rv in named.items():
        require_prior(rv, FREE[name])
    refuse_further(model, [*named.values()])
    point, place = (constant_value(model[name], "a node") for name in NODES)
    place, n = place.astype(np.int64), len(place)
    _, n_states, labels = (int(k) for k in np.asarray(evaluator([], list(confusion.shape))()))
    answers = answers_of_variable(model, (observed, start, rater, known), n)
    most = int(np.diff(answers.start).max(initial=0))
    grid = normal_nodes(1, 2 * most, None if len(point) == 0 else len(point))
    if n_states not in (len(point), n * len(point)) or labels != n or not is_equal(grid.point[:, 0], point):
        raise NotConjugate("the confusion matrices are not those of the nodes of a location")
    fewest = len(normal_nodes(1, 2 * most).weight)
    if len(point) < fewest:
        raise NotConjugate(
            f"nodes={len(point)}, fewer than {fewest}, are another law than that of a location on the line"
        )
    _check_law(named, (probability, confusion), (point, grid.weight, place, n_states > len(point)))
    _check_raters(named, of_raters)
    own = {name: _normal(named[name], name) for name in ("centre", "log_scale")}
    increment = _normal(named["log_increment"], "log_increment") if n > 2 else np.zeros((2, 0))
    spread = [
        float(positive_constant(rv.owner.op.dist_params(rv.owner)[-1], "the scale of a spread"))
        for rv in (named[name] for name in of_raters.values())
    ] or [1.0, 1.0]  # of nobody
    (mean, sd) = (np.array([float(own[name][k]) for name in own]) for k in (0, 1))
    prior = OrdinalPrior(
        mean, sd, np.array(spread), increment[0].copy(), increment[1].copy(),
        np.ascontiguousarray(point, np.float64), np.log(grid.weight), np.argsort(place),
    )  # fmt: skip
    raters = shape_of(named["rater_centre"])[0] if of_raters else 0
    return OrdinalLaw(answers, place, prior, by_item_and_rater(answers, place, raters))


def _normal(rv: TensorVariable, name: str) -> np.ndarray:
    """Return mean and standard deviation of a normal prior (2, ...), or raise NotConjugate."""
    values = [constant_value(p, f"the prior of {name!r}") for p in rv.owner.op.dist_params(rv.owner)]
    return np.array([np.broadcast_to(x, shape_of(rv)) for x in values], np.float64)


def _check_law(named: dict[str, TensorVariable], found: tuple, law: tuple) -> None:
    """Raise NotConjugate unless prior and confusion matrices have the values of the law at random ones of the variables."""
    (point, weight, place, by_category), rng = law, np.random.default_rng(0)
    trials = {name: rng.uniform(0.3, 0.9, shape_of(rv)) for name, rv in named.items()}
    steps = np.concatenate([[0.0], np.cumsum(np.exp(trials.get("log_increment", np.zeros(0))))])
    steps -= steps.mean()

    def probability(centre: np.ndarray, log_scale: np.ndarray) -> np.ndarray:
        """Return the probability of each label (rater, node, category)."""
        reached = expit((centre[:, None, None] + steps - point[:, None]) / np.exp(log_scale)[:, None, None])
        return np.diff(reached, axis=-1, prepend=0, append=1)[..., place]

    typical = probability(trials["centre"][None], trials["log_scale"][None])
    own = (
        probability(trials["rater_centre"], trials["rater_log_scale"])
        if "rater_centre" in trials
        else typical
    )
    expected = [weight, own]
    if by_category:
        expected = [(typical[0].T * weight).ravel(), np.tile(own, (1, len(place), 1))]
    values = evaluator([*named.values()], list(found))(*trials.values())
    if not all(
        np.shape(x) == np.shape(y) and is_equal(x, y, 1e-7, 1e-12)
        for x, y in zip(values, expected, strict=True)
    ):
        raise NotConjugate("the confusion matrices are not those of thresholds and scales")


def _check_raters(named: dict[str, TensorVariable], of_raters: dict[str, str]) -> None:
    """Raise NotConjugate unless centres and log scales of the raters are normal about those of the population."""
    trial = np.array([0.4, 0.7])
    for name, spread in of_raters.items():
        rv, parents = named[name], (name.removeprefix("rater_"), spread)
        found = evaluator([named[p] for p in parents], list(rv.owner.op.dist_params(rv.owner)))(*trial)
        if not all(is_equal(x, y) for x, y in zip(found, trial, strict=True)):
            raise NotConjugate(
                f"the prior of {name!r} is not normal about {parents[0]!r} with sd {parents[1]!r}"
            )


def by_item_and_rater(answers: Answers, place: np.ndarray, n_raters: int) -> OrdinalAnswers:
    """Return answers as the kernel reads them: by item and by rater, gold labels, and all without raters, as of a further one."""
    n, items = len(place), np.repeat(np.arange(len(answers.gold_category)), np.diff(answers.start))
    gold = np.flatnonzero(answers.gold_category >= 0)
    item = np.concatenate([items, gold])
    who = np.concatenate([answers.code // n, np.full(len(gold), n_raters)])
    label = place[np.concatenate([answers.code % n, answers.gold_category[gold]])]
    by_item = np.argsort(item, kind="stable")
    by_rater = np.argsort(who, kind="stable")
    number = np.zeros((n_raters + 1, n), np.int64)
    np.add.at(number, (who, label), 1)
    known = np.where(answers.gold_category >= 0, place[answers.gold_category], -1)
    return OrdinalAnswers(
        np.append(0, np.cumsum(np.bincount(item, minlength=len(known)))).astype(np.int64),
        who[by_item].astype(np.int64), label[by_item].astype(np.int64),
        np.append(0, np.cumsum(np.bincount(who, minlength=n_raters + 1))).astype(np.int64),
        item[by_rater].astype(np.int64), label[by_rater].astype(np.int64), number, known.astype(np.int64),
    )  # fmt: skip


# --- Chains ---


def begin_ordinal(law: OrdinalLaw, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Start at the mean labels and near the prior's means: stream (chain, word), and `OrdinalState` with a leading dim chain."""
    prior, n_raters = law.prior, len(law.data.number) - 1
    level = vote_share(law.answers, len(law.place)) @ law.place
    level = (level - level.mean()) / max(float(level.std()), 1e-3)

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        population = np.append(
            prior.mean + 0.3 * rng.standard_normal(2), prior.spread * rng.uniform(0.3, 1.0, 2)
        )
        return {
            "location": level + 0.3 * rng.standard_normal(len(level)),
            "rater_centre": population[0] + 0.1 * rng.standard_normal(n_raters),
            "rater_log_scale": population[1] + 0.1 * rng.standard_normal(n_raters),
            "population": population,
            "log_increment": prior.increment + 0.1 * rng.standard_normal(len(prior.increment)),
            "rater_width": np.full(n_raters, 0.5),
            "increment_width": np.full(len(prior.increment), 0.3),
            "width": np.full((2, 5), 0.5),
        }

    return begun(plan, begin)


def places(law: OrdinalLaw, size: tuple[int, ...], dtype: Any, *, of_items: bool = True) -> OrdinalDraws:
    """Return empty arrays of draws (*size, ...), without `of_items` no items'."""
    n_raters, n, n_items = len(law.data.number) - 1, len(law.place), len(law.data.gold) if of_items else 0
    shapes = [
        (n_raters,),
        (n_raters,),
        (4,),
        (len(law.prior.increment),),
        (n,),
        (n_items, n),
        (n_items,),
        (n_items,),
    ]
    return OrdinalDraws(*(np.empty((*size, *shape), dtype) for shape in shapes))


def continue_ordinal(
    law: OrdinalLaw, plan: ChainPlan, state: dict[str, np.ndarray], *, of_items: bool = True
) -> OrdinalDraws:
    """Run all chains on from their state, in place; returns `OrdinalDraws` (chain, draw, ...)."""
    draws = places(law, (plan.chains, plan.draws), plan.dtype, of_items=of_items)
    block = min(plan.draws, max(1, BLOCK // (draws.plausibility[0, 0].size + len(law.data.number))))

    def sample(chain: int, own: OrdinalDraws, sweeps: tuple[int, int]) -> None:
        begin = OrdinalState(*(state[name][chain] for name in OrdinalState._fields))
        sample_ordinal(state["stream"][chain], law.data, law.prior, sweeps, (begin, own))

    return run_chains(draws, plan, block, sample)


# --- The sampler as a run ---


def begin_ordinal_gibbs(law: OrdinalLaw, model: pm.Model, plan: Draws, found: Tuning | None = None) -> Run:
    """Set up the compiled Gibbs loop of a law of `read_ordinal`; `found` restores the thinning."""

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = continue_ordinal(law, trial, begin_ordinal(law, trial), of_items=False)
        return np.concatenate([np.log(draws.population[..., 2:]), *draws[:4]], axis=2)

    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters)
    state = begin_ordinal(law, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_ordinal(law, chains.part(drawn, n), state)
        return (
            groups_by_item(model, _arrays(draws), plan, draws.log_p, lambda: _log_prior(model, law, draws))
            | stats
        )

    return Run(found, state, draw)


def _arrays(drawn: OrdinalDraws) -> dict[str, np.ndarray]:
    """Return draws of the model's variables by name."""
    arrays = dict(zip(POPULATION, np.moveaxis(drawn.population, -1, 0), strict=True))
    steps = np.exp(drawn.log_increment).cumsum(axis=-1)
    steps = np.concatenate([np.zeros((*steps.shape[:2], 1)), steps], axis=-1)
    centre, scale, tau, sigma = (own[..., None] for own in arrays.values())  # spreads of nobody are left out
    shift, wider = drawn.rater_centre - centre, drawn.rater_log_scale - scale
    return arrays | {
        "log_increment": drawn.log_increment,
        "threshold": centre + steps - steps.mean(axis=-1, keepdims=True),
        "scale": np.exp(arrays["log_scale"]),
        "rater_centre": drawn.rater_centre,
        "rater_log_scale": drawn.rater_log_scale,
        "shift_deviation": shift / tau,
        "scale_deviation": wider / sigma,
        "rater_shift": shift,
        "rater_scale": np.exp(drawn.rater_log_scale),
        "prevalence": drawn.prevalence,
        "plausibility": drawn.plausibility,
        "expected_location": drawn.location,
    }


def _log_prior(model: pm.Model, law: OrdinalLaw, drawn: OrdinalDraws) -> dict[str, np.ndarray]:
    """Log prior density of the free variables (chain, draw, ...)."""
    prior = law.prior
    centre, log_scale, tau, sigma = np.moveaxis(drawn.population, -1, 0)
    densities = {
        "centre": norm.logpdf(centre, prior.mean[0], prior.sd[0]),
        "log_scale": norm.logpdf(log_scale, prior.mean[1], prior.sd[1]),
        "shift_spread": halfnorm.logpdf(tau, scale=prior.spread[0]),
        "scale_spread": halfnorm.logpdf(sigma, scale=prior.spread[1]),
        "rater_centre": norm.logpdf(drawn.rater_centre, centre[..., None], tau[..., None]),
        "rater_log_scale": norm.logpdf(drawn.rater_log_scale, log_scale[..., None], sigma[..., None]),
    }
    densities["log_increment"] = norm.logpdf(drawn.log_increment, prior.increment, prior.increment_sd)
    return {name: own for name, own in densities.items() if name in model.named_vars}


SAMPLER = Sampler(
    law=RaterLabelsRV,
    variables=("threshold", *NODES),
    read=read_ordinal,
    begin=begin_ordinal_gibbs,
    reason="given the locations of the items, thresholds and scales of the raters have conditionals of one number each",
    name=ORDINAL.name,
    names_refused=True,
)
