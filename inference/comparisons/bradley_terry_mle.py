"""Maximum likelihood of Bradley-Terry, all raters alike."""

from typing import Literal

import numpy as np
import xarray as xr
from scipy.special import expit, log_expit

from ...models.data.comparisons import Comparisons
from .pair_graph import PairGraph, connected_table, require_maximum

MOST_STEPS, MOST_HALVINGS = 200, 60
SMALL, ROUNDING = 1e-9, 1e-12  # relative size of the last step; relative rounding of the log likelihood


def bradley_terry_mle(
    pairs: Comparisons,
    *,
    ties: Literal["half"] = "half",
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Estimate the qualities of items and their standard errors by maximum likelihood, all raters alike.

        P(i is preferred to j) = F(q_i - q_j) = 1 / (1 + exp(q_j - q_i))
        maximise  sum of  a log F(q_i - q_j) + b log F(q_j - q_i)

    with a and b votes for i and for j. The maximum exists if and only if every item is better than every
    other along some chain of votes: the directed graph of preferences is strongly connected (Ford 1957).
    Newton's steps are weighted least squares on the graph of pairs, halved until the likelihood rises;
    standard errors are those of the inverse Fisher information.

    Parameters
    ----------
    pairs : Comparisons
        Votes; the identity of the raters does not matter.
    ties : {"half"}, default "half"
        A tie counts as half a vote for each item.
    random_seed : int or numpy.random.Generator, optional
        Only for the standard errors of more than 4,000 items, which are estimated with random probes.

    Returns
    -------
    Dataset
        ``quality`` (item), log odds, centred; ``standard_error`` (item) of the centred quality. Attributes
        ``log_likelihood``, ``converged`` (1: the unique maximum was reached) and ``iterations``.

    Raises
    ------
    DataError
        If there is no maximum: the graph is not connected, or some items never won, or never lost, against the rest.
    ValueError
        If `ties` is not "half".

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> table = {"left": ["a"] * 4, "right": ["b"] * 4, "winner": ["a", "a", "a", "b"]}
    >>> estimate = inference.bradley_terry_mle(models.Comparisons.from_table(table, rater=None))
    >>> estimate["quality"].to_numpy().round(3).tolist()  # the difference is log 3
    [0.549, -0.549]

    References
    ----------
    Bradley and Terry (1952), Biometrika 39, doi:10.1093/biomet/39.3-4.324. Ford (1957), Solution of a ranking
    problem from binary comparisons, American Mathematical Monthly 64, doi:10.2307/2308513. Hunter (2004), MM
    algorithms for generalized Bradley-Terry models, Annals of Statistics 32(1), doi:10.1214/aos/1079120141.
    """
    if ties != "half":
        raise ValueError(f"ties={ties!r} is not 'half'; models.bradley_terry has a parameter for ties")
    table = connected_table(pairs, "bradley_terry_mle")
    wins, losses = (
        np.add.reduceat(v + 0.5 * table.ties, table.start[:-1]) for v in (table.wins, table.losses)
    )
    graph = PairGraph(table.first, table.second, table.n_items)
    require_maximum(pairs, graph, wins, losses)
    quality, steps, converged = _newton(graph, wins, losses)
    d = graph.differences(quality)
    weight = (wins + losses) * expit(d) * expit(-d)
    variance = graph.variances(weight, np.random.default_rng(random_seed))
    attributes = {"log_likelihood": _log_likelihood(d, wins, losses), "converged": int(converged)}
    return xr.Dataset(
        {"quality": ("item", quality), "standard_error": ("item", np.sqrt(variance))},
        {"item": pairs.items},
        attributes | {"iterations": steps},
    )


def _newton(graph: PairGraph, wins: np.ndarray, losses: np.ndarray) -> tuple[np.ndarray, int, bool]:
    """Newton's method from equal qualities, for votes (pair,) of the first item; return qualities (item,), steps, convergence."""
    quality, votes = np.zeros(graph.n_items), wins + losses
    d = graph.differences(quality)
    for n in range(1, MOST_STEPS + 1):
        # d l / d q = B (a F(-d) - b F(d)),   Hessian = -L with weights (a + b) F(d) F(-d)
        gradient = graph.sums(wins * expit(-d) - losses * expit(d))
        step = graph.solve(votes * expit(d) * expit(-d), gradient)
        # Newton converges quadratically: after a step this small the error is below rounding.
        if np.abs(step).max() <= SMALL * (1 + np.abs(quality).max()):
            return quality + step, n, True
        reached = _log_likelihood(d, wins, losses)
        for _ in range(MOST_HALVINGS):
            moved = graph.differences(quality + step)
            if _log_likelihood(moved, wins, losses) >= reached - ROUNDING * abs(reached):
                break
            step = 0.5 * step
        quality, d = quality + step, graph.differences(quality + step)
    return quality, MOST_STEPS, False


def _log_likelihood(d: np.ndarray, wins: np.ndarray, losses: np.ndarray) -> float:
    return float(wins @ log_expit(d) + losses @ log_expit(-d))
