"""Bayesian Cramér-Rao bound of item qualities estimated from comparisons by unequal raters.

    information of the qualities       A = c_q L + beta_q I,        L = sum_pairs answers (e_i - e_j)(e_i - e_j)'
    information of a reliability       E_k c_rho + beta_rho,        E_k = answers of rater k
    c_q = E[rho^2 I(rho d)],  c_rho = E[d^2 I(rho d)],  d = q_i - q_j,  I = F'^2 / (F (1 - F))
    beta = E[(f' / f)^2] of the prior f, the Planck taper

The two blocks decouple because rho d I(rho d) is odd in d. The covariance of any estimator, averaged over
truths drawn from the prior, is at least C = A^-1.

| symbol | meaning | name |
|---|---|---|
| c_q, c_rho | information of one answer | ``quality_information``, ``reliability_information`` |
| beta_q, beta_rho | information of the prior | ``quality_prior_information``, ``reliability_prior_information`` |

References
----------
Nordio, Tarable and Leonardi (2023), Ranking a set of objects using heterogeneous workers: QUITE an easy
problem, arXiv:2310.02016, eq. 11-17. McKechan, Robinson and Sathyaprakash (2010), A tapering window for
time-domain templates, Classical and Quantum Gravity 27, equation 7, doi:10.1088/0264-9381/27/8/084020.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Protocol

import numpy as np
import xarray as xr
from scipy.linalg import cho_factor, cho_solve
from scipy.sparse import coo_array
from scipy.sparse.csgraph import connected_components
from scipy.special import expit, log_ndtr

from ...posterior.errors import EvaluationError
from ...posterior.links import LOGISTIC, Link, require_link

TAPER = 0.2  # z on [0, 1]
NODES = 60  # quadrature nodes of a panel; twice as many change the twelfth digit
MOST_ITEMS = 10_000  # the covariance is a dense matrix


def planck_density(x: np.ndarray) -> np.ndarray:
    """Density of the Planck taper on [0, 1], a uniform density whose ends fall to zero smoothly; zero outside.

        f(x) = expit(z / (z - t) - z / t) / (1 - z),  t = min(x, 1 - x) < z,  and 1 / (1 - z) between

    Every derivative vanishes at 0 and 1, so that, unlike of a uniform density, the Fisher information exists.
    """
    end = np.minimum(x, 1 - x)
    t = np.where((end > 0) & (end < TAPER), end, TAPER / 2)
    rising = expit(TAPER / (TAPER - t) - TAPER / t)
    return np.where(end <= 0, 0.0, np.where(end < TAPER, rising, 1.0)) / (1 - TAPER)


@cache
def planck_information() -> float:
    """Fisher information E[(f'/f)^2] on [0, 1]; for a range it is divided by the square of the width."""
    t, weight = panel_rule(np.array([0.0, TAPER]))
    exponent = TAPER / (TAPER - t) - TAPER / t
    slope = TAPER / (TAPER - t) ** 2 + TAPER / t**2
    rising = expit(exponent) * expit(-exponent) ** 2
    return float(2 * weight @ (slope**2 * rising) / (1 - TAPER))


def difference_density(u: np.ndarray) -> np.ndarray:
    """Density of |x - y| at u in (0, 1), for independent x and y with the Planck taper on [0, 1].

    The integral of f(x) f(x + u) is split into panels where one of the factors changes its formula.
    """
    corners = np.array([0.0, TAPER, 1 - TAPER, 1.0])
    both = np.concatenate([np.tile(corners, (len(u), 1)), corners - u[:, None]], axis=1)
    edges = np.sort(np.clip(both, 0, 1 - u[:, None]), axis=1)
    x, weight = panel_rule(edges)
    return 2 * np.sum(weight * planck_density(x) * planck_density(x + u[:, None]), axis=1)


def panel_rule(edges: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights (..., panel * node) of Gauss-Legendre quadrature on adjacent panels, edges (..., panel + 1)."""
    node, weight = np.polynomial.legendre.leggauss(NODES)
    half = np.diff(edges, axis=-1)[..., None] / 2
    shape = (*edges.shape[:-1], -1)
    nodes = edges[..., :-1, None] + half * (1 + node)
    return nodes.reshape(shape), (half * weight).reshape(shape)


class _Votes(Protocol):
    """Protocol of the attributes of `Comparisons` that the bound reads."""

    @property
    def items(self) -> np.ndarray: ...
    @property
    def raters(self) -> np.ndarray: ...
    @property
    def left(self) -> np.ndarray: ...
    @property
    def right(self) -> np.ndarray: ...
    @property
    def annotation_rater(self) -> np.ndarray: ...
    @property
    def count(self) -> np.ndarray: ...


@dataclass(frozen=True)
class _Design:
    """Design of comparisons: answers of each pair and of each rater."""

    pairs: np.ndarray  # (pair, 2)
    answers: np.ndarray  # (pair,)
    n_items: int
    answers_of_rater: xr.DataArray | None  # (rater,) or (); None if unknown


def bayesian_cramer_rao_bound(
    pairs: np.ndarray | _Votes,
    *,
    answers: float | np.ndarray | None = None,
    answers_of_rater: float | np.ndarray | None = None,
    n_items: int | None = None,
    link: Link = LOGISTIC,
    quality_range: tuple[float, float] = (0.0, 1.0),
    reliability_range: tuple[float, float] = (1.0, 20.0),
    taper: bool = True,
) -> xr.Dataset:
    """Return lower bounds of the mean squared error of qualities and reliabilities for a design.

    Parameters
    ----------
    pairs : integer array, shape (pair, 2), or Comparisons
        Codes of the compared items; or a container, whose votes define the design.
    answers : float or array, shape (pair,), optional
        Number of answers to every pair; required with an array of pairs, not allowed with Comparisons.
    answers_of_rater : float or array, shape (rater,), optional
        Number of answers by every rater over all pairs; with Comparisons it is counted from them.
    n_items : int, optional
        Number of items; by default one more than the largest code.
    link : {"bradley_terry", "thurstone"}
        Link F: the logistic function or the normal cdf.
    quality_range, reliability_range : tuple of float
        Ranges of the independent priors.
    taper : bool, default True
        Whether the priors are Planck-tapered. If not, they are uniform. A uniform density has no score, so
        its information is left out: ``quality`` is infinite because the shift is free, and ``centred`` is the
        bound from the votes alone, which does not hold for an estimator that uses the prior.

    Returns
    -------
    Dataset
        Bounds of the mean squared error. ``quality``: tr(C)/N, the form of the paper. ``centred``: tr(C)/N -
        1'C1/N^2, the error of centred qualities, where C is the inverse of the whole A, prior included.
        ``pinned``: the mean of C_ii + C_NN - 2 C_iN, the error with the last item as reference, as the paper
        aligns its estimates. ``reliability`` (rater,), if the raters' answers are known. Of single ones: ``quality_of_item``
        (item,), C_ii less its part of the shift, centred; and ``distance`` (pair,), C_ii + C_jj - 2 C_ij, (17), of each pair
        once, with the codes ``first`` and ``second`` of its items. Attributes: coefficients c and beta.

    Raises
    ------
    EvaluationError
        If a code, a range, a number of answers or the link is not allowed.

    Examples
    --------
    >>> import numpy as np
    >>> from raterzoo import papers
    >>> pairs = np.array([[0, 1], [1, 2], [0, 2]])
    >>> bound = papers.bayesian_cramer_rao_bound(pairs, answers=10)
    >>> {name: round(bound[name].item(), 4) for name in ("quality", "centred", "pinned")}
    {'quality': 0.0059, 'centred': 0.0016, 'pinned': 0.0033}
    >>> bound["distance"].values.round(4).tolist()  # of each of the three pairs
    [0.0049, 0.0049, 0.0049]

    References
    ----------
    Nordio, Tarable and Leonardi (2023), eq. 11-17.
    """
    require_link(link, error=EvaluationError)
    width = _width("quality_range", quality_range)
    reach = _width("reliability_range", reliability_range)
    if reliability_range[0] < 0:
        raise EvaluationError(f"reliability_range={reliability_range!r}: must not be negative")
    design = _design(pairs, answers, answers_of_rater, n_items)
    votes_quality, votes_reliability = _information(link, width, reliability_range, taper)
    prior = planck_information() if taper else 0.0
    coefficients = {
        "quality_information": votes_quality,
        "reliability_information": votes_reliability,
        "quality_prior_information": prior / width**2,
        "reliability_prior_information": prior / reach**2,
    }
    bound = _quality_bounds(design, votes_quality, prior / width**2)
    coords = {name: ("pair", code) for name, code in zip(("first", "second"), design.pairs.T, strict=True)}
    found = xr.Dataset(bound, coords, {"link": link, **coefficients})
    if design.answers_of_rater is not None:
        with np.errstate(divide="ignore"):
            found["reliability"] = 1 / (design.answers_of_rater * votes_reliability + prior / reach**2)
    return found


def _information(
    link: Link, width: float, reliability_range: tuple[float, float], taper: bool
) -> tuple[float, float]:
    """Information of one answer, c_q and c_rho, by quadrature with panels that halve towards small rho d."""
    low, high = reliability_range
    u, weight_u = panel_rule(_halving_edges(high * width, [0.6, 0.8, 1.0]))
    weight_u = weight_u * (difference_density(u) if taper else 2 * (1 - u))
    v, weight_v = panel_rule(_halving_edges((high - low) * width, [0.8, 1.0]))
    weight_v = weight_v * (planck_density(v) if taper else 1.0)
    rho, d = low + (high - low) * v, width * u
    information = _fisher(np.multiply.outer(rho, d), link)
    of_quality = float((weight_v * rho**2) @ information @ weight_u)
    return of_quality, float(weight_v @ information @ (weight_u * d**2))


def _halving_edges(scale: float, above: Sequence[float]) -> np.ndarray:
    """Panel edges on [0, 1], halved from the taper until `scale` changes the argument by less than one."""
    steps = max(0, int(np.ceil(np.log2(TAPER * scale)))) if scale > 0 else 0
    return np.array([0.0, *(TAPER * 0.5 ** np.arange(steps, -1, -1)), *above])


def _fisher(x: np.ndarray, link: Link) -> np.ndarray:
    """Fisher information F'^2 / (F (1 - F)) of one answer at x."""
    if link == LOGISTIC:
        return expit(x) * expit(-x)
    return np.exp(-(x**2) - np.log(2 * np.pi) - log_ndtr(x) - log_ndtr(-x))


def _quality_bounds(design: _Design, information: float, prior: float) -> dict[str, Any]:
    """Bounds of the qualities in the three forms ``quality``, ``centred`` and ``pinned``, and of single items and pairs."""
    n = design.n_items
    first, second = design.pairs.T
    matrix = np.zeros((n, n))
    weight = information * design.answers
    for i, j, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
        np.add.at(matrix, (i, j), sign * weight)
    if not prior:
        asked = design.pairs[design.answers > 0].T
        graph = coo_array((np.ones(asked.shape[1]), tuple(asked)), shape=(n, n))
        if connected_components(graph, directed=False)[0] > 1:
            none = {"quality": np.inf, "centred": np.inf, "pinned": np.inf}
            return none | {
                "quality_of_item": ("item", np.full(n, np.inf)),
                "distance": ("pair", np.full(len(first), np.inf)),
            }
    # without a prior the shift is free: add any multiple of 11' to make A regular; the centred forms do not depend on it
    matrix += np.eye(n) * prior if prior else np.full((n, n), 1 / n)
    covariance = cho_solve(cho_factor(matrix, lower=True), np.eye(n))
    own, last = np.diagonal(covariance), covariance[-1]
    return {
        "quality": float(own.mean()) if prior else np.inf,
        "centred": float(own.mean() - covariance.mean()),
        "pinned": float(np.mean(own + last[-1] - 2 * last)),
        "quality_of_item": ("item", own - 2 * covariance.mean(axis=0) + covariance.mean()),
        "distance": ("pair", own[first] + own[second] - 2 * covariance[first, second]),
    }


def _design(
    pairs: np.ndarray | _Votes,
    answers: float | np.ndarray | None,
    answers_of_rater: float | np.ndarray | None,
    n_items: int | None,
) -> _Design:
    """Convert the arguments of the bound to a design, or raise."""
    if not isinstance(pairs, np.ndarray) and hasattr(pairs, "left"):
        if not (answers is None and answers_of_rater is None and n_items is None):
            raise EvaluationError(
                "answers, answers_of_rater and n_items are those of the comparisons; pass them with an array of pairs only"
            )
        return _design_of_comparisons(pairs)
    codes = np.asarray(pairs)
    if codes.ndim != 2 or codes.shape[1] != 2 or codes.dtype.kind not in "iu":
        raise EvaluationError(
            f"pairs: expected Comparisons or an integer array (pair, 2), found {codes.dtype} {codes.shape}"
        )
    n = int(codes.max(initial=0)) + 1 if n_items is None else n_items
    if not 1 <= n <= MOST_ITEMS:
        raise EvaluationError(f"n_items={n}: allowed are 1 to {MOST_ITEMS}; select fewer items")
    wrong = (codes < 0).any(1) | (codes >= n).any(1) | (codes[:, 0] == codes[:, 1])
    if wrong.any():
        row = int(np.argmax(wrong))
        raise EvaluationError(
            f"pairs: row {row} is {codes[row].tolist()}: expected two different codes from 0 to {n - 1}"
        )
    if answers is None:
        raise EvaluationError("answers: an array of pairs needs the number of answers of each")
    each = _counts("answers", answers)
    if each.ndim and each.shape != (len(codes),):
        raise EvaluationError(f"answers: {each.shape} for {len(codes)} pairs; pass one or one each")
    raters = None
    if answers_of_rater is not None:
        counts = _counts("answers_of_rater", answers_of_rater)
        raters = xr.DataArray(counts, dims=("rater",)[: counts.ndim])
    return _Design(*_merged(codes, np.broadcast_to(each, len(codes)), n), n, raters)


def _merged(pairs: np.ndarray, answers: np.ndarray, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Each pair once, the smaller code first (pair, 2), and its answers (pair,)."""
    low, high = np.sort(pairs, axis=1).astype(np.int64).T
    code, place = np.unique(low * n + high, return_inverse=True)
    return np.stack(np.divmod(code, n), axis=1), np.bincount(place, answers, len(code))


def _design_of_comparisons(pairs: _Votes) -> _Design:
    """Design of a container of comparisons."""
    n = len(pairs.items)
    if n > MOST_ITEMS:
        raise EvaluationError(
            f"pairs: {n} items; the bound inverts a dense matrix of at most {MOST_ITEMS}: select(items=...)"
        )
    raters = None
    if len(pairs.raters):
        answers = np.bincount(pairs.annotation_rater, pairs.count, len(pairs.raters))
        raters = xr.DataArray(answers, {"rater": pairs.raters}, ("rater",))
    asked = np.stack([pairs.left, pairs.right], axis=1)
    return _Design(*_merged(asked, pairs.count, n), n, raters)


def _counts(name: str, value: float | np.ndarray) -> np.ndarray:
    """Convert numbers of answers to a float array () or (n,), or raise."""
    counts = np.asarray(value, float)
    bad = ~np.isfinite(counts) | (counts < 0)
    if bad.any() or counts.ndim > 1:
        raise EvaluationError(
            f"{name}={np.asarray(value)[bad].tolist()[:1] or counts.shape}: expected finite numbers, 0 or more"
        )
    return counts


def _width(name: str, ends: tuple[float, float]) -> float:
    """Width of a range, or raise."""
    low, high = ends
    if not (np.isfinite(low) and np.isfinite(high) and low < high):
        raise EvaluationError(f"{name}={ends!r}: expected two finite numbers, the smaller first")
    return float(high) - float(low)
