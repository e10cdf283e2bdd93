"""Point estimate of the shared-guess model by EM."""

from collections.abc import Collection
from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ...models._prior_arguments import (
    confusion_concentrations,
    default_confusion,
    positive_array,
    positive_pair,
)
from ...models.data.labels import Labels
from ...models.data.raters import NO_GROUP, Groups, sharing_groups
from ...models.distributions.shared_guesses_kernels import (
    GroupedAnswers,
    GuessLaw,
    grouped_answers,
    guess_counts,
    guess_log_p,
)
from .em_search import EmModel, EmRun, Rule, Variables, check_search, estimate_of_labels
from .kernels.em import AnswerPatterns
from .recognition import as_table
from .shared_guess import answers_of_any_origin, group_votes, vote_weights


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
    >>> from raterzoo import models, papers
    >>> drawn = models.simulators.labels(model="shared_guess", items=60, raters=6, answers=6, random_seed=4)
    >>> estimate = papers.shared_guess_em(drawn.data, "kind", "person", restarts=0)
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
    rule = Rule(max_iterations, tolerance)
    result, _ = estimate_of_labels(
        labels, lambda own: _SharedGuess(own, sharing.group, prior, rule), restarts, random_seed
    )
    return result.assign_coords(
        group_of_raters=sharing.names, copier=labels.raters[sharing.group != NO_GROUP]
    )


class _Counts(NamedTuple):
    """Concentrations, expected counts or logs of the parameters, in the shapes of `GuessLaw` but for `shared`."""

    prevalence: np.ndarray  # (category,)
    table: np.ndarray  # (rater * label, category), of answers that are not copied
    guess: np.ndarray  # (group, category, answer)
    shared: np.ndarray  # (rater, 2): copied, not copied


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
    """Return the parameters (of `shared`, both shares) and the log-prior part of the objective."""
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


class _SharedGuess(EmModel[_Counts, _Counts]):
    """EM of the shared-guess model on some items."""

    def __init__(self, patterns: AnswerPatterns, group: np.ndarray, prior: _Counts, rule: Rule) -> None:
        n = len(prior.prevalence)
        super().__init__(patterns, n, rule)
        self._prior, self._answers = prior, grouped_answers(patterns.answers, group, n)
        self._votes = group_votes(self._answers, n, len(prior.guess))
        self.vote_weight = vote_weights(self._answers, self._votes)

    def expected_of_vote(self, plausibility: np.ndarray) -> _Counts:
        """Return the counts if half of the answers of groups are copies."""
        return _vote_counts(self._answers, self.patterns, self._votes, plausibility)

    def e_step(self, parameters: _Counts) -> tuple[_Counts, float]:
        """Return the expected counts and the log likelihood."""
        law, n = _law(parameters), self.n_categories
        expected = tuple(np.empty(x.shape) for x in law)
        log_likelihood = guess_counts(self._answers, law, self.patterns.multiplicity, expected)
        items, own, guesses, copied = expected
        pairs = np.stack([copied, own.reshape(-1, n * n).sum(axis=1)], axis=1)
        counts = _Counts(items, own, guesses, pairs * (self._answers.group >= 0)[:, None])
        return counts, log_likelihood

    def m_step(self, expected: _Counts) -> tuple[_Counts, float]:
        """Return the parameters (of `shared`, both shares) and the log-prior part of the objective."""
        return _maximum(self._prior, expected)

    def plausibility(self, parameters: _Counts) -> np.ndarray:
        """Return p(true category | parameters, answers), shape (pattern, category)."""
        log_p = np.empty(len(self._answers.start) - 1)
        plausibility = np.empty((len(log_p), self.n_categories))
        guess_log_p(self._answers, _law(parameters), log_p, plausibility)
        return plausibility

    def variables(self, run: EmRun[_Counts]) -> Variables:
        """Return prevalence, confusion matrices, guesses and shares, without the coordinates of groups."""
        n, group, found = self.n_categories, self._answers.group, run.parameters
        own, shared = found.table.reshape(-1, n, n).swapaxes(1, 2), found.shared[:, 0]
        of_rater = ("rater", "category", "answer")
        return {
            "prevalence": (("category",), found.prevalence),
            "own_confusion": (of_rater, own),
            "guess": (("group_of_raters", "category", "answer"), found.guess),
            "shared": (("copier",), shared[group != NO_GROUP]),
            "confusion": (of_rater, answers_of_any_origin(group, own, found.guess, shared)),
        }
