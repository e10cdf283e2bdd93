"""Reader of conjugate score models: scores and normal-inverse-gamma priors, from the PyMC graph."""

from dataclasses import dataclass

import numpy as np
import pymc as pm
from pymc.distributions.multivariate import ZeroSumNormalRV
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import GammaRV, HalfNormalRV, InvGammaRV, NormalRV
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.item_scores import ItemScoresRV
from ..runs.model_graph import (
    NotConjugate,
    constant_value,
    evaluator,
    is_equal,
    only_observed,
    positive_constant,
    refuse_further,
    shape_of,
)
from .kernels.hierarchical import RaterScores, ScoreHyper
from .kernels.normal import NormalItems


@dataclass(frozen=True, eq=False)
class ItemScoresModel:
    """Observed scores of items, and the free random variables behind them."""

    location: TensorVariable  # free random variable
    variance: TensorVariable  # free random variable
    prior: NormalItems  # of location and variance
    item: np.ndarray  # int (score,)
    score: np.ndarray  # float (score,)


def read_item_scores(model: pm.Model) -> ItemScoresModel:
    """Read a model of normal scores whose posterior is normal-inverse-gamma.

    The one observed variable must be an `ItemScores` of a free inverse-gamma variance and a free normal
    location, of proportional variance. Raises NotConjugate for other models; the message says why.
    """
    observed = only_observed(model, ItemScoresRV)
    location, variance, item = observed.owner.op.dist_params(observed.owner)
    free = list(model.free_RVs)
    if location not in free or variance not in free:
        raise NotConjugate("location and variance are not free variables of the model")
    refuse_further(model, [variance, location])
    for rv, law, name in ((location, NormalRV, "a normal"), (variance, InvGammaRV, "an inverse gamma")):
        if not isinstance(rv.owner.op, law):
            raise NotConjugate(f"the prior of {rv.name!r} is {rv.owner.op}, not {name}")
    if location in ancestors([variance]):
        raise NotConjugate("the variance depends on the location")
    mean, sigma = location.owner.op.dist_params(location.owner)
    parameters = (
        constant_value(mean, f"the mean of {location.name!r}"),
        _weight(sigma, variance),
        *(
            positive_constant(p, f"a parameter of {variance.name!r}")
            for p in variance.owner.op.dist_params(variance.owner)
        ),
    )
    shape = shape_of(variance)
    prior = NormalItems(*(np.array(np.broadcast_to(p, shape), np.float64) for p in parameters))
    score = constant_value(model.rvs_to_values[observed], "the observed scores")
    return ItemScoresModel(location, variance, prior, constant_value(item, "the items"), score)


def _weight(sigma: Variable, variance: TensorVariable) -> np.ndarray:
    """Return variance / sigma**2, or raise unless it is the same for any variance."""
    below = ancestors([sigma], blockers=[variance])
    for rv in below:
        if rv is not variance and rv.owner is not None and hasattr(rv.owner.op, "rng_param"):
            raise NotConjugate(f"the spread of the locations depends on {rv.name!r}")
    compiled = evaluator([variance], sigma)
    trials = np.random.default_rng(0).uniform(0.5, 2.0, (2, *shape_of(variance)))
    first, second = (trial / np.asarray(compiled(trial)) ** 2 for trial in trials)
    if not is_equal(first, second):
        raise NotConjugate(
            f"the variance of the locations is not in proportion to {variance.name!r}, which conjugacy needs"
        )
    # at ones: the rounding of a weight does not depend on the position of its item
    return 1.0 / np.asarray(compiled(np.ones(trials.shape[1:]))) ** 2


# --- Reader of hierarchical score models: laws checked at random values, constants of the priors read ---

# the free variables of `hierarchical_scores`, and their laws
LAWS = {
    "location_mean": NormalRV,
    "location_spread": HalfNormalRV,
    "location": NormalRV,
    "bias_spread": HalfNormalRV,
    "variance_shape": GammaRV,
    "usual_variance": InvGammaRV,
    "rater_bias": NormalRV,
    "rater_variance": InvGammaRV,
}

