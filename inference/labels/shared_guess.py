"""Sampler of the shared-guess model: the compiled Gibbs loop of truth, guesses, copies and parameters."""

from dataclasses import dataclass

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import BetaRV, DirichletRV
from pytensor.tensor.variable import TensorVariable

from ...models.data.raters import NO_GROUP
from ...models.distributions.marginal_labels_kernels import Answers, answer_codes
from ...models.distributions.shared_guesses import SharedGuessByItemRV, SharedGuessRV
from ...models.distributions.shared_guesses_kernels import GroupedAnswers, grouped_answers
from ...models.labels.shared_guess import SPEC as SHARED_GUESS
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
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
from .kernels.gibbs import FREE_ROWS, ConfusionPrior
from .kernels.shared_guess import GuessCounts, GuessDraws, GuessParameters, GuessPrior, sample_guesses
from .recognition import PRIOR_BY_ITEM, as_table

# --- Reader of the model: answers and priors, from the PyMC graph ---


@dataclass(frozen=True, eq=False)
class GuessStructure:
    """Observed answers of a shared-guess model, and its free random variables."""

    answers: Answers
    group: np.ndarray  # int64 (rater,), NO_GROUP for raters who copy nobody
    free: tuple[TensorVariable, ...]  # prevalence, own confusion, guess, shared
    law: tuple[Variable, ...]  # these as parameters of the likelihood; shared (rater,)

    @property
    def n_categories(self) -> int:
        """Return the number of categories."""
        return shape_of(self.free[0])[0]

    @property
    def copiers(self) -> np.ndarray:
        """Return the raters of a group, codes (copier,)."""
        return np.flatnonzero(self.group != NO_GROUP)

    @property
    def grouped(self) -> GroupedAnswers:
        """Return the answers as compiled code reads them."""
        return grouped_answers(self.answers, self.group, self.n_categories)

    @property
    def concentrations(self) -> list[Variable]:
        """Return the parameters of the priors: one of each Dirichlet, two of the Beta variables."""
        return [p for rv in self.free for p in rv.owner.op.dist_params(rv.owner)]

    def prior(self, *concentrations: np.ndarray) -> GuessPrior:
        """Return the priors in the layout of the kernels, given the values of `concentrations`."""
        prevalence, own, guess = (
            np.array(np.broadcast_to(x, shape_of(rv)), np.float64)
            for x, rv in zip(concentrations, self.free[:3], strict=False)
        )
        shared = np.ones((len(self.group), 2))
        shared[self.copiers] = np.stack(
            [np.broadcast_to(x, shape_of(self.free[3])) for x in concentrations[3:]], axis=-1
        )
        return GuessPrior(ConfusionPrior(prevalence, as_table(own), FREE_ROWS), guess, shared)


def read_shared_guess(model: pm.Model) -> GuessStructure:
    """Read a model of one `SharedGuess` of free Dirichlet rows and free Beta shares; raise NotConjugate for any other."""
    observed = only_observed(model, SharedGuessRV)
    *law, start, rater, group, known = observed.owner.op.dist_params(observed.owner)
    if isinstance(observed.owner.op, SharedGuessByItemRV):
        raise NotConjugate(PRIOR_BY_ITEM)
    for variable, name in zip(law[:3], ("prevalence", "confusion", "guess"), strict=True):
        if variable not in model.free_RVs or not isinstance(variable.owner.op, DirichletRV):
            raise NotConjugate(f"the {name} is not a free Dirichlet variable of the model")
    near = set(ancestors([law[3]], blockers=model.free_RVs))
    found = [rv for rv in model.free_RVs if rv in near]
    if len(found) != 1 or not isinstance(found[0].owner.op, BetaRV):
        names = ", ".join(str(rv.name) for rv in found) or "nothing"
        raise NotConjugate(f"the shares of copies must be one free Beta variable; they are made of {names}")
    free = (*law[:3], found[0])
    for rv in model.free_RVs:
        for other in free:
            if rv is not other and other in ancestors([rv]):
                raise NotConjugate(f"{rv.name!r} depends on {other.name!r}, too")
    (n,) = shape_of(law[0])
    label = constant_value(model.rvs_to_values[observed], "the observed labels")
    code = answer_codes(constant_value(rater, "the raters"), label, n)
    start = constant_value(start, "the items").astype(np.int64)
    answers = Answers(start, code, constant_value(known, "gold").astype(np.int64))
    groups = constant_value(group, "the groups").astype(np.int64)
    structure = GuessStructure(answers, groups, free, tuple(law))
    _check_shares(structure)
    return structure


