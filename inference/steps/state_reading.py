"""Reader of mixtures of item states: counts and Dirichlet priors, from the PyMC graph."""

from typing import cast

import numpy as np
import pymc as pm
from pytensor.tensor.random.basic import DirichletRV
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.mixed_counts import MixedCountsRV
from ..kernels.item_states import StatePrior
from .reading import NotConjugate, lengths, number

__all__ = ["read_item_states"]


def read_item_states(model: pm.Model) -> tuple[np.ndarray, StatePrior]:
    """Read a mixture of item states with closed-form conditionals: counts, int (item, category), and priors.

    The one observed variable must be a `MixedCounts` of a free Dirichlet weight and free Dirichlet
    probabilities. Raises NotConjugate for any other model; the message says where it differs.
    """
    if len(model.observed_RVs) != 1:
        raise NotConjugate(f"it observes {len(model.observed_RVs)} variables, not one MixedCounts")
    if model.potentials:
        raise NotConjugate(
            f"the potential {model.potentials[0].name!r} is not part of the Gibbs conditionals"
        )
    observed = model.observed_RVs[0]
    if not isinstance(observed.owner.op, MixedCountsRV):
        raise NotConjugate(f"it observes {observed.owner.op}, not MixedCounts")
    weight, probability, spread, _ = observed.owner.op.dist_params(observed.owner)
    if number(spread, "the spread within a state").any():
        raise NotConjugate("the items of a state differ: its spread is not zero")
    prior = StatePrior(
        *(_dirichlet(cast(TensorVariable, rv), model) for rv in (weight, probability))
    )
    if others := [rv.name for rv in model.free_RVs if rv not in (weight, probability)]:
        raise NotConjugate(f"{others[0]!r} is free besides the weights and their probabilities")
    return number(model.rvs_to_values[observed], "the observed counts"), prior


def _dirichlet(variable: TensorVariable, model: pm.Model) -> np.ndarray:
    """Return the concentration of a free Dirichlet variable with constant parameters."""
    if variable not in model.free_RVs or not isinstance(variable.owner.op, DirichletRV):
        raise NotConjugate(f"{variable.name!r} is not a free Dirichlet variable")
    (alpha,) = variable.owner.op.dist_params(variable.owner)
    value = number(alpha, f"the concentration of {variable.name!r}")
    return np.array(np.broadcast_to(value, lengths(variable)), np.float64)
