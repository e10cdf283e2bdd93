"""QUITE: qualities of items and reliabilities of raters, by least squares on the graph of compared pairs."""

from typing import Literal, NamedTuple, get_args

import numpy as np
import xarray as xr
from scipy.special import expit, ndtr

from ..._messages import warn_user
from ...models.data.comparisons import Comparisons
from ...posterior.links import LOGISTIC, Link
from ..diagnostics import EstimateWarning
from ..runs.run import check_whole
from .kernels.modes import Prior
from .other_links import AnyLink, OtherLink, OtherVotes, require_any_link
from .pair_graph import PairGraph, PairTable, connected_table, names_of_raters
from .vote_modes import CompleteVotes, Modes, SparseVotes, by_pair, by_rater, vote_modes

MAX_PRIOR_RATIO = 1000.0  # largest ratio of prior precision to the information in the answers


class Degenerate(Exception):
    """Error: the priors of the distances have outgrown the answers, in this iteration (from 1)."""


class QuiteOptions(NamedTuple):
    """Interpretation of the paper's formulas (see `iterate`), range of reliabilities and stopping rule."""

    variance: str
    prior: str
    reliability_range: tuple[float, float]
    max_iterations: int
    tolerance: float  # for the statistic of eq. 23


class Start(NamedTuple):
    """Initial values of the iteration."""

    reliability: np.ndarray  # (rater,)
    distance: np.ndarray  # (pair,)
    prior: Prior  # of the distances
    known: bool  # reliabilities are estimates; if False, distances and weights come from the averaged link


class Iterate(NamedTuple):
    """State after the last iteration."""

    quality: np.ndarray  # (item,)
    reliability: np.ndarray  # (rater,)
    distance: np.ndarray  # (pair,)
    precision: np.ndarray  # (pair,), weights of the least squares
    qualities: list[np.ndarray]  # of every iteration
    changes: list[float]  # of every iteration: |q - q_before| / (N |q_before|), eq. 23; NaN in the first
    converged: bool


def iterate(
    modes: SparseVotes | CompleteVotes | OtherVotes,
    graph: PairGraph,
    start: Start,
    options: QuiteOptions,
    reach: float,
) -> Iterate:
    """Iterate until convergence; `Degenerate` if priors outgrow the answers, LinAlgError if the least squares are singular.

        d_e    = argmax  sum_k log F(+-rho_k d) - (d - m_e)^2 / (2 s_e)      within -reach ... reach
        q      = argmin  sum_e (d_e - q_first + q_second)^2 / v_e
        rho_k  = argmax  sum_e log F(+-rho (q_first - q_second))             within the range of reliabilities

    I is the Fisher information in the answers about d_e, J the observed information, P = 1 / s_e. The options:

    ========  =============  =========  ==================================================================================
    variance  v_e            prior      m_e, s_e
    ========  =============  =========  ==================================================================================
    fisher    1 / I          predicted  m_e: difference of the last qualities; 1 / s_e: mean of its last value and 1 / v_e
    laplace   1 / (J + P)    frozen     d_e and v_e of the first iteration, by the averaged link
    printed   I / (J + P)^2  printed    the last d_e and v_e
    ========  =============  =========  ==================================================================================

    The printed prior is estimated from the answers that it is combined with, but treated as independent of them: P
    outgrows the information doubly exponentially, (1, 4, 25, 676, ...) times.
    """
    reliability, distance, prior, known = start
    precision = prior.precision
    qualities: list[np.ndarray] = []
    changes: list[float] = []
    while True:
        if qualities or known:
            found = modes.distances(reliability, prior, distance, reach)
            outgrown = prior.precision > MAX_PRIOR_RATIO * found.expected
            if options.variance == "printed" and np.mean(outgrown) > 0.5:
                raise Degenerate(len(qualities) + 1)
            distance, precision = found.value, _precision(found, prior, options.variance)
        if not np.isfinite(precision).all() or precision.min() <= 0:
            raise np.linalg.LinAlgError("a weight is zero or infinite")
        # q = argmin  sum_e (d_e - q_first + q_second)^2 / v_e
        quality = graph.fit(distance, precision)
        predicted = graph.differences(quality)
        reliability = modes.reliabilities(predicted, reliability, options.reliability_range).value
        before = qualities[-1] if qualities else np.full(1, np.nan)
        scale = len(quality) * np.linalg.norm(before)
        changes.append(np.inf if scale == 0 else float(np.linalg.norm(quality - before) / scale))
        qualities.append(quality)
        converged = changes[-1] < options.tolerance
        if converged or len(changes) == options.max_iterations:
            break
        if options.prior == "predicted":
            # damped: with the last weight alone the iteration ends in a cycle of two
            prior = Prior(predicted, 0.5 * (prior.precision + precision))
        elif options.prior == "printed":
            prior = Prior(distance, precision)
    return Iterate(quality, reliability, distance, precision, qualities, changes, converged)


