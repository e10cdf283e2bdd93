"""Point estimate of GLAD by EM: abilities of raters and difficulties of items."""

from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ...models.data.labels import Labels
from ...models.data.prior_arguments import log_normal_prior, normal_prior
from .em_search import Ended, Variables, ascended, estimate_of_optima, optima_of
from .kernels.em import AnswerPatterns, jittered_vote, vote_share
from .kernels.glad import answers_by_rater, e_step, m_step
from .votes import check_search, prevalence_concentrations


def glad_em(
    labels: Labels,
    *,
    prevalence_concentration: Any | Literal["uniform"] = "uniform",
    ability: tuple[float, float] = (1.0, 1.0),
    easiness: tuple[float, float] = (1.0, 1.0),
    restarts: int | Literal["auto"] = "auto",
    max_iterations: int = 1000,
    tolerance: float = 1e-10,
    random_seed: int | None = None,
) -> xr.Dataset:
    """Estimate abilities of raters, difficulties of items and true categories of GLAD, by EM.

        T_i ~ Categorical(p),   P(label of rater k on item i = T_i) = 1 / (1 + exp(-alpha_k beta_i))

    The other labels are equally probable.

    ========  ==========  ==============  ========
    symbol    meaning     variable        dims
    ========  ==========  ==============  ========
    p         prevalence  ``prevalence``  category
    alpha     ability     ``ability``     rater
    1 / beta  difficulty  ``difficulty``  item
    ========  ==========  ==============  ========

    Parameters
    ----------
    labels : Labels
        Labels of identified raters. Gold labels are taken as known true categories.
    prevalence_concentration : float or array_like or "uniform", default "uniform"
        "uniform": all categories are equally prevalent, as in the paper. Numbers are the Dirichlet prior of
        a prevalence that is estimated too, at the maximum of the posterior of the log odds; it can drift
        towards one category where raters disagree much.
    ability, easiness : pair of float, default (1, 1)
        Mean and standard deviation of the normal priors of abilities alpha and of the items' log easiness,
        log beta, as in `models.glad`. Both numbers of the log easiness are at most 10 in absolute value.
    restarts : int or "auto", default "auto"
        Number of random starts near the vote shares, each run until it converges; "auto" as for `dawid_skene_em`.
    max_iterations, tolerance, random_seed
        As for `dawid_skene_em`.

    Returns
    -------
    Dataset
        ``prevalence`` (category), ``ability`` (rater), ``difficulty`` (item), which is 1 / beta,
        ``plausibility`` (item, category) and ``trace`` (iteration) of the log posterior density. The first four also of
        every distinct ``optimum``, the best first, with the prefix ``optimum_``, and ``optimum_objective``, ``optimum_found``
        and ``vote_optimum`` as for `dawid_skene_em`; ``start_objective`` (start), the objective at which a start ended, that of
        the vote first. Attributes ``log_likelihood``, ``objective``, ``converged`` (0 or 1), ``iterations`` and ``start``, the
        number of the best start, whose estimate is returned.

    Raises
    ------
    ValueError
        If the raters are anonymous, or an argument is out of range.

    Warns
    -----
    EstimateWarning
        If no item has two answers, some starts ended at a lower optimum, or some have not converged.

    Notes
    -----
    The difficulty of every item is estimated from its few answers, where `models.glad` sums it out: the
    plausibilities are more certain than those of the posterior.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.labels(model="glad", items=60, raters=5, answers=5, random_seed=3)
    >>> estimate = inference.glad_em(drawn.data, restarts=3, random_seed=1)
    >>> estimate["ability"].dims, estimate["difficulty"].dims, estimate.attrs["converged"]
    (('rater',), ('item',), 1)

    References
    ----------
    Whitehill, Ruvolo, Wu, Bergsma and Movellan (2009), Whose vote should count more: optimal integration of
    labels from labelers of unknown expertise, NIPS 22, section 3.
    """
    check_search(labels, "glad_em", restarts, max_iterations, tolerance)
    n = len(labels.categories)
    alpha = prevalence_concentrations(prevalence_concentration, n)
    priors = (*normal_prior("ability", ability), *log_normal_prior("easiness", easiness))
    search = _Search(len(labels.raters), n, alpha, priors, max_iterations, tolerance)
    patterns, found = optima_of(labels, lambda own: _Ascents(own, search), restarts, random_seed)
    result = estimate_of_optima(labels, found, lambda run: _variables(patterns, run))
    return result.assign_attrs(log_likelihood=float(found.runs[0].log_likelihood))


class _Search(NamedTuple):
    """Settings of all starts; `alpha` (category,) is None if the prevalence is fixed."""

    n_raters: int
    n_categories: int
    alpha: np.ndarray | None
    priors: tuple[float, float, float, float]  # mean, sd of ability; mean, sd of log easiness
    max_iterations: int
    tolerance: float


