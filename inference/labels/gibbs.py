"""Sampler of label models with conjugate confusion: the compiled Gibbs loop."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import betaln, gammaln, logsumexp, xlogy
from scipy.stats import lognorm

from ...models.distributions.marginal_labels import RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers
from ...models.labels.class_conditional import SPEC as CLASS_CONDITIONAL
from ...models.labels.dawid_skene import SPEC as DAWID_SKENE
from ...models.labels.known_raters import WEIGHT
from ...models.labels.mace import SPEC as MACE
from ...models.labels.multinomial import SPEC as MULTINOMIAL
from ...models.labels.one_coin import SPEC as ONE_COIN
from ...models.labels.population import SKILL, SKILL_BEGIN, STRENGTH, STRENGTH_BEGIN, concentrations_by
from ...models.labels.responses import RATE
from ...models.labels.taxonomic import DECISIONS, RELATION_OF_ANSWER
from ...models.labels.taxonomic import SPEC as TAXONOMIC
from ...posterior.schema import SAMPLE
from ..runs.run import (
    ChainPlan,
    Draws,
    ItemBlocks,
    Run,
    Sampler,
    Tuning,
    begun,
    in_threads,
    parts_of,
    run_chains,
    stream,
    thinned,
)
from ..runs.trees import as_dataset
from .kernels.em import drawn_near_vote
from .kernels.gibbs import (
    ABILITIES,
    COMPETENCE,
    FREE_ROWS,
    ONE_ABILITY,
    RELATIONS,
    ConfusionPrior,
    LabelDraws,
    LabelSchedule,
    LabelState,
    begin_table,
    sample_labels,
    weigh_items,
)
from .recognition import (
    LabelStructure,
    constant_prior,
    holds_truth,
    read_labels,
    read_relations,
    read_responses,
)

BLOCK = 2**20  # plausibilities of the draws that a chain makes at once


def draw_labels_model(
    answers: Answers, prior: ConfusionPrior, plan: ChainPlan, collapsed: bool = True
) -> LabelDraws:
    """Run all chains from their start; returns as `continue_labels`."""
    return continue_labels(answers, prior, plan, begin_labels(answers, prior, plan), collapsed)


def begin_labels(answers: Answers, prior: ConfusionPrior, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Initialise every chain near the majority vote: stream (chain, word), and `LabelState` with a leading dim chain."""
    n_rows, n = prior.confusion.shape
    votes = _labels_of(answers, prior)

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        state = {"category": drawn_near_vote(votes, n, rng), "table": np.ones((n_rows, n))}
        if prior.kind == COMPETENCE:  # which alone reads the table
            state["stream"] = stream(rng)
            begin_table(state["stream"], prior, state["table"])
        if n_populations := len(prior.population.skill):
            state["population"] = np.tile([SKILL_BEGIN, STRENGTH_BEGIN], (n_populations, 1))
        if n_components := len(prior.history.weight):
            state["history"] = np.full(n_components, 1 / n_components)
        return state

    return begun(plan, begin)


def _labels_of(answers: Answers, prior: ConfusionPrior) -> Answers:
    """Return the answers that are categories, which vote."""
    if not prior.n_labels:
        return answers
    n, label = len(prior.prevalence), answers.code % prior.n_labels
    start = np.append(0, np.cumsum(label < n))[answers.start]
    code = answers.code // prior.n_labels * n + label
    return Answers(start, code[label < n].astype(np.int32), answers.gold_category)


