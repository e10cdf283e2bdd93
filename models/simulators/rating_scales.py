"""Simulators of integer rating scales, shaped like two public data sets: toxicity and aesthetics."""

from math import erf, sqrt

import numpy as np

from ..data.answers import UNKNOWN
from ..data.score_tables import GivenScores, score_layout
from ..data.scores import Scores
from .refusals import LARGEST, SMALLEST, refuse_counts, refuse_number
from .simulated import Simulated

__all__ = ["aesthetic_scores", "toxicity_scores"]

# (mean and standard deviation of the locations, typical scale) of ordinary and of toxic comments
ORDINARY, TOXIC = (0.35, 0.25, 0.65), (-1.0, 0.35, 0.8)
FEWEST, USUAL, MOST = 78, 210, 549
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
    scale, so that an item is a multinomial. Locations mu and scales sigma depend on whether the comment is
    ordinary or toxic.

    The published set has 159,686 Wikipedia comments with 1,598,289 scores, ten each. Here as there about a
    tenth of the comments is toxic to most raters, and one in a hundred has a median of -2; the distributions
    within the two kinds are chosen to that end, not fitted to published shares of the five scores.

    Parameters
    ----------
    items : int
        Number of comments.
    raters : int
        Scores of each comment.
    toxic : float
        Probability that a comment is of the toxic kind.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Scores of anonymous raters, as counts, with integer ids; ``truth``: ``toxic`` (item),
        ``location`` and ``scale`` (item), before rounding, ``level``, the possible scores, and
        ``probability`` (item, level) of each.

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
    >>> simulated.truth["probability"].shape
    (20, 5)

    References
    ----------
    Wulczyn, Thain and Dixon (2017), Ex machina: personal attacks seen at scale, doi:10.1145/3038912.3052591,
    and their Wikipedia Talk Labels: Toxicity. Stutz et al. (2025), arXiv:2307.02191, appendix A (threshold at
    0).
    """
    refuse_counts(items=items, raters=raters)
    refuse_number("toxic", toxic, 0, 1)
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

    The published set (AVA) has more than 250,000 photographs with 78 to 549 votes each, 210 on average; the
    scores of a photograph are close to normal. Here as there the photographs' means lie about 5.4, seven of
    ten above 5, and the scores of one photograph have a standard deviation of about 1.4.

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
        ``data``: Scores of anonymous raters, as counts, with integer ids; ``truth``: ``location`` and
        ``scale`` (item), before rounding, ``level``, the possible scores, and ``probability`` (item, level)
        of each.

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
    >>> simulated.truth["probability"].shape
    (20, 10)

    References
    ----------
    Murray, Marchesotti and Perronnin (2012), AVA: a large-scale database for aesthetic visual analysis, CVPR,
    doi:10.1109/CVPR.2012.6247954. Stutz et al. (2025), arXiv:2307.02191, appendix A (threshold at 5).
    """
    refuse_counts(items=items)
    refuse_number("votes", votes, SMALLEST, MOST_VOTES)
    refuse_number("center", center, -LARGEST, LARGEST)
    refuse_number("spread", spread, 0, LARGEST)
    refuse_number("scale", scale, SMALLEST, LARGEST)
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
    probability = _rounded_normal(location, scale, level)
    counts = rng.multinomial(number, probability)
    item, place = np.nonzero(counts)
    nobody = np.full(len(item), UNKNOWN, np.int32)
    _, layout = score_layout(GivenScores(item, nobody, level[place], counts[item, place]), 0)
    data = Scores(
        items=np.arange(len(location)),
        raters=np.array([], np.str_),
        bounds=(float(ends[0]), float(ends[1])),
        rater_attributes={},
        **layout,
    )
    truth = {"location": location, "scale": scale, "level": level, "probability": probability}
    return Simulated(data, truth)


def _rounded_normal(location: np.ndarray, scale: np.ndarray, level: np.ndarray) -> np.ndarray:
    """Return the probability that each level is nearest to a normal draw, shape (item, level)."""
    z = (level[:-1] + 0.5 - location[:, None]) / (scale[:, None] * sqrt(2.0))
    below = 0.5 + 0.5 * np.fromiter(map(erf, z.ravel().tolist()), float, z.size).reshape(z.shape)
    return np.diff(below, axis=1, prepend=0.0, append=1.0)
