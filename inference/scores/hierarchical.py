"""Multi-threaded draws of score models; they do not depend on the number of threads."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pymc as pm
import xarray as xr
from scipy.special import gammaln

from ...models.scores.hierarchical import SPEC as HIERARCHICAL_SCORES
from ...posterior.schema import SAMPLE
from ..runs.run import (
    ChainPlan,
    Draws,
    ItemBlocks,
    Run,
    Sampler,
    SinglePrecisionError,
    Tuning,
    begun,
    in_threads,
    item_keys,
    parts_of,
    pilot,
    streams_of_items,
)
from ..runs.trees import as_dataset
from .kernels.hierarchical import (
    LOCATION_SPREAD,
    MEAN,
    ItemScores,
    RaterScores,
    ScoreDraws,
    ScoreHyper,
    ScoreState,
    SharedDraws,
    draw_locations,
    sample_scores,
)
from .normal import SWEEPS_BEFORE
from .precision import LARGEST, is_representable
from .recognition import RaterScoresModel, read_rater_scores

NUMBERS_AT_ONCE = 2**20  # numbers of the draws that a chain makes at once
OVERFLOW_MESSAGE = (
    "the draws are beyond double precision: nearly all scores agree exactly, or the numbers of the prior are of another size "
    "than the scores; models.normal_scores takes scores that all agree"
)


def draw_hierarchy(
    scores: RaterScores, hyper: ScoreHyper, plan: ChainPlan, items: np.ndarray | None = None
) -> ScoreDraws:
    """Run all chains of hierarchical scores, one thread each.

    Repeated in double precision if single precision loses too much. Returns `ScoreDraws` with leading dims
    (chain, draw), with the locations of `items` only, if given. Raises `ValueError` if the draws leave the range of double
    precision.
    """
    draws = continue_hierarchy(scores, hyper, plan, begin_hierarchy(scores, hyper, plan), items)
    if is_representable(draws):
        return draws
    if plan.dtype == "float64":
        raise ValueError(OVERFLOW_MESSAGE)
    del draws
    return draw_hierarchy(scores, hyper, replace(plan, dtype="float64"), items)


def begin_hierarchy(scores: RaterScores, hyper: ScoreHyper, plan: ChainPlan) -> dict[str, np.ndarray]:
    """Initialise every chain at random, soon forgotten: stream (chain, word), `ScoreState` with a leading dim chain."""
    return begun(plan, lambda rng: _start(scores, hyper, rng)._asdict())


def continue_hierarchy(
    scores: RaterScores,
    hyper: ScoreHyper,
    plan: ChainPlan,
    state: dict[str, np.ndarray],
    items: np.ndarray | None = None,
) -> ScoreDraws:
    """Run all chains on from their state, in place; return `ScoreDraws` (chain, draw, ...), whose range is not checked.

    With `items` only their locations are returned, the same draws in little memory.
    """
    sizes = _sizes(scores)
    which = np.arange(scores.n_items) if items is None else items
    draws = ScoreDraws(
        *(np.empty((plan.chains, plan.draws, size), plan.dtype) for size in (len(which), *sizes[1:]))
    )
    block = min(plan.draws, max(1, NUMBERS_AT_ONCE // sum(sizes)))

    def run(chain: int) -> None:
        own = ScoreState(*(state[name][chain] for name in ScoreState._fields))
        # in double precision, rounded block by block to that of storage
        for first in range(0, plan.draws, block):
            places = [array[chain, first : first + block] for array in draws]
            buffer = ScoreDraws(*(np.empty((len(places[0]), size)) for size in sizes))
            schedule = (0 if first else plan.tune, plan.thin)
            sample_scores(state["stream"][chain], scores, hyper, schedule, (own, buffer))
            if items is not None:
                buffer = buffer._replace(location=buffer.location[:, which])
            with np.errstate(over="ignore"):
                for place, array in zip(places, buffer, strict=True):
                    place[...] = array

    in_threads(run, zip(range(plan.chains)), plan.threads or plan.chains)
    return draws


def _sizes(scores: RaterScores) -> tuple[int, ...]:
    """Lengths of the arrays of a draw, in the order of `ScoreDraws`."""
    n_raters, n_groups, n_features = len(scores.group), int(scores.group.max()) + 1, scores.features.shape[1]
    slopes = (n_raters, 1) if scores.sloped else (0, 0)
    return scores.n_items, n_raters, n_raters, n_groups, n_groups, 4, n_features, min(n_features, 1), *slopes


def _start(scores: RaterScores, hyper: ScoreHyper, rng: np.random.Generator) -> ScoreState:
    """Random initial state of one chain."""
    sizes = _sizes(scores)
    spread = hyper.bias_scale * np.exp(rng.uniform(-1.0, 1.0, 3))
    population = np.array([hyper.mean, spread[0], spread[1], rng.uniform(1.0, 8.0)])
    return ScoreState(
        hyper.mean + spread[0] * rng.standard_normal(sizes[0]),
        spread[1] * rng.standard_normal(sizes[1]),
        np.full(sizes[2], spread[2] ** 2),
        np.zeros(sizes[3]),
        np.full(sizes[4], spread[2] ** 2),
        population,
        np.zeros(sizes[6]),
        np.full(sizes[7], spread[0]),
        np.ones(sizes[8]),
        np.full(sizes[9], 0.5 * hyper.slope_scale),
    )


PILOT_ITEMS, EXTREME_ITEMS = 2_000, 100  # locations of so many items are looked at in a pilot run


def score_pilot(scores: RaterScores, hyper: ScoreHyper, plan: ChainPlan) -> tuple[int, bool]:
    """Sweeps per kept draw, by the smallest ESS of a pilot run, and whether single precision represents the draws.

    Of many items those at even distances are looked at: given what items share, which is looked at whole, the locations
    are independent.
    """
    single, items = [], _pilot_items(scores)

    def parameters(trial: ChainPlan) -> np.ndarray:
        draws = draw_hierarchy(scores, hyper, trial, items)
        with np.errstate(over="ignore"):
            single.append(is_representable(ScoreDraws(*(array.astype(np.float32) for array in draws))))
        return np.concatenate(draws, axis=2)

    return int(pilot(parameters, plan)[0]), single[0]


def _pilot_items(scores: RaterScores) -> np.ndarray | None:
    """Items at even distances and those whose location is best known relative to its size; None: all, if there are few."""
    if scores.n_items <= PILOT_ITEMS:
        return None
    count = np.bincount(scores.item, minlength=scores.n_items)
    total = np.bincount(scores.item, scores.score, scores.n_items)
    size = np.abs(total) / np.sqrt(np.maximum(count, 1))  # mean, divided by its standard error up to a factor
    extreme = np.argpartition(size, -EXTREME_ITEMS)[-EXTREME_ITEMS:]
    evenly = np.linspace(0, scores.n_items - 1, PILOT_ITEMS).astype(np.int64)
    return np.union1d(evenly, extreme)


# --- Pointwise log densities of drawn hierarchical scores: log likelihood by score, log prior by variable ---

LOG_2_PI = np.log(2 * np.pi)


def hierarchy_log_likelihood(scores: RaterScores, draws: ScoreDraws, pivot: float = 0.0) -> np.ndarray:
    """Log density of every score, for every draw. Returns (chain, draw, score), in the dtype of the draws.

    `pivot` is the location m0 that slopes leave unchanged.
    """
    size = draws.location.shape[:2]
    log_p = np.empty((*size, len(scores.score)), draws.location.dtype)
    for at in np.ndindex(size):
        location, bias, variance = (array[at].astype(np.float64) for array in draws[:3])
        # log Normal(y | location_i + bias_k, variance_k)
        # or with a slope, log Normal(y | m0 + slope_k (location_i - m0) + bias_k, variance_k)
        seen = location[scores.item]
        if scores.sloped:
            seen = pivot + draws.slope[at].astype(np.float64)[scores.rater] * (seen - pivot)
        deviation = scores.score - seen - bias[scores.rater]
        log_scale = 0.5 * (LOG_2_PI + np.log(variance))
        log_p[at] = -log_scale[scores.rater] - 0.5 * deviation**2 / variance[scores.rater]
    return log_p


def hierarchy_log_prior(
    hyper: ScoreHyper, scores: RaterScores, drawn: dict[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Log prior density of every variable given its parents, for every draw.

    Shapes: drawn, the free variables of `models.hierarchical_scores` (chain, draw, ...), with or without the locations. Returns
    one density for each element; one for all group biases together.
    """
    group = scores.group
    d = {name: values.astype(np.float64) for name, values in drawn.items()}
    usual = d["usual_variance"]
    of_rater = usual[..., group] if usual.ndim == 3 else usual[..., None]
    nu = d["variance_shape"][..., None]
    centre = d["group_bias"][..., group] if "group_bias" in d else 0.0
    prior = {
        "location_mean": _normal(d["location_mean"], hyper.mean, hyper.mean_sd),
        "location_spread": _normal(d["location_spread"], 0.0, hyper.location_scale) + np.log(2.0),
        "bias_spread": _normal(d["bias_spread"], 0.0, hyper.bias_scale) + np.log(2.0),
        "variance_shape": _gamma(d["variance_shape"], hyper.shape_shape, hyper.shape_rate),
        "usual_variance": _inverse_gamma(usual, hyper.usual_shape, hyper.usual_rate),
        "rater_bias": _normal(d["rater_bias"], centre, d["bias_spread"][..., None]),
        "rater_variance": _inverse_gamma(d["rater_variance"], nu, (nu + 1) * of_rater),
    }
    if "location" in d:
        expected = d["location_mean"][..., None]
        if "feature_effect" in d:
            expected = expected + d["feature_effect"] @ scores.features.T
        prior["location"] = _normal(d["location"], expected, d["location_spread"][..., None])
    if "feature_effect" in d:
        scale = d["feature_scale"]
        prior["feature_scale"] = _normal(scale, 0.0, hyper.effect_scale) + np.log(2.0)
        prior["feature_effect"] = _normal(d["feature_effect"], 0.0, scale[..., None])
    if "rater_slope" in d:
        prior["slope_spread"] = _normal(d["slope_spread"], 0.0, hyper.slope_scale) + np.log(2.0)
        prior["rater_slope"] = _normal(d["rater_slope"], 1.0, d["slope_spread"][..., None])
    if "group_bias" in d:
        biases = d["group_bias"]
        free = biases.shape[-1] - 1  # degrees of freedom of a zero-sum vector
        squares = (biases**2).sum(axis=-1) / hyper.group_sd**2
        prior["group_bias"] = -0.5 * (squares + free * (LOG_2_PI + 2 * np.log(hyper.group_sd)))
    return prior


