"""What a survey may ask of draws of item states: they know nothing of single labels, of raters, nor of resampled items."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import xarray as xr

from ..errors import EvaluationError

__all__ = ["has_states", "rules_of_states"]

ANSWERED = ("combiner", "scorer", "base", "max_raters", "random_seed")


def has_states(tree: object) -> bool:
    """Return whether these are draws of item states."""
    if not isinstance(tree, xr.DataTree) or "posterior" not in tree.children:
        return False
    return "state_weight" in tree["posterior"].data_vars


def rules_of_states(
    asked: Callable[..., Any], given: Mapping[str, Any], *more: str
) -> dict[str, Any]:
    """Return the arguments of the posterior.

    Parameters
    ----------
    asked : callable
        Whose defaults say that an argument was not given.
    given : mapping of str to Any
        Its arguments, but for labels and predictions.
    *more : str
        Those that the posterior takes besides combiner, scorer, base, max_raters and random_seed.

    Raises
    ------
    EvaluationError
        If one is meant for counts alone.
    """
    taken = (*ANSWERED, *more)
    for name, value in given.items():
        default = signature(asked).parameters[name].default
        if name not in taken and value is not default and (default is None or value != default):
            raise EvaluationError(
                f"{name}={value!r} is for counts of labels; with item states go {', '.join(taken)}"
            )
    named = {name: given[name] for name in taken if name != "max_raters"}
    longest = given["max_raters"]
    return named if longest is None else named | {"longest": longest}
