"""Sampler of label models whose raters change in time: the compiled Gibbs loop of truth and walks."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.tensor.random.basic import BetaRV, DirichletRV, HalfNormalRV, NormalRV
from pytensor.tensor.variable import TensorVariable
from scipy.special import expit
from scipy.stats import halfnorm, norm

from ...models.distributions.marginal_labels import RaterLabelsByItemRV, RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers
from ...models.labels.dawid_skene import SPEC as DAWID_SKENE
from ...models.labels.one_coin import SPEC as ONE_COIN
from ...models.labels.skill_in_time import INITIAL_ABILITY, INITIAL_CONFUSION
from ...posterior.schema import SKILL, SKILL_CHANGE, SKILL_STEP
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
    dirichlet_concentration,
    evaluator,
    is_equal,
    only_observed,
    positive_constant,
    refuse_further,
    shape_of,
)
from ..runs.run import ChainPlan, Draws, Run, Sampler, Tuning, begun, run_chains, thinned
from ..runs.trees import groups_by_item
from .gibbs import BLOCK, beta_log_density, dirichlet_log_density
from .kernels.em import drawn_near_vote
from .kernels.skill_in_time import WalkDraws, WalkPrior, WalkState, sample_walks
from .recognition import PRIOR_BY_ITEM, answers_of_variable

# --- Reader of the model: answers and priors, from the PyMC graph ---


@dataclass(frozen=True, eq=False)
class WalkStructure:
    """Observed answers of a model in time, its free random variables and their priors."""

    answers: Answers  # of raters in windows, each a rater of its own
    prior: WalkPrior
    windows: int
    free: tuple[TensorVariable, ...]  # prevalence, ability or matrix of the first window, step, change

    @property
    def of_rows(self) -> bool:
        """Return whether each row of a matrix has a walk."""
        return len(self.prior.wrong) > 0


def read_walks(model: pm.Model) -> WalkStructure:
    """Read a `RaterLabels` of raters whose log odds walk over windows; raise NotConjugate for any other model."""
    observed = only_observed(model, RaterLabelsRV)
    prevalence, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    if isinstance(observed.owner.op, RaterLabelsByItemRV):
        raise NotConjugate(PRIOR_BY_ITEM)
    begin: Any = next((rv for rv in model.free_RVs if rv.name in (INITIAL_ABILITY, INITIAL_CONFUSION)), None)
    free: tuple[Any, ...] = (prevalence, begin, model[SKILL_STEP], model[SKILL_CHANGE])
    laws = [type(rv.owner.op) if rv in model.free_RVs else None for rv in free if rv is not None]
    if laws not in ([DirichletRV, own, HalfNormalRV, NormalRV] for own in (BetaRV, DirichletRV)):
        raise NotConjugate("the steps in time are not those of a random walk of the log odds of the raters")
    refuse_further(model, free)
    (n,), windows = shape_of(prevalence), shape_of(free[3])[-1] + 1
    _check_walk(free, confusion, n)
    (least, scale), normal = (rv.owner.op.dist_params(rv.owner) for rv in free[2:])
    numbers = [constant_value(p, "the prior of the walks") for p in (least, *normal)]
    if not all(map(is_equal, numbers, (0.0, 0.0, 1.0))):
        raise NotConjugate(f"{SKILL_STEP!r} does not begin at 0, or {SKILL_CHANGE!r} is not standard normal")
    raters = shape_of(free[1])[0]
    if isinstance(free[1].owner.op, BetaRV):
        own = (positive_constant(p, "a concentration") for p in free[1].owner.op.dist_params(free[1].owner))
        first, wrong = np.stack([np.broadcast_to(p, raters) for p in own], axis=-1), np.empty((0, n))
    else:
        beta = np.broadcast_to(dirichlet_concentration(free[1]), (raters, n, n)).reshape(-1, n)
        right = np.tile(np.eye(n), (raters, 1))
        first = np.stack([(beta * right).sum(axis=1), (beta * (1 - right)).sum(axis=1)], axis=-1)
        wrong = np.array(beta, np.float64)
    step = float(positive_constant(scale, "the scale of a step"))
    walks = WalkPrior(
        dirichlet_concentration(prevalence), np.ascontiguousarray(first, np.float64), wrong, step
    )
    answers = answers_of_variable(model, (observed, start, rater, known), n)
    return WalkStructure(answers, walks, windows, free)


def _check_walk(free: tuple[TensorVariable, ...], confusion: TensorVariable, n: int) -> None:
    """Raise NotConjugate unless the matrices are those of walks, found by evaluating them at random values."""
    rng = np.random.default_rng(0)
    begin, change = shape_of(free[1]), rng.normal(size=shape_of(free[3]))
    rows = isinstance(free[1].owner.op, DirichletRV)
    own = rng.dirichlet(np.ones(n), begin[:-1]) if rows else rng.uniform(size=begin)
    found = evaluator(free[1:], confusion)(own, 0.5, change)
    expected = matrices_of(*walks_of(n, own, 0.5, change), n)
    if found.shape != expected.shape or not is_equal(found, expected, rtol=1e-9):
        raise NotConjugate("the confusion matrices by window are not those of a random walk of the log odds")


def _wrong_shares(rows: np.ndarray) -> np.ndarray:
    """Return the shares of the wrong labels (walk, label) of rows (rater, category, answer)."""
    wrong = rows * (1 - np.eye(rows.shape[-1]))
    return (wrong / wrong.sum(axis=-1, keepdims=True)).reshape(-1, rows.shape[-1])


def matrices_of(walk: np.ndarray, wrong: np.ndarray, n: int) -> np.ndarray:
    """Return matrices (..., rater * window, category, answer) of walks (..., walk, window) and shares (..., walk, label)."""
    rows = n if wrong.shape[-2] else 1
    x = walk.reshape(*walk.shape[:-2], -1, rows, walk.shape[-1]).swapaxes(-1, -2)[..., None]
    alike = (1 - np.eye(n)) / (n - 1)
    shares = wrong.reshape(*wrong.shape[:-2], -1, n, n)[..., None, :, :] if rows > 1 else alike
    matrices = np.eye(n) * expit(x) + shares * expit(-x)
    return matrices.reshape(*walk.shape[:-2], -1, n, n)


# --- Chains ---


def begin_walks(law: WalkStructure, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Initialise every chain near the vote: stream (chain, word), and `WalkState` with a leading dim chain."""
    prior, answers, (n_walks, n) = law.prior, law.answers, (len(law.prior.begin), len(law.prior.prevalence))
    item = np.repeat(np.arange(len(answers.gold_category)), np.diff(answers.start))
    rater, label = answers.code // (n * law.windows), answers.code % n

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        truth = drawn_near_vote(answers, n, rng)
        own = rater * n + truth[item] if law.of_rows else rater
        right = np.bincount(own, label == truth[item], n_walks) + prior.begin[:, 0]
        wrong = np.bincount(own, label != truth[item], n_walks) + prior.begin[:, 1]
        walk = np.tile(np.log(right / wrong)[:, None], law.windows)
        return {"category": truth, "walk": walk, "step": prior.step * rng.uniform(0.2, 1.0, 1)}

    return begun(plan, begin)


