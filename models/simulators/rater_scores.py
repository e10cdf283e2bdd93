"""Simulator of scores: one generative law for each model of scores."""

from math import erf, sqrt
from typing import Literal

import numpy as np

from ..data.coded_rows import ANONYMOUS, NO_RATERS, CodedRows
from ..data.reading.numbers import MAX_COUNT, read_bounds
from ..data.scores import Scores
from .simulated import LARGEST, SMALLEST, Simulated, check_numbers, check_whole

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
    features: int = 0,
    useless_features: int = 0,
    explained: float = 0.5,
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

    With d features x of the items that tell of them, under "hierarchical_scores",

        mu_i ~ Normal(center + x_i w, (1 - explained) spread^2),  x_if ~ Normal(0, 1),
        w_f ~ Normal(0, 1), then scaled so that sum_f w_f^2 = explained spread^2

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
    spread, bias : float
        Standard deviations of the items' locations, and of the raters' biases (unused by "normal_scores").
    scale : float
        Typical standard deviation of a score about location plus bias.
    unequal : float
        Standard deviation of the log scales of raters, from 0 to 10; unused by "normal_scores".
    bounds : (low, high), optional
        Bounds of the scores.
    step : float, optional
        Step of the grid of scores, which starts from the lower bound, or 0. By default scores are continuous.
    features, useless_features : int
        Numbers of features of the items that tell of their locations, and that do not; the informative ones are first.
    explained : float
        Share of the variance of locations that the informative features explain, from 0 to 1.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Scores with integer ids; ``truth``, before rounding: ``location`` (item), and ``rater_bias``
        and ``rater_scale`` (rater), or ``scale`` (item) under "normal_scores", in the order of ``data.items``
        and ``data.raters``. With features also ``feature_effect`` (feature,); the features are in the attribute ``features``.

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
    check_whole(most=MAX_COUNT, items=items, raters=raters, answers=answers)
    check_numbers(0, LARGEST, spread=spread, bias=bias)
    check_numbers(SMALLEST, LARGEST, scale=scale)
    check_numbers(0, MOST_UNEQUAL, unequal=unequal)
    if center is not None:
        check_numbers(-LARGEST, LARGEST, center=center)
    ends = read_bounds(bounds)
    if step is not None:
        check_numbers(SMALLEST, LARGEST, step=step)
        steps = (ends[1] - ends[0]) / step if ends else 1.0
        if abs(steps - round(steps)) > 1e-9 * steps:
            raise ValueError(
                f"step={step!r} must go into the width of bounds={ends!r} a whole number of times"
            )
    check_whole(0, features=features, useless_features=useless_features)
    check_numbers(0, 1, explained=explained)
    columns = features + useless_features
    if columns and model != "hierarchical_scores":
        raise ValueError(
            f"features={columns}: under model={model!r} no location is drawn that features tell of"
        )
    middle = center if center is not None else sum(ends) / 2 if ends else 0.0
    rng = np.random.default_rng(random_seed)
    item = np.repeat(np.arange(items), answers)
    rater = different_raters(rng, items, raters, answers).ravel()
    values, effect = _features(rng, items, features, useless_features)
    effect *= np.sqrt(explained) * spread
    if model == "normal_scores":
        sd = scale * np.sqrt((SHAPE - 1) / rng.gamma(SHAPE, size=items))
        truth = {"location": rng.normal(middle, spread * sd / scale), "scale": sd}
        score = rng.normal(truth["location"][item], sd[item])
    else:
        left = spread * np.sqrt(1 - explained) if features else spread
        truth = {"location": rng.normal(middle, left, items) + values @ effect}
        truth["rater_bias"] = rng.normal(0.0, bias, raters)
        truth["rater_scale"] = scale * np.exp(rng.normal(0.0, unequal, raters))
        seen = truth["location"][item] + truth["rater_bias"][rater]
        score = rng.normal(seen, truth["rater_scale"][rater])
    if step is not None:
        origin = ends[0] if ends else 0.0
        score = origin + step * np.round((score - origin) / step)
    score = (np.clip(score, *ends) if ends else score) + 0.0
    rows = {"annotation_item": item, "annotation_rater": rater, "score": score}
    gave, merged = CodedRows(rows, count=np.ones(len(item), np.int64)).merged(raters)
    truth |= {name: truth[name][gave] for name in ("rater_bias", "rater_scale") if name in truth}
    data = Scores(items=np.arange(items), raters=gave, bounds=ends, rater_attributes={}, **merged)
    if not columns:
        return Simulated(data, truth)
    names = [f"feature {k + 1}" for k in range(columns)]
    table_of_items = {"item": data.items} | dict(zip(names, values.T, strict=True))
    return Simulated(data, truth | {"feature_effect": effect}, table_of_items)