GROUP_BIAS, EFFECT, SLOPE = "group_bias", "feature_effect", "rater_slope"
# those of groups of raters, of features of items, and of slopes of raters, by the first of them
FURTHER_LAWS = {
    GROUP_BIAS: {GROUP_BIAS: ZeroSumNormalRV},
    EFFECT: {EFFECT: NormalRV, "feature_scale": HalfNormalRV},
    SLOPE: {SLOPE: NormalRV, "slope_spread": HalfNormalRV},
}


@dataclass(frozen=True, eq=False)
class RaterScoresModel:
    """Observed scores of a model, and the constants of its priors."""

    scores: RaterScores  # with the groups of the raters
    hyper: ScoreHyper  # constants of the priors
    grouped: bool  # whether raters are in groups, not one population


def read_rater_scores(model: pm.Model) -> RaterScoresModel:
    """Read the variables and laws of `models.hierarchical_scores`, with any prior constants; NotConjugate for other models."""
    observed = only_observed(model, NormalRV)
    free = _free_variables(model)
    laws = _Laws(free, observed)
    item, rater = laws.codes("location", 0), laws.codes("rater_bias", 0)
    grouped = GROUP_BIAS in free
    group = np.zeros(shape_of(free["rater_bias"]), np.int64)
    if grouped:
        group = laws.codes(GROUP_BIAS, 4)
    features = _features(model, free)
    hyper = _constants(free)
    laws.check(item, rater, group, features, hyper.mean)
    score = constant_value(model.rvs_to_values[observed], "the observed scores").astype(np.float64)
    (n_items,) = shape_of(free["location"])
    scores = RaterScores(item, rater, score, group, n_items, features, SLOPE in free)
    return RaterScoresModel(scores, hyper, grouped)


def _features(model: pm.Model, free: dict[str, TensorVariable]) -> np.ndarray:
    """Return the features of the items (item, feature), without columns if the model has none."""
    (n_items,) = shape_of(free["location"])
    if EFFECT not in free:
        return np.zeros((n_items, 0))
    if "features" not in model.named_vars:
        raise NotConjugate("the model has effects of features, but no data 'features'")
    values = constant_value(model["features"], "the features").astype(np.float64)
    if values.shape != (n_items, *shape_of(free[EFFECT])):
        raise NotConjugate("the features are not those of the items and effects")
    return np.ascontiguousarray(values)


def _free_variables(model: pm.Model) -> dict[str, TensorVariable]:
    """Return the free variables by name, or raise if names or laws differ from `hierarchical_scores`."""
    known = {*LAWS}.union(*FURTHER_LAWS.values())
    refuse_further(model, [rv for rv in model.free_RVs if rv.name in known])
    free = {str(rv.name): rv for rv in model.free_RVs}
    expected = dict(LAWS)
    for name, further in FURTHER_LAWS.items():
        expected |= further if name in free else {}
    if odd := sorted(set(free) ^ set(expected)):
        raise NotConjugate(
            f"the free variables are not those of hierarchical_scores: {odd[0]!r} is "
            f"{'not among them' if odd[0] in free else 'missing'}"
        )
    for name, law in expected.items():
        if not isinstance(free[name].owner.op, law):
            raise NotConjugate(f"the prior of {name!r} is {free[name].owner.op}, not {law.__name__}")
    return free