def _check_shares(structure: GuessStructure) -> None:
    """Raise NotConjugate unless the shares are those of the raters of groups in order, and 0 for all others."""
    free, copiers = structure.free[3], structure.copiers
    trial = np.random.default_rng(0).uniform(size=shape_of(free))
    expected = np.zeros(len(structure.group))
    if trial.shape == copiers.shape:
        expected[copiers] = trial
        if is_equal(evaluator([free], structure.law[3])(trial), expected):
            return
    raise NotConjugate(
        f"the shares of copies are not {free.name!r}, one for each rater of a group, and else zero"
    )


def constant_guess_prior(model: pm.Model, structure: GuessStructure) -> GuessPrior:
    """Return the priors of a model; raise NotConjugate if it has further free variables."""
    refuse_further(model, structure.free, "; use GuessGibbs as a step of pm.sample")
    return structure.prior(*(positive_constant(p, "a concentration") for p in structure.concentrations))


# --- Chains ---


def group_votes(answers: GroupedAnswers, n_categories: int, n_groups: int) -> np.ndarray:
    """Return the number of each label among the answers of each group to an item, (item, group, label)."""
    item = np.repeat(np.arange(len(answers.gold_category)), np.diff(answers.start))
    group = answers.group[answers.rater]
    cell = ((item * n_groups + group) * n_categories + answers.label)[group >= 0]
    shape = (len(answers.gold_category), n_groups, n_categories)
    return np.bincount(cell, minlength=int(np.prod(shape))).reshape(shape)