def continue_walks(
    law: WalkStructure, plan: ChainPlan, state: dict[str, np.ndarray], *, of_items: bool = True
) -> WalkDraws:
    """Run all chains on from their state, in place; returns `WalkDraws` (chain, draw, ...), of no items without `of_items`."""
    prior, size = law.prior, (plan.chains, plan.draws)
    n, n_items = len(prior.prevalence), len(law.answers.gold_category) if of_items else 0
    shapes = ((n,), (len(prior.begin), law.windows), prior.wrong.shape, (), (n_items, n), (n_items,))
    types = ["float64"] * 4 + [plan.dtype] * 2  # steps are differences of log odds
    draws = WalkDraws(*(np.empty((*size, *own), kind) for own, kind in zip(shapes, types, strict=True)))
    block = min(plan.draws, max(1, BLOCK // (n_items * n + 1)))

    def sample(chain: int, places: WalkDraws, sweeps: tuple[int, int]) -> None:
        own = WalkState(*(state[name][chain] for name in WalkState._fields))
        sample_walks(state["stream"][chain], law.answers, prior, sweeps, (own, places))

    return run_chains(draws, plan, block, sample)


# --- The sampler as a run ---

SWEEPS_BEFORE = 500  # default warm-up
WANTED_ESS = 1200


def begin_skill_in_time(law: WalkStructure, model: pm.Model, plan: Draws, found: Tuning | None = None) -> Run:
    """Set up the compiled Gibbs loop; `found` restores the thinning."""

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = continue_walks(law, trial, begin_walks(law, trial), of_items=False)
        kept = (draws.prevalence, draws.walk, draws.step)
        return np.concatenate([x.reshape(trial.chains, trial.draws, -1) for x in kept], axis=2)

    found, chains, stats = thinned(found, plan, plan.chain(SWEEPS_BEFORE), parameters, wanted=WANTED_ESS)
    state = begin_walks(law, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        return _groups(model, law, continue_walks(law, chains.part(drawn, n), state), plan) | stats

    return Run(found, state, draw)


def values_of(law: WalkStructure, drawn: WalkDraws) -> tuple[np.ndarray, ...]:
    """Return draws (..., as in `WalkDraws`) in the shapes of the free variables."""
    n, windows = len(law.prior.prevalence), law.windows
    size = drawn.step.shape
    walk = drawn.walk.reshape(*size, -1, *((n,) if law.of_rows else ()), windows)
    first = expit(walk[..., 0])
    if law.of_rows:
        wrong = drawn.wrong.reshape(*first.shape, n)
        first = np.eye(n) * first[..., None] + wrong * expit(-walk[..., :1])
    step = drawn.step.reshape(*size, *(1,) * (walk.ndim - len(size)))
    return drawn.prevalence, first, drawn.step, np.diff(walk, axis=-1) / step


def walks_of(n: int, first: np.ndarray, step: float, change: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return walks (walk, window) and shares of wrong labels (walk, label) at values of the free variables.

    Shapes: first (rater,) abilities, or (rater, category, answer); change (rater, step) or (rater, category, step).
    """
    if first.ndim == 3:
        right = np.diagonal(first, axis1=1, axis2=2).ravel()
        missed, wrong = (first * (1 - np.eye(n))).sum(axis=-1).ravel(), _wrong_shares(first)
    else:
        right, missed, wrong = first, 1 - first, np.empty((0, n))
    moves = step * np.reshape(change, (len(right), -1)).cumsum(axis=1)
    return (np.log(right) - np.log(missed))[:, None] + np.insert(moves, 0, 0.0, axis=1), wrong


def _groups(model: pm.Model, law: WalkStructure, drawn: WalkDraws, plan: Draws) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to draws of the model's variables, with log densities if the plan asks for them."""
    values = values_of(law, drawn)
    arrays = {str(rv.name): own for rv, own in zip(law.free, values, strict=True)}
    skill = expit(drawn.walk.reshape(*values[3].shape[:-1], law.windows))
    arrays |= {"plausibility": drawn.plausibility, SKILL: np.moveaxis(skill, -1, 3)}
    arrays["confusion"] = _mean_confusion(law, drawn)
    return groups_by_item(model, arrays, plan, drawn.log_p, lambda: _log_prior(law, values))


def _mean_confusion(law: WalkStructure, drawn: WalkDraws) -> np.ndarray:
    """Return the mean matrices over the answers of each rater (chain, draw, rater, category, answer)."""
    n, windows = len(law.prior.prevalence), law.windows
    raters = len(law.prior.begin) // (n if law.of_rows else 1)
    given = np.bincount(law.answers.code // n, minlength=raters * windows).reshape(raters, windows)
    share = given / given.sum(axis=1, keepdims=True)
    right = (expit(drawn.walk).reshape(*drawn.step.shape, raters, -1, windows) * share[:, None]).sum(axis=-1)
    wrong = drawn.wrong.reshape(*right.shape, n) if law.of_rows else (1 - np.eye(n)) / (n - 1)
    return np.eye(n) * right[..., None] + wrong * (1 - right[..., None])


def _log_prior(law: WalkStructure, drawn: tuple[np.ndarray, ...]) -> dict[str, np.ndarray]:
    """Log prior densities of the free variables, with their batch dims; `drawn` as of `values_of`."""
    prior, (prevalence, first, step, change) = law.prior, drawn
    if law.of_rows:
        of_first = dirichlet_log_density(first, prior.wrong.reshape(first.shape[2:]))
    else:
        of_first = beta_log_density(first, *prior.begin.T)
    of_step = halfnorm.logpdf(step, scale=prior.step), norm.logpdf(change)
    log_p = (dirichlet_log_density(prevalence, prior.prevalence), of_first, *of_step)
    return {str(rv.name): own for rv, own in zip(law.free, log_p, strict=True)}


def _name(_: pm.Model, law: WalkStructure | None) -> str | None:
    """Return the name of the model with these raters."""
    return None if law is None else (DAWID_SKENE if law.of_rows else ONE_COIN).name


SAMPLER = Sampler(
    law=RaterLabelsRV,
    variables=(SKILL_STEP, SKILL_CHANGE),
    read=read_walks,
    begin=begin_skill_in_time,
    reason="given the true categories, the log odds of the raters are random walks with binomial answers",
    name=_name,
)