def _precision(found: Modes, prior: Prior, variance: str) -> np.ndarray:
    """Return the weight 1 / v_e of every distance, shape (pair,)."""
    if variance == "fisher":
        return found.expected
    posterior = found.observed + prior.precision
    return posterior if variance == "laplace" else posterior**2 / found.expected


# --- The public estimator: arguments, start, result ---

Variance = Literal["fisher", "laplace", "printed"]
PriorReading = Literal["predicted", "frozen", "printed"]


def quite(
    pairs: Comparisons,
    *,
    link: AnyLink = LOGISTIC,
    variance: Variance = "fisher",
    prior: PriorReading = "predicted",
    reliability_range: tuple[float, float] = (1.0, 20.0),
    quality_range: float = 1.0,
    max_iterations: int = 50,
    tolerance: float = 1e-5,
    start: xr.Dataset | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Estimate qualities of items and reliabilities of raters from comparisons, by QUITE.

        P(rater k prefers i to j) = F(rho_k (q_i - q_j))
        q on an interval of length 1,   rho ~ Uniform(1, 20)

    ======  =======================================================  =====================  =====
    symbol  meaning                                                  variable               dims
    ======  =======================================================  =====================  =====
    q       quality, centred                                         ``quality``            item
    rho     reliability                                              ``reliability``        rater
    delta   distance of a pair                                       ``distance``           pair
    sigma   its variance (a variance everywhere, omega = 1 / sigma)  ``distance_variance``  pair
    F, G    link, link averaged over rho                             `averaged_link`
    ======  =======================================================  =====================  =====

    The function `iterate` has the iteration and the three options of the printed formulas. The scale of the
    qualities is weakly identified, by the two ranges alone: estimated qualities are shrunk, by a factor of
    1.04 with very many votes to 4 or more with few, and reliabilities accumulate at the end of their range.

    Parameters
    ----------
    pairs : Comparisons
        Votes. A tie counts as half a vote for each item; anonymous raters are treated as one rater.
    link : {"bradley_terry", "thurstone"} or tuple of two functions
        F, the logistic function or the normal cdf; or any rising F with F(-x) = 1 - F(x) and log F concave, of arrays, and its
        inverse, by which it is checked.
    variance : {"fisher", "laplace", "printed"}
        Variance of a distance: inverse Fisher information, that of the posterior, or (37)-(38) as printed.
    prior : {"predicted", "frozen", "printed"}
        Gaussian prior of a distance: about the difference of the last qualities, about the estimate of the first
        iteration, or about the last estimate, (29) as printed.
    reliability_range : tuple of float, default (1, 20)
        Bounds of the uniform prior of the reliabilities.
    quality_range : float, default 1
        Length of the interval of the qualities, which is the largest distance.
    max_iterations : int, default 50
        Largest number of iterations.
    tolerance : float, default 1e-5
        Stop when the qualities move by less than this times their number, relative to their norm (23).
    start : Dataset, optional
        Estimate of a first stage, to continue from with the votes of both. Its pairs keep their variance for the
        first step, a new pair has a flat prior there; a new rater starts in the middle of the range.
    random_seed : int or numpy.random.Generator, optional
        Only for the variances of more than 4,000 items, which are estimated with random probes.

    Returns
    -------
    Dataset
        ``quality`` (item), centred, and ``quality_variance`` (item), its variance by the least squares;
        ``reliability`` (rater); ``distance`` (pair) and ``distance_variance`` (pair), with the items
        ``first`` and ``second`` along ``pair``; ``quality_trace`` (iteration, item) and ``change``
        (iteration), the statistic of the stopping rule. Attributes ``converged`` (0 or 1), ``iterations``,
        ``link``, ``variance``, ``prior``.

    Raises
    ------
    DataError
        If the graph of comparisons is not connected.
    ValueError
        If an argument is out of range, or the reading degenerates, as the printed one always does, or the
        counts of the pairs differ so much that the least squares are singular.

    Warns
    -----
    EstimateWarning
        If the iteration has not converged.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> drawn = models.simulators.comparisons(items=20, raters=20, degree=10, random_seed=1)
    >>> estimate = inference.quite(drawn.data)
    >>> dict(estimate.sizes) | {"converged": estimate.attrs["converged"]}
    {'item': 20, 'rater': 20, 'pair': 100, 'iteration': 32, 'converged': 1}
    >>> import numpy as np
    >>> bool(np.corrcoef(estimate["quality"], drawn.truth["quality"])[0, 1] > 0.95)
    True

    References
    ----------
    Nordio, Tarable and Leonardi (2023), Ranking a set of objects using heterogeneous workers: QUITE an easy
    problem, arXiv:2310.02016, section 4 and eq. 23-38.
    """
    options = QuiteOptions(variance, prior, reliability_range, max_iterations, tolerance)
    _check(options, quality_range)
    law = require_any_link(link, max(1.0, reliability_range[1] * quality_range))
    table = connected_table(pairs, "quite")
    graph = PairGraph(table.first, table.second, table.n_items)
    if start is None:
        begin = _cold_start(table, law, options, quality_range)
    else:
        begin = _warm_start(pairs, table, start, reliability_range)
    kind = f"variance={variance!r} with prior={prior!r}"
    try:
        found = iterate(_modes_of(table, law), graph, begin, options, quality_range)
    except Degenerate as degenerate:
        raise ValueError(
            f"{kind} degenerates in iteration {degenerate.args[0]}: the priors of most "
            f"distances, estimated from the answers, have over {MAX_PRIOR_RATIO:,.0f} times the precision of the answers; take "
            "variance='fisher' with prior='predicted', or variance='laplace' with prior='frozen'"
        ) from None
    except np.linalg.LinAlgError:
        raise ValueError(
            f"{kind} ends in singular least squares: the weights of the pairs differ too "
            "much for double precision; check the counts, take a narrower reliability_range, or use inference.sample"
        ) from None
    if not found.converged:
        moving = f"the qualities still move by {found.changes[-1]:.1e} after {max_iterations} iterations"
        problem = f"{moving}, tolerance={tolerance:.0e}; raise max_iterations"
        warn_user(problem, EstimateWarning)
    spread = graph.variances(found.precision, np.random.default_rng(random_seed))
    name = getattr(law.probability, "__name__", "function") if isinstance(law, OtherLink) else law
    return _dataset(pairs, table, found, spread, {"link": name, "variance": variance, "prior": prior})


def _modes_of(table: PairTable, link: Link | OtherLink) -> SparseVotes | CompleteVotes | OtherVotes:
    """Return the votes with methods for their modes."""
    if not isinstance(link, OtherLink):
        return vote_modes(table, link)
    votes = by_pair(table)
    return OtherVotes(link, votes, by_rater(votes, table.n_raters))


def _check(options: QuiteOptions, quality_range: float) -> None:
    """Raise unless every argument is in its range."""
    chosen = {"variance": (options.variance, Variance), "prior": (options.prior, PriorReading)}
    for name, (value, choices) in chosen.items():
        if value not in (allowed := get_args(choices)):
            raise ValueError(f"{name}={value!r} is not one of {', '.join(map(repr, allowed))}")
    require_ranges(options.reliability_range, quality_range)
    check_whole("max_iterations", options.max_iterations)
    if not (least := options.tolerance) >= 0:
        raise ValueError(f"tolerance={least!r} must not be negative; at 0 every iteration is made")


def require_ranges(
    reliability_range: tuple[float, float], quality_range: float = 1.0, known: bool = False
) -> None:
    """Raise ValueError unless the bounds of reliabilities, equal where they may be `known`, and the range are positive."""
    low, high = reliability_range
    if not 0 < low <= high < np.inf or (low == high and not known):
        same = ", or the same twice" if known else ""
        raise ValueError(
            f"reliability_range={reliability_range!r} must be two positive finite numbers, the lower first{same}"
        )
    if not 0 < quality_range < np.inf:
        raise ValueError(f"quality_range={quality_range!r} must be positive and finite")


def _cold_start(table: PairTable, link: Link | OtherLink, options: QuiteOptions, reach: float) -> Start:
    """Start from the averaged link, with every reliability in the middle of the range."""
    distance, precision = averaged_distances(table, link, options.reliability_range, reach)
    middle = np.full(table.n_raters, np.mean(options.reliability_range))
    return Start(middle, distance, Prior(distance, precision), known=False)


def averaged_distances(
    table: PairTable, link: Link | OtherLink, reliability_range: tuple[float, float], reach: float
) -> tuple[np.ndarray, np.ndarray]:
    """Distances and precisions (pair,) by the averaged link, from the shares of the votes."""
    votes = by_pair(table)
    wins, losses = (np.add.reduceat(v, table.start[:-1]) for v in (votes.wins, votes.losses))
    # a share of 0 or 1 has neither a finite distance nor a variance (27): half a vote from unanimity at least
    count = wins + losses
    share = np.clip(wins / count, 0.5 / count, 1 - 0.5 / count)
    return averaged_link(link, reliability_range, reach).from_shares(share, count)


def _warm_start(
    pairs: Comparisons, table: PairTable, start: xr.Dataset, interval: tuple[float, float]
) -> Start:
    """Start from a first stage; new pairs have a flat prior, new raters the middle of the range."""
    if missing := set(pairs.items.tolist()) - set(start["item"].to_numpy().tolist()):
        raise ValueError(
            f"start has no quality of item {min(missing, key=str)!r} ({len(missing)} of {len(pairs.items)} items are missing); "
            "leave start= out, or compare the items of the first stage"
        )
    quality = start["quality"].sel(item=pairs.items).to_numpy()
    difference = quality[table.first] - quality[table.second]
    raters = pairs.raters if len(pairs.raters) else start["rater"].to_numpy()[:1]
    reliability = start["reliability"].reindex(rater=raters).fillna(sum(interval) / 2)
    named = zip(start["first"].to_numpy().tolist(), start["second"].to_numpy().tolist(), strict=True)
    weight = dict(zip(map(frozenset, named), (1 / start["distance_variance"]).to_numpy(), strict=True))
    first, second = (pairs.items[code].tolist() for code in (table.first, table.second))
    precision = [weight.get(frozenset(pair), 0.0) for pair in zip(first, second, strict=True)]
    return Start(reliability.to_numpy(), difference, Prior(difference, np.array(precision)), known=True)


def _dataset(
    pairs: Comparisons, table: PairTable, found: Iterate, spread: np.ndarray, said: dict[str, str]
) -> xr.Dataset:
    """Assemble the result; `spread` holds the variances of the qualities, `said` further attributes."""
    raters = names_of_raters(pairs)
    return xr.Dataset(
        {
            "quality": ("item", found.quality),
            "quality_variance": ("item", spread),
            "reliability": ("rater", found.reliability),
            "distance": ("pair", found.distance),
            "distance_variance": ("pair", 1 / found.precision),
            "quality_trace": (("iteration", "item"), np.stack(found.qualities)),
            "change": ("iteration", np.array(found.changes)),
        },
        {"item": pairs.items, "rater": raters}
        | {name: ("pair", pairs.items[getattr(table, name)]) for name in ("first", "second")},
        {"converged": int(found.converged), "iterations": len(found.changes), **said},
    )


# --- Averaged link: the probability that a rater of unknown reliability prefers the first of two items ---
#
#     G(d) = E[F(rho d)],   rho ~ Uniform(low, high)                      Nordio, Tarable and Leonardi (2023), eq. 24-27
#     variance of G^-1(p), p a share of M votes  =  p (1 - p) / (M G'(d)^2),   d = G^-1(p)


GRID = 4001
NODES, PANEL = 40, 10.0  # quadrature nodes per panel; its width in x = rho d at the largest distance
NEWTON_STEPS = 4  # from a table accurate to 1e-6 to full precision


class AveragedLink(NamedTuple):
    """G on distances within -reach ... reach, by quadrature over the reliabilities."""

    link: Link | OtherLink  # F
    node: np.ndarray  # (node,), reliabilities
    weight: np.ndarray  # (node,), of sum one
    reach: float

    def probability(self, distance: np.ndarray) -> np.ndarray:
        """Return G, elementwise."""
        x = np.multiply.outer(distance, self.node)
        if isinstance(self.link, OtherLink):
            return self.link.probability(x) @ self.weight
        return (expit(x) if self.link == LOGISTIC else ndtr(x)) @ self.weight

    def slope(self, distance: np.ndarray) -> np.ndarray:
        """Return the derivative G', elementwise."""
        x = np.multiply.outer(distance, self.node)
        if isinstance(self.link, OtherLink):
            density = self.link.density(x)
        elif self.link == LOGISTIC:
            density = expit(x) * expit(-x)
        else:
            density = np.exp(-0.5 * x * x) / np.sqrt(2 * np.pi)
        return density @ (self.node * self.weight)

    def inverse(self, probability: np.ndarray) -> np.ndarray:
        """Return the distances (pair,) with these values of G, clipped to -reach ... reach."""
        grid = np.linspace(-self.reach, self.reach, GRID)
        share, place = np.unique(probability, return_inverse=True)
        d = np.interp(share, self.probability(grid), grid)
        for _ in range(NEWTON_STEPS):
            d = np.clip(d - (self.probability(d) - share) / self.slope(d), -self.reach, self.reach)
        return d[place]

    def from_shares(self, share: np.ndarray, votes: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return distances (26) and their precisions (27), by the delta method, from shares of `votes` in (0, 1); all (pair,)."""
        distance = self.inverse(share)
        _, first, place = np.unique(distance, return_index=True, return_inverse=True)
        slope = self.slope(distance[first])[place]
        return distance, votes * slope**2 / (share * (1 - share))


def averaged_link(
    link: Link | OtherLink, reliability_range: tuple[float, float], reach: float
) -> AveragedLink:
    """Return the link averaged over uniform reliabilities, for distances up to `reach`, to about 1e-13."""
    low, high = reliability_range
    # F changes over a width of about 1 / d in rho, so the number of panels grows with the range of x
    node, weight = np.polynomial.legendre.leggauss(NODES)
    edge = np.linspace(low, high, 1 + max(1, int(np.ceil((high - low) * reach / PANEL))))
    middle, half = 0.5 * (edge[1:] + edge[:-1]), 0.5 * np.diff(edge)
    nodes = (middle[:, None] + half[:, None] * node).ravel()
    return AveragedLink(link, nodes, np.tile(weight / 2, len(middle)) / len(middle), reach)