class _Laws:
    """Parameters of the laws that depend on free variables, as a function of these."""

    def __init__(self, free: dict[str, TensorVariable], observed: TensorVariable) -> None:
        self.shapes = {name: shape_of(rv) for name, rv in free.items()}
        further = (name for name in (EFFECT, SLOPE) if name in free)
        dependent = ("location", "rater_bias", "rater_variance", *further)
        laws = (observed, *(free[name] for name in dependent))
        parameters = [p for rv in laws for p in rv.owner.op.dist_params(rv.owner)]
        self._compiled = evaluator([*free.values()], parameters)

    def __call__(self, values: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Return the parameters, given values of the free variables."""
        return [np.asarray(p) for p in self._compiled(*values.values()) or ()]

    def codes(self, name: str, place: int) -> np.ndarray:
        """Return, for each entry of a parameter, the index of the entry of the free variable that it adds."""
        values = {own: np.zeros(shape) for own, shape in self.shapes.items()}
        values[name] = np.arange(self.shapes[name][0], dtype=np.float64)
        for own in {"rater_variance", SLOPE} & {*values}:
            values[own] = np.ones(self.shapes[own])
        codes = self(values)[place]
        last = self.shapes[name][0] - 1
        return np.clip(np.nan_to_num(codes), 0, last).astype(np.int64)

    def check(
        self, item: np.ndarray, rater: np.ndarray, group: np.ndarray, features: np.ndarray, pivot: float
    ) -> None:
        """Raise unless the laws are those of `hierarchical_scores`, at random values; slopes leave `pivot` unchanged."""
        rng = np.random.default_rng(0)
        at = {name: rng.uniform(0.5, 2.0, shape) for name, shape in self.shapes.items()}
        usual, effect = at["usual_variance"], at.get(EFFECT, np.zeros(0))
        slope = at[SLOPE][rater] if SLOPE in at else 1.0
        seen = pivot + slope * (at["location"][item] - pivot)
        expected = {
            "the mean of the scores": seen + at["rater_bias"][rater],
            "the scale of the scores": np.sqrt(at["rater_variance"])[rater],
            "the mean of the locations": at["location_mean"] + features @ effect,
            "the spread of the locations": at["location_spread"],
            "the mean of the biases": at[GROUP_BIAS][group] if GROUP_BIAS in at else 0.0,
            "the spread of the biases": at["bias_spread"],
            "the shape of the variances": at["variance_shape"],
            "the rate of the variances": (at["variance_shape"] + 1.0)
            * (usual[group] if usual.ndim else usual),
        }
        if EFFECT in at:
            expected |= {"the mean of the effects": 0.0, "the scale of the effects": at["feature_scale"]}
        if SLOPE in at:
            expected |= {"the mean of the slopes": 1.0, "the spread of the slopes": at["slope_spread"]}
        for (what, value), found in zip(expected.items(), self(at), strict=True):
            if not is_equal(found, value, 1e-6):
                raise NotConjugate(f"{what} is not as in hierarchical_scores")


def _constants(free: dict[str, TensorVariable]) -> ScoreHyper:
    """Return the constants of the priors."""

    def of(name: str, place: int) -> float:
        rv = free[name]
        value = constant_value(rv.owner.op.dist_params(rv.owner)[place], f"a parameter of {name!r}")
        if np.ptp(value) > 0:
            raise NotConjugate(f"{name!r} has not one prior, but one for each of its entries")
        return float(np.ravel(value)[0])

    featured = "feature_scale" in free
    sloped = SLOPE in free
    for name in ("location_spread", "bias_spread", *["feature_scale"] * featured, *["slope_spread"] * sloped):
        if of(name, 0) != 0:
            raise NotConjugate(f"the HalfNormal prior of {name!r} has a location other than 0")
    return ScoreHyper(
        mean=of("location_mean", 0),
        mean_sd=of("location_mean", 1),
        location_scale=of("location_spread", 1),
        bias_scale=of("bias_spread", 1),
        group_sd=of(GROUP_BIAS, 0) if GROUP_BIAS in free else 1.0,
        usual_shape=of("usual_variance", 0),
        usual_rate=of("usual_variance", 1),
        shape_shape=of("variance_shape", 0),
        shape_rate=1.0 / of("variance_shape", 1),
        effect_scale=of("feature_scale", 1) if featured else 1.0,
        slope_scale=of("slope_spread", 1) if sloped else 1.0,
    )
