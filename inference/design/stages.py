"""The second stage of a design: close items compared again, by the raters who tell most about them.

One answer of rater k on a pair at distance d has the Fisher information about d

    rho_k^2 I(rho_k d),   I = F'^2 / (F (1 - F))

which is largest for rho_k |d| = 2.399 with the logistic link and 1.575 with the normal one. A better rater than that is nearly
sure which item to prefer, and tells little about how far apart they are; on the closest pairs nobody is too good.

References
----------
Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, section 5.2 and eq. 43.
"""

import numpy as np
import xarray as xr
from scipy.special import expit, log_ndtr

__all__ = ["BEST_PRODUCT", "answer_information", "second_stage"]

BEST_PRODUCT = {"bradley_terry": 2.3993572805154675, "thurstone": 1.5750362625874819}
"""Reliability times distance where an answer tells most about the distance."""


def second_stage(
    estimate: xr.Dataset, *, pairs: int, answers: int, load: int | None = None
) -> xr.Dataset:
    """Choose pairs and raters for more answers.

    The pairs are those of neighbours in the estimated ranking, then those of next neighbours, and so on, of the last kind the
    closest: the ranking is wrong first where items are close, and so every item meets the ones that it may have to change places
    with. From the closest pair on, each pair is then given the raters with the most information about it among those who have
    answers left.

    Parameters
    ----------
    estimate : Dataset
        ``quality`` (item), ``reliability`` (rater) and the attribute ``link``, as `quite` returns them.
    pairs : int
        How many pairs to ask about.
    answers : int
        How many different raters to ask about each.
    load : int, optional
        Most answers of one rater; by default all raters share the answers equally, up to one. With ``load=pairs`` the best raters
        answer all.

    Returns
    -------
    Dataset
        ``left``, ``right`` (pair), ``distance`` (pair), closest first; ``rater`` (pair, answer) and ``information`` (pair,
        answer), both from the most informative on.

    Raises
    ------
    ValueError
        If there are not so many pairs, raters or answers.

    References
    ----------
    Nordio, Tarable and Leonardi (2023), section 5.2 and eq. 43: close items, and the best raters on the closest pairs. How many
    pairs an item takes part in, and how often a rater may be asked, are choices made here.
    """
    quality, reliability = estimate["quality"].to_numpy(), estimate["reliability"].to_numpy()
    n, n_raters = len(quality), len(reliability)
    link = estimate.attrs.get("link")
    if link not in BEST_PRODUCT:
        raise ValueError(
            f"estimate has the attribute link={link!r}; allowed: 'bradley_terry', 'thurstone', as quite sets it"
        )
    load = -(-pairs * answers // n_raters) if load is None else load
    for name, value, most in (
        ("pairs", pairs, n * (n - 1) // 2),
        ("answers", answers, n_raters),
        ("load", load, pairs),
    ):
        if (
            isinstance(value, bool)
            or not isinstance(value, int | np.integer)
            or not 1 <= value <= most
        ):
            raise ValueError(f"{name}={value!r} must be a whole number from 1 to {most}")
    if load * n_raters < pairs * answers:
        raise ValueError(
            f"load={load}: {n_raters} raters give at most {load * n_raters} of {pairs * answers} answers; raise it"
        )
    better, worse = _neighbours(quality, pairs)
    distance = quality[better] - quality[worse]
    rater, information = _allot(distance, reliability, answers, load, link)
    items, raters = estimate["item"].to_numpy(), estimate["rater"].to_numpy()
    return xr.Dataset(
        {
            "left": ("pair", items[better]),
            "right": ("pair", items[worse]),
            "distance": ("pair", distance),
            "rater": (("pair", "answer"), raters[rater]),
            "information": (("pair", "answer"), information),
        },
        attrs={"link": link},
    )


def answer_information(
    distance: np.ndarray | float, reliability: np.ndarray | float, link: str
) -> np.ndarray:
    """Return the Fisher information about the distance in one answer.

    Parameters
    ----------
    distance, reliability : ndarray or float
        d and rho, of shapes that broadcast.
    link : {"bradley_terry", "thurstone"}
        F.

    Returns
    -------
    ndarray
        rho^2 I(rho d).
    """
    x = np.multiply(reliability, distance)
    if link == "bradley_terry":
        return np.square(reliability) * expit(x) * expit(-x)
    log_density = -np.square(x) - np.log(2 * np.pi)
    return np.square(reliability) * np.exp(log_density - log_ndtr(x) - log_ndtr(-x))


def _neighbours(quality: np.ndarray, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Return the better and the worse item of pairs of neighbours in the ranking, closest first."""
    order = np.argsort(-quality, kind="stable")
    better: list[np.ndarray] = []
    worse: list[np.ndarray] = []
    lag, left = 1, pairs
    while left > 0:
        closest = np.argsort(quality[order[:-lag]] - quality[order[lag:]], kind="stable")[:left]
        better.append(order[closest])
        worse.append(order[closest + lag])
        lag, left = lag + 1, left - len(closest)
    above, below = np.concatenate(better), np.concatenate(worse)
    closest = np.argsort(quality[above] - quality[below], kind="stable")
    return above[closest], below[closest]


def _allot(
    distance: np.ndarray, reliability: np.ndarray, answers: int, load: int, link: str
) -> tuple[np.ndarray, np.ndarray]:
    """Give each pair, in turn, the most informative raters who have answers left; return them and their information."""
    free = np.full(len(reliability), load)
    rater = np.empty((len(distance), answers), np.int64)
    told = np.empty((len(distance), answers))
    for e, d in enumerate(distance):
        remaining = len(distance) - e
        # A rater with an answer left for every remaining pair wastes one by staying out; the spare answers say how many may.
        full = free >= remaining
        spare = np.minimum(free, remaining).sum() - remaining * answers
        due = full & (spare < full.sum())
        information = answer_information(d, reliability, link)
        best = np.lexsort((-information, ~due, free == 0))[:answers]
        best = best[np.argsort(-information[best], kind="stable")]
        free[best] -= 1
        rater[e], told[e] = best, information[best]
    return rater, told
