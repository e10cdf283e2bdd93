"""Second stage of comparisons: close pairs and the raters who tell most about them; graphs as the simulators use them."""

from collections.abc import Sequence
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from scipy.special import expit, log_ndtr

from ...models.data.comparisons import Comparisons
from ...models.simulators.paired_comparisons import regular_graph as regular_graph
from ...models.simulators.simulated import check_whole
from ...posterior.links import LOGISTIC, PROBIT, require_link

# reliability times distance at which the Fisher information of an answer about the distance is largest
BEST_PRODUCT = {LOGISTIC: 2.3993572805154675, PROBIT: 1.5750362625874819}


Rule = Literal["information", "printed"]


def second_stage(
    estimate: xr.Dataset,
    *,
    answers: int,
    pairs: int | None = None,
    degree: int | None = None,
    exclude: Comparisons | Sequence[Sequence[Any]] | None = None,
    rule: Rule = "information",
    load: int | None = None,
) -> xr.Dataset:
    """Choose pairs and raters for further comparisons after a first estimate.

    Pairs are neighbours in the estimated ranking, then next neighbours, and so on; of the last group, the
    closest pairs: errors of the ranking are likeliest among close items, and every item meets those it may
    have to change places with. Then each pair, the closest first, gets the raters with the most Fisher
    information about its distance d among those with answers left. One answer of rater k has the information

        rho_k^2 I(rho_k d),   I = F'^2 / (F (1 - F))

    which is largest at rho_k abs(d) = 2.399 for the logistic link and 1.575 for the normal one. A rater beyond
    that is nearly certain which item is better, and tells little about the distance.

    The printed rule has as many groups of raters as have `answers` members, by reliability, and as many groups of pairs, by
    distance: the shortest pairs go to the most reliable group. The design of the paper is ``degree=10`` after a first stage
    of degree 10, whose pairs are excluded, with as many answers for each pair in both.

    Parameters
    ----------
    estimate : Dataset
        ``quality`` (item), ``reliability`` (rater) and the attribute ``link``, as `quite` returns them.
    answers : int
        Number of different raters to ask about each pair.
    pairs : int, optional
        Number of pairs to ask about; by default as many as `degree` allows.
    degree : int, optional
        Largest number of pairs of one item; by default there is none, but then `pairs` is needed.
    exclude : Comparisons or array_like of items, shape (pair, 2), optional
        Pairs that are not asked about, such as the votes of the first stage.
    rule : {"information", "printed"}
        How raters are chosen. By the printed rule up to ``answers - 1`` of the least reliable raters are not asked.
    load : int, optional
        Largest number of answers of one rater; by default all raters share the answers equally, up to one.
        With ``load=pairs`` the best raters answer all. Not for the printed rule, which has its own.

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
    The paper asks about close items, and gives the closest pairs to the best raters. It does not print how close items are
    found: neighbours in the ranking are a choice made here.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> quality, reliability = ("item", [2.0, 1.9, 0.0]), ("rater", [1.0, 5.0])
    >>> coords = {"item": ["tea", "milk", "cocoa"], "rater": ["Ann", "Bob"]}
    >>> estimate = xr.Dataset({"quality": quality, "reliability": reliability}, coords, {"link": "bradley_terry"})
    >>> questions = papers.second_stage(estimate, pairs=2, answers=1)
    >>> list(zip(questions["left"].values.tolist(), questions["rater"].values[:, 0].tolist()))
    [('tea', 'Bob'), ('milk', 'Ann')]

    References
    ----------
    Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, section 5.2 and eq. 43.
    """
    quality, reliability = estimate["quality"].to_numpy(), estimate["reliability"].to_numpy()
    n, n_raters = len(quality), len(reliability)
    link = require_link(estimate.attrs.get("link"), "the estimate's link")
    if rule not in get_args(Rule):
        raise ValueError(f"rule={rule!r} is not one of {', '.join(map(repr, get_args(Rule)))}")
    if pairs is None and degree is None:
        raise ValueError("pairs and degree are both missing: pass one of them, or both")
    check_whole(most=n_raters, answers=answers)
    if degree is not None:
        check_whole(most=n - 1, degree=degree)
    if pairs is not None:
        check_whole(most=n * (n - 1) // 2, pairs=pairs)
    better, worse = _neighbours(quality, pairs, degree, _excluded(estimate, exclude))
    n_pairs = len(better)
    if n_pairs < (1 if pairs is None else pairs):
        raise ValueError(f"pairs={pairs!r}: only {n_pairs} pairs are left by degree={degree!r} and exclude")
    distance = quality[better] - quality[worse]
    if rule == "printed":
        if load is not None:
            raise ValueError(
                f"load={load!r}: the printed rule gives each rater of a group the pairs of the group; leave it out"
            )
        rater = _groups_of_raters(n_pairs, reliability, answers)
        information = fisher_information(distance[:, None], reliability[rater], link)
    else:
        load = -(-n_pairs * answers // n_raters) if load is None else load
        check_whole(most=n_pairs, load=load)
        if load * n_raters < n_pairs * answers:
            most = f"at most {load * n_raters} of {n_pairs * answers} answers"
            raise ValueError(f"load={load}: {n_raters} raters give {most}; raise it")
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


def _excluded(estimate: xr.Dataset, exclude: Comparisons | Sequence[Sequence[Any]] | None) -> np.ndarray:
    """Codes of excluded pairs, the smaller code times the number of items plus the larger (pair,)."""
    if exclude is None:
        return np.empty(0, np.int64)
    if isinstance(exclude, Comparisons):
        named = np.stack([exclude.items[exclude.left], exclude.items[exclude.right]], axis=1)
    else:
        named = np.array([list(pair) for pair in exclude]).reshape(-1, 2)
    place = {item: code for code, item in enumerate(estimate["item"].to_numpy().tolist())}
    if missing := [item for item in named.ravel().tolist() if item not in place]:
        raise ValueError(f"exclude has the item {missing[0]!r}, which the estimate has not")
    codes = np.sort(
        np.array([place[item] for item in named.ravel().tolist()], np.int64).reshape(-1, 2), axis=1
    )
    return codes @ [len(place), 1]


def _neighbours(
    quality: np.ndarray, pairs: int | None, degree: int | None, excluded: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Better and worse items (pair,) of pairs of neighbours in the ranking, the closest pair first, as many as there are."""
    order, n = np.argsort(-quality, kind="stable"), len(quality)
    free = np.full(n, n if degree is None else degree)
    left = n * n if pairs is None else pairs
    groups: list[np.ndarray] = []
    for lag in range(1, n):
        if left <= 0 or (free > 0).sum() < 2:
            break
        found = np.stack([order[:-lag], order[lag:]])
        found = found[
            :, ~np.isin(np.sort(found, axis=0).T @ [n, 1], excluded) & (free[found] > 0).all(axis=0)
        ]
        found = found[:, np.argsort(quality[found[0]] - quality[found[1]], kind="stable")]
        if degree is not None:
            found = found[:, _within_degree(found, free)]
        found = found[:, :left]
        np.subtract.at(free, found, 1)
        groups.append(found)
        left -= found.shape[1]
    better, worse = np.concatenate(groups, axis=1) if groups else np.empty((2, 0), np.int64)
    closest = np.argsort(quality[better] - quality[worse], kind="stable")
    return better[closest], worse[closest]


def _within_degree(found: np.ndarray, free: np.ndarray) -> np.ndarray:
    """Mask of the pairs (2, pair) that can be asked in this order while both items have pairs left."""
    left, kept = free.copy(), np.zeros(found.shape[1], bool)
    for e, (i, j) in enumerate(found.T):
        kept[e] = left[i] > 0 < left[j]
        left[[i, j]] -= kept[e]
    return kept


def _groups_of_raters(pairs: int, reliability: np.ndarray, answers: int) -> np.ndarray:
    """Codes of raters (pair, answer) by the printed rule, for pairs in the order of their distances."""
    groups = len(reliability) // answers
    member = np.argsort(-reliability, kind="stable")[: groups * answers].reshape(groups, answers)
    return member[np.arange(pairs) * groups // pairs]


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