def _normal(x: np.ndarray, mean: np.ndarray | float, sd: np.ndarray | float) -> np.ndarray:
    """Log density of the normal distribution."""
    return -0.5 * ((x - mean) / sd) ** 2 - np.log(sd) - 0.5 * LOG_2_PI


def _gamma(x: np.ndarray, shape: np.ndarray | float, rate: np.ndarray | float) -> np.ndarray:
    """Log density of the Gamma(shape, rate) distribution."""
    return shape * np.log(rate) - gammaln(shape) + (shape - 1) * np.log(x) - rate * x


def _inverse_gamma(x: np.ndarray, shape: np.ndarray | float, rate: np.ndarray | float) -> np.ndarray:
    """Log density of the inverse Gamma(shape, rate) distribution."""
    return _gamma(1 / x, shape, rate) - 2 * np.log(x)


# --- The run of a model: tuning, draws, log densities ---


def begin_hierarchical_scores(
    law: RaterScoresModel, model: pm.Model, plan: Draws, tuning: Tuning | None = None
) -> Run:
    """Set up the compiled Gibbs loop of items, raters and populations; `tuning` is that of an earlier start."""
    chains = plan.chain(SWEEPS_BEFORE)
    if tuning is None:
        thin, single = plan.thin, False
        if thin == "pilot" or plan.dtype == "float32":
            needed, single = score_pilot(law.scores, law.hyper, chains)
            thin = needed if thin == "pilot" else thin
        tuning = {"thinning": np.array(thin), "single": np.array(single)}
    dtype = plan.dtype if tuning["single"] else "float64"
    chains = replace(chains, thin=int(tuning["thinning"]), dtype=dtype)
    state = begin_hierarchy(law.scores, law.hyper, chains)
    stats = xr.Dataset({"thinning": np.int64(chains.thin)})

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = continue_hierarchy(law.scores, law.hyper, chains.part(drawn, n), state)
        _check_range(draws)
        return _groups_of_raters(model, law, draws, plan) | {"sample_stats": stats}

    def by_items(n: int, advance: Callable[[int], None]) -> ItemBlocks:
        whole = replace(chains, draws=n)
        shared = _shared_by_parts(law, replace(whole, dtype="float64"), state, advance)
        stored = ScoreDraws(*(array.astype(dtype) for array in shared))
        _check_range(stored)
        items = _ItemDraws(model, law, whole, plan, shared)
        groups = _groups_of_raters(model, law, stored, plan, of_items=False) | {"sample_stats": stats}
        return ItemBlocks(groups, items.starts, items)

    # log likelihoods of scores go by item if the scores do
    in_order = bool((np.diff(law.scores.item) >= 0).all()) or not plan.densities
    return Run(tuning, state, draw, by_items=by_items if in_order and not law.scores.sloped else None)


