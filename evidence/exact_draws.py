"""Evidence for exact draws: independent items are simulations of their own, and the posterior has a closed form."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import pymc as pm
import xarray as xr
from raterzoo import inference, models
from scipy.stats import beta, invgamma, kstest, norm

from tests.support.monte_carlo import sbc_ranks, seed_of

from . import designs
from .chains import KEPT
from .joint_law import answered
from .prior_scores import Scores, of_dirichlet, of_inverse_gamma, of_normal
from .studies import PRIOR_OF_SCORES

__all__ = ["EXACT", "ITEMS", "ExactStudy", "closed_form_z", "item_ranks"]

DRAWS = 4000  # of each item, against its closed form
ITEMS = 5  # of the closed form, each with two variables
CONCENTRATION, TRUST, SMOOTHING = 0.7, 3.0, 0.2  # of dirichlet and of prirn


class ClosedForm(NamedTuple):
    """Draws as variables whose law is known.

    Attributes
    ----------
    normal : ndarray, shape (draw, item, variable)
        Independent standard normal variables.
    scores : dict of str to ndarray, shape (draw, item)
        Scores of the parameters of the posterior, see `prior_scores`: a dose of a prior is one of these.
    """

    normal: np.ndarray
    scores: Scores


@dataclass(frozen=True)
class ExactStudy:
    """Study of a model with independent items and a posterior in closed form.

    Attributes
    ----------
    data : callable
        Returns the design of so many items.
    law : callable
        From the design to the model.
    truth : callable
        From a model and a seed to the quantities of what the annotations come from, shape (item, quantity), and the annotations.
    quantities : callable
        From a tree to those of draws, shape (draw, item, quantity).
    closed_form : callable
        From draws of one chain, a model and annotations to `ClosedForm`.
    names : tuple of str
        Of the quantities.
    """

    data: Callable[[int], Any]
    law: Callable[[Any], pm.Model]
    truth: Callable[[pm.Model, int], tuple[np.ndarray, np.ndarray | None]]
    quantities: Callable[[xr.DataTree], np.ndarray]
    closed_form: Callable[[xr.DataTree, pm.Model, Any], ClosedForm]
    names: tuple[str, ...]

    def build(self, items: int) -> pm.Model:
        """Build the model of so many items."""
        return self.law(self.data(items))


def drawn(study: ExactStudy, model: pm.Model, answers: Any, plan: tuple[int, int, int]) -> xr.DataTree:  # fmt: skip
    """Return the posterior of annotations by `inference.sample`; `plan` holds draws, chains and seed."""
    draws, chains, seed = plan
    told = model if answers is None else answered(model, answers)
    return inference.sample(told, method="exact", draws=draws, chains=chains, random_seed=seed,
                            dtype="float64", progressbar=False)  # fmt: skip


def item_ranks(study: ExactStudy, simulations: int, name: str, told: Any = None) -> np.ndarray:
    """Rank the quantities of every item; `told` builds a model to sample in place of the study's."""
    seed = seed_of(name)
    model = study.build(simulations)
    truth, answers = study.truth(model, seed)
    tree = drawn(study, told or model, answers, (KEPT, 1, seed))
    draws = study.quantities(tree).swapaxes(0, 1)
    return sbc_ranks(truth, draws, np.random.default_rng(seed))


def closed_form_z(study: ExactStudy, name: str, told: Any = None) -> tuple[np.ndarray, dict[str, float]]:
    """Compare draws of a few items with their law, and test that items and chains are uncorrelated.

    Returns
    -------
    z : ndarray
        Kolmogorov-Smirnov of every variable that should be standard normal, as a normal quantile, z of the correlations of
        any two, of the chains, and of successive draws, and z of the scores.
    shift : dict of str to float
        Change of the z of each score by a dose of one, to first order.
    """
    seed, items = seed_of(name), ITEMS
    model = study.build(items)
    _, answers = study.truth(model, seed)
    tree = drawn(study, told or model, answers, (DRAWS, 2, seed))
    chains = [study.closed_form(_chain(tree, c), study.build(items), answers) for c in range(2)]
    x, other = (own.normal.reshape(DRAWS, -1) for own in chains)
    p = np.array([kstest(column, "norm")[1] for column in x.T])
    within = np.corrcoef(x.T)[np.triu_indices(x.shape[1], 1)]
    between, lagged = _correlations(x, other), _correlations(x[1:], x[:-1])
    together = np.concatenate([within, between, lagged]) * np.sqrt(DRAWS)
    scores = {parameter: score.sum(axis=1) for parameter, score in chains[0].scores.items()}
    spread = {parameter: float(score.std(ddof=1)) * DRAWS**0.5 for parameter, score in scores.items()}
    moved = [score.sum() / spread[parameter] for parameter, score in scores.items()]
    return np.concatenate([norm.isf(p / 2), together, moved]), spread


