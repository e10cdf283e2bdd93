"""Simulator of ambiguous items: labels by raters and scores of an imperfect classifier."""

import numpy as np

from ..data.labels import Labels
from .race import normalised
from .simulated import Simulated

__all__ = ["ambiguous_items"]


def ambiguous_items(
    *,
    items: int = 1000,
    raters: int = 3,
    categories: int = 5,
    separation: float = 1.5,
    sharpness: float = 1.0,
    error: float = 0.5,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Labels]:
    """Simulate ambiguous items: labels by a few raters, and scores of an imperfect classifier.

    Generative law, for item i, rater k and label y:

        T_i  ~ Uniform(categories),   x_i ~ Normal(center of T_i, 1) in the plane
        y_ik ~ Categorical(p(y | x_i))     p(y | x) exact by Bayes' rule: raters see x, not T
        score of y = softmax(sharpness log p(y | x_i) + error e_iy),   e ~ Normal(0, 1)

    The centers lie on a circle of radius `separation`: the smaller it is, the more ambiguous the items.

    Parameters
    ----------
    items, raters, categories : int
        Numbers of items, raters and categories; every rater labels every item once.
    separation : float
        Distance of the class centers from the origin, in standard deviations of the inputs within a class.
    sharpness : float
        Factor of the classifier's log probabilities: above 1 overconfident, below 1 underconfident.
    error : float
        Standard deviation of the noise in the classifier's log scores.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Labels with integer ids; ``truth``: ``input`` (item, 2), ``true_category`` (item),
        ``plausibility`` (item, category), the exact p(y | x), and ``score`` (item, category), the
        classifier's probabilities.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.ambiguous_items(items=20, random_seed=1)
    >>> simulated.data
    Labels(20 items, 3 raters, 60 answers, 5 categories)
    >>> simulated.truth["plausibility"].shape
    (20, 5)

    References
    ----------
    Stutz et al. (2023), Conformal prediction under ambiguous ground truth, TMLR, arXiv:2307.09302 (its toy
    data set is a mixture of Gaussians too).
    """
    for name, count, least in (
        ("items", items, 1), ("raters", raters, 1), ("categories", categories, 2),
    ):  # fmt: skip
        if isinstance(count, bool) or not isinstance(count, int | np.integer) or count < least:
            raise ValueError(f"{name}={count!r} must be a whole number from {least}")
    for name, size in (("separation", separation), ("sharpness", sharpness), ("error", error)):
        if not 0 <= size < np.inf:
            raise ValueError(f"{name}={size!r} must be a finite number from 0")
    rng = np.random.default_rng(random_seed)
    angle = 2 * np.pi * np.arange(categories) / categories
    center = separation * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    true_category = rng.integers(categories, size=items)
    x = rng.normal(center[true_category], 1.0)
    log_odds = -0.5 * ((x[:, None] - center) ** 2).sum(axis=2)
    plausibility = normalised(log_odds)
    # the constant of log p(y | x) goes with the normalisation
    score = normalised(sharpness * log_odds + rng.normal(0.0, error, log_odds.shape))
    point = rng.random((items, raters, 1))
    label = (plausibility.cumsum(axis=1)[:, None, :-1] <= point).sum(axis=2)
    item, rater = np.divmod(np.arange(items * raters), raters)
    table = {"item": item, "rater": rater, "label": label.ravel()}
    truth = {"input": x, "true_category": true_category}
    truth |= {"plausibility": plausibility, "score": score}
    return Simulated(Labels.from_table(table, categories=range(categories)), truth)