def _check_range(draws: ScoreDraws) -> None:
    """Raise unless the draws are in the range of their storage."""
    stored, least = str(draws.population.dtype), min(draws.variance.min(), draws.usual.min())
    if not all(np.isfinite(array).all() for array in draws) or least <= 1 / LARGEST[stored]:
        raise SinglePrecisionError(stored) if stored == "float32" else ValueError(OVERFLOW_MESSAGE)


def _shared_by_parts(
    law: RaterScoresModel, plan: ChainPlan, state: dict[str, np.ndarray], advance: Callable[[int], None]
) -> ScoreDraws:
    """Draw what items share in a whole run, without the locations."""
    parts = [
        continue_hierarchy(law.scores, law.hyper, part, state, np.arange(0))
        for _, part in parts_of(plan, advance)
    ]
    return ScoreDraws(*(np.concatenate(own, axis=1) for own in zip(*parts, strict=True)))


class _ItemDraws:
    """Draws of the locations of some items, and their log densities, given all draws of what items share."""

    def __init__(
        self, model: pm.Model, law: RaterScoresModel, chains: ChainPlan, plan: Draws, shared: ScoreDraws
    ) -> None:
        self._model, self._law, self._plan, self._chains = model, law, plan, chains
        order = np.argsort(law.scores.item, kind="stable")
        places = np.arange(law.scores.n_items + 1)
        start = np.searchsorted(law.scores.item[order], places)
        self._scores = ItemScores(
            start, law.scores.rater[order], law.scores.score[order], law.scores.features
        )
        self._dim = str(model.named_vars_to_dims[str(model.observed_RVs[0].name)][0])  # of scores
        self.starts = {"item": places, self._dim: start}
        self._draws, self._keys = shared, item_keys(np.asarray(model.coords["item"]))
        turned = [
            np.ascontiguousarray(array.swapaxes(1, 2)) for array in (shared.bias, 1.0 / shared.variance)
        ]
        by_chain = zip(shared.population, *turned, shared.effect, strict=True)
        self._shared = [SharedDraws(*own) for own in by_chain]

    def __call__(self, items: slice, kept: slice) -> dict[str, dict[str, xr.Variable]]:
        """Return the locations of items (chain, draw, item), and their log densities at the draws that are kept."""
        start = self._scores.start[items.start : items.stop + 1]
        own = self._scores._replace(start=start, features=self._scores.features[items])
        n_chains, n_draws = self._draws.population.shape[:2]
        # of other streams than the chains
        streams = streams_of_items(self._keys[items], n_chains, self._chains.seed + ITEM_SEED)
        location = np.empty((n_chains, n_draws, items.stop - items.start))

        def run(chain: int) -> None:
            draw_locations(streams[chain], own, self._shared[chain], location[chain])

        in_threads(run, zip(range(n_chains)), self._chains.threads or n_chains)
        with np.errstate(over="ignore"):
            stored = location.astype(self._chains.dtype)
        if not np.isfinite(stored).all():
            single = self._chains.dtype == "float32"
            raise SinglePrecisionError("float32") if single else ValueError(OVERFLOW_MESSAGE)
        groups = {"posterior": {"location": xr.Variable((*SAMPLE, "item"), stored)}}
        if self._plan.densities:
            groups |= self._densities(stored[:, kept], own, kept)
        return groups

    def _densities(
        self, location: np.ndarray, own: ItemScores, kept: slice
    ) -> dict[str, dict[str, xr.Variable]]:
        """Return the log prior of locations (chain, draw, item), and the log likelihood of their scores."""
        which, count = slice(int(own.start[0]), int(own.start[-1])), np.diff(own.start)
        scores = RaterScores(
            np.repeat(np.arange(len(count)), count),
            own.rater[which],
            own.score[which],
            self._law.scores.group,
            len(count),
            own.features,
        )
        some = ScoreDraws(location, *(array[:, kept].astype(location.dtype) for array in self._draws[1:]))
        mean, spread = (some.population[..., place, None].astype(float) for place in (MEAN, LOCATION_SPREAD))
        expected = mean + some.effect.astype(float) @ own.features.T
        prior = _normal(location.astype(float), expected, spread)
        likelihood = hierarchy_log_likelihood(scores, some)
        name = str(self._model.observed_RVs[0].name)
        return {
            "log_prior": {"location": xr.Variable((*SAMPLE, "item"), prior)},
            "log_likelihood": {name: xr.Variable((*SAMPLE, self._dim), likelihood)},
        }


