"""Sampler of cultural consensus: its law read from the PyMC graph, and the compiled Gibbs loop."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.tensor.random.basic import BetaRV, CategoricalRV, DirichletRV
from scipy.optimize import linear_sum_assignment

from ...models.distributions.marginal_labels import RaterLabelsByItemRV, RaterLabelsRV
from ...models.distributions.marginal_labels_kernels import Answers
from ...models.labels.cultural_consensus import SPEC as CULTURAL_CONSENSUS
from ...models.labels.cultural_consensus import confusion_by_truths, differ, joint_truths
from ..runs.model_graph import (
    NotConjugate,
    dirichlet_concentration,
    evaluator,
    is_equal,
    only_observed,
    positive_constant,
    refuse_random_prior,
    shape_of,
)
from ..runs.run import ChainPlan, Draws, Run, Sampler, Tuning, in_threads, run_chains, stream, thinned
from ..runs.trees import groups_by_item
from .gibbs import BLOCK, beta_log_density, dirichlet_log_density
from .kernels.cultural_consensus import (
    ConsensusDraws,
    ConsensusPrior,
    ConsensusState,
    ItemsOfRaters,
    sample_consensus,
)
from .recognition import PRIOR_BY_ITEM, answers_of_variable

SWEEPS_BEFORE = 500  # default warm-up
STARTS, SWEEPS_OF_START = 8, 60  # at random, of which the most probable begins a chain
LAWS = {
    "joint_prevalence": DirichletRV,
    "population_share": DirichletRV,
    "membership": CategoricalRV,
    "ability": BetaRV,
}


@dataclass(frozen=True, eq=False)
class ConsensusLaw:
    """Answers and priors, and whether the law is the same for populations in any order."""

    answers: Answers
    prior: ConsensusPrior
    exchangeable: bool

    @property
    def n_categories(self) -> int:
        """Return the number of categories."""
        return int(self.prior.truth.max()) + 1

    @cached_property
    def items(self) -> ItemsOfRaters:
        """Return the answers of each rater by item."""
        item = np.repeat(np.arange(len(self.answers.gold_category)), np.diff(self.answers.start))
        rater, label = np.divmod(self.answers.code.astype(np.int64), self.n_categories)
        order = np.argsort(rater, kind="stable")
        start = np.searchsorted(rater[order], np.arange(len(self.prior.right) + 1))
        return ItemsOfRaters(start.astype(np.int64), item[order].astype(np.int64), label[order])


# --- Reader: answers and priors, from the PyMC graph ---


def read_consensus(model: pm.Model) -> ConsensusLaw:
    """Read a `RaterLabels` whose states are joint truths of populations of raters; NotConjugate for any other model."""
    observed = only_observed(model, RaterLabelsRV)
    probability, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    if isinstance(observed.owner.op, RaterLabelsByItemRV):
        raise NotConjugate(PRIOR_BY_ITEM)
    free = [model[name] for name in LAWS]
    for rv, law in zip(free, LAWS.values(), strict=True):
        if rv not in model.free_RVs or not isinstance(rv.owner.op, law):
            raise NotConjugate(f"the prior of {rv.name!r} is not {law.__name__.removesuffix('RV')}")
    others = [rv for rv in model.free_RVs if rv not in free]
    for rv in free:
        refuse_random_prior(model, rv, others)
    if others:
        raise NotConjugate(f"{others[0].name!r} is free besides {' and '.join(map(repr, LAWS))}")
    joint, share, membership, ability = free
    alpha, gamma = dirichlet_concentration(joint), dirichlet_concentration(share)
    n = int(np.asarray(evaluator([], confusion.shape[2])()))
    truth = joint_truths(n, len(gamma))
    raters = shape_of(ability)
    right, wrong = (
        np.array(np.broadcast_to(positive_constant(p, "a concentration"), raters), np.float64)
        for p in ability.owner.op.dist_params(ability.owner)
    )
    _check_law((joint, share, membership, ability), (probability, confusion), truth, n)
    answers = answers_of_variable(model, (observed, start, rater, known), n)
    prior = ConsensusPrior(alpha, gamma, right, wrong, truth, differ(truth))
    return ConsensusLaw(answers, prior, _is_exchangeable(prior, answers))


def _check_law(free: tuple[Any, ...], found: tuple[Any, Any], truth: np.ndarray, n: int) -> None:
    """Raise NotConjugate unless the probabilities have the values of the law at random ones of the variables."""
    rng, (joint, _, membership, ability) = np.random.default_rng(0), free
    (raters,), populations = shape_of(ability), truth.shape[1]
    given = rng.dirichlet(np.ones(len(truth))), rng.dirichlet(np.ones(populations))
    whose, right = rng.integers(0, populations, raters), rng.uniform(0.5, 0.9, raters)
    if shape_of(joint) == (len(truth),) and shape_of(membership) == (raters,):
        (of_membership,) = membership.owner.op.dist_params(membership.owner)
        rows = np.asarray(confusion_by_truths(whose, right, truth, n).eval())
        values = evaluator(free, [*found, of_membership])(*given, whose, right)
        expected = given[0], rows, given[1]
        if all(is_equal(x, y, 1e-9) for x, y in zip(values, expected, strict=True)):
            return
    raise NotConjugate("the answers are not those of raters whose population has a truth of its own")


def _is_exchangeable(prior: ConsensusPrior, answers: Answers) -> bool:
    """Whether populations may be numbered in any order: no gold labels, and priors that are the same for all."""
    if (answers.gold_category >= 0).any() or np.ptp(prior.share):
        return False
    populations = np.arange(prior.truth.shape[1])
    swaps = (np.where(populations == g, 0, np.where(populations == 0, g, populations)) for g in populations)
    return all(np.allclose(prior.joint, prior.joint[_renumbered(prior.truth, swap)]) for swap in swaps)


# --- Numbers of the populations ---


def _renumbered(truth: np.ndarray, number: np.ndarray) -> np.ndarray:
    """Return, for each joint truth of renumbered populations, the joint truth before; number: new of each population."""
    n = int(truth.max()) + 1
    return np.asarray(np.ravel_multi_index(tuple(truth[:, number].T), (n,) * truth.shape[1]))


def in_order_of_size(membership: np.ndarray, populations: int) -> np.ndarray:
    """Return memberships (rater,) by falling number of raters; of equal populations that with the first rater is first."""
    size = np.bincount(membership, minlength=populations)
    first = [np.append(np.flatnonzero(membership == g), len(membership))[0] for g in range(populations)]
    return np.argsort(np.lexsort((first, -size)))[membership]


def number_populations(draws: ConsensusDraws, reference: np.ndarray, truth: np.ndarray) -> None:
    """Renumber the populations of each draw of a chain, in place: most raters are then of the same one as in the reference."""
    populations = truth.shape[1]
    membership = draws.membership.astype(np.int64)
    members, of_reference = (own[..., None] == np.arange(populations) for own in (membership, reference))
    shared = np.einsum("dkg,kh->dgh", members.astype(float), of_reference.astype(float))
    number = np.array([linear_sum_assignment(-own)[1] for own in shared])
    for new in np.unique(number, axis=0):
        which = (number == new).all(axis=1)
        if (new == np.arange(populations)).all():
            continue
        old = np.argsort(new)
        draws.joint[which] = draws.joint[which][:, _renumbered(truth, new)]
        draws.share[which] = draws.share[which][:, old]
        draws.membership[which] = new[membership[which]]
        draws.plausibility[which] = draws.plausibility[which][:, :, old]


# --- Chains ---


def begin_consensus(law: ConsensusLaw, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Start each chain at the most probable of short chains from memberships at random; stream and `ConsensusState`."""
    n_items, n_raters = len(law.answers.gold_category), len(law.prior.right)
    state = {
        "stream": np.empty((plan.chains, 4), np.uint64),
        "cell": np.empty((plan.chains, n_items), np.int64),
        "membership": np.empty((plan.chains, n_raters), np.int64),
    }

    def run(chain: int) -> None:
        rng = np.random.default_rng(np.random.SeedSequence(plan.seed, spawn_key=(chain,)))
        own, best = stream(rng), -np.inf
        for _ in range(STARTS):
            begun = _at_random(law, rng)
            draws = places(law, (1,), np.dtype(np.float64))
            sample_consensus(own, law.answers, law.items, law.prior, (SWEEPS_OF_START - 1, 1), (begun, draws))
            if draws.log_p.sum() > best:
                best = draws.log_p.sum()
                state["cell"][chain], state["membership"][chain] = begun
        state["stream"][chain] = own

    in_threads(run, zip(range(plan.chains)), plan.threads or plan.chains)
    return state


