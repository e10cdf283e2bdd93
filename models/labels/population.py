"""Population of raters: the prior of confusion matrices whose centre and strength are learnt from all raters.

Only the functions of builders import PyMC, which takes seconds: estimates by EM do without it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import digamma, expit, gammaln, log_expit, logit

from ...posterior.schema import are_classifiers
from .._prior_arguments import HasCategories
from ..data.labels import Labels, expand_answers
from ..distributions.marginal_labels_kernels import UNKNOWN, Answers, answer_codes, answer_sweeps

POPULATION = "population"  # the argument, and the dim of the variables
SKILL, STRENGTH = "population_skill", "population_strength"
RATERS, CLASSIFIERS = "raters", "classifiers"
# of populations: more right than by chance; a strength of about eight answers a row, within a factor of seven
SKILL_PRIOR, STRENGTH_PRIOR = (2.0, 1.0), (float(np.log(8.0)), 1.0)
SKILL_BEGIN, STRENGTH_BEGIN = 0.6, 8.0
ROUNDS, SWEEPS = 20, 4  # of EM at most, and sweeps between two modes
CLOSE = 1e-3  # relative change of skill and strength at which they have converged
Counts = tuple[np.ndarray, np.ndarray]  # expected items (category,), and answers (rater * label, category)


@dataclass(frozen=True, eq=False)
class RaterPopulation:
    """Prior argument: populations of raters, by name (rater,); classifiers apart from all others by default."""

    of: np.ndarray | None = None

    def members(self, labels: HasCategories) -> tuple[np.ndarray, np.ndarray]:
        """Return the names of the populations, and that of each rater, int64 (rater,)."""
        of = self.of
        if of is None:
            machines = are_classifiers(labels.rater_attributes, len(labels.raters))
            of = np.where(machines, CLASSIFIERS, RATERS)
        if np.shape(of) != (len(labels.raters),):
            raise ValueError(
                f"confusion_concentration names populations of shape {np.shape(of)}; name that of each rater, shape "
                f"({len(labels.raters)},)"
            )
        names, member = np.unique(np.asarray(of).astype(str), return_inverse=True)
        return names, member.astype(np.int64)


def population_of(concentration: Any) -> RaterPopulation | None:
    """Return the populations that an argument names; None for concentrations."""
    from .._hierarchy import is_expression

    if isinstance(concentration, str):
        if concentration != POPULATION:
            raise ValueError(
                f"confusion_concentration={concentration!r} must be {POPULATION!r}, names of populations, a number or an array"
            )
        return RaterPopulation()
    if isinstance(concentration, list | tuple | np.ndarray) and not is_expression(concentration):
        names = np.asarray(concentration)
        return RaterPopulation(names) if names.dtype.kind in "UT" else None
    return concentration if isinstance(concentration, RaterPopulation) else None


def coords_of_population(labels: HasCategories, concentration: Any) -> dict[str, np.ndarray]:
    """Return the coordinate of the populations, if there are any."""
    found = population_of(concentration)
    return {} if found is None else {POPULATION: found.members(labels)[0]}


def concentration_of_raters(labels: Labels, concentration: Any, shape: tuple[int, ...]) -> Any:
    """Return concentrations of confusion matrices (rater, category, answer); register the variables of a population.

    u_g     ~ Beta(2, 1)                          skill of population g: right beyond chance
    s_g     ~ LogNormal(log 8, 1)                 strength
    beta_kj = s_g(k) (u_g(k) e_j + (1 - u_g(k)) / n)
    """
    import pymc as pm

    from .observed import concentration_of_confusion

    found = population_of(concentration)
    if found is None:
        return concentration_of_confusion(labels, concentration, shape)
    member = found.members(labels)[1]
    skill = pm.Beta(SKILL, *SKILL_PRIOR, dims=POPULATION)
    strength = pm.LogNormal(STRENGTH, *STRENGTH_PRIOR, dims=POPULATION)
    return concentrations_by(skill[member], strength[member], shape[-1])


def concentrations_by(skill: Any, strength: Any, n: int) -> Any:
    """Return s (u e_j + (1 - u) / n), shape (..., category, answer), given skill and strength (...,)."""
    u, s = skill[..., None, None], strength[..., None, None]
    return s * (u * np.eye(n) + (1 - u) / n)


# --- Empirical Bayes: the mode of skill and strength, by EM from the vote ---


def learnt_concentrations(labels: Labels, population: RaterPopulation, alpha: np.ndarray) -> np.ndarray:
    """Return concentrations (rater, category, answer) at the mode of skill and strength, without gold labels."""
    item, rater, label = expand_answers(labels)
    start = np.searchsorted(item, np.arange(len(labels.items) + 1)).astype(np.int64)
    unknown = np.full(len(labels.items), UNKNOWN, np.int64)
    answers = Answers(start, answer_codes(rater, label, len(alpha)), unknown)
    member = population.members(labels)[1]
    found = learnt_population(answers, np.ones(len(unknown)), member, alpha)
    return concentrations_by(found[0, member], found[1, member], len(alpha))


def learnt_population(
    answers: Answers, weight: np.ndarray, member: np.ndarray, alpha: np.ndarray
) -> np.ndarray:
    """Return skill and strength as `population_by_em`, from answers in memory; weight (item,), of items or of their patterns."""
    n, length = len(alpha), np.diff(answers.start)
    vote = np.full((len(length), n), 1e-9)
    np.add.at(vote, (np.repeat(np.arange(len(length)), length), answers.code % n), 1.0)
    vote = np.where((answers.gold_category < 0)[:, None], vote, np.eye(n)[answers.gold_category])
    vote /= vote.sum(axis=1, keepdims=True)
    sweeps, counts = answer_sweeps(n), np.empty((len(member) * n, n))
    expected = weight @ vote, counts
    sweeps.counts(vote, weight, answers, counts)

    def swept(prevalence: np.ndarray, table: np.ndarray) -> Counts:
        sweeps.log_p_and_counts(prevalence, table, answers, weight, expected)
        return expected

    return population_by_em(expected, swept, member, alpha)


def population_by_em(
    expected: Counts, swept: Callable[[np.ndarray, np.ndarray], Counts], member: np.ndarray, alpha: np.ndarray
) -> np.ndarray:
    """Return the posterior mode of skill and strength of each population, shape (2, population).

    EM of Dawid-Skene from the expected counts of the vote, whose prior follows from the counts: the mode of (logit u, log s)
    with the confusion matrices integrated out. `swept` returns the counts given prevalence and table. Shapes: counts
    (category,) and (rater * label, category); member int64 (rater,); alpha (category,).
    """
    n = len(alpha)
    found = np.tile([[SKILL_BEGIN], [STRENGTH_BEGIN]], member.max() + 1)
    for _ in range(ROUNDS):
        before, found = found, _mode(expected[1].reshape(-1, n, n), member, found)
        beta = concentrations_by(found[0, member], found[1, member], n)  # symmetric in category and label
        for _ in range(SWEEPS):
            categories, counts = expected
            posterior = beta + counts.reshape(-1, n, n)
            table = (posterior / posterior.sum(axis=1, keepdims=True)).reshape(-1, n)
            expected = swept((alpha + categories) / (alpha + categories).sum(), table)
        if np.abs(np.log(found / before)).max() < CLOSE:
            break
    return found


def _mode(counts: np.ndarray, member: np.ndarray, begin: np.ndarray) -> np.ndarray:
    """Return the mode of skill and strength (2, population) given expected counts (rater, label, category)."""
    from scipy.optimize import minimize  # half a second, which few estimates need

    n, found = counts.shape[-1], begin.copy()
    for g in range(begin.shape[1]):
        own = counts[member == g]
        whole = own.sum(axis=1).ravel()
        right, wrong = np.diagonal(own, axis1=1, axis2=2).ravel(), own[:, ~np.eye(n, dtype=bool)].ravel()
        parts = [part[part > 0] for part in (right, wrong, whole)]

        def loss(x: np.ndarray, parts: list[np.ndarray] = parts) -> tuple[float, np.ndarray]:
            u, s = expit(x[0]), np.exp(x[1])
            rest = expit(-x[0])
            alpha = s * np.array([u + rest / n, rest / n, 1.0])
            value = np.array([(gammaln(a + c) - gammaln(a)).sum() for a, c in zip(alpha, parts, strict=True)])
            slope = np.array([(digamma(a + c) - digamma(a)).sum() for a, c in zip(alpha, parts, strict=True)])
            z = (x[1] - STRENGTH_PRIOR[0]) / STRENGTH_PRIOR[1]
            prior = SKILL_PRIOR[0] * log_expit(x[0]) + SKILL_PRIOR[1] * log_expit(-x[0]) - z**2 / 2
            by_skill = s * u * rest * (slope[0] * (1 - 1 / n) - slope[1] / n)
            by_skill += SKILL_PRIOR[0] * rest - SKILL_PRIOR[1] * u
            by_strength = alpha[:2] @ slope[:2] - s * slope[2] - z / STRENGTH_PRIOR[1]
            return -(value[0] + value[1] - value[2] + prior), -np.array([by_skill, by_strength])

        start = np.array([logit(found[0, g]), np.log(found[1, g])])
        best = minimize(loss, start, jac=True, method="L-BFGS-B", bounds=[(-10, 10), (-5, 12)]).x
        found[:, g] = expit(best[0]), np.exp(best[1])
    return found