def _features(
    rng: np.random.Generator, items: int, informative: int, useless: int
) -> tuple[np.ndarray, np.ndarray]:
    """Draw standard normal features (item, feature), and their effects (feature,), of squares that add up to one."""
    values = rng.standard_normal((items, informative + useless))
    effect = np.zeros(informative + useless)
    if informative:
        own = rng.standard_normal(informative)
        effect[:informative] = own / np.sqrt((own**2).sum())
    return values, effect


def different_raters(rng: np.random.Generator, items: int, raters: int, answers: int) -> np.ndarray:
    """Draw different raters (item, answer) by Floyd's algorithm, or as many as possible and all of them again if too few."""
    rounds, rest = divmod(answers, raters)
    chosen = np.empty((items, rest), np.int64)
    for place in range(rest):
        last = raters - rest + place
        drawn = rng.integers(last + 1, size=items)
        taken = (chosen[:, :place] == drawn[:, None]).any(axis=1)
        chosen[:, place] = np.where(taken, last, drawn)
    everyone = np.broadcast_to(np.tile(np.arange(raters), rounds), (items, rounds * raters))
    return np.concatenate([everyone, chosen], axis=1)


# (mean and standard deviation of the locations, typical scale) of ordinary and of toxic comments
ORDINARY, TOXIC = (0.35, 0.25, 0.65), (-1.0, 0.35, 0.8)
FEWEST, USUAL, MOST = 78, 210, 549  # votes on a photograph
VOTE_WEIGHT = 10.0  # sum of the parameters of the votes' Beta: standard deviation 64 about 210
MOST_VOTES = 1e8  # the counts of an item still fit 32 bits


def toxicity_scores(
    *,
    items: int = 1000,
    raters: int = 10,
    toxic: float = 0.1,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Scores]:
    """Simulate toxicity scores of comments, from -2 (very toxic) to 2 (very healthy).

    Each anonymous rater gives the whole number nearest to a draw from Normal(mu_i, sigma_i), clipped to the
    scale, so that an item is a multinomial. Location mu and scale sigma depend on the kind of the comment.

    The published set has 159,686 Wikipedia comments with 1,598,289 scores, ten each. Here as there about a
    tenth of the comments is toxic to most raters, and one in a hundred has a median of -2; the laws of the
    two kinds are chosen to that end, not fitted to published shares of the five scores.

    Parameters
    ----------
    items, raters : int
        Numbers of comments, and of scores of each.
    toxic : float
        Probability that a comment is of the toxic kind.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Scores of anonymous raters, as counts; ``truth``: ``toxic``, ``location`` and ``scale``
        (item), before rounding, ``level``, the possible scores, and ``probability`` (item, level) of each.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.toxicity_scores(items=20, random_seed=1)
    >>> simulated.data
    Scores(20 items, anonymous raters, 200 scores from -2 to 2)

    References
    ----------
    Wulczyn, Thain and Dixon (2017), Ex machina: personal attacks seen at scale, doi:10.1145/3038912.3052591,
    and their Wikipedia Talk Labels: Toxicity. Stutz et al. (2025), arXiv:2307.02191, appendix A.
    """
    check_whole(most=MAX_COUNT, items=items, raters=raters)
    check_numbers(0, 1, toxic=toxic)
    rng = np.random.default_rng(random_seed)
    is_toxic = rng.random(items) < toxic
    mean, spread, usual = np.where(is_toxic[:, None], TOXIC, ORDINARY).T
    location, scale = rng.normal(mean, spread), usual * np.exp(rng.normal(0.0, 0.15, items))
    drawn = _rated(rng, location, scale, np.full(items, raters), (-2, 2))
    return Simulated(drawn.data, {"toxic": is_toxic, **drawn.truth})


