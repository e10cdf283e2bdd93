"""Reader of conjugate score models: scores and normal-inverse-gamma priors, from the PyMC graph."""

from dataclasses import dataclass

import numpy as np
import pymc as pm
from pytensor.compile.maker import function
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import InvGammaRV, NormalRV
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.item_scores import ItemScoresRV
from ..kernels.normal_items import NormalItems
from .reading import NotConjugate, lengths, number

__all__ = ["ItemScoresModel", "read_item_scores"]


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
    location, whose variance is proportional to it. Raises NotConjugate for any other model; the message says
    where it differs.
    """
    observed = only_observed(model, ItemScoresRV, "ItemScores")
    location, variance, item = observed.owner.op.dist_params(observed.owner)
    free = list(model.free_RVs)
    if len(free) != 2 or location not in free or variance not in free:
        raise NotConjugate("location and variance are not the only free variables of the model")
    for rv, law, name in (
        (location, NormalRV, "a normal"),
        (variance, InvGammaRV, "an inverse gamma"),
    ):
        if not isinstance(rv.owner.op, law):
            raise NotConjugate(f"the prior of {rv.name!r} is {rv.owner.op}, not {name}")
    if location in ancestors([variance]):
        raise NotConjugate("the variance depends on the location")
    mean, sigma = location.owner.op.dist_params(location.owner)
    parameters = (
        number(mean, f"the mean of {location.name!r}"),
        _weight(sigma, variance),
        *(
            number(p, f"a parameter of {variance.name!r}")
            for p in variance.owner.op.dist_params(variance.owner)
        ),
    )
    shape = lengths(variance)
    prior = NormalItems(*(np.array(np.broadcast_to(p, shape), np.float64) for p in parameters))
    score = number(model.rvs_to_values[observed], "the observed scores")
    return ItemScoresModel(location, variance, prior, number(item, "the items"), score)


def only_observed(model: pm.Model, law: type, name: str) -> TensorVariable:
    """Return the one observed variable; raise NotConjugate for another law, several, or potentials."""
    if len(model.observed_RVs) != 1 or not isinstance(model.observed_RVs[0].owner.op, law):
        found = ", ".join(f"{rv.name} ({rv.owner.op})" for rv in model.observed_RVs) or "nothing"
        raise NotConjugate(f"it needs one observed {name}, and the model observes {found}")
    if model.potentials:
        raise NotConjugate(
            f"the potential {model.potentials[0].name!r} is not part of the conditionals"
        )
    return model.observed_RVs[0]


def _weight(sigma: Variable, variance: TensorVariable) -> np.ndarray:
    """Return variance / sigma**2, or raise unless it is the same for any variance."""
    below = ancestors([sigma], blockers=[variance])
    for rv in below:
        if rv is not variance and rv.owner is not None and hasattr(rv.owner.op, "rng_param"):
            raise NotConjugate(f"the spread of the locations depends on {rv.name!r}")
    compiled = function([variance], sigma, mode="FAST_COMPILE", on_unused_input="ignore")
    trials = np.random.default_rng(0).uniform(0.5, 2.0, (2, *lengths(variance)))
    first, second = (trial / np.asarray(compiled(trial)) ** 2 for trial in trials)
    if not np.allclose(first, second, rtol=1e-12, atol=0):
        raise NotConjugate(
            f"the variance of the locations is not in proportion to {variance.name!r}, which conjugacy needs"
        )
    # at ones: the rounding of a weight does not depend on the position of its item
    return 1.0 / np.asarray(compiled(np.ones(trials.shape[1:]))) ** 2
