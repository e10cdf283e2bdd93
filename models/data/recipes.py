"""Record of the builder and the arguments of a model, so that another process can rebuild it."""

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
    """Name of a builder of `raterzoo.models`, and its arguments with defaults filled in."""

    builder: str
    arguments: Mapping[str, Any]


def recorded[**P, M](builder: Callable[P, M]) -> Callable[P, M]:
    """Decorate a builder to record a `Recipe` for each model, for as long as the model lives."""
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
    """Recipe of a model, or None if none was recorded; the model may have been changed since."""
    return RECIPES.get(model)
