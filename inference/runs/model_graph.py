"""Transforms from values of random variables to PyMC's unconstrained value variables."""

from collections.abc import Callable, Collection, Sequence
from threading import RLock
from typing import Any, cast

import numpy as np
import pymc as pm
from pymc.distributions.distribution import SymbolicRandomVariable
from pymc.model import modelcontext
from pymc.step_methods.compound import BlockedStep, StepMethodState
from pymc.step_methods.state import dataclass_state
from pymc.util import get_random_generator, get_value_vars_from_user_vars
from pytensor import config, function  # pyright: ignore[reportPrivateImportUsage]
from pytensor.graph.basic import Constant, Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.random.basic import DirichletRV
from pytensor.tensor.random.op import RandomVariable
from pytensor.tensor.variable import TensorVariable

from ...models._hierarchy import UNCOMPILED


@dataclass_state
class GibbsState(StepMethodState):
    """State of a step, apart from its generator."""

    tune: bool


class GibbsStep(BlockedStep):
    """Base class of the steps; `tune` is True in warm-up."""

    default_tune_steps = 200
    _state_class = GibbsState
    tune: bool

    def __init__(
        self,
        vars: list[Variable] | None = None,
        *,
        model: pm.Model | None = None,
        rng: np.random.Generator | int | None = None,
        initial_point: dict[str, np.ndarray] | None = None,
        compile_kwargs: dict[str, Any] | None = None,
        blocked: bool = True,
    ) -> None:
        model = cast(pm.Model, modelcontext(model))
        own = self._read(model)
        self.vars = get_value_vars_from_user_vars(vars or own, model)
        if set(self.vars) != {model.rvs_to_values[rv] for rv in own}:
            moved, names = " and ".join(repr(rv.name) for rv in own), ", ".join(map(str, self.vars))
            together = "together" if len(own) > 1 else "alone"
            raise NotConjugate(f"{type(self).__name__} moves {moved} {together}, not {names}")
        self._names = [str(model.rvs_to_values[rv].name) for rv in own]
        self._compile(model, own, compile_kwargs or {})
        self.blocked, self.tune = blocked, True
        self.rng = get_random_generator(rng)

    def _read(self, model: pm.Model) -> list[Any]:
        """Read the structure of the law; return the variables that the step moves, or raise NotConjugate."""
        raise NotImplementedError

    def _compile(self, model: pm.Model, own: list[Any], options: dict[str, Any]) -> None:
        """Compile what a step computes from a point, with `options` of `pytensorf.compile`."""
        raise NotImplementedError

    def setup_chain(self, rng: np.random.Generator, tune: int, draws: int) -> None:
        """Start a chain with its generator."""
        super().setup_chain(rng, tune, draws)
        self.tune = tune > 0

    def stop_tuning(self) -> None:
        """End the warm-up; nothing is tuned."""
        self.tune = False


# --- Reader of ranking models: rankings and Gamma priors, from the PyMC graph; helpers of all readers ---

MOST_COPIES = 10_000  # of an annotation: each tied block has as many arrivals to draw


graph_lock = RLock()

"""Lock of the process, held wherever a graph is built, recognised, compiled or evaluated.

PyTensor changes its configuration, which all threads share, while it compiles. Samplers draw without the lock.
"""


class NotConjugate(ValueError):
    """The model lacks the closed-form conditionals that a sampler or step needs."""


def shape_of(variable: TensorVariable) -> tuple[int, ...]:
    """Return the shape of a variable."""
    known = variable.type.shape
    if None not in known:
        return known
    with graph_lock:
        return tuple(np.asarray(variable.shape.eval(mode=UNCOMPILED)).tolist())


def constant_value(variable: Variable, what: str) -> np.ndarray:
    """Return the value of a constant or `pymc.Data` expression `what`; raise NotConjugate if it depends on a random variable."""
    if isinstance(variable, Constant):
        return np.asarray(variable.data)
    for ancestor in ancestors([variable]):
        op = ancestor.owner.op if ancestor.owner is not None else None
        if isinstance(op, RandomVariable | SymbolicRandomVariable):
            raise NotConjugate(f"{what} depends on the random variable {ancestor.name!r}")
    with graph_lock:
        return np.asarray(variable.eval(mode=UNCOMPILED))


def positive_constant(variable: Variable, what: str) -> np.ndarray:
    """Return a `constant_value`; raise NotConjugate unless it is positive and finite, as a `pymc.Data` need not be."""
    value = constant_value(variable, what)
    if not ((value > 0) & (value < np.inf)).all():
        raise NotConjugate(f"{what} is not positive and finite")
    return value