def _at_random(law: ConsensusLaw, rng: np.random.Generator) -> ConsensusState:
    """Return memberships at random, and the vote of each population's raters as its truth, that of all where they gave none."""
    answers, truth, n = law.answers, law.prior.truth, law.n_categories
    n_items, populations = len(answers.gold_category), truth.shape[1]
    membership = rng.integers(0, populations, len(law.prior.right))
    item = np.repeat(np.arange(n_items), np.diff(answers.start))
    votes = np.zeros((n_items, populations, n))
    np.add.at(votes, (item, membership[answers.code // n], answers.code % n), 1.0)
    votes += 0.1 * votes.sum(axis=1, keepdims=True) + 0.01 * rng.random(votes.shape)
    of_each = votes.argmax(axis=2)
    of_each[:, 0] = np.where(answers.gold_category < 0, of_each[:, 0], answers.gold_category)
    cell = np.asarray(np.ravel_multi_index(tuple(of_each.T), (n,) * populations))
    return ConsensusState(cell, membership)


def places(law: ConsensusLaw, size: tuple[int, ...], dtype: Any, *, of_items: bool = True) -> ConsensusDraws:
    """Return empty arrays of draws (*size, ...)."""
    n_truths, populations = law.prior.truth.shape
    n_items, n_raters = len(law.answers.gold_category) if of_items else 0, len(law.prior.right)
    shapes = [(n_truths,), (populations,), (n_raters,), (n_raters,)]
    shapes += [(n_items, populations, law.n_categories), (n_items,), (n_items,)]
    return ConsensusDraws(*(np.empty((*size, *shape), dtype) for shape in shapes))


def continue_consensus(
    law: ConsensusLaw,
    plan: ChainPlan,
    state: dict[str, np.ndarray],
    reference: np.ndarray,
    *,
    of_items: bool = True,
) -> ConsensusDraws:
    """Run all chains on from their state, in place; returns `ConsensusDraws` (chain, draw, ...), populations numbered."""
    draws = places(law, (plan.chains, plan.draws), plan.dtype, of_items=of_items)
    block = min(plan.draws, max(1, BLOCK // (draws.plausibility[0, 0].size + law.prior.joint.size)))

    def sample(chain: int, places: ConsensusDraws, sweeps: tuple[int, int]) -> None:
        own = ConsensusState(*(state[name][chain] for name in ConsensusState._fields))
        sample_consensus(state["stream"][chain], law.answers, law.items, law.prior, sweeps, (own, places))
        if law.exchangeable:
            number_populations(places, reference, law.prior.truth)

    return run_chains(draws, plan, block, sample)


# --- The sampler as a run ---


def begin_consensus_gibbs(
    law: ConsensusLaw, model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up the compiled Gibbs loop; `found` restores the thinning, and the partition by which populations are numbered."""
    chains = plan.chain(SWEEPS_BEFORE)
    state = begin_consensus(law, chains)
    order = in_order_of_size(state["membership"][0], law.prior.truth.shape[1])
    reference = order if found is None else np.asarray(found["partition"])

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = continue_consensus(law, trial, begin_consensus(law, trial), reference, of_items=False)
        return np.concatenate([draws.joint, draws.share, draws.ability], axis=2)

    found, chains, stats = thinned(found, plan, chains, parameters)
    found = {"partition": reference, **found}

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_consensus(law, chains.part(drawn, n), state, reference)
        return _groups(model, law, draws, plan) | stats

    return Run(found, state, draw)


def _groups(model: pm.Model, law: ConsensusLaw, drawn: ConsensusDraws, plan: Draws) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to those of the model's variables, with log densities if the plan asks for them."""
    n, size = law.n_categories, drawn.joint.shape[:2]
    membership = drawn.membership.astype(np.int64)
    by_first = drawn.joint.reshape(*size, n, -1)
    arrays = {"joint_prevalence": drawn.joint, "population_share": drawn.share, "membership": membership}
    arrays |= {"ability": drawn.ability, "prevalence": by_first.sum(axis=-1)}
    arrays |= {"population_plausibility": drawn.plausibility, "plausibility": drawn.plausibility[..., 0, :]}
    arrays |= {"contested": drawn.contested, "confusion": _confusion(law, drawn, membership)}
    return groups_by_item(model, arrays, plan, drawn.log_p, lambda: _log_prior(law, drawn, membership))


def _confusion(law: ConsensusLaw, drawn: ConsensusDraws, membership: np.ndarray) -> np.ndarray:
    """Return p(answer | rater, truth of the first population) (chain, draw, rater, category, answer)."""
    n, truth = law.n_categories, law.prior.truth
    by_first = drawn.joint.reshape(*drawn.joint.shape[:2], n, -1)
    given = (by_first / by_first.sum(axis=-1, keepdims=True)).reshape(*drawn.joint.shape)
    # p(T_g = l | T_1 = j), (chain, draw, population, category, category)
    other = np.stack(
        [
            np.stack(
                [given[..., (truth[:, 0] == j)] @ np.eye(n)[truth[truth[:, 0] == j, g]] for j in range(n)],
                axis=-2,
            )
            for g in range(truth.shape[1])
        ],
        axis=2,
    )
    own = np.take_along_axis(other, membership[..., None, None], axis=2)
    wrong = (1 - drawn.ability[..., None, None]) / (n - 1)
    return (wrong + (drawn.ability[..., None, None] - wrong) * own).astype(drawn.joint.dtype)


def _log_prior(law: ConsensusLaw, drawn: ConsensusDraws, membership: np.ndarray) -> dict[str, np.ndarray]:
    """Log prior density of joint law, shares, memberships and abilities, with their batch dims."""
    share = np.take_along_axis(drawn.share, membership, axis=2)
    return {
        "joint_prevalence": dirichlet_log_density(drawn.joint, law.prior.joint),
        "population_share": dirichlet_log_density(drawn.share, law.prior.share),
        "membership": np.log(np.maximum(share, np.finfo(share.dtype).tiny)),
        "ability": beta_log_density(drawn.ability, law.prior.right, law.prior.wrong),
    }


SAMPLER = Sampler(
    law=RaterLabelsRV,
    variables=tuple(LAWS),
    read=read_consensus,
    begin=begin_consensus_gibbs,
    reason="given the joint truths memberships are drawn with abilities summed out, and all parameters are conjugate",
    name=CULTURAL_CONSENSUS.name,
    names_refused=True,
)
