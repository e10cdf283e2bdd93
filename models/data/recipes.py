"""How a model was built: its builder and what it was given, so that another process can build it again."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from inspect import signature
from typing import Any
from weakref import WeakKeyDictionary

__all__ = ["Recipe", "recipe_of", "recorded"]

RECIPES: WeakKeyDictionary[Any, "Recipe"] = WeakKeyDictionary()


@dataclass(frozen=True)
class Recipe:
    """A builder of `raterzoo.models`, and its arguments, defaults among them."""

    builder: str
    arguments: Mapping[str, Any]


def recorded[**P, M](builder: Callable[P, M]) -> Callable[P, M]:
    """Record how every model of a builder was built, for as long as the model lives.

    Parameters
    ----------
    builder : callable
        Returns a model.

    Returns
    -------
    callable
        The same.
    """
    parameters = signature(builder)

    @wraps(builder)
    def build(*args: P.args, **kwargs: P.kwargs) -> M:
        model = builder(*args, **kwargs)
        given = parameters.bind(*args, **kwargs)
        given.apply_defaults()
        RECIPES[model] = Recipe(builder.__name__, dict(given.arguments))
        return model

    return build


def recipe_of(model: object) -> Recipe | None:
    """Return how a model was built, if a builder recorded it; it may have been changed since."""
    return RECIPES.get(model)