def require_prior(rv: TensorVariable, law: type) -> None:
    """Raise NotConjugate unless a variable is a random variable of this law."""
    if not isinstance(rv.owner.op, law):
        raise NotConjugate(
            f"the prior of {rv.name!r} is {rv.owner.op}, not {law.__name__.removesuffix('RV')}"
        )


def refuse_further(model: pm.Model, own: Collection[TensorVariable], remedy: str = "") -> None:
    """Raise NotConjugate, with the prior that is no number, if the model has free variables besides `own`."""
    others = [rv for rv in model.free_RVs if rv not in own]
    for rv in own:
        refuse_random_prior(model, rv, others, remedy)
    if others:
        names = " and ".join(repr(rv.name) for rv in own)
        raise NotConjugate(f"{others[0].name!r} is free besides {names}{remedy}")


def refuse_random_prior(
    model: pm.Model, rv: TensorVariable, others: Collection[TensorVariable], remedy: str = ""
) -> None:
    """Raise NotConjugate if the prior of a free variable depends directly on one of the others."""
    above = set(ancestors([rv], blockers=[v for v in model.free_RVs if v is not rv]))
    if parents := [other.name for other in others if other in above]:
        raise NotConjugate(f"the prior of {rv.name!r} depends on the random variable {parents[0]!r}{remedy}")


def refuse_part(model: pm.Model) -> None:
    """Raise ValueError if a model depends on random variables of an outer one, whose priors it does not have."""
    if model.parent is None:
        return
    own = [*model.basic_RVs, *model.potentials]
    others = set(cast(pm.Model, model.root).basic_RVs) - set(own)
    outer = [str(rv.name) for rv in others & set(ancestors(own))]
    if outer:
        raise ValueError(
            f"the model depends on {min(outer)!r} of an outer model, which has its prior: sample that one, "
            "inference.sample(model.root)"
        )


def only_observed(model: pm.Model, law: type) -> TensorVariable:
    """Return the one observed variable; raise NotConjugate for another law, several, or potentials."""
    if len(model.observed_RVs) != 1 or not isinstance(model.observed_RVs[0].owner.op, law):
        found = ", ".join(f"{rv.name} ({rv.owner.op})" for rv in model.observed_RVs) or "nothing"
        name = cast(Any, law)._print_name[0]
        raise NotConjugate(f"the sampler needs one observed {name}, and the model observes {found}")
    if model.potentials:
        raise NotConjugate(f"the potential {model.potentials[0].name!r} is not part of the sampler")
    return model.observed_RVs[0]


def dirichlet_concentration(variable: TensorVariable) -> np.ndarray:
    """Return the constant concentration of a Dirichlet prior, in the shape of the variable, or raise."""
    if not isinstance(variable.owner.op, DirichletRV):
        raise NotConjugate(f"the prior of {variable.name!r} is {variable.owner.op}, not a Dirichlet")
    (alpha,) = variable.owner.op.dist_params(variable.owner)
    value = positive_constant(alpha, f"the concentration of {variable.name!r}")
    return np.array(np.broadcast_to(value, shape_of(variable)), np.float64)


def evaluator(inputs: Sequence[Variable], outputs: Any) -> Callable[..., Any]:
    """Return a function of the values of variables, for a few evaluations; inputs may be unused, and are rounded."""
    with graph_lock:
        return function(
            list(inputs), outputs, mode=UNCOMPILED, on_unused_input="ignore", allow_input_downcast=True
        )


def is_equal(found: Any, expected: Any, rtol: float = 1e-12, atol: float = 0.0) -> bool:
    """Test whether an expression has the expected values, up to rounding, also of models in single precision."""
    if config.floatX == "float32":
        rtol, atol = max(rtol, 1e-5), max(atol, 1e-6)
    return np.allclose(found, expected, rtol=rtol, atol=atol)


# --- Transforms from values of random variables to PyMC's unconstrained value variables ---


def compiled_values(
    model: pm.Model, variables: Sequence[TensorVariable], options: dict[str, Any]
) -> Callable[..., list[np.ndarray]]:
    """Compile the function from values of free variables to value variables, an array each; `options` of `pytensorf.compile`."""
    drawn = [rv.type() for rv in variables]
    values = []
    for rv, value in zip(variables, drawn, strict=True):
        transform = model.rvs_to_transforms[rv]
        values.append(value if transform is None else transform.forward(value, *rv.owner.inputs))
    return pm.pytensorf.compile(drawn, values, **options)
