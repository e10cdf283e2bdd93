"""Options of a survey that apply to posterior draws of item states."""

from collections.abc import Callable, Mapping
from inspect import signature
from typing import Any

import xarray as xr

from ..errors import EvaluationError

__all__ = ["has_states", "rules_of_states"]

ANSWERED = ("combiner", "scorer", "base", "max_raters", "random_seed")


def has_states(tree: object) -> bool:
    """Return whether a tree has posterior draws of item states."""
    if not isinstance(tree, xr.DataTree) or "posterior" not in tree.children:
        return False
    return "state_weight" in tree["posterior"].data_vars


def rules_of_states(
    asked: Callable[..., Any], given: Mapping[str, Any], *more: str
) -> dict[str, Any]:
    """Return the arguments for a posterior; raise if an argument that applies to counts alone was given.

    `asked` is the public function, whose defaults tell given arguments from omitted ones; `given` its
    arguments without labels and predictions; `more` names further arguments that a posterior accepts.
    """
    taken = (*ANSWERED, *more)
    for name, value in given.items():
        default = signature(asked).parameters[name].default
        if name not in taken and value is not default and (default is None or value != default):
            raise EvaluationError(
                f"{name}={value!r} is for counts of labels; with item states pass {', '.join(taken)}"
            )
    named = {name: given[name] for name in taken if name != "max_raters"}
    longest = given["max_raters"]
    return named if longest is None else named | {"longest": longest}
