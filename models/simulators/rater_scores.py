"""Simulator of scores: one generative law for each model of scores."""

from typing import Literal

import numpy as np

from ..data.score_numbers import read_bounds
from ..data.score_tables import GivenScores, score_layout
from ..data.scores import Scores
from .refusals import LARGEST, SMALLEST, refuse_counts, refuse_number
from .simulated import Simulated

__all__ = ["ScoreModel", "scores"]

ScoreModel = Literal["hierarchical_scores", "normal_scores"]

SHAPE = 3.0  # of the inverse gamma of the items' variances; their own variance is finite above 2
MOST_UNEQUAL = 10.0  # scales of two raters then often differ by a factor of a million


def scores(
    *,
    model: ScoreModel = "hierarchical_scores",
    items: int = 100,
    raters: int = 10,
    answers: int = 5,
    center: float | None = None,
    spread: float = 1.0,
    bias: float = 0.5,
    scale: float = 0.5,
    unequal: float = 0.5,
    bounds: tuple[float, float] | None = None,
    step: float | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Scores]:
    """Simulate scores by raters, from the generative law of a model of scores.

    Generative law, for item i, rater k and score a:

        hierarchical_scores   mu_i ~ Normal(center, spread),  beta_k ~ Normal(0, bias),
                              log sigma_k ~ Normal(log scale, unequal),
                              y_ik ~ Normal(mu_i + beta_k, sigma_k)
        normal_scores         sigma2_i ~ InverseGamma(3, 2 scale^2),
                              mu_i ~ Normal(center, spread^2 sigma2_i / scale^2),
                              y_ia ~ Normal(mu_i, sigma2_i), whoever the rater

    Scores are rounded to the grid, if any, and clipped to the bounds, if any.

    Parameters
    ----------
    model : {"hierarchical_scores", "normal_scores"}
        Generative law, by the name of the model.
    items, raters : int
        Numbers of items and raters.
    answers : int
        Scores of each item, by different raters as far as there are enough.
    center : float, optional
        Mean of the items' locations; by default the middle of the bounds, or 0.
    spread : float
        Standard deviation of the items' locations.
    bias : float
        Standard deviation of the raters' biases; unused by "normal_scores".
    scale : float
        Typical standard deviation of a score about location plus bias.
    unequal : float
        Standard deviation of the log scales of raters, from 0 to 10; unused by "normal_scores".
    bounds : (low, high), optional
        Bounds of the scores.
    step : float, optional
        Step of the grid of scores, which starts from the lower bound, or 0. By default scores are continuous.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Scores with integer ids; ``truth``, before rounding: ``location`` (item), and ``rater_bias``
        and ``rater_scale`` (rater), or ``scale`` (item) under "normal_scores", in the order of ``data.items``
        and ``data.raters``.

    Raises
    ------
    ValueError
        If the model is unknown, or a number is out of range.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.scores(items=5, raters=3, answers=2, bounds=(0, 10), random_seed=1)
    >>> simulated.data
    Scores(5 items, 3 raters, 10 scores from 0 to 10)
    >>> sorted(simulated.truth)
    ['location', 'rater_bias', 'rater_scale']

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191, appendix A. Murphy (2007), Conjugate Bayesian analysis of the
    Gaussian distribution.
    """
    if model not in ScoreModel.__args__:
        raise ValueError(f"model={model!r} is not one of {', '.join(ScoreModel.__args__)}")
    refuse_counts(items=items, raters=raters, answers=answers)
    refuse_number("spread", spread, 0, LARGEST)
    refuse_number("bias", bias, 0, LARGEST)
    refuse_number("scale", scale, SMALLEST, LARGEST)
    refuse_number("unequal", unequal, 0, MOST_UNEQUAL)
    if center is not None:
        refuse_number("center", center, -LARGEST, LARGEST)
    ends = read_bounds(bounds)
    _refuse_step(step, ends)
    middle = center if center is not None else sum(ends) / 2 if ends else 0.0
    rng = np.random.default_rng(random_seed)
    item = np.repeat(np.arange(items), answers)
    rater = different_raters(rng, items, raters, answers).ravel()
    if model == "normal_scores":
        sd = scale * np.sqrt((SHAPE - 1) / rng.gamma(SHAPE, size=items))
        truth = {"location": rng.normal(middle, spread * sd / scale), "scale": sd}
        score = rng.normal(truth["location"][item], sd[item])
    else:
        truth = {"location": rng.normal(middle, spread, items)}
        truth["rater_bias"] = rng.normal(0.0, bias, raters)
        truth["rater_scale"] = scale * np.exp(rng.normal(0.0, unequal, raters))
        seen = truth["location"][item] + truth["rater_bias"][rater]
        score = rng.normal(seen, truth["rater_scale"][rater])
    given = GivenScores(item, rater, _on_scale(score, ends, step), np.ones(len(item), np.int64))
    gave, layout = score_layout(given, raters)
    truth |= {name: truth[name][gave] for name in ("rater_bias", "rater_scale") if name in truth}
    data = Scores(items=np.arange(items), raters=gave, bounds=ends, rater_attributes={}, **layout)
    return Simulated(data, truth)


def different_raters(rng: np.random.Generator, items: int, raters: int, answers: int) -> np.ndarray:
    """Draw the raters of each item: different ones, and all of them again if there are too few.

    Floyd's algorithm: draw one of the first j + 1 raters; if already chosen, take rater j.

    Shapes: result (item, answer).
    """
    rounds, rest = divmod(answers, raters)
    chosen = np.empty((items, rest), np.int64)
    for place in range(rest):
        last = raters - rest + place
        drawn = rng.integers(last + 1, size=items)
        taken = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, drawn)
    everyone = np.broadcast_to(np.tile(np.arange(raters), rounds), (items, rounds * raters))
    return np.concatenate([everyone, chosen], axis=1)


def _on_scale(
    score: np.ndarray, bounds: tuple[float, float] | None, step: float | None
) -> np.ndarray:
    """Round scores to the grid and clip them to the bounds."""
    if step is not None:
        origin = bounds[0] if bounds else 0.0
        score = origin + step * np.round((score - origin) / step)
    return (np.clip(score, *bounds) if bounds else score) + 0.0


def _refuse_step(step: float | None, bounds: tuple[float, float] | None) -> None:
    """Raise unless the step divides the width of the bounds."""
    if step is None:
        return
    refuse_number("step", step, SMALLEST, LARGEST)
    steps = (bounds[1] - bounds[0]) / step if bounds else 1.0
    if abs(steps - round(steps)) > 1e-9 * steps:
        raise ValueError(
            f"step={step!r} must go into the width of bounds={bounds!r} a whole number of times"
        )