def _correlations(one: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the correlation of each column with the same column of the other array."""
    return np.array([np.corrcoef(a, b)[0, 1] for a, b in zip(one.T, other.T, strict=True)])


def _chain(tree: xr.DataTree, chain: int) -> xr.DataTree:
    return xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset().isel(chain=[chain])})


def _simulated(model: pm.Model, seed: int) -> tuple[Any, np.ndarray]:
    with model:
        tree = pm.sample_prior_predictive(1, random_seed=seed)
    (observed,) = model.observed_RVs
    return tree["prior"], tree["prior_predictive"][str(observed.name)].to_numpy()[0, 0]


def _of_shares(p: np.ndarray) -> list[np.ndarray]:
    return [p[..., 0], p.max(axis=-1), (p**2).sum(axis=-1)]


def _labels_truth(model: pm.Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    prior, counts = _simulated(model, seed)
    p = prior["plausibility"].to_numpy()[0, 0]
    return np.stack([*_of_shares(p), (counts * np.log(p)).sum(axis=-1)], axis=-1), counts


def _labels_quantities(tree: xr.DataTree) -> np.ndarray:
    log_p = tree["log_likelihood"]["observed_label"].to_numpy()[0]
    return np.stack([*_of_shares(tree["posterior"]["plausibility"].to_numpy()[0]), log_p], axis=-1)


def _sticks(p: np.ndarray, concentration: np.ndarray) -> np.ndarray:
    """Return the first two stick-breaking fractions of Dirichlet draws (independent Betas) as normal quantiles."""
    left, found = concentration.sum(axis=-1), []
    for k in range(2):
        own = concentration[..., k]
        left = left - own
        share = p[..., k] / (1 - p[..., :k].sum(axis=-1))
        found.append(norm.ppf(beta.cdf(share, own, left)))
    return np.stack(found, axis=-1)


def _of_simplex(p: np.ndarray, concentration: np.ndarray) -> ClosedForm:
    return ClosedForm(_sticks(p, concentration), of_dirichlet(p, concentration))


def _labels_closed_form(tree: xr.DataTree, model: pm.Model, counts: np.ndarray) -> ClosedForm:
    return _of_simplex(tree["posterior"]["plausibility"].to_numpy()[0], CONCENTRATION + counts)


def _scores_of(location: Any, variance: Any, log_p: Any) -> np.ndarray:
    return np.stack([location, variance, log_p], axis=-1)


def _scores_truth(model: pm.Model, seed: int) -> tuple[np.ndarray, np.ndarray]:
    prior, score = _simulated(model, seed)
    location, variance = (prior[n].to_numpy()[0, 0] for n in ("location", "variance"))
    item = model["annotation_item"].get_value()
    log_p = norm.logpdf(score, location[item], np.sqrt(variance[item]))
    return _scores_of(location, variance, np.bincount(item, log_p)), score


def _scores_quantities(tree: xr.DataTree) -> np.ndarray:
    location, variance = (tree["posterior"][n].to_numpy()[0] for n in ("location", "variance"))
    return _scores_of(location, variance, tree["log_likelihood"]["observed_score"].to_numpy()[0])


def _scores_closed_form(tree: xr.DataTree, model: pm.Model, score: np.ndarray) -> ClosedForm:
    """Return the variance, and the location given the variance, as normal quantiles by the conjugate formulas."""
    item, prior = model["annotation_item"].get_value(), PRIOR_OF_SCORES
    n = np.bincount(item)
    mean = np.bincount(item, score) / n
    squares = np.bincount(item, (score - mean[item]) ** 2)
    weight = prior["mean_weight"] + n
    centre = (prior["mean_weight"] * prior["mean"] + n * mean) / weight
    away = prior["mean_weight"] * n / weight * (mean - prior["mean"]) ** 2
    shape, rate = prior["shape"] + n / 2, prior["rate"] + (squares + away) / 2
    location, variance = (tree["posterior"][v].to_numpy()[0] for v in ("location", "variance"))
    sd = np.sqrt(variance / weight)
    normal = np.stack(
        [(location - centre) / sd, norm.ppf(invgamma(shape, scale=rate).cdf(variance))], axis=-1
    )
    scores = of_inverse_gamma(variance, shape[None], rate[None]) | of_normal(location, centre, sd)
    return ClosedForm(normal, scores)


def _inverse_ranks(model: pm.Model, items: int) -> tuple[np.ndarray, np.ndarray]:
    """Return concentration and item of every candidate, block by block as the definition says."""
    table = designs.rankings(items).to_table()
    item, rater, category, rank = (np.asarray(table[n]) for n in ("item", "rater", "category", "rank"))  # fmt: skip
    score = np.zeros((items, designs.CATEGORIES))
    for i, r in set(zip(item.tolist(), rater.tolist(), strict=True)):
        own = (item == i) & (rater == r)
        for place, level in enumerate(np.unique(rank[own]), start=1):
            block = category[own & (rank == level)]
            score[i, block] += 1 / place / len(block)
    score *= TRUST / score.sum(axis=1, keepdims=True)
    at, which = (model[n].get_value() for n in ("candidate_item", "candidate_category"))
    absent = (score == 0).sum(axis=1)  # their pool is one candidate, of code -1
    shape = np.where(which < 0, SMOOTHING * absent[at], score[at, which] + SMOOTHING)
    return shape, at


def _pools(p: np.ndarray, at: np.ndarray) -> np.ndarray:
    first = np.flatnonzero(np.diff(at, prepend=-1))
    reduced = [p[..., first], np.maximum.reduceat(p, first, -1), np.add.reduceat(p**2, first, -1)]
    return np.stack(reduced, axis=-1)


def _pools_truth(model: pm.Model, seed: int) -> tuple[np.ndarray, None]:
    shape, at = _inverse_ranks(model, len(model.coords["item"] or ()))
    gamma = np.random.default_rng([seed, 1]).gamma(shape)
    return _pools(gamma / np.bincount(at, gamma)[at], at), None


def _pools_quantities(tree: xr.DataTree) -> np.ndarray:
    p = tree["posterior"]["plausibility"].to_numpy()[0]
    return _pools(p, tree["constant_data"]["candidate_item"].to_numpy())


def _pools_closed_form(tree: xr.DataTree, model: pm.Model, _: None) -> ClosedForm:
    shape, at = _inverse_ranks(model, len(model.coords["item"] or ()))
    items = [np.flatnonzero(at == i) for i in range(at[-1] + 1)]
    p = tree["posterior"]["plausibility"].to_numpy()[0]
    each = [_of_simplex(p[:, own], shape[own]) for own in items]
    scores = {name: np.stack([own.scores[name] for own in each], axis=1) for name in each[0].scores}
    return ClosedForm(np.stack([own.normal for own in each], axis=1), scores)


EXACT: dict[str, ExactStudy] = {
    "dirichlet": ExactStudy(
        designs.many_labels,
        lambda data: models.dirichlet(data, concentration=CONCENTRATION),
        _labels_truth,
        _labels_quantities,
        _labels_closed_form,
        ("plausibility[0]", "certainty", "sum of squares", "log likelihood"),
    ),
    "normal_scores": ExactStudy(
        designs.many_scores,
        lambda data: models.normal_scores(data, **PRIOR_OF_SCORES),
        _scores_truth,
        _scores_quantities,
        _scores_closed_form,
        ("location", "variance", "log likelihood"),
    ),
    "prirn": ExactStudy(
        designs.rankings,
        lambda data: models.prirn(data, reliability=TRUST, smoothing=SMOOTHING),
        _pools_truth,
        _pools_quantities,
        _pools_closed_form,
        ("plausibility[0]", "certainty", "sum of squares"),
    ),
}
