"""Checks of arguments, shared by all functions of the evaluation."""

import sys
from collections.abc import Callable, Collection, Iterable
from difflib import get_close_matches
from inspect import Parameter, signature
from typing import Any

import numpy as np
import xarray as xr

from ..posterior.errors import DrawsNotKept as DrawsNotKept
from ..posterior.errors import EvaluationError as EvaluationError


def refuse_unknown(function: str, options: Iterable[str], known: Collection[str]) -> None:
    """Raise at an option that is not known but has the nearest name to one that is."""
    for name in options:
        if name not in known:
            near = ["random_seed"] if name == "seed" else get_close_matches(name, known, 1)
            if near:
                raise EvaluationError(f"{function} has no option {name!r}; did you mean {near[0]!r}?")


def check_arguments(
    function: Callable[..., Any], arguments: Iterable[str], metric: object, *passed_to: Callable[..., Any]
) -> None:
    """Raise at an argument that neither the metric takes nor an evaluation function, or those it is passed on to.

    A `Metric` takes none. Where no name is near, or a metric takes any name, the metric itself decides. Raises
    also where the metric is text, or stands in the place of the tree.
    """
    if isinstance(metric, str):
        near = [
            *get_close_matches(metric.replace("-", "_"), sys.modules[__name__.rpartition(".")[0]].__all__, 1),
            "f1",
        ][0]
        raise EvaluationError(
            f"metric={metric!r}: expected a Metric, or a function, not text; pass for example evaluation.{near}()"
        )
    if isinstance(metric, xr.DataTree | xr.DataArray):
        raise EvaluationError(
            f"metric: a {type(metric).__name__} is no metric; the order is {function.__name__}(metric, tree, predictions)"
        )
    known: set[str] = set()
    for own in (function, *passed_to, *([metric] if callable(metric) else [])):
        try:
            parameters = signature(own).parameters.values()
        except (TypeError, ValueError):
            return
        if own is metric and any(parameter.kind is Parameter.VAR_KEYWORD for parameter in parameters):
            return
        known |= {p.name for p in parameters if p.kind is not Parameter.VAR_KEYWORD}
    refuse_unknown(function.__name__, arguments, known)


def check_probability(name: str, value: object) -> None:
    """Raise unless a probability is a number strictly between 0 and 1."""
    if not isinstance(value, int | float | np.integer | np.floating) or not 0 < value < 1:
        raise EvaluationError(f"{name}={value!r}: expected a number between 0 and 1")


def check_whole(
    name: str, value: object, least: int, expected: str = "a whole number", remark: str = ""
) -> None:
    """Raise unless an argument is an integer, Python's or numpy's, from `least` on."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
        raise EvaluationError(f"{name}={value!r}: expected {expected} from {least}{remark}")
