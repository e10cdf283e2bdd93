"""Simulator of ambiguous items: labels by raters and scores of an imperfect classifier."""

from collections.abc import Sequence

import numpy as np

from ..data.labels import Labels
from ..data.rankings import PartialRankings
from .partial_rankings import draw_order, log_gamma, normalised
from .simulated import LARGEST, SMALLEST, Simulated, check_not_negative, check_numbers, check_whole


def ambiguous_items(
    *,
    items: int = 1000,
    raters: int = 3,
    categories: int = 5,
    separation: float = 1.5,
    centers: Sequence[float] | np.ndarray | None = None,
    spread: float = 1.0,
    sharpness: float = 1.0,
    error: float = 0.5,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Labels]:
    """Simulate ambiguous items: labels by a few raters, and scores of an imperfect classifier.

    Generative law, for item i, rater k and label y:

        T_i  ~ Uniform(categories),   x_i ~ Normal(center of T_i, spread) in the plane
        y_ik ~ Categorical(p(y | x_i))     p(y | x) exact by Bayes' rule: raters see x, not T
        score of y = softmax(sharpness log p(y | x_i) + error e_iy),   e ~ Normal(0, 1)

    The centers lie on a circle of radius `separation`: the smaller it is, the more ambiguous the items. Three centers on a line
    are the toy of figure 2 of Stutz et al. (2025); its plausibilities are those of `models.dirichlet` with reliability 1 and 100.

    Parameters
    ----------
    items, raters, categories : int
        Numbers of items, raters and categories; every rater labels every item once.
    separation : float
        Distance of the class centers from the origin, in units of x.
    centers : array_like of float, shape (category,) or (category, dimension), optional
        Centers of the classes on a line or in space, in place of `categories` and `separation`.
    spread : float, default 1
        Standard deviation of x within a class.
    sharpness : float
        Factor of the classifier's log probabilities: above 1 overconfident, below 1 underconfident.
    error : float
        Standard deviation of the noise in the classifier's log scores.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Labels with integer ids; ``truth``: ``input`` (item, 2), with `centers` on a line (item),
        ``true_category`` (item), and (item, category) ``plausibility``, the exact p(y | x), and ``score``, the
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
    >>> models.simulators.ambiguous_items(items=20, centers=(-1, 0, 1), spread=0.5, random_seed=1).data
    Labels(20 items, 3 raters, 60 answers, 3 categories)

    References
    ----------
    Stutz et al. (2023), Conformal prediction under ambiguous ground truth, TMLR, arXiv:2307.09302 (toy data). Stutz et al.
    (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, arXiv:2307.02191v2, figure 2.
    """
    check_whole(items=items, raters=raters)
    check_whole(2, categories=categories)
    check_not_negative(separation=separation, sharpness=sharpness, error=error)
    check_numbers(SMALLEST, LARGEST, spread=spread)
    rng = np.random.default_rng(random_seed)
    angle = 2 * np.pi * np.arange(categories) / categories
    circle = separation * np.stack([np.cos(angle), np.sin(angle)], axis=1)
    center = circle if centers is None else np.asarray(centers, float)
    if center.ndim not in (1, 2) or len(center) < 2 or not np.isfinite(center).all():
        raise ValueError("centers must be finite numbers, one or a row for each of two categories or more")
    categories = len(center)
    true_category = rng.integers(categories, size=items)
    x = rng.normal(center[true_category], spread)
    log_odds = -0.5 * (((x[:, None] - center) / spread) ** 2).reshape(items, categories, -1).sum(axis=2)
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


