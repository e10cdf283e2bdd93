"""Graphs of comparisons, as the simulators use them."""

import numpy as np
import xarray as xr
from scipy.special import expit, log_ndtr

from ...models.simulators.paired_comparisons import regular_graph as regular_graph
from ...posterior.links import LOGISTIC, PROBIT

# reliability times distance at which the Fisher information of an answer about the distance is largest
BEST_PRODUCT = {LOGISTIC: 2.3993572805154675, PROBIT: 1.5750362625874819}


def second_stage(estimate: xr.Dataset, *, pairs: int, answers: int, load: int | None = None) -> xr.Dataset:
    """Choose pairs and raters for further comparisons after a first estimate.

    Pairs are neighbours in the estimated ranking, then next neighbours, and so on; of the last group, the
    closest pairs: errors of the ranking are likeliest among close items, and every item meets those it may
    have to change places with. Then each pair, the closest first, gets the raters with the most Fisher
    information about its distance d among those with answers left. One answer of rater k has the information

        rho_k^2 I(rho_k d),   I = F'^2 / (F (1 - F))

    which is largest at rho_k abs(d) = 2.399 for the logistic link and 1.575 for the normal one. A rater beyond
    that is nearly certain which item is better, and tells little about the distance.

    Parameters
    ----------
    estimate : Dataset
        ``quality`` (item), ``reliability`` (rater) and the attribute ``link``, as `quite` returns them.
    pairs : int
        Number of pairs to ask about.
    answers : int
        Number of different raters to ask about each pair.
    load : int, optional
        Largest number of answers of one rater; by default all raters share the answers equally, up to one.
        With ``load=pairs`` the best raters answer all.

    Returns
    -------
    Dataset
        ``left``, ``right`` and ``distance`` (pair), the closest pair first; ``rater`` and ``information``
        (pair, answer), the most informative rater first.

    Raises
    ------
    ValueError
        If there are not so many pairs, raters or answers.

    Notes
    -----
    The paper asks about close items, and gives the closest pairs to the best raters. The number of pairs of
    an item and of answers of a rater are choices made here.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import inference
    >>> quality, reliability = ("item", [2.0, 1.9, 0.0]), ("rater", [1.0, 5.0])
    >>> coords = {"item": ["tea", "milk", "cocoa"], "rater": ["Ann", "Bob"]}
    >>> estimate = xr.Dataset({"quality": quality, "reliability": reliability}, coords, {"link": "bradley_terry"})
    >>> questions = inference.design.second_stage(estimate, pairs=2, answers=1)
    >>> list(zip(questions["left"].values.tolist(), questions["rater"].values[:, 0].tolist()))
    [('tea', 'Bob'), ('milk', 'Ann')]

    References
    ----------
    Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, section 5.2 and eq. 43.
    """
    quality, reliability = estimate["quality"].to_numpy(), estimate["reliability"].to_numpy()
    n, n_raters = len(quality), len(reliability)
    link = estimate.attrs.get("link")
    if link not in BEST_PRODUCT:
        allowed = "'bradley_terry', 'thurstone', as quite sets it"
        raise ValueError(f"estimate has the attribute link={link!r}; allowed: {allowed}")
    load = -(-pairs * answers // n_raters) if load is None else load
    limits = (("pairs", pairs, n * (n - 1) // 2), ("answers", answers, n_raters), ("load", load, pairs))
    for name, value, most in limits:
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or not 1 <= value <= most:
            raise ValueError(f"{name}={value!r} must be a whole number from 1 to {most}")
    if load * n_raters < pairs * answers:
        most = f"at most {load * n_raters} of {pairs * answers} answers"
        raise ValueError(f"load={load}: {n_raters} raters give {most}; raise it")
    better, worse = _neighbours(quality, pairs)
    distance = quality[better] - quality[worse]
    rater, information = _assign_raters(distance, reliability, answers, load, link)
    items, raters = estimate["item"].to_numpy(), estimate["rater"].to_numpy()
    questions = {"left": items[better], "right": items[worse], "distance": distance}
    asked = {"rater": raters[rater], "information": information}
    variables = {name: ("pair", values) for name, values in questions.items()}
    variables |= {name: (("pair", "answer"), values) for name, values in asked.items()}
    return xr.Dataset(variables, attrs={"link": link})


def fisher_information(
    distance: np.ndarray | float, reliability: np.ndarray | float, link: str
) -> np.ndarray:
    """Fisher information rho^2 I(rho d) about the distance d in one answer; the shapes of d and rho broadcast."""
    x = np.multiply(reliability, distance)
    if link == LOGISTIC:
        return np.square(reliability) * expit(x) * expit(-x)
    log_density = -np.square(x) - np.log(2 * np.pi)
    return np.square(reliability) * np.exp(log_density - log_ndtr(x) - log_ndtr(-x))


def _neighbours(quality: np.ndarray, pairs: int) -> tuple[np.ndarray, np.ndarray]:
    """Better and worse items of pairs of neighbours in the ranking, the closest pair first. Returns (pair,) each."""
    order = np.argsort(-quality, kind="stable")
    groups: list[np.ndarray] = []
    lag, left = 1, pairs
    while left > 0:
        closest = np.argsort(quality[order[:-lag]] - quality[order[lag:]], kind="stable")[:left]
        groups.append(np.stack([order[closest], order[closest + lag]]))
        lag, left = lag + 1, left - len(closest)
    better, worse = np.concatenate(groups, axis=1)
    closest = np.argsort(quality[better] - quality[worse], kind="stable")
    return better[closest], worse[closest]


def _assign_raters(
    distance: np.ndarray, reliability: np.ndarray, answers: int, load: int, link: str
) -> tuple[np.ndarray, np.ndarray]:
    """Assign to each pair the most informative raters with answers left; return codes and information (pair, answer)."""
    free = np.full(len(reliability), load)
    rater, gained = np.empty((len(distance), answers), np.int64), np.empty((len(distance), answers))
    for e, d in enumerate(distance):
        remaining = len(distance) - e
        # A rater with as many answers left as pairs remain loses one if not asked now;
        # `spare` answers may be lost in all.
        full = free >= remaining
        spare = np.minimum(free, remaining).sum() - remaining * answers
        due = full & (spare < full.sum())
        information = fisher_information(d, reliability, link)
        best = np.lexsort((-information, ~due, free == 0))[:answers]
        best = best[np.argsort(-information[best], kind="stable")]
        free[best] -= 1
        rater[e], gained[e] = best, information[best]
    return rater, gained
