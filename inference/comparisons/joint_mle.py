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
from .vote_modes import by_pair

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
    least squares on the averaged link, as in `quite`.

    Parameters
    ----------
    pairs, link
        Votes and F, as for `quite`; a tie counts as half a vote for each item.
    reliability_range : tuple of float, default (1, 20)
        Bounds of the reliabilities.
    max_iterations : int, default 2000
        Largest number of steps.
    tolerance : float, default 1e-3
        Largest gradient, in nats per standard deviation of the qualities and per unit of a log reliability.

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
    quality = graph.fit(*averaged_distances(table, link, reliability_range, 1.0))
    unit = quality.std()  # in which qualities move like log reliabilities
    none = np.empty(0)  # covariates of votes
    cells, sums = _cells_of(table, link), (np.empty(n), np.empty(table.n_raters), none)

    def objective(x: np.ndarray) -> tuple[float, np.ndarray]:
        rho = np.exp(x[n:])
        log_p = pair_log_p(cells, (unit * x[:n], rho, none), (0.0, 0.0), sums)[0]
        return -log_p, -np.r_[unit * sums[0], rho * sums[1]]

    found = minimize(
        objective, np.r_[quality / unit, np.full(table.n_raters, bounds.mean())], jac=True, method="L-BFGS-B",
        bounds=[(None, None)] * n + [tuple(bounds)] * table.n_raters,
        options={"maxiter": max_iterations, "maxfun": 10 * max_iterations, "ftol": 0.0, "gtol": tolerance, "maxcor": MEMORY},
    )  # fmt: skip
    quality = unit * (found.x[:n] - found.x[:n].mean())
    outward = np.r_[np.zeros(n, bool), (found.x[n:] <= bounds[0]) & (found.jac[n:] > 0)]
    outward[n:] |= (found.x[n:] >= bounds[1]) & (found.jac[n:] < 0)
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
        {"quality": ("item", quality), "reliability": ("rater", np.exp(found.x[n:]))},
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
