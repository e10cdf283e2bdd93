"""Compilation of PyMC models by PyTensor and nutpie such that cold and warm caches give the same draws, bit for bit.

Both compile with numba, whose functions run whatever machine code of the same name is in memory (see
`models.distributions.compiling`). The samplers of this package do not need this: they are compiled from parts.
"""

from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np
import pymc as pm
from pymc.sampling.mcmc import assign_step_methods
from pytensor.compile.mode import Mode, get_mode
from pytensor.link.numba.linker import NumbaLinker
from pytensor.tensor.random.basic import BetaRV, DirichletRV

from ...models.distributions.compiling import SELF_CONTAINED
from .model_graph import NotConjugate, constant_value

# options of `pymc.sample` that choose sampler or backend, or that nutpie does not know
CHOSEN = {"nuts_sampler", "step", "callback", "trace", "init", "initvals", "return_inferencedata"}
BACKEND = {"backend", "gradient_backend", "compile_kwargs"}


class SelfContainedLinker(NumbaLinker):
    """PyTensor's numba linker, whose functions run no machine code but their own, and are cached apart from others."""

    def jit_compile(self, fn_and_cache: tuple[Any, str | None]) -> Any:
        """Compile a graph that is already a Python function, with its key of the disk cache or None."""
        from pytensor.link.numba.cache import CACHED_SRC_FUNCTIONS
        from pytensor.link.numba.dispatch.basic import numba_njit

        compiled, key = fn_and_cache
        if key is not None:
            CACHED_SRC_FUNCTIONS[compiled.py_func] = f"{key}-self-contained"
        return numba_njit(compiled.py_func, final_function=True, cache=key is not None, **SELF_CONTAINED)


@cache
def _self_contained_mode(optimizer: Any) -> Mode:
    """PyTensor's mode with these rewrites and the linker above."""
    return Mode(SelfContainedLinker(), optimizer)


def compilation_of_densities() -> dict[str, Any]:
    """Return ``compile_kwargs`` of PyMC's functions; empty where PyTensor is configured not to compile with numba."""
    mode = get_mode(None)
    if not isinstance(mode.linker, NumbaLinker):
        return {}
    return {"mode": _self_contained_mode(mode.provided_optimizer)}


def compilation_of_nutpie(model: pm.Model) -> dict[str, Any]:
    """Return options of `nutpie.compile_pymc_model` with its numba backend, where chains start among them."""
    return SELF_CONTAINED | {"initial_points": likely_right(model)}


def compilation_of_nuts(model: pm.Model, asked: Mapping[str, Any]) -> dict[str, Any]:
    """Return options of `pymc.sample` that compile and start the sampler that it takes: nutpie, or PyMC's own; none for others.

    ``asked`` are the user's options. nutpie is asked for by name, since its options are unknown to PyMC's own sampler.
    """
    sampler, of_sampler = asked.get("nuts_sampler"), asked.get("nuts") or {}
    if (
        BACKEND & (asked.keys() | of_sampler)
        or sampler not in (None, "pymc", "nutpie")
        or not compilation_of_densities()
    ):
        return {}
    if sampler == "nutpie" or (not CHOSEN & asked.keys() and _nutpie_fits(model)):
        return {"nuts_sampler": "nutpie", "compile_kwargs": compilation_of_nutpie(model)}
    starts = {} if "initvals" in asked else {"initvals": likely_right(model)}
    return {"compile_kwargs": compilation_of_densities(), **starts}


def _nutpie_fits(model: pm.Model) -> bool:
    """Whether nutpie is installed and `pymc.sample` would draw all variables of the model by NUTS."""
    if find_spec("nutpie") is None:
        return False
    _, steps = assign_step_methods(model)
    return list(steps) == [pm.NUTS]


# --- Where NUTS starts in models of labels: raters are right, so that no chain begins with categories exchanged ---


RIGHT = 0.9  # samplers jitter the log odds of a start by up to two


def likely_right(model: pm.Model) -> dict[str, np.ndarray]:
    """Return starts of confusion matrices and abilities whose prior is constant and favours the right answer, by name.

    From the mean of the prior the jitter of a chain may exchange two categories; among few raters it then stays there, where
    the posterior has next to no mass. Rows start with `RIGHT` on the diagonal, or the mean of the prior if that is more. Of
    other variables PyMC chooses the start.
    """
    starts: dict[str, np.ndarray] = {}
    n, n_answers = (len(model.coords.get(dim) or ()) for dim in ("category", "answer"))
    if n < 2:
        return starts
    square = n_answers == n  # not where one can answer "unsure"
    for variable in model.free_RVs:
        name, op = str(variable.name), variable.owner.op
        dims = model.named_vars_to_dims.get(name, ())
        rows = square and isinstance(op, DirichletRV) and dims[-2:] == ("category", "answer")
        ability = isinstance(op, BetaRV) and name == "ability" and dims[:1] == ("rater",)
        if not rows and not ability:
            continue
        try:
            parameters = [constant_value(own, name) for own in op.dist_params(variable.owner)]
        except NotConjugate:
            continue
        shape = tuple(variable.shape.eval())
        if rows:
            starts[name] = np.broadcast_to(_rows(*parameters), shape)
        else:
            right, wrong = parameters
            mean = right / (right + wrong)
            favoured = mean > 1 / n
            starts[name] = np.broadcast_to(np.where(favoured, np.maximum(mean, RIGHT), mean), shape)
    return starts


def _rows(concentration: np.ndarray) -> np.ndarray:
    """Return starts of the rows of confusion matrices with this Dirichlet prior, both (..., category, answer)."""
    mean = concentration / concentration.sum(axis=-1, keepdims=True)
    diagonal = np.eye(mean.shape[-1], dtype=bool)
    right = np.where(diagonal, mean, 0).sum(axis=-1, keepdims=True)
    others = np.where(diagonal, 0, mean).max(axis=-1, keepdims=True)
    raised = np.maximum(right, RIGHT)
    started = np.where(diagonal, raised, mean * (1 - raised) / (1 - right))
    return np.where(right > others, started, mean)
