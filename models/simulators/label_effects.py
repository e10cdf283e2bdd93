"""Generative laws of labels with effects of items or raters: true parameters and label probabilities."""

from collections.abc import Callable
from statistics import NormalDist
from typing import NamedTuple

import numpy as np

from .race import normalised

__all__ = ["EFFECTS", "Design"]

RIGHT = 2.0  # mean log odds of the right label against each other one
SCALE, SCALE_SD, INCREMENT_SD, SPREAD = 0.55, 0.5, 0.75, 0.5  # of ordinal raters


class Design(NamedTuple):
    """Item and rater of each annotation, and the prevalence."""

    item: np.ndarray  # int (annotation,)
    rater: np.ndarray  # int (annotation,)
    items: int
    raters: int
    prevalence: np.ndarray  # (category,)


Law = tuple[dict[str, np.ndarray], np.ndarray]  # truth, label probabilities (annotation, label)


def _mace(rng: np.random.Generator, design: Design) -> Law:
    """MACE: raters answer correctly with probability competence, and otherwise spam."""
    n = len(design.prevalence)
    competence, spam = rng.beta(2.0, 1.0, design.raters), rng.dirichlet(np.ones(n), design.raters)
    known, truth = _true_categories(rng, design)
    told = competence[:, None, None]
    confusion = told * np.eye(n) + (1 - told) * spam[:, None]
    truth |= {"competence": competence, "spam": spam, "confusion": confusion}
    return truth, confusion[design.rater, known]


def _glad(rng: np.random.Generator, design: Design) -> Law:
    """GLAD: raters with abilities, items with an easiness."""
    ability, easiness = rng.normal(1, 1, design.raters), np.exp(rng.normal(1, 1, design.items))
    known, truth = _true_categories(rng, design)
    right = _logistic(ability[design.rater] * easiness[design.item])[:, None]
    n = len(design.prevalence)
    law = np.where(known[:, None] == np.arange(n), right, (1 - right) / (n - 1))
    return truth | {"ability": ability, "easiness": easiness}, law


def _item_difficulty(rng: np.random.Generator, design: Design) -> Law:
    """Item difficulty: log odds of an item vary about those of its category, the same for all raters."""
    mean = _favoured(rng, len(design.prevalence))
    spread = np.abs(rng.standard_normal(mean.shape))
    _, truth = _true_categories(rng, design)
    own = truth["true_category"]
    effect = rng.normal(mean[own], spread[own])
    truth |= {"effect_mean": mean, "effect_spread": spread, "effect": effect}
    return truth, _probability(effect[design.item])


def _logistic_random_effects(rng: np.random.Generator, design: Design) -> Law:
    """Logistic random effects: log odds of raters from a population, minus the item effect."""
    mean = _favoured(rng, len(design.prevalence))
    population, spread = np.abs(rng.standard_normal((2, *mean.shape)))
    log_odds = rng.normal(mean, population, (design.raters, *mean.shape))
    known, truth = _true_categories(rng, design)
    effect = rng.normal(0.0, spread[truth["true_category"]])
    truth |= {"population_mean": mean, "population_spread": population, "log_odds": log_odds}
    truth |= {"effect_spread": spread, "effect": effect}
    return truth, _probability(log_odds[design.rater, known] - effect[design.item])


def _ordinal(rng: np.random.Generator, design: Design) -> Law:
    """Ordinal: items on a line, raters with thresholds and a scale; the truth is a typical rater's label."""
    n = len(design.prevalence)
    quantile = NormalDist(0, np.hypot(1, SCALE * np.pi / np.sqrt(3))).inv_cdf
    increment = np.diff([quantile(place / n) for place in range(1, n)])
    increment *= np.exp(rng.normal(0, INCREMENT_SD, n - 2))
    steps = np.append(0.0, np.cumsum(increment))
    threshold = rng.normal() + steps - steps.mean()
    scale = SCALE * np.exp(rng.normal(0, SCALE_SD))
    shift_spread, scale_spread = np.abs(rng.normal(0, SPREAD, 2))
    shift = rng.normal(0, shift_spread, design.raters)
    own = scale * np.exp(rng.normal(0, scale_spread, design.raters))
    location = rng.standard_normal(design.items)
    typical = _between(threshold - location[:, None], np.full(design.items, scale))
    truth = {"true_category": _draws(rng, typical), "location": location, "threshold": threshold}
    truth |= {"scale": np.array(scale), "rater_shift": shift, "rater_scale": own}
    away = threshold + shift[design.rater, None] - location[design.item, None]
    return truth, _between(away, own[design.rater])


def _true_categories(
    rng: np.random.Generator, design: Design
) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw the true categories; return them for each annotation (annotation,), and the truth so far."""
    drawn = rng.choice(len(design.prevalence), design.items, p=design.prevalence)
    return drawn[design.item], {"prevalence": design.prevalence, "true_category": drawn}


def _favoured(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw mean log odds of the labels but the last against the last, shape (category, contrast)."""
    right = np.eye(n)
    return rng.normal(RIGHT * (right[:, :-1] - right[:, -1:]), 1.0)


def _probability(log_odds: np.ndarray) -> np.ndarray:
    """Return the probabilities of all labels, of which the last has log odds 0."""
    return normalised(np.pad(log_odds, ((0, 0), (0, 1))))


def _logistic(x: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e^-x)."""
    return np.exp(-np.logaddexp(0.0, -x))


def _between(away: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return the logistic probabilities between thresholds, given as distances from the location."""
    below = _logistic(away / scale[:, None])
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


def _draws(rng: np.random.Generator, law: np.ndarray) -> np.ndarray:
    """Draw one column for each row of probabilities."""
    return (law.cumsum(axis=1)[:, :-1] < rng.random((len(law), 1))).sum(axis=1)


EFFECTS: dict[str, Callable[[np.random.Generator, Design], Law]] = {
    "mace": _mace,
    "glad": _glad,
    "item_difficulty": _item_difficulty,
    "logistic_random_effects": _logistic_random_effects,
    "ordinal": _ordinal,
}
