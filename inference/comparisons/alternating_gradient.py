"""Alternating gradient: maximum likelihood of qualities and reliabilities by steps of fixed length."""

import warnings
from typing import NamedTuple

import numpy as np
import xarray as xr

from ..._messages import OUR_FILES
from ...models.data.comparisons import Comparisons, require_connected
from ...models.data.container import require_container
from ...posterior.links import LINKS, LOGISTIC, PROBIT, Link
from ..diagnostics import EstimateWarning
from ..runs.run import check_whole
from .kernels.likelihood import joint_gradient
from .pair_graph import PairGraph, PairTable, pair_table
from .vote_modes import by_pair


class _Estimate(NamedTuple):
    """Last finite point, and the change of the qualities in each step."""

    quality: np.ndarray  # (item,)
    reliability: np.ndarray  # (rater,)
    changes: list[float]
    converged: bool
    diverged: bool


def alternating_gradient(
    pairs: Comparisons,
    *,
    link: Link = LOGISTIC,
    step: float | None = None,
    max_iterations: int = 1000,
    tolerance: float = 1e-5,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Estimate qualities and reliabilities by gradient steps of fixed length from a random start.

        q   <- q + step * d l / d q, centred,   rho <- rho + step * d l / d rho

    where l is the log likelihood divided by the number of answers. Both gradients are taken at the same
    point. The step printed by Nordio et al., N / 5, makes sense only for the mean log likelihood per answer,
    as here; even so it oscillates with the logistic link, diverges with the normal. N / 50 takes dozens of steps.

    Parameters
    ----------
    pairs, link
        Votes and F, as for `quite`.
    step : float, optional
        Length of a step; by default N / 50, N being the number of items.
    max_iterations : int, default 1000
        Largest number of steps.
    tolerance : float, default 1e-5
        Stop when the qualities move by less than this times their number, relative to their norm.
    random_seed : int or numpy.random.Generator, optional
        Seed of the start: qualities uniform from 0 to 1, reliabilities uniform from 1 to 20.

    Returns
    -------
    Dataset
        ``quality`` (item), centred; ``reliability`` (rater), of any sign; ``change`` (iteration), the
        statistic of the stopping rule. Attributes ``converged``, ``diverged``, ``iterations``, ``link``, ``step``.

    Raises
    ------
    DataError
        If the graph of comparisons is not connected.
    ValueError
        If an argument is out of range.

    Warns
    -----
    EstimateWarning
        If the steps have not converged, or led beyond finite numbers; the last finite ones are returned.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.comparisons(items=20, raters=20, degree=10, random_seed=1)
    >>> estimate = inference.alternating_gradient(drawn.data, random_seed=1)
    >>> estimate["quality"].sizes["item"], estimate.attrs["step"], estimate.attrs["converged"]
    (20, 0.4, 1)

    References
    ----------
    Jin, Xu, Gu and Farnoud (2020), Rank aggregation via heterogeneous Thurstone preference models, AAAI 34,
    doi:10.1609/aaai.v34i04.5860. Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, eq. 20-23.
    """
    require_container(pairs, Comparisons)
    if link not in LINKS:
        raise ValueError(f"link={link!r} is not one of {', '.join(map(repr, LINKS))}")
    require_connected(pairs, "alternating_gradient")
    table = pair_table(pairs)
    length = table.n_items / 50 if step is None else step
    if not 0 < length < np.inf:
        raise ValueError(f"step={step!r} must be positive and finite")
    check_whole("max_iterations", max_iterations)
    rng = np.random.default_rng(random_seed)
    start = rng.random(table.n_items), rng.uniform(1, 20, table.n_raters)
    found = _gradient_steps(table, link, start, (length, max_iterations, tolerance))
    n = len(found.changes)
    if found.diverged:
        problem = f"led to numbers that are not finite in iteration {n}; take a smaller step"
        warnings.warn(f"steps of {length:g} {problem}", EstimateWarning, skip_file_prefixes=OUR_FILES)
    elif not found.converged:
        warnings.warn(
            f"the qualities still move by {found.changes[-1]:.1e} after {n} steps of {length:g}; take a smaller step if they "
            "oscillate (see the variable change), or raise max_iterations",
            EstimateWarning,
            skip_file_prefixes=OUR_FILES,
        )
    raters = pairs.raters if len(pairs.raters) else np.array(["anonymous"])
    estimates = {"quality": ("item", found.quality), "reliability": ("rater", found.reliability)}
    ended = {"converged": int(found.converged), "diverged": int(found.diverged), "iterations": n}
    return xr.Dataset(
        estimates | {"change": ("iteration", np.array(found.changes))},
        {"item": pairs.items, "rater": raters},
        ended | {"link": link, "step": float(length)},
    )


def _gradient_steps(
    table: PairTable, link: Link, start: tuple[np.ndarray, np.ndarray], steps: tuple[float, int, float]
) -> _Estimate:
    """Take gradient steps from `start`; `steps` holds their length, largest number and tolerance."""
    (quality, reliability), (step, most, tolerance) = start, steps
    graph, votes = PairGraph(table.first, table.second, table.n_items), by_pair(table)
    length = step / (votes.wins.sum() + votes.losses.sum())
    quality = quality - quality.mean()
    changes: list[float] = []
    for _ in range(most):
        slopes = joint_gradient(link == PROBIT, votes, graph.differences(quality), reliability)
        with np.errstate(over="ignore", invalid="ignore"):
            next_quality = quality + length * graph.sums(slopes[0])
            next_quality -= next_quality.mean()
            change = np.linalg.norm(next_quality - quality) / (len(quality) * np.linalg.norm(quality))
            next_reliability = reliability + length * slopes[1]
        changes.append(float(change))
        if not all(np.isfinite(x).all() for x in (next_quality, next_reliability, change)):
            return _Estimate(quality, reliability, changes, converged=False, diverged=True)
        quality, reliability = next_quality, next_reliability
        if change < tolerance:
            return _Estimate(quality, reliability, changes, converged=True, diverged=False)
    return _Estimate(quality, reliability, changes, converged=False, diverged=False)
