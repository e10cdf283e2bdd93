"""Point estimate of GLAD by EM: abilities of raters and difficulties of items."""

from typing import Any, Literal, NamedTuple

import numpy as np
import xarray as xr

from ...models._prior_arguments import log_normal_prior, normal_prior
from ...models.data.labels import Labels
from .em_search import (
    EmModel,
    EmRun,
    Ended,
    Rule,
    Variables,
    check_search,
    estimate_of_labels,
    prevalence_concentrations,
)
from .kernels.em import AnswerPatterns
from .kernels.glad import answers_by_rater, e_step, m_step


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
    >>> from raterzoo import models, papers
    >>> drawn = models.simulators.labels(model="glad", items=60, raters=5, answers=5, random_seed=3)
    >>> estimate = papers.glad_em(drawn.data, restarts=3, random_seed=1)
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
    settings = _Settings(len(labels.raters), n, alpha, priors, Rule(max_iterations, tolerance))
    result, optima = estimate_of_labels(labels, lambda own: _Glad(own, settings), restarts, random_seed)
    return result.assign_attrs(log_likelihood=float(optima.runs[0].log_likelihood))


class _Settings(NamedTuple):
    """Settings of all starts; `alpha` (category,) is None if the prevalence is fixed."""

    n_raters: int
    n_categories: int
    alpha: np.ndarray | None
    priors: tuple[float, float, float, float]  # mean, sd of ability; mean, sd of log easiness
    rule: Rule


class _State(NamedTuple):
    """Parameters, and the expectation that follows from them."""

    prevalence: np.ndarray  # (category,)
    ability: np.ndarray  # (rater,), overwritten by the M-step
    log_easiness: np.ndarray  # (pattern,), overwritten by the M-step
    plausibility: np.ndarray  # (pattern, category), overwritten by the E-step


class _Glad(EmModel[_State, _State]):
    """EM of GLAD on some items."""

    def __init__(self, patterns: AnswerPatterns, settings: _Settings) -> None:
        super().__init__(patterns, settings.n_categories, settings.rule)
        self._settings = settings
        self._by_rater = answers_by_rater(patterns.answers, settings.n_categories, settings.n_raters)

    def expected_of_vote(self, plausibility: np.ndarray) -> _State:
        """Return p(true category) of the vote, and skills as their prior says."""
        n, settings = self.n_categories, self._settings
        ability = np.full(settings.n_raters, settings.priors[0])
        return _State(np.full(n, 1 / n), ability, self._usual_easiness(), np.array(plausibility))

    def e_step(self, parameters: _State) -> tuple[_State, float]:
        """Overwrite p(true category); return the log likelihood beside it."""
        prevalence, ability, log_easiness, plausibility = parameters
        logs = np.log(prevalence), ability, log_easiness
        return parameters, e_step(self.patterns.answers, logs, plausibility, self.patterns.multiplicity)

    def m_step(self, expected: _State) -> tuple[_State, float]:
        """Overwrite ability and easiness; return them with the prevalence, and the log prior."""
        prevalence, ability, log_easiness, plausibility = expected
        (answers, weight, _), (mean, sd, easy, spread) = self.patterns, self._settings.priors
        alpha, log_prior = self._settings.alpha, 0.0
        skills = ability, log_easiness
        m_step(answers, self._by_rater, (plausibility, weight), self._settings.priors, skills)
        if alpha is not None:
            prevalence = alpha + weight @ plausibility
            prevalence /= prevalence.sum()
            log_prior = alpha @ np.log(prevalence)
        log_prior -= 0.5 * (((ability - mean) / sd) ** 2).sum()
        log_prior -= 0.5 * weight @ (((log_easiness - easy) / spread) ** 2)
        return expected._replace(prevalence=prevalence), log_prior

    def from_parameters(self, parameters: _State, ended: Ended | None = None) -> EmRun[_State]:
        """Run EM from prevalence and abilities; all items are as easy as their prior says."""
        easiness = self._usual_easiness()
        plausibility = np.empty((len(easiness), self.n_categories))
        start = _State(parameters.prevalence, parameters.ability.copy(), easiness, plausibility)
        return super().from_parameters(start, ended)

    def plausibility(self, parameters: _State) -> np.ndarray:
        """Return p(true category), which the easiness of these items is part of."""
        return parameters.plausibility

    def variables(self, run: EmRun[_State]) -> Variables:
        """Return prevalence, abilities and difficulties."""
        prevalence, ability, log_easiness, _ = run.parameters
        return {
            "prevalence": (("category",), prevalence),
            "ability": (("rater",), ability),
            "difficulty": (("item",), np.exp(-log_easiness)[self.patterns.pattern]),
        }

    def _usual_easiness(self) -> np.ndarray:
        return np.full(len(self.patterns.multiplicity), self._settings.priors[2])
