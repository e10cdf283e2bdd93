"""Errors, checks of arguments and seeds, and a map over threads: shared by all functions of the evaluation."""

import os
import sys
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from difflib import get_close_matches
from hashlib import blake2b
from inspect import Parameter, signature
from typing import Any

import numpy as np
import xarray as xr

from .._messages import printable_line


class EvaluationError(ValueError):
    """Invalid posterior, predictions or argument of an evaluation; the message names the remedy.

    Examples
    --------
    >>> from raterzoo import evaluation
    >>> try:
    ...     evaluation.top_k_accuracy(0)
    ... except evaluation.EvaluationError as error:
    ...     print(error)
    k=0: expected a whole number from 1
    """

    def __str__(self) -> str:
        return printable_line(super().__str__())


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


Seed = int | np.random.Generator | None
Source = xr.DataTree | xr.Dataset | xr.DataArray
CORNER = 16  # values read along each dim to derive a seed: cheap also for arrays on disk


def default_seed(source: Source) -> int:
    """Return a seed derived from the one that a tree was sampled with, or else from some values of a tree or array."""
    sampled = source.attrs.get("seed")
    # never the seed of the sampler itself, whose random numbers made the draws
    digest = blake2b(b"evaluation", digest_size=8)
    if isinstance(sampled, int | np.integer):
        digest.update(str(int(sampled)).encode())
        return int.from_bytes(digest.digest()) >> 1
    if isinstance(source, xr.DataTree):
        source = source["posterior"].to_dataset() if "posterior" in source.children else source.to_dataset()
    arrays = [source] if isinstance(source, xr.DataArray) else list(source.data_vars.values())
    for array in arrays:
        corner = array.isel({dim: slice(CORNER) for dim in array.dims}).to_numpy()
        digest.update(str(array.sizes.values()).encode())
        digest.update(corner.tobytes() if corner.dtype.kind in "biuf" else b"")
    return int.from_bytes(digest.digest()) >> 1


def generator_of(random_seed: Seed, source: Source | int) -> np.random.Generator:
    """Return a generator for a seed, by default for that of a tree or array; raise if the seed is invalid."""
    if isinstance(random_seed, bool) or not isinstance(random_seed, int | np.integer):
        if not (random_seed is None or isinstance(random_seed, np.random.Generator)):
            raise EvaluationError(f"random_seed={random_seed!r}: expected an integer, a Generator or None")
    elif random_seed < 0:
        raise EvaluationError(f"random_seed={random_seed}: expected an integer from 0 on")
    if random_seed is None:
        random_seed = source if isinstance(source, int) else default_seed(source)
    return np.random.default_rng(random_seed)


def fixed_seed(random_seed: Seed, source: Source | int) -> int:
    """Return an integer seed, so that the same draws can be made twice; by default that of a tree or array."""
    rng = generator_of(random_seed, source)
    if isinstance(random_seed, int | np.integer):
        return int(random_seed)
    return int(rng.integers(np.iinfo(np.int64).max))


MOST_THREADS = 4


def in_threads[Result](
    function: Callable[..., Result], *arguments: Iterable[Any], most: int = MOST_THREADS
) -> Iterator[Result]:
    """Yield the results of `map(function, *arguments)` in order, computed on up to `most` threads."""
    if most == 1:
        yield from map(function, *arguments)
        return
    with ThreadPoolExecutor(min(os.cpu_count() or 1, most)) as threads:
        yield from threads.map(function, *arguments)