ITEM_SEED = 2**32  # added to the seed of the chains


def _groups_of_raters(
    model: pm.Model, law: RaterScoresModel, drawn: ScoreDraws, plan: Draws, *, of_items: bool = True
) -> dict[str, xr.Dataset]:
    """Convert draws of the loop to those of the model's variables, with log densities if the plan asks for them."""
    mean, spread, bias_spread, shape = np.moveaxis(drawn.population, -1, 0)
    arrays = {
        "location_mean": mean,
        "location_spread": spread,
        **({"location": drawn.location} if of_items else {}),
        "bias_spread": bias_spread,
        "variance_shape": shape,
        "usual_variance": drawn.usual if law.grouped else drawn.usual[..., 0],
        "rater_bias": drawn.bias,
        "rater_variance": drawn.variance,
    } | ({"group_bias": drawn.group_bias} if law.grouped else {})
    if drawn.effect.shape[-1]:
        arrays |= {"feature_scale": drawn.effect_scale[..., 0], "feature_effect": drawn.effect}
    if law.scores.sloped:
        arrays |= {"slope_spread": drawn.slope_spread[..., 0], "rater_slope": drawn.slope}
    groups = {"posterior": as_dataset(model, arrays, SAMPLE)}
    if plan.densities:
        if of_items:
            log_p = hierarchy_log_likelihood(law.scores, drawn, law.hyper.mean)
            log_p = {str(model.observed_RVs[0].name): log_p}
            groups["log_likelihood"] = as_dataset(model, log_p, SAMPLE)
        prior = hierarchy_log_prior(law.hyper, law.scores, arrays)
        of_groups = {"group_bias": (SAMPLE, prior.pop("group_bias"))} if law.grouped else {}
        groups["log_prior"] = as_dataset(model, prior, SAMPLE).assign(of_groups)
    return groups


SAMPLER = Sampler(
    law=None,
    variables=("rater_bias", "rater_variance"),
    read=read_rater_scores,
    begin=begin_hierarchical_scores,
    reason="given the rest, locations, biases and variances of hierarchical scores are conjugate",
    name=HIERARCHICAL_SCORES.name,
)