def begin_guesses(structure: GuessStructure, prior: GuessPrior, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Initialise every chain near a vote: stream (chain, word), and `GuessCounts` with a leading dim chain.

    In the vote of an item each group that shares a guess has one voice. Its guess is that of one of its raters, and
    half of the answers that repeat it begin as copies.
    """
    answers, (n_groups, n, _) = structure.grouped, prior.guess.shape
    votes = group_votes(answers, n, n_groups)
    weight = vote_weights(answers, votes)
    item = np.repeat(np.arange(len(answers.gold_category)), np.diff(answers.start))
    group, row = answers.group[answers.rater], structure.answers.code
    total = votes.sum(axis=2)
    who, where = np.nonzero(total)

    def begin(rng: np.random.Generator) -> dict[str, np.ndarray]:
        truth = drawn_near_vote(structure.answers, n, rng, weight)
        place = (rng.random(total.shape) * total).astype(np.int64)
        guessed = (votes.cumsum(axis=2)[:, :, :-1] <= place[:, :, None]).sum(axis=2)
        agrees = (group >= 0) & (guessed[item, np.maximum(group, 0)] == answers.label)
        copied = agrees & (rng.random(len(group)) < 0.5)
        cells = row.astype(np.int64) * n + truth[item]
        of_answers = {"labels": ~copied, "copied": copied, "agreeing": agrees}
        guesses = (where * n + truth[who]) * n + guessed[who, where]
        return {
            "items": np.bincount(truth, minlength=n),
            "guesses": _counted(guesses, prior.guess.shape),
            **{name: _counted(cells[own], prior.rows.confusion.shape) for name, own in of_answers.items()},
        }

    return begun(plan, begin)


def vote_weights(answers: GroupedAnswers, votes: np.ndarray) -> np.ndarray:
    """Return the weight of each answer (answer,) in a vote in which each group has one voice.

    Shapes: votes (item, group, label), see `group_votes`.
    """
    item = np.repeat(np.arange(len(answers.gold_category)), np.diff(answers.start))
    group = answers.group[answers.rater]
    total = votes.sum(axis=2)[item, np.maximum(group, 0)]
    return np.where(group >= 0, 1 / np.maximum(total, 1), 1.0)


def _counted(cells: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """Return how often each cell of an array of this shape is named, by its flat number."""
    return np.bincount(cells, minlength=int(np.prod(shape))).reshape(shape)


def draw_guess_model(structure: GuessStructure, prior: GuessPrior, plan: ChainPlan) -> GuessDraws:
    """Run all chains from their start; returns as `continue_guesses`."""
    return continue_guesses(structure, prior, plan, begin_guesses(structure, prior, plan))


def continue_guesses(
    structure: GuessStructure, prior: GuessPrior, plan: ChainPlan, state: dict[str, np.ndarray]
) -> GuessDraws:
    """Run all chains on from their state, in place; returns `GuessDraws` (chain, draw, ...)."""
    answers, size = structure.grouped, (plan.chains, plan.draws)
    (n_rows, n), n_items = prior.rows.confusion.shape, len(answers.gold_category)
    shapes = ((n,), (n_rows, n), prior.guess.shape, answers.group.shape, (n_items, n), (n_items,))
    draws = GuessDraws(*(np.empty((*size, *shape), plan.dtype) for shape in shapes))
    block = min(plan.draws, max(1, BLOCK // ((n_items + n_rows) * n + 1)))

    def sample(chain: int, places: GuessDraws, sweeps: tuple[int, int]) -> None:
        own = GuessCounts(*(state[name][chain] for name in GuessCounts._fields))
        sample_guesses(state["stream"][chain], answers, prior, sweeps, (own, places))

    return run_chains(draws, plan, block, sample)


# --- The sampler as a run ---

SWEEPS_BEFORE = 500  # default warm-up
WANTED_ESS = 1200  # less than elsewhere: draws cost more, and shares are fewer than plausibilities
PILOT_DRAWS = 1000  # shares that the answers hardly tell move too slowly for fewer


def begin_shared_guess(
    law: tuple[GuessStructure, GuessPrior], model: pm.Model, plan: Draws, found: Tuning | None = None
) -> Run:
    """Set up the compiled Gibbs loop; `found` restores the thinning."""
    structure, prior = law

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = draw_guess_model(structure, prior, trial)
        kept = (draws.prevalence, draws.table, draws.guess, draws.shared[..., structure.copiers])
        return np.concatenate([x.reshape(trial.chains, trial.draws, -1) for x in kept], axis=2)

    chains = plan.chain(SWEEPS_BEFORE)
    found, chains, stats = thinned(found, plan, chains, parameters, draws=PILOT_DRAWS, wanted=WANTED_ESS)
    state = begin_guesses(structure, prior, chains)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_guesses(structure, prior, chains.part(drawn, n), state)
        return _groups(model, law, draws, plan) | stats

    return Run(found, state, draw)


def values_of(structure: GuessStructure, draws: GuessDraws | GuessParameters) -> tuple[np.ndarray, ...]:
    """Return draws (..., as in `GuessParameters`) in the shapes of the free variables."""
    n = structure.n_categories
    own = draws.table.reshape(*draws.table.shape[:-2], -1, n, n).swapaxes(-1, -2)
    return draws.prevalence, own, draws.guess, draws.shared[..., structure.copiers]


def _groups(
    model: pm.Model, law: tuple[GuessStructure, GuessPrior], drawn: GuessDraws, plan: Draws
) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to draws of the model's variables, with log densities if the plan asks for them."""
    structure, prior = law
    values = values_of(structure, drawn)
    arrays = {str(rv.name): value for rv, value in zip(structure.free, values, strict=True)}
    if "confusion" in model.named_vars:
        arrays["confusion"] = answers_of_any_origin(structure.group, values[1], values[2], drawn.shared)
    arrays["plausibility"] = drawn.plausibility
    return groups_by_item(model, arrays, plan, drawn.log_p, lambda: _log_prior(structure, prior, values))


def answers_of_any_origin(
    group: np.ndarray, own: np.ndarray, guess: np.ndarray, shared: np.ndarray
) -> np.ndarray:
    """Return p(answer | rater, true category), copied or not, in the shape of `own` (..., rater, category, answer).

    Shapes: group (rater,); guess (..., group, category, answer); shared (..., rater), 0 for raters of no group.
    """
    share = shared[..., None, None]
    return share * guess[..., np.maximum(group, 0), :, :] + (1 - share) * own


def _log_prior(
    structure: GuessStructure, prior: GuessPrior, drawn: tuple[np.ndarray, ...]
) -> dict[str, np.ndarray]:
    """Log prior densities of the free variables, with their batch dims; drawn as of `values_of`."""
    prevalence, own, guess, shared = drawn
    n = structure.n_categories
    beta = prior.rows.confusion.reshape(-1, n, n).swapaxes(1, 2)
    log_p = (
        dirichlet_log_density(prevalence, prior.rows.prevalence),
        dirichlet_log_density(own, beta),
        dirichlet_log_density(guess, prior.guess),
        beta_log_density(shared, *prior.shared[structure.copiers].T),
    )
    return {str(rv.name): density for rv, density in zip(structure.free, log_p, strict=True)}


def _read(model: pm.Model) -> tuple[GuessStructure, GuessPrior]:
    """Read a shared-guess model and its priors; raise NotConjugate for others."""
    structure = read_shared_guess(model)
    return structure, constant_guess_prior(model, structure)


SAMPLER = Sampler(
    law=SharedGuessRV,
    read=_read,
    begin=begin_shared_guess,
    reason="given the true categories, the guesses and the copies, all parameters are conjugate",
    name=SHARED_GUESS.name,
)
