"""Alternating gradient: steps of fixed length up the likelihood of qualities and reliabilities."""

from typing import NamedTuple

import numpy as np
import xarray as xr

from ..._messages import warn_user
from ...models.data.comparisons import Comparisons
from ...posterior.links import LOGISTIC, PROBIT, Link, require_link
from ..diagnostics import EstimateWarning
from ..runs.run import check_whole
from .kernels.likelihood import joint_gradient
from .pair_graph import PairGraph, PairTable, connected_table, names_of_raters
from .vote_modes import by_pair

VANISHED = 0.01  # nats: a gradient at which the likelihood is as good as at its maximum


class _Estimate(NamedTuple):
    """Last finite point, and the change of the qualities in each step."""

    quality: np.ndarray  # (item,)
    reliability: np.ndarray  # (rater,)
    changes: list[float]
    gradient: float  # at this point, as in the attribute
    ended: str  # "gradient", "printed rule", "iterations" or "divergence"


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

    The printed rule stops at short steps, not at a maximum: on the designs of the paper thousands of nats below it, nearer
    to the start than to the end. Without it (``tolerance=0``) more than 40,000 steps are needed; `joint_mle` takes about 30.

    Parameters
    ----------
    pairs, link
        Votes and F, as for `quite`.
    step : float, optional
        Length of a step; by default N / 50, N being the number of items.
    max_iterations : int, default 1000
        Largest number of steps.
    tolerance : float, default 1e-5
        The printed rule: stop when the qualities move by less than this times their number, relative to their norm.
        0: go on until the gradient vanishes.
    random_seed : int or numpy.random.Generator, optional
        Seed of the start: qualities uniform from 0 to 1, reliabilities uniform from 1 to 20.

    Returns
    -------
    Dataset
        ``quality`` (item), centred; ``reliability`` (rater), of any sign; ``change`` (iteration), the
        statistic of the printed rule. Attributes ``gradient``, the largest slope of the log likelihood in nats per
        standard deviation of the qualities and per unit of a log reliability, or of a product rho d near 0;
        ``converged`` (1 if that is at most .01), ``stopped`` (1 if the printed rule ended it), ``diverged``,
        ``iterations``, ``link``, ``step``.

    Raises
    ------
    DataError
        If the graph of comparisons is not connected.
    ValueError
        If an argument is out of range.

    Warns
    -----
    EstimateWarning
        If this is no maximum, whatever ended the steps; of steps beyond finite numbers the last finite ones are returned.

    Examples
    --------
    >>> from raterzoo import models, papers
    >>> table = {"rater": list("rrss"), "left": ["a"] * 4, "right": ["b"] * 4, "winner": list("abab"), "count": [6, 2, 3, 2]}
    >>> pairs = models.Comparisons.from_table(table, count="count")
    >>> estimate = papers.alternating_gradient(pairs, step=1, tolerance=0, random_seed=1)
    >>> product = estimate["reliability"] * (estimate["quality"][0] - estimate["quality"][1])
    >>> product.round(2).values, estimate.attrs["converged"]  # log odds of the votes of each rater, log 3 and log 1.5
    (array([1.1 , 0.41]), 1)

    References
    ----------
    Jin, Xu, Gu and Farnoud (2020), Rank aggregation via heterogeneous Thurstone preference models, AAAI 34,
    doi:10.1609/aaai.v34i04.5860. Nordio, Tarable and Leonardi (2023), arXiv:2310.02016, eq. 20-23.
    """
    require_link(link)
    table = connected_table(pairs, "alternating_gradient")
    length = table.n_items / 50 if step is None else step
    if not 0 < length < np.inf:
        raise ValueError(f"step={step!r} must be positive and finite")
    check_whole("max_iterations", max_iterations)
    rng = np.random.default_rng(random_seed)
    start = rng.random(table.n_items), rng.uniform(1, 20, table.n_raters)
    found = _gradient_steps(table, link, start, (length, max_iterations, tolerance))
    n = len(found.changes)
    no_maximum = f"the gradient of the log likelihood is still {found.gradient:.1e} nats"
    problem = {
        "divergence": f"steps of {length:g} led to numbers that are not finite in iteration {n}; take a smaller step",
        "iterations": f"{no_maximum} after {n} steps of {length:g}; take a smaller step if the qualities oscillate "
        "(see the variable change), or joint_mle",
        "printed rule": f"{no_maximum} where the printed rule stops, after {n} steps of {length:g}; joint_mle finds the maximum",
    }
    if found.ended in problem:
        warn_user(problem[found.ended], EstimateWarning)
    raters = names_of_raters(pairs)
    estimates = {"quality": ("item", found.quality), "reliability": ("rater", found.reliability)}
    ended = {
        "gradient": found.gradient,
        "converged": int(found.ended == "gradient"),
        "stopped": int(found.ended == "printed rule"),
        "diverged": int(found.ended == "divergence"),
        "iterations": n,
    }
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

    def slopes() -> tuple[np.ndarray, np.ndarray, float]:
        by_distance, by_rater = joint_gradient(link == PROBIT, votes, graph.differences(quality), reliability)
        by_item = graph.sums(by_distance)
        # in units of quality and reliability, or of x = rho d where they are near 0: a saddle, no maximum
        spread, typical = quality.std(), np.sqrt(np.mean(reliability**2))
        unit = np.maximum(np.abs(reliability), 1 / spread)
        largest = max(max(spread, 1 / typical) * np.abs(by_item).max(), np.abs(unit * by_rater).max())
        return by_item, by_rater, float(largest)

    changes: list[float] = []
    ended, (by_item, by_rater, gradient) = "iterations", slopes()
    while gradient > VANISHED and len(changes) < most:
        with np.errstate(over="ignore", invalid="ignore"):
            next_quality = quality + length * by_item
            next_quality -= next_quality.mean()
            change = np.linalg.norm(next_quality - quality) / (len(quality) * np.linalg.norm(quality))
            next_reliability = reliability + length * by_rater
        changes.append(float(change))
        if not all(np.isfinite(x).all() for x in (next_quality, next_reliability, change)):
            ended = "divergence"
            break
        quality, reliability = next_quality, next_reliability
        by_item, by_rater, gradient = slopes()
        if change < tolerance:
            ended = "printed rule"
            break
    return _Estimate(quality, reliability, changes, gradient, "gradient" if gradient <= VANISHED else ended)