def aesthetic_scores(
    *,
    items: int = 1000,
    votes: float = USUAL,
    center: float = 5.4,
    spread: float = 0.7,
    scale: float = 1.4,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Scores]:
    """Simulate aesthetic scores of photographs, from 1 to 10.

    Each anonymous rater gives the whole number nearest to a draw from Normal(mu_i, sigma_i), clipped to the
    scale, so that an item is a multinomial.

    The published set (AVA) has more than 250,000 photographs with 78 to 549 votes each, 210 on average. Here
    as there their scores are nearly normal, with standard deviation 1.4, and means about 5.4, 70 % above 5.

    Parameters
    ----------
    items : int
        Number of photographs.
    votes : float
        Mean number of scores of a photograph; numbers vary as 78 to 549 do about 210.
    center, spread : float
        Mean and standard deviation of the photographs' locations.
    scale : float
        Typical standard deviation of the scores of a photograph.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Scores of anonymous raters, as counts; ``truth``: ``location`` and ``scale`` (item), before
        rounding, ``level``, the possible scores, and ``probability`` (item, level) of each.

    Raises
    ------
    ValueError
        If a number is out of range.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.aesthetic_scores(items=20, random_seed=1)
    >>> simulated.data.bounds, len(simulated.data.items)
    ((1.0, 10.0), 20)

    References
    ----------
    Murray, Marchesotti and Perronnin (2012), AVA: a large-scale database for aesthetic visual analysis, CVPR,
    doi:10.1109/CVPR.2012.6247954. Stutz et al. (2025), arXiv:2307.02191, appendix A (threshold at 5).
    """
    check_whole(most=MAX_COUNT, items=items)
    check_numbers(SMALLEST, MOST_VOTES, votes=votes)
    check_numbers(-LARGEST, LARGEST, center=center)
    check_numbers(0, LARGEST, spread=spread)
    check_numbers(SMALLEST, LARGEST, scale=scale)
    rng = np.random.default_rng(random_seed)
    location = rng.normal(center, spread, items)
    scales = scale * np.exp(rng.normal(0.0, 0.1, items))
    share = (USUAL - FEWEST) / (MOST - FEWEST)
    many = rng.beta(VOTE_WEIGHT * share, VOTE_WEIGHT * (1 - share), items)
    number = np.rint(votes / USUAL * (FEWEST + (MOST - FEWEST) * many)).astype(np.int64)
    return _rated(rng, location, scales, np.maximum(number, 1), (1, 10))


def _rated(
    rng: np.random.Generator,
    location: np.ndarray,
    scale: np.ndarray,
    number: np.ndarray,
    ends: tuple[int, int],
) -> Simulated[Scores]:
    """Draw the counts of each whole number on the scale for each item, and collect data and truth."""
    level = np.arange(ends[0], ends[1] + 1.0)
    # probability that each level is nearest to a normal draw, shape (item, level)
    z = (level[:-1] + 0.5 - location[:, None]) / (scale[:, None] * sqrt(2.0))
    below = 0.5 + 0.5 * np.fromiter(map(erf, z.ravel().tolist()), float, z.size).reshape(z.shape)
    probability = np.diff(below, axis=1, prepend=0.0, append=1.0)
    counts = rng.multinomial(number, probability)
    item, place = np.nonzero(counts)
    rows = {"annotation_item": item, "annotation_rater": np.full(len(item), ANONYMOUS), "score": level[place]}
    _, merged = CodedRows(rows, count=counts[item, place]).merged(0)
    bounds = (float(ends[0]), float(ends[1]))
    data = Scores(np.arange(len(location)), NO_RATERS, bounds=bounds, rater_attributes={}, **merged)
    truth = {"location": location, "scale": scale, "level": level, "probability": probability}
    return Simulated(data, truth)
