"""Joint maximum likelihood of qualities of items and reliabilities of raters."""

import numpy as np
import xarray as xr
from scipy.optimize import minimize

from ..._messages import warn_user
from ...models.data.comparisons import Comparisons
from ...models.distributions.paired_comparisons_kernels import law_code
from ...posterior.links import LOGISTIC, Link, require_link
from ..diagnostics import EstimateWarning
from ..runs.run import check_whole
from .kernels.likelihood import PairCells, pair_cells, pair_log_p
from .pair_graph import PairGraph, PairTable, connected_table, names_of_raters, require_maximum
from .quite import averaged_distances, require_ranges
from .vote_modes import by_pair, flat_prior, vote_modes

MEMORY = 20  # pairs of steps and gradients kept by L-BFGS


def joint_mle(
    pairs: Comparisons,
    *,
    link: Link = LOGISTIC,
    reliability_range: tuple[float, float] = (1.0, 20.0),
    max_iterations: int = 2000,
    tolerance: float = 1e-3,
) -> xr.Dataset:
    """Estimate qualities and reliabilities together by maximum likelihood, by L-BFGS.

        P(rater k prefers i to j) = F(rho_k (q_i - q_j)),   rho_k in an interval
        maximise  sum of  a log F(rho_k (q_i - q_j)) + b log F(rho_k (q_j - q_i))

    with a and b votes of rater k for i and for j. This is the maximum that `alternating_gradient` climbs to if it is not
    stopped. The likelihood identifies the products rho_k (q_i - q_j); the interval bounds the ratios of reliabilities, so
    that a rater whose votes contradict no order stays finite. The maximum exists as in `bradley_terry_mle`. The start is
    the first iteration of `quite`; steps are in units of the standard errors there.

    Parameters
    ----------
    pairs, link
        Votes and F, as for `quite`; a tie counts as half a vote for each item.
    reliability_range : tuple of float, default (1, 20)
        Bounds of the reliabilities.
    max_iterations : int, default 2000
        Largest number of steps.
    tolerance : float, default 1e-3
        Largest gradient, in nats per standard error of a quality or a log reliability.

    Returns
    -------
    Dataset
        ``quality`` (item), centred; ``reliability`` (rater). Attributes ``log_likelihood``, ``gradient`` (the largest entry,
        without those that push a reliability out of its range), ``converged``, ``iterations`` and ``link``.

    Raises
    ------
    DataError
        If there is no maximum: the graph is not connected, or some items never won, or never lost, against the rest.
    ValueError
        If an argument is out of range.

    Warns
    -----
    EstimateWarning
        If the gradient is above the tolerance at the end.

    Examples
    --------
    >>> from raterzoo import models, papers
    >>> drawn = models.simulators.comparisons(items=20, raters=20, degree=10, random_seed=1)
    >>> estimate = papers.joint_mle(drawn.data)
    >>> estimate.attrs["converged"], round(estimate.attrs["log_likelihood"], 1)
    (1, -317.3)

    References
    ----------
    Jin, Xu, Gu and Farnoud (2020), Rank aggregation via heterogeneous Thurstone preference models, AAAI 34,
    doi:10.1609/aaai.v34i04.5860. Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, eq. 20-22.
    """
    require_link(link)
    require_ranges(reliability_range)
    check_whole("max_iterations", max_iterations)
    if not 0 < tolerance < np.inf:
        raise ValueError(f"tolerance={tolerance!r} must be positive and finite")
    table = connected_table(pairs, "joint_mle")
    graph, votes = PairGraph(table.first, table.second, table.n_items), by_pair(table)
    require_maximum(pairs, graph, *(np.add.reduceat(v, table.start[:-1]) for v in (votes.wins, votes.losses)))
    n, bounds = table.n_items, np.log(reliability_range)
    modes, quality = (
        vote_modes(table, link),
        graph.fit(*averaged_distances(table, link, reliability_range, 1.0)),
    )
    distance, middle = graph.differences(quality), np.full(table.n_raters, np.mean(reliability_range))
    rated = modes.reliabilities(distance, middle, reliability_range)
    informed = modes.distances(rated.value, flat_prior(len(distance)), distance, 1.0).expected
    of_item = np.bincount(table.first, informed, n) + np.bincount(table.second, informed, n)
    # standard errors, each of the others known; no larger than the spread of the qualities, and a factor of e
    unit = 1 / np.sqrt(np.r_[of_item + 1 / quality.var(), rated.value**2 * rated.expected + 1])
    none = np.empty(0)  # covariates of votes
    cells, sums = _cells_of(table, link), (np.empty(n), np.empty(table.n_raters), none)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        quality, log_rho = np.split(unit * x, [n])
        rho = np.exp(log_rho)
        log_p = pair_log_p(cells, (quality, rho, none), (0.0, 0.0), sums)[0]
        return -log_p, -unit * np.r_[sums[0], rho * sums[1]]

    found = minimize(
        objective, np.r_[quality, np.log(rated.value)] / unit, jac=True, method="L-BFGS-B",
        bounds=[(None, None)] * n + [tuple(bounds / own) for own in unit[n:]],
        options={"maxiter": max_iterations, "maxfun": 10 * max_iterations, "ftol": 0.0, "gtol": tolerance, "maxcor": MEMORY},
    )  # fmt: skip
    quality, log_rho = np.split(unit * found.x, [n])
    slope = found.jac[n:]
    ends = np.isclose(log_rho, bounds[:, None], rtol=0, atol=1e-12)
    outward = np.r_[np.zeros(n, bool), (ends[0] & (slope > 0)) | (ends[1] & (slope < 0))]
    gradient = float(np.abs(found.jac[~outward]).max())
    if gradient > tolerance:
        problem = f"the gradient of the log likelihood is still {gradient:.1e} after {found.nit} steps, tolerance={tolerance:.0e}"
        warn_user(f"{problem}; raise max_iterations", EstimateWarning)
    raters = names_of_raters(pairs)
    reached = {
        "log_likelihood": float(-found.fun),
        "gradient": gradient,
        "converged": int(gradient <= tolerance),
    }
    return xr.Dataset(
        {"quality": ("item", quality - quality.mean()), "reliability": ("rater", np.exp(log_rho))},
        {"item": pairs.items, "rater": raters},
        reached | {"iterations": int(found.nit), "link": link},
    )


def _cells_of(table: PairTable, link: Link) -> PairCells:
    """Votes in cells of a pair and a rater, ties as halves."""
    votes, pair = by_pair(table), np.repeat(np.arange(len(table.first)), np.diff(table.start))
    codes = table.first[pair], table.second[pair], table.rater
    return pair_cells(
        law_code(link, ties=False), codes, np.stack([votes.wins, votes.losses], axis=1), table.n_raters
    )