class _Run(NamedTuple):
    """Result of one start."""

    prevalence: np.ndarray  # (category,)
    ability: np.ndarray  # (rater,)
    log_easiness: np.ndarray  # (pattern,)
    plausibility: np.ndarray  # (pattern, category)
    log_likelihood: float
    trace: np.ndarray  # (iteration,)
    converged: bool


class _Ascents:
    """EM on some items."""

    def __init__(self, patterns: AnswerPatterns, search: _Search) -> None:
        self._patterns, self._search = patterns, search
        self._by_rater = answers_by_rater(patterns.answers, search.n_categories, search.n_raters)

    @property
    def n_answers(self) -> int:
        """Number of answers that a pass reads."""
        return len(self._patterns.answers.code)

    def from_vote(self) -> _Run:
        """Run EM from the vote shares."""
        return self._from_plausibility(vote_share(self._patterns.answers, self._search.n_categories))

    def near_vote(self, rng: np.random.Generator, ended: Ended | None = None) -> _Run:
        """Run EM from a random start near the vote shares."""
        start = jittered_vote(self._patterns.answers, self._search.n_categories, rng)
        return self._from_plausibility(start, ended)

    def from_parameters(self, parameters: tuple[np.ndarray, np.ndarray], ended: Ended | None = None) -> _Run:
        """Run EM from prevalence and abilities; all items are as easy as their prior says."""
        prevalence, ability = parameters
        log_easiness = self._usual_easiness()
        plausibility = np.empty((len(log_easiness), len(prevalence)))
        logs = np.log(prevalence), ability, log_easiness
        e_step(self._patterns.answers, logs, plausibility, self._patterns.multiplicity)
        return self._run(prevalence, (ability.copy(), log_easiness), plausibility, ended)

    def elsewhere(self, run: _Run) -> tuple[np.ndarray, np.ndarray]:
        """Return prevalence and abilities, from which EM on other items starts."""
        return run.prevalence, run.ability

    def parameters(self, run: _Run) -> np.ndarray:
        """Return p(true category), shape (pattern, category), which the easiness of these items is part of."""
        return run.plausibility

    def compared(self, parameters: np.ndarray) -> np.ndarray:
        """Return p(true category), shape (pattern, category)."""
        return parameters

    def _usual_easiness(self) -> np.ndarray:
        return np.full(len(self._patterns.multiplicity), self._search.priors[2])

    def _from_plausibility(self, plausibility: np.ndarray, ended: Ended | None = None) -> _Run:
        """Run EM from p(true category), shape (pattern, category), and skills as their prior says."""
        search = self._search
        prevalence = np.full(search.n_categories, 1 / search.n_categories)
        skills = np.full(search.n_raters, search.priors[0]), self._usual_easiness()
        return self._run(prevalence, skills, np.array(plausibility), ended)

    def _run(
        self,
        prevalence: np.ndarray,
        skills: tuple[np.ndarray, np.ndarray],
        plausibility: np.ndarray,
        ended: Ended | None,
    ) -> _Run:
        """Run EM; ability (rater,), log easiness (pattern,) and plausibility (pattern, category) are overwritten."""
        (answers, weight, _), search = self._patterns, self._search
        (mean, sd, easy, spread), (ability, log_easiness) = search.priors, skills
        log_likelihood = -np.inf

        def iterate() -> tuple[float, np.ndarray]:
            nonlocal prevalence, log_likelihood
            log_prior = 0.0
            m_step(answers, self._by_rater, (plausibility, weight), search.priors, skills)
            if search.alpha is not None:
                prevalence = search.alpha + weight @ plausibility
                prevalence /= prevalence.sum()
                log_prior = search.alpha @ np.log(prevalence)
            log_prior -= 0.5 * (((ability - mean) / sd) ** 2).sum()
            log_prior -= 0.5 * weight @ (((log_easiness - easy) / spread) ** 2)
            log_likelihood = e_step(
                answers, (np.log(prevalence), ability, log_easiness), plausibility, weight
            )
            return log_likelihood + log_prior, plausibility

        trace, converged = ascended(iterate, search.max_iterations, search.tolerance, ended)
        return _Run(prevalence, ability, log_easiness, plausibility, log_likelihood, trace, converged)


def _variables(patterns: AnswerPatterns, run: _Run) -> Variables:
    """Return the variables of the result of a run."""
    return {
        "prevalence": (("category",), run.prevalence),
        "ability": (("rater",), run.ability),
        "difficulty": (("item",), np.exp(-run.log_easiness)[patterns.pattern]),
        "plausibility": (("item", "category"), run.plausibility[patterns.pattern]),
    }