def three_class_toy(
    *,
    items: int = 300,
    raters: int = 5,
    centers: Sequence[float] = (-1.0, 0.0, 1.0),
    spread: float = 0.5,
    sharpness: float = 20.0,
    expected_length: float = 1.5,
    tie_threshold: float = 0.05,
    random_seed: int | np.random.Generator,
) -> Simulated[PartialRankings]:
    """Simulate one-dimensional inputs from overlapping classes, and partial rankings of the classes.

    Inputs are x ~ Normal(center of a random class, spread). Each rater perceives the posterior p(class | x)
    as Dirichlet(sharpness * posterior), orders the classes by Plackett-Luce over the perceived probabilities,
    names Poisson(expected_length) of them, at least one, and ties neighbours within `tie_threshold`. The law is that of the
    authors' code for partial rankings, with inputs on a line. The toy of their figure 2 has labels: `ambiguous_items`.

    Parameters
    ----------
    items, raters : int
        Numbers of inputs and raters; every rater sees every input.
    centers : sequence of float
        Centers of the classes, in units of x; two or more.
    spread : float
        Standard deviation of x within a class.
    sharpness : float
        Dirichlet concentration of the perceived probabilities about the true posterior.
    expected_length : float
        Mean number of classes named, before it is clipped between one and all.
    tie_threshold : float
        Difference of perceived probability up to which neighbours are tied.
    random_seed : int or numpy.random.Generator
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: PartialRankings; ``truth``: ``input`` (item), ``true_category`` (item) and the exact
        posterior ``plausibility`` (item, category).

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.three_class_toy(items=20, random_seed=1)
    >>> simulated.data
    PartialRankings(20 items, 5 raters, 100 annotations, 3 categories)

    References
    ----------
    Stutz et al. (2025), arXiv:2307.02191v2, and their code: github.com/google-deepmind/uncertain_ground_truth,
    ``gaussian_toy_dataset.py``.
    """
    rng = np.random.default_rng(random_seed)
    middle = np.asarray(centers, float)
    true_category = rng.integers(len(middle), size=items)
    x = rng.normal(middle[true_category], spread)
    plausibility = normalised(-0.5 * ((x[:, None] - middle) / spread) ** 2)
    item, rater = np.divmod(np.arange(items * raters), raters)
    log_perceived = log_gamma(sharpness * plausibility[item], rng)
    order = draw_order(log_perceived, rng)
    perceived = np.take_along_axis(normalised(log_perceived), order, axis=1)
    starts = np.abs(np.diff(perceived, axis=1, prepend=np.inf)) > tie_threshold
    rank = np.cumsum(starts, axis=1)
    length = np.clip(rng.poisson(expected_length, len(item)), 1, len(middle))
    annotation, place = np.nonzero(np.arange(len(middle)) < length[:, None])
    table = {"item": item[annotation], "rater": rater[annotation]}
    table |= {"category": order[annotation, place], "rank": rank[annotation, place]}
    data = PartialRankings.from_table(table, categories=range(len(middle)))
    return Simulated(data, {"input": x, "true_category": true_category, "plausibility": plausibility})


