"""Point estimate of the shared-guess model by EM."""

from collections.abc import Collection
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ...models.data.labels import Labels
from ...models.data.prior_arguments import (
    confusion_concentrations,
    default_confusion,
    positive_array,
    positive_pair,
)
from ...models.data.sharing_groups import NO_GROUP, Groups, sharing_groups
from ...models.distributions.shared_guesses_kernels import (
    GroupedAnswers,
    GuessLaw,
    grouped_answers,
    guess_counts,
    guess_log_p,
)
from .em_search import Ended, Variables, ascended, estimate_of_optima, optima_of
from .kernels.em import AnswerPatterns, jittered_vote, vote_share
from .recognition import as_table
from .shared_guess import answers_of_any_origin, group_votes, vote_weights
from .votes import check_search


def shared_guess_em(
    labels: Labels,
    groups: Groups = None,
    independent: str | Collection[Any] = (),
    *,
    prevalence_concentration: Any = 1.0,
    confusion_concentration: Any = None,
    guess_concentration: Any = None,
    shared_concentration: tuple[float, float] = (1.0, 1.0),
    restarts: int | Literal["auto"] = "auto",
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Estimate the shared-guess model by EM: what raters answer on their own, what groups guess, and how often they copy.

    The law is that of `models.shared_guess`. The E-step is one pass over the answers; it returns the log likelihood and the
    expected numbers of items, of answers that are not copied, of guesses and of copies. The M-step divides:

        p_j    proportional to  alpha_j + expected number of items of category j
        pi_kjl proportional to  beta_kjl + expected number of answers l of rater k, not copied, on items of category j
        Phi_gjh proportional to phi_gjh + expected number of guesses h of group g on items of category j
        s_k    =  (a + expected copies) / (a + b + answers)

    This maximises the posterior of the log odds, whose density has the exponents alpha, beta, phi, a and b.

    Parameters
    ----------
    labels : Labels
        Labels of identified raters. Gold labels are taken as known true categories.
    groups, independent
        Groups of the raters, and those whose raters copy nobody, as for `models.shared_guess`.
    prevalence_concentration, confusion_concentration, guess_concentration, shared_concentration
        Priors as for `models.shared_guess`, in numbers.
    restarts : int or "auto", default "auto"
        Number of random starts near the vote shares, each run until it converges; "auto" as for `dawid_skene_em`. In that
        vote each group has one voice.
    max_iterations, tolerance, random_seed
        As for `dawid_skene_em`.

    Returns
    -------
    Dataset
        ``prevalence`` (category), ``own_confusion`` (rater, category, answer), ``guess`` (group_of_raters, category,
        answer), ``shared`` (copier); ``confusion`` (rater, category, answer) of answers, copied or not; ``plausibility``
        (item, category); ``trace`` (iteration) of the objective. The first six also of every distinct ``optimum``, the
        best first, with the prefix ``optimum_``, and ``optimum_objective``, ``optimum_found`` and ``vote_optimum`` as for
        `dawid_skene_em`; ``start_objective`` (start), the objective at which a start ended, that of the vote first.
        Attributes ``objective``, ``converged`` (0 or 1), ``iterations`` and ``start``, the number of the best start,
        whose estimate is returned.

    Raises
    ------
    ValueError
        If the raters are anonymous, their groups are not as `models.shared_guess` needs them, or an argument is out of
        range.

    Warns
    -----
    DataWarning
        As `models.shared_guess`, of a group of one rater, and of all raters in one group.
    EstimateWarning
        If no item has two answers, some starts ended at a lower optimum, or some have not converged.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.labels(model="shared_guess", items=60, raters=6, answers=6, random_seed=4)
    >>> estimate = inference.shared_guess_em(drawn.data, "kind", "person", restarts=0)
    >>> estimate["shared"].dims, estimate["guess"].dims, estimate.attrs["converged"]
    (('copier',), ('group_of_raters', 'category', 'answer'), 1)

    References
    ----------
    Dempster, Laird and Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm, JRSS B 39(1), section 4.3
    (finite mixtures), doi:10.1111/j.2517-6161.1977.tb01600.x. The law: `models.shared_guess`.
    """
    check_search(labels, "shared_guess_em", restarts, max_iterations, tolerance)
    sharing = sharing_groups(labels, groups, independent)
    prior = _prior(
        labels,
        sharing.group,
        (prevalence_concentration, confusion_concentration, guess_concentration, shared_concentration),
    )
    rule = (max_iterations, tolerance)
    patterns, found = optima_of(
        labels, lambda own: _Ascents(own, sharing.group, prior, rule), restarts, random_seed
    )
    answers = grouped_answers(patterns.answers, sharing.group, len(labels.categories))
    result = estimate_of_optima(labels, found, lambda run: _variables(answers, patterns, run.parameters))
    return result.assign_coords(
        group_of_raters=sharing.names, copier=labels.raters[sharing.group != NO_GROUP]
    )


class _Counts(NamedTuple):
    """Concentrations, expected counts or logs of the parameters, in the shapes of `GuessLaw` but for `shared`."""

    prevalence: np.ndarray  # (category,)
    table: np.ndarray  # (rater * label, category), of answers that are not copied
    guess: np.ndarray  # (group, category, answer)
    shared: np.ndarray  # (rater, 2): copied, not copied


class _Run(NamedTuple):
    """Result of one start."""

    parameters: _Counts
    trace: np.ndarray  # (iteration,), the objective
    converged: bool


def _prior(labels: Labels, group: np.ndarray, concentrations: tuple[Any, ...]) -> _Counts:
    """Return the concentrations of the priors, validated; those of shares are zero for raters of no group."""
    prevalence, own, guess, shared = concentrations
    n, n_raters = len(labels.categories), len(labels.raters)
    usual = confusion_concentrations(n)
    beta = positive_array(
        "confusion_concentration", default_confusion(labels) if own is None else own, (n_raters, n, n)
    )
    phi = positive_array("guess_concentration", usual if guess is None else guess, (group.max() + 1, n, n))
    pair = np.array(positive_pair("shared_concentration", shared))
    return _Counts(
        positive_array("prevalence_concentration", prevalence, (n,)),
        as_table(beta),
        phi,
        np.where(group[:, None] == NO_GROUP, 0.0, pair),
    )


def _vote_counts(
    answers: GroupedAnswers, patterns: AnswerPatterns, votes: np.ndarray, plausibility: np.ndarray
) -> _Counts:
    """Return expected counts given p(true category) (pattern, category) if half of the answers of groups are copies.

    Shapes: votes (pattern, group, label).
    """
    n = plausibility.shape[1]
    truth = plausibility * patterns.multiplicity[:, None]
    item = np.repeat(np.arange(len(truth)), np.diff(answers.start))
    grouped = answers.group != NO_GROUP
    row, n_rows = answers.rater * n + answers.label, len(grouped) * n
    labels = np.stack([np.bincount(row, truth[item, j], n_rows) for j in range(n)], axis=1)
    labels *= np.where(np.repeat(grouped, n), 0.5, 1.0)[:, None]
    share = votes / np.maximum(votes.sum(axis=2, keepdims=True), 1)
    copied = np.where(grouped, labels.reshape(-1, n * n).sum(axis=1), 0.0)
    return _Counts(
        truth.sum(axis=0), labels, np.einsum("ij,igh->gjh", truth, share), np.stack([copied, copied], axis=1)
    )


def _maximum(prior: _Counts, counts: _Counts) -> tuple[_Counts, float]:
    """M-step: return the parameters (of `shared`, both shares) and the log-prior part of the objective."""
    after = _Counts(*(own + n for own, n in zip(prior, counts, strict=True)))
    n = len(after.prevalence)
    rows = after.table.reshape(-1, n, n)
    copied = after.shared.sum(axis=1, keepdims=True)
    found = _Counts(
        after.prevalence / after.prevalence.sum(),
        (rows / rows.sum(axis=1, keepdims=True)).reshape(-1, n),
        after.guess / after.guess.sum(axis=2, keepdims=True),
        np.where(copied > 0, after.shared / np.where(copied > 0, copied, 1.0), [0.0, 1.0]),
    )
    logs = (np.log(np.where(own > 0, x, 1.0)) for own, x in zip(prior, found, strict=True))
    return found, float(sum((own * log).sum() for own, log in zip(prior, logs, strict=True)))


def _law(parameters: _Counts) -> GuessLaw:
    """Return the parameters as the passes over the answers read them."""
    shared, own = parameters.shared.T
    table = parameters.table * np.repeat(own, len(parameters.prevalence))[:, None]
    return GuessLaw(parameters.prevalence, table, parameters.guess, np.ascontiguousarray(shared))


class _Ascents:
    """EM on some items."""

    def __init__(
        self, patterns: AnswerPatterns, group: np.ndarray, prior: _Counts, rule: tuple[int, float]
    ) -> None:
        n = len(prior.prevalence)
        self._patterns, self._prior, self._rule = patterns, prior, rule
        self._answers = grouped_answers(patterns.answers, group, n)
        self._votes = group_votes(self._answers, n, len(prior.guess))
        self._weight = vote_weights(self._answers, self._votes)

    @property
    def n_answers(self) -> int:
        """Number of answers that a pass reads."""
        return len(self._patterns.answers.code)

    def from_vote(self) -> _Run:
        """Run EM from the vote shares."""
        n = len(self._prior.prevalence)
        return self._from_plausibility(vote_share(self._patterns.answers, n, self._weight))

    def near_vote(self, rng: np.random.Generator, ended: Ended | None = None) -> _Run:
        """Run EM from a random start near the vote shares."""
        n = len(self._prior.prevalence)
        return self._from_plausibility(jittered_vote(self._patterns.answers, n, rng, self._weight), ended)

    def from_parameters(self, parameters: _Counts, ended: Ended | None = None) -> _Run:
        """Run EM from parameters."""
        return self._run(self._expected(parameters)[0], ended)

    def elsewhere(self, run: _Run) -> _Counts:
        """Return the parameters, from which EM on other items starts."""
        return run.parameters

    def parameters(self, run: _Run) -> _Counts:
        """Return the parameters."""
        return run.parameters

    def compared(self, parameters: _Counts) -> np.ndarray:
        """Return p(true category | parameters, answers), shape (pattern, category)."""
        return _plausibility(self._answers, parameters)

    def _from_plausibility(self, plausibility: np.ndarray, ended: Ended | None = None) -> _Run:
        """Run EM from p(true category), shape (pattern, category)."""
        return self._run(_vote_counts(self._answers, self._patterns, self._votes, plausibility), ended)

    def _expected(self, parameters: _Counts) -> tuple[_Counts, float]:
        """E-step: return the expected counts and the log likelihood."""
        law, n = _law(parameters), len(parameters.prevalence)
        expected = tuple(np.empty(x.shape) for x in law)
        log_likelihood = guess_counts(self._answers, law, self._patterns.multiplicity, expected)
        items, own, guesses, copied = expected
        pairs = np.stack([copied, own.reshape(-1, n * n).sum(axis=1)], axis=1)
        counts = _Counts(items, own, guesses, pairs * (self._answers.group >= 0)[:, None])
        return counts, log_likelihood

    def _run(self, counts: _Counts, ended: Ended | None) -> _Run:
        """Run EM from expected counts."""
        parameters = self._prior

        def iterate() -> tuple[float, _Counts]:
            nonlocal counts, parameters
            parameters, log_prior = _maximum(self._prior, counts)
            counts, log_likelihood = self._expected(parameters)
            return log_likelihood + log_prior, parameters

        trace, converged = ascended(iterate, *self._rule, ended)
        return _Run(parameters, trace, converged)


def _plausibility(answers: GroupedAnswers, parameters: _Counts) -> np.ndarray:
    """Return p(true category | parameters, answers), shape (pattern, category)."""
    log_p = np.empty(len(answers.start) - 1)
    plausibility = np.empty((len(log_p), len(parameters.prevalence)))
    guess_log_p(answers, _law(parameters), log_p, plausibility)
    return plausibility


def _variables(answers: GroupedAnswers, patterns: AnswerPatterns, found: _Counts) -> Variables:
    """Return the variables of the result, without the coordinates of groups."""
    n = len(found.prevalence)
    own, shared = found.table.reshape(-1, n, n).swapaxes(1, 2), found.shared[:, 0]
    of_rater = ("rater", "category", "answer")
    return {
        "prevalence": (("category",), found.prevalence),
        "own_confusion": (of_rater, own),
        "guess": (("group_of_raters", "category", "answer"), found.guess),
        "shared": (("copier",), shared[answers.group != NO_GROUP]),
        "confusion": (of_rater, answers_of_any_origin(answers.group, own, found.guess, shared)),
        "plausibility": (("item", "category"), _plausibility(answers, found)[patterns.pattern]),
    }
