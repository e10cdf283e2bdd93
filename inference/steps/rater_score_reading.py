"""Reader of hierarchical score models: laws checked at random values, constants of the priors read."""

from dataclasses import dataclass

import numpy as np
import pymc as pm
from pymc.distributions.multivariate import ZeroSumNormalRV
from pytensor.compile.maker import function
from pytensor.tensor.random.basic import GammaRV, HalfNormalRV, InvGammaRV, NormalRV
from pytensor.tensor.variable import TensorVariable

from ..kernels.score_gibbs import RaterScores, ScoreHyper
from .reading import NotConjugate, lengths, number
from .score_reading import only_observed

__all__ = ["RaterScoresModel", "read_rater_scores"]

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
GROUP_BIAS = "group_bias"


@dataclass(frozen=True, eq=False)
class RaterScoresModel:
    """Observed scores of a model, and the constants of its priors."""

    scores: RaterScores  # with the groups of the raters
    hyper: ScoreHyper  # constants of the priors
    grouped: bool  # whether raters are in groups, not one population


def read_rater_scores(model: pm.Model) -> RaterScoresModel:
    """Read a model with the variables and laws of `models.hierarchical_scores`, whatever its prior constants.

    Raises NotConjugate for any other model; the message says where it differs.
    """
    observed = only_observed(model, NormalRV, "Normal")
    free = _free_variables(model)
    laws = _Laws(free, observed)
    item, rater = laws.codes("location", 0), laws.codes("rater_bias", 0)
    grouped = GROUP_BIAS in free
    group = np.zeros(lengths(free["rater_bias"]), np.int64)
    if grouped:
        group = laws.codes(GROUP_BIAS, 4)
    laws.check(item, rater, group)
    score = number(model.rvs_to_values[observed], "the observed scores").astype(np.float64)
    (n_items,) = lengths(free["location"])
    scores = RaterScores(item, rater, score, group, n_items)
    return RaterScoresModel(scores, _constants(free), grouped)


def _free_variables(model: pm.Model) -> dict[str, TensorVariable]:
    """Return the free variables by name, or raise if names or laws differ from `hierarchical_scores`."""
    free = {str(rv.name): rv for rv in model.free_RVs}
    expected = LAWS | ({GROUP_BIAS: ZeroSumNormalRV} if GROUP_BIAS in free else {})
    if odd := sorted(set(free) ^ set(expected)):
        raise NotConjugate(
            f"the free variables are not those of hierarchical_scores: {odd[0]!r} is "
            f"{'not among them' if odd[0] in free else 'missing'}"
        )
    for name, law in expected.items():
        if not isinstance(free[name].owner.op, law):
            raise NotConjugate(
                f"the prior of {name!r} is {free[name].owner.op}, not {law.__name__}"
            )
    return free


class _Laws:
    """Parameters of the laws that depend on free variables, as a function of these."""

    def __init__(self, free: dict[str, TensorVariable], observed: TensorVariable) -> None:
        self.shapes = {name: lengths(rv) for name, rv in free.items()}
        laws = (observed, *(free[name] for name in ("location", "rater_bias", "rater_variance")))
        parameters = [p for rv in laws for p in rv.owner.op.dist_params(rv.owner)]
        self._compiled = function(
            list(free.values()), parameters, mode="FAST_COMPILE", on_unused_input="ignore"
        )

    def __call__(self, values: dict[str, np.ndarray]) -> list[np.ndarray]:
        """Return the parameters, given values of the free variables."""
        return [np.asarray(p) for p in self._compiled(*values.values()) or ()]

    def codes(self, name: str, place: int) -> np.ndarray:
        """Return, for each entry of a parameter, the index of the entry of the free variable that it adds."""
        values = {own: np.zeros(shape) for own, shape in self.shapes.items()}
        values[name] = np.arange(self.shapes[name][0], dtype=np.float64)
        values["rater_variance"] = np.ones(self.shapes["rater_variance"])
        codes = self(values)[place]
        last = self.shapes[name][0] - 1
        return np.clip(np.nan_to_num(codes), 0, last).astype(np.int64)

    def check(self, item: np.ndarray, rater: np.ndarray, group: np.ndarray) -> None:
        """Raise unless the laws are those of `hierarchical_scores`, at random values."""
        rng = np.random.default_rng(0)
        at = {name: rng.uniform(0.5, 2.0, shape) for name, shape in self.shapes.items()}
        usual = at["usual_variance"]
        expected = {
            "the mean of the scores": at["location"][item] + at["rater_bias"][rater],
            "the scale of the scores": np.sqrt(at["rater_variance"])[rater],
            "the mean of the locations": at["location_mean"],
            "the spread of the locations": at["location_spread"],
            "the mean of the biases": at[GROUP_BIAS][group] if GROUP_BIAS in at else 0.0,
            "the spread of the biases": at["bias_spread"],
            "the shape of the variances": at["variance_shape"],
            "the rate of the variances": (at["variance_shape"] + 1.0)
            * (usual[group] if usual.ndim else usual),
        }
        for (what, value), found in zip(expected.items(), self(at), strict=True):
            if not np.allclose(found, value, rtol=1e-6, atol=0):
                raise NotConjugate(f"{what} is not as in hierarchical_scores")


def _constants(free: dict[str, TensorVariable]) -> ScoreHyper:
    """Return the constants of the priors."""

    def of(name: str, place: int) -> float:
        rv = free[name]
        value = number(rv.owner.op.dist_params(rv.owner)[place], f"a parameter of {name!r}")
        if np.ptp(value) > 0:
            raise NotConjugate(f"{name!r} has not one prior, but one for each of its entries")
        return float(np.ravel(value)[0])

    for name in ("location_spread", "bias_spread"):
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
    )