def urn_items(
    *,
    items: int = 1000,
    raters: int | Sequence[int] | np.ndarray = 10,
    weight: Sequence[float] | np.ndarray = (0.7, 0.1, 0.2),
    probability: Sequence[Sequence[float]] | np.ndarray = ((0.2, 0.8), (0.5, 0.5), (0.9, 0.1)),
    spread: float | Sequence[float] | np.ndarray = 0.0,
    sharpness: float = 1.0,
    error: float = 0.5,
    says: Sequence[Sequence[float]] | np.ndarray | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Labels]:
    """Simulate items as urns of labels, labels drawn from them, and classifiers.

    Generative law, for item i and rater k:

        q_i ~ mixture over items: one of a few urns, or one of a few Betas (Dirichlets)
        y_ik ~ Categorical(q_i)
        score of a noisy classifier = softmax(sharpness log q_i + error e_i),   e ~ Normal(0, 1)
        c_i of a hard classifier ~ Categorical(says of the state of i);   soft: P(y_ik given c_i)

    The raters of an item are exchangeable. The default is the running example of survey equivalence: of 1,000
    items with 10 raters, 70 % have a probability of a positive label of .8, 10 % of .5, 20 % of .1.

    Parameters
    ----------
    items : int, default 1000
        Number of items.
    raters : int or sequence of int, shape (item,), default 10
        Number of labels of every item, or of each.
    weight : sequence of float, shape (state,)
        Share of the urns, summing to one.
    probability : array_like of float, shape (state, category)
        Probability of each label; rows sum to one.
    spread : float or sequence of float, shape (state,)
        Correlation rho of two labels of an item within a state, from 0 to below 1. Above zero the items of a
        state are Dirichlet((1 / rho - 1) probability), a Beta with two categories, instead of one urn.
    sharpness : float, default 1
        Factor of the classifier's log probabilities: above 1 overconfident, below 1 underconfident.
    error : float, default .5
        Standard deviation of the noise in the classifier's log scores.
    says : array_like of float, shape (state, category), optional
        Probability of each category to be what a hard classifier says of an item in this state; rows sum to one. That of
        the running example says 1 with a probability of .9, .5 and .05.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Labels with integer ids; ``truth``: ``state`` (item), and (item, category) ``plausibility``,
        the items' own probabilities (the omniscient rater's prediction), and ``score``, the noisy classifier's; with `says`
        ``hard``, 1 for what it says, else 0, and ``soft``, the probabilities of a label given that.

    Raises
    ------
    ValueError
        If a number is out of range, or shapes do not fit.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.urn_items(items=20, random_seed=1)
    >>> simulated.data
    Labels(20 items, 10 raters, 200 answers, 2 categories)
    >>> simulated = models.simulators.urn_items(items=20, says=[[0.1, 0.9], [0.5, 0.5], [0.95, 0.05]], random_seed=1)
    >>> [sorted({round(float(p), 4) for p in simulated.truth[name][:, 1]}) for name in ("hard", "soft")]
    [[0.0, 1.0], [0.3226, 0.7681]]

    References
    ----------
    Resnick et al. (2021), Survey equivalence, arXiv:2106.01254, section 3 (running example).
    """
    share, mean, rho = _law(weight, probability, spread)
    check_whole(items=items)
    total = np.broadcast_to(np.asarray(raters), (items,)) if np.ndim(raters) == 0 else np.asarray(raters)
    if total.shape != (items,) or total.dtype.kind not in "iu" or (total < 1).any():
        raise ValueError(
            f"raters={raters!r} must be a whole number from 1, or one for each of the {items} items"
        )
    check_not_negative(sharpness=sharpness, error=error)
    rng = np.random.default_rng(random_seed)
    state = rng.choice(len(share), items, p=share)
    plausibility = mean[state]
    for i in np.flatnonzero(rho[state] > 0):
        plausibility[i] = rng.dirichlet((1 / rho[state[i]] - 1) * plausibility[i])
    item = np.repeat(np.arange(items), total)
    below = plausibility.cumsum(axis=1)[item, :-1] <= rng.random((len(item), 1))
    rater = np.arange(len(item)) - np.repeat(total.cumsum() - total, total)
    table = {"item": item, "rater": rater, "label": below.sum(axis=1)}
    with np.errstate(divide="ignore"):
        log_q = np.log(plausibility)
    noise = rng.normal(0.0, error, log_q.shape) if error else np.zeros(log_q.shape)
    score = normalised(np.maximum(sharpness * log_q, -700.0) + noise)
    truth = {"state": state, "plausibility": plausibility, "score": score}
    if says is not None:
        row = _rows("says", says, *mean.shape)
        said = (row.cumsum(axis=1)[state, :-1] <= rng.random((items, 1))).sum(axis=1)
        joint = ((share[:, None] * row).T @ mean)[said]  # of what the classifier and a rater say
        truth |= {"hard": np.eye(mean.shape[1])[said], "soft": joint / joint.sum(axis=1, keepdims=True)}
    return Simulated(Labels.from_table(table, categories=range(mean.shape[1])), truth)


def _law(weight: object, probability: object, spread: object) -> tuple[np.ndarray, ...]:
    """Validate share (state,), probability (state, category) and spread (state,), and return them as arrays."""
    share = np.asarray(weight, float)
    if share.ndim != 1 or not (share >= 0).all() or abs(share.sum() - 1) > 1e-9:
        raise ValueError(f"weight={weight!r} must be shares that sum to one")
    mean = _rows("probability", probability, len(share))
    rho = np.asarray(spread, float)
    if rho.shape not in ((), share.shape) or not ((rho >= 0) & (rho < 1)).all():
        raise ValueError(
            f"spread={spread!r} must be from 0 to below 1: one number, or {len(share)}, one for each state"
        )
    return share / share.sum(), mean, np.broadcast_to(rho, share.shape)


def _rows(name: str, value: object, states: int, categories: int | None = None) -> np.ndarray:
    """Return probabilities (state, category), or raise unless their rows sum to one."""
    p = np.asarray(value, float)
    fits = (
        p.ndim == 2
        and len(p) == states
        and (p.shape[1] > 1 if categories is None else p.shape[1] == categories)
    )
    if not fits or not (p >= 0).all() or (np.abs(p.sum(axis=1) - 1) > 1e-9).any():
        allowed = "two categories or more" if categories is None else f"{categories} categories"
        raise ValueError(f"{name}={value!r} must have {states} rows that sum to one, of {allowed}")
    return p