def continue_labels(
    answers: Answers,
    prior: ConfusionPrior,
    plan: ChainPlan,
    state: dict[str, np.ndarray],
    collapsed: bool = True,
    *,
    of_items: bool = True,
) -> LabelDraws:
    """Run all chains on from their state, in place; `collapsed` integrates confusion out. Returns (chain, draw, ...).

    Without `of_items` the arrays of items have none: the same draws of the parameters, in little memory.
    """
    n_rows, n = prior.confusion.shape
    n_items, size = len(answers.gold_category) if of_items else 0, (plan.chains, plan.draws)
    draws = LabelDraws(
        np.empty((*size, n), plan.dtype),
        np.empty((*size, n_rows, n), _of_table(prior, plan)),
        np.empty((*size, n_items, n), plan.dtype),
        np.empty((*size, n_items), plan.dtype),
        np.empty((*size, len(prior.population.skill), 2), plan.dtype),
        np.empty((*size, len(prior.history.weight)), plan.dtype),
    )
    block = min(plan.draws, max(1, BLOCK // (n_items * n + (n_rows * n if not of_items else 1))))

    laws = [prior] * plan.chains
    if "population" in state or "history" in state:  # each chain overwrites its concentrations
        laws = [
            prior._replace(
                confusion=prior.confusion.copy(),
                history=prior.history._replace(concentration=prior.history.concentration.copy()),
            )
            for _ in laws
        ]

    def sample(chain: int, places: LabelDraws, sweeps: tuple[int, int]) -> None:
        hyper = state["population"][chain] if "population" in state else np.empty((0, 2))
        weight = state["history"][chain] if "history" in state else np.empty(0)
        own = LabelState(state["category"][chain], state["table"][chain], hyper, weight)
        schedule = LabelSchedule(*sweeps, collapsed)
        sample_labels(state["stream"][chain], answers, laws[chain], schedule, (own, places))

    return run_chains(draws, plan, block, sample)


def _of_table(prior: ConfusionPrior, plan: ChainPlan | Draws) -> str:
    """Precision of stored matrices; in MACE a competence is a difference of two entries, which single would round away."""
    return "float64" if prior.kind == COMPETENCE else plan.dtype


# --- The sampler as a run ---

SWEEPS_BEFORE = 200  # default warm-up


def begin_labels_gibbs(
    law: tuple[LabelStructure, ConfusionPrior],
    model: pm.Model,
    plan: Draws,
    found: Tuning | None = None,
    truth: bool | None = None,
) -> Run:
    """Set up the compiled Gibbs loop of prevalence, confusion and plausibility; `found` restores the thinning.

    `truth` is whether the last is stored as ``plausibility``, by default if the variable of this name is it.
    """
    structure, prior = law
    truth = holds_truth(model) if truth is None else truth
    answers = structure.answers

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = continue_labels(answers, prior, trial, begin_labels(answers, prior, trial), of_items=False)
        table = draws.table.reshape(trial.chains, trial.draws, -1)
        hyper = draws.population.reshape(trial.chains, trial.draws, -1)
        return np.concatenate([draws.prevalence, table, hyper, draws.history], axis=2)

    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters)
    state = begin_labels(answers, prior, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_labels(answers, prior, chains.part(drawn, n), state)
        return _groups(model, law, draws, plan, truth) | stats

    def by_items(n: int, advance: Callable[[int], None]) -> ItemBlocks:
        draws = _parameters_by_parts(answers, prior, replace(chains, draws=n), state, advance)
        stored = LabelDraws(
            draws.prevalence.astype(plan.dtype), draws.table.astype(_of_table(prior, plan)), *draws[2:]
        )
        shared = _of_parameters(model, law, stored, plan) | stats
        starts = {"item": np.arange(len(answers.gold_category) + 1)}
        return ItemBlocks(
            shared, starts, lambda items, kept: _of_items(model, structure, draws, plan, (items, kept), truth)
        )

    return Run(found, state, draw, by_items=by_items)


def _parameters_by_parts(
    answers: Answers,
    prior: ConfusionPrior,
    plan: ChainPlan,
    state: dict[str, np.ndarray],
    advance: Callable[[int], None],
) -> LabelDraws:
    """Draw the parameters of a whole run, in double precision, so that those of items follow from them to the bit."""
    size, (n_rows, n) = (plan.chains, plan.draws), prior.confusion.shape
    none = np.empty((*size, 0))
    hyper = np.empty((*size, *prior.population.skill.shape)), np.empty((*size, len(prior.history.weight)))
    whole = LabelDraws(np.empty((*size, n)), np.empty((*size, n_rows, n)), none[..., None], none, *hyper)
    for first, part in parts_of(replace(plan, dtype="float64"), advance):
        drawn = continue_labels(answers, prior, part, state, of_items=False)
        for name in ("prevalence", "table", "population", "history"):
            getattr(whole, name)[:, first : first + part.draws] = getattr(drawn, name)
    return whole


def _of_items(
    model: pm.Model,
    structure: LabelStructure,
    drawn: LabelDraws,
    plan: Draws,
    which: tuple[slice, slice],
    truth: bool,
) -> dict[str, dict[str, xr.Variable]]:
    """Return what the loop stores of some items, at all draws of the parameters, and their log likelihoods at some."""
    (items, kept), answers = which, structure.answers
    own = Answers(answers.start[items.start : items.stop + 1], answers.code, answers.gold_category[items])
    n_chains, n_draws, n = drawn.prevalence.shape
    every = kept.step or 1 if plan.densities else 0
    log_p = np.empty((n_chains, n_draws // every if every else 0, items.stop - items.start))
    plausibility = np.empty((n_chains, n_draws, items.stop - items.start, n))

    def run(chain: int) -> None:
        place = (log_p[chain], plausibility[chain])
        weigh_items(own, (drawn.prevalence[chain], drawn.table[chain]), place, every)

    in_threads(run, zip(range(n_chains)), plan.cores or n_chains)
    groups: dict[str, dict[str, xr.Variable]] = {"posterior": {}}
    if truth:
        stored = plausibility.astype(plan.dtype)
        groups["posterior"]["plausibility"] = xr.Variable((*SAMPLE, "item", "category"), stored)
    if plan.densities:
        kept_draws = tuple(own[:, every - 1 :: every] for own in drawn[:2])
        found = _by_observed(model, structure, kept_draws, log_p, items)
        groups["log_likelihood"] = {
            name: xr.Variable((*SAMPLE, "item"), own.astype(plan.dtype)) for name, own in found.items()
        }
    return groups


def _by_observed(
    model: pm.Model,
    structure: LabelStructure,
    parameters: tuple[np.ndarray, ...],
    log_p: np.ndarray,
    items: slice = slice(None),
) -> dict[str, np.ndarray]:
    """Return log p (chain, draw, item) of each observed variable; where responses are observed, that of the labels is given them.

    Shapes: parameters: prevalence (chain, draw, category), table (chain, draw, rater * label, category).
    """
    names = [str(rv.name) for rv in model.observed_RVs]
    if structure.requests is None:
        return {names[0]: log_p}
    start, code, known = structure.requests
    first, last, _ = items.indices(len(known))
    own = Answers(start[first : last + 1], code, known[first:last])
    responses = np.empty(log_p.shape)
    for chain in range(len(log_p)):
        prevalence, table = (np.ascontiguousarray(values[chain], np.float64) for values in parameters)
        n = prevalence.shape[1]
        rows = table.reshape(len(table), structure.shapes[0][0], -1, n).swapaxes(-1, -2)
        rate = structure.given_and_rate(rows)[1].swapaxes(-1, -2).reshape(len(table), -1, n)
        place = responses[chain], np.empty((*log_p.shape[1:], n))
        weigh_items(own, (prevalence, np.ascontiguousarray(rate)), place, 1)
    return dict(zip(names, (responses, log_p - responses), strict=True))


def _groups(
    model: pm.Model, law: tuple[LabelStructure, ConfusionPrior], drawn: LabelDraws, plan: Draws, truth: bool
) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to draws of the model's variables, with log densities if the plan asks for them."""
    groups = _of_parameters(model, law, drawn, plan)
    if truth:
        stored = {"plausibility": drawn.plausibility.astype(plan.dtype, copy=False)}
        groups["posterior"] = groups["posterior"].merge(as_dataset(model, stored, SAMPLE))
    if plan.densities:
        found = _by_observed(model, law[0], (drawn.prevalence, drawn.table), drawn.log_p)
        pointwise = xr.Dataset({name: ((*SAMPLE, "item"), own) for name, own in found.items()})
        groups = {
            "posterior": groups["posterior"],
            "log_likelihood": pointwise,
            "log_prior": groups["log_prior"],
        }
    return groups


def _of_parameters(
    model: pm.Model, law: tuple[LabelStructure, ConfusionPrior], drawn: LabelDraws, plan: Draws
) -> dict[str, xr.Dataset]:
    """Convert draws of prevalence and confusion, with their log prior if the plan asks for it."""
    structure, prior = law
    n = len(prior.prevalence)
    confusion = drawn.table.reshape(*drawn.table.shape[:2], -1, prior.n_labels or n, n).swapaxes(-1, -2)
    values = (drawn.prevalence, *structure.skills_of(confusion))
    arrays = {str(rv.name): value for rv, value in zip(structure.free, values, strict=True)}
    if len(prior.population.skill):
        arrays |= dict(zip((SKILL, STRENGTH), np.moveaxis(drawn.population, -1, 0), strict=True))
    if len(prior.history.weight):
        arrays[WEIGHT] = drawn.history
    if prior.kind == RELATIONS:
        arrays["confusion"], arrays[RATE] = structure.given_and_rate(confusion)
        if structure.requests is None:
            del arrays[RATE]
    elif prior.kind != FREE_ROWS and "confusion" in model.named_vars:
        arrays["confusion"] = confusion
    stored = {name: array.astype(plan.dtype, copy=False) for name, array in arrays.items()}
    groups = {"posterior": as_dataset(model, stored, SAMPLE)}
    if plan.densities:
        groups["log_prior"] = _log_prior(model, structure, prior, (values, drawn))
    return groups


def _log_prior(
    model: pm.Model,
    structure: LabelStructure,
    prior: ConfusionPrior,
    drawn: tuple[tuple[np.ndarray, ...], LabelDraws],
) -> xr.Dataset:
    """Log prior density of prevalence (chain, draw, category) and skills (chain, draw, ...), with their batch dims.

    `drawn` holds these and, for populations and the weights of a history, the draws of the loop.
    """
    (prevalence, *skills), (hyper, weight) = drawn[0], drawn[1][-2:]
    population = prior.population
    n = len(prior.prevalence)
    concentration = prior.confusion.reshape(-1, prior.n_labels or n, n)
    if prior.kind == RELATIONS:
        named = (DECISIONS.index(str(rv.name)) for rv in structure.skills)
        pairs = (np.moveaxis(prior.relations.concentration[:, place], -1, 0) for place in named)
        own = [beta_log_density(skill, *pair) for skill, pair in zip(skills, pairs, strict=True)]
    elif structure.requests is not None:
        beta, none = (own.swapaxes(1, 2) for own in (concentration[:, :n], concentration[:, n:]))
        alpha = np.concatenate([beta.sum(axis=-1, keepdims=True), none], axis=-1)
        own = [dirichlet_log_density(skills[0], beta), dirichlet_log_density(skills[1], alpha)]
    elif prior.kind == FREE_ROWS:
        own = [_log_prior_of_rows(skills[0], prior, hyper, weight)]
    elif prior.kind == COMPETENCE:
        own = [beta_log_density(skills[0], concentration[:, 0, 1], concentration[:, 1, 1])]
        own.append(dirichlet_log_density(skills[1], concentration[:, :, 0]))
    else:
        coin = 0 if prior.kind == ONE_ABILITY else slice(None)
        own = [beta_log_density(skills[0], concentration[:, 0, coin], concentration[:, 1, coin])]
    own = [dirichlet_log_density(prevalence, prior.prevalence), *own]
    densities = {str(rv.name): log_p for rv, log_p in zip(structure.free, own, strict=True)}
    if len(population.skill):
        skill, strength = np.moveaxis(hyper, -1, 0)
        centre, spread = np.exp(population.strength[:, 0]), population.strength[:, 1]
        densities[SKILL] = beta_log_density(skill, *population.skill.T)
        densities[STRENGTH] = lognorm.logpdf(strength, spread, scale=centre)
    if len(prior.history.weight):
        densities[WEIGHT] = dirichlet_log_density(weight, prior.history.weight)
    return as_dataset(model, densities, SAMPLE).drop_vars(SAMPLE)


def _log_prior_of_rows(
    rows: np.ndarray, prior: ConfusionPrior, hyper: np.ndarray, weight: np.ndarray
) -> np.ndarray:
    """Log prior density of rows of confusion matrices (chain, draw, ..., category, answer), of a history by rater."""
    n, population = rows.shape[-1], prior.population
    beta = prior.confusion.reshape(-1, n, n).swapaxes(1, 2)
    history = prior.history.concentration[:-1].reshape(-1, len(beta), n, n).swapaxes(2, 3)

    def density(draws: slice) -> np.ndarray:
        own = beta if rows.ndim == 5 else beta[0]
        if len(population.skill):
            own_hyper = hyper[:, draws, population.of]
            own = concentrations_by(own_hyper[..., 0], own_hyper[..., 1], n)
        without = dirichlet_log_density(rows[:, draws], own)
        if not len(history):
            return without
        parts = [dirichlet_log_density(rows[:, draws], known).sum(axis=-1) for known in history]
        parts = np.stack([*parts, without.sum(axis=-1)], axis=-1)
        return np.asarray(logsumexp(np.log(weight[:, draws, None]) + parts, axis=-1))

    return in_portions(density, rows)


def in_portions(density: Callable[[slice], np.ndarray], values: np.ndarray) -> np.ndarray:
    """Log density of values (chain, draw, ...) in portions of the draws, so that temporary arrays stay small."""
    size = max(BLOCK // max(values[:, 0].size, 1), 1) if values.shape[1] else 1
    starts = range(0, max(values.shape[1], 1), size)
    return np.concatenate([density(slice(start, start + size)) for start in starts], axis=1)


def beta_log_density(p: np.ndarray, right: np.ndarray, wrong: np.ndarray) -> np.ndarray:
    """Log density of the Beta(right, wrong) distribution."""
    kind = np.finfo(p.dtype)
    p = np.clip(p, kind.tiny, 1 - kind.epsneg)  # storage may have rounded it to 0 or 1
    return xlogy(right - 1, p) + xlogy(wrong - 1, 1 - p) - betaln(right, wrong)


def dirichlet_log_density(p: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    """Log density of the Dirichlet distribution along the last axis."""
    log_p = np.log(np.maximum(p, np.finfo(p.dtype).tiny))  # storage may have rounded a probability to 0
    normaliser = gammaln(alpha.sum(axis=-1)) - gammaln(alpha).sum(axis=-1)
    return ((alpha - 1) * log_p).sum(axis=-1) + normaliser


def _read(model: pm.Model) -> tuple[LabelStructure, ConfusionPrior]:
    """Read a label model with conjugate confusion and its priors; raise NotConjugate for others."""
    if model.name_for(RELATION_OF_ANSWER) in model.named_vars:
        return read_relations(model)
    if len(model.observed_RVs) > 1:
        return read_responses(model)
    structure = read_labels(model)
    return structure, constant_prior(model, structure)


def _name(_: pm.Model, law: tuple[LabelStructure, ConfusionPrior] | None) -> str | None:
    """Return the name of the model with these confusion matrices."""
    if law is None:
        return None
    structure = law[0]
    if structure.kind == FREE_ROWS:
        return (DAWID_SKENE if structure.skills[0].type.ndim == 3 else MULTINOMIAL).name
    of_kind = {COMPETENCE: MACE, ONE_ABILITY: ONE_COIN, ABILITIES: CLASS_CONDITIONAL, RELATIONS: TAXONOMIC}
    return of_kind[structure.kind].name


SAMPLER = Sampler(
    law=RaterLabelsRV,
    read=_read,
    begin=begin_labels_gibbs,
    reason="given the true categories, prevalence and confusion are conjugate",
    name=_name,
)
