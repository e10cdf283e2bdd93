"""Nested blocks, [item][rater][block][category], as columns of a long table."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from .errors import DataError, shown
from .tables import Column, listed

__all__ = ["nested_columns"]


def nested_columns(
    nested: Sequence[Any] | Mapping[Any, Any],
    items: Sequence[Any] | np.ndarray | None,
    raters: Sequence[Any] | np.ndarray | None,
) -> dict[str, Column]:
    """Flatten nested blocks to columns item, rater, category and rank, one row for each ranked category.

    Levels are lists or mappings; None stands for an annotation that a rater did not give. `items` and
    `raters` are ids behind list places, None numbers them from 0. Raises at a level that is no list, and at
    an empty item, annotation or block.
    """
    columns: dict[str, list[Any]] = {"item": [], "rater": [], "category": [], "rank": []}
    for item, annotations in _labelled(nested, items, "items", "the nested rankings"):
        place = f"item {shown(item)}"
        read = len(columns["item"])
        for rater, blocks in _labelled(annotations, raters, "raters", place):
            if blocks is not None:
                _append(columns, item, rater, blocks)
        if len(columns["item"]) == read:
            raise _empty(f"{place} has no annotation", "leave the item out", place)
    if not columns["item"]:
        raise _empty("there is no item", "check what it was read from", "the nested rankings")
    return {name: Column(name, values) for name, values in columns.items()}


def _append(columns: dict[str, list[Any]], item: Any, rater: Any, blocks: Any) -> None:
    """Append the rows of one annotation to the columns."""
    place = f"item {shown(item)}, rater {shown(rater)}"
    ranked = _list(blocks, "list of blocks", place)
    if not ranked:
        raise _empty(
            "the annotation has no block", "write None where a rater did not annotate", place
        )
    for rank, block in enumerate(ranked, start=1):
        categories = _list(block, "block of tied categories", f"{place}, block {rank}")
        if not categories:
            raise _empty("the block is empty", "leave empty blocks out", f"{place}, block {rank}")
        tied = len(categories)
        columns["item"] += [item] * tied
        columns["rater"] += [rater] * tied
        columns["category"] += categories
        columns["rank"] += [rank] * tied


def _labelled(
    level: Any, labels: Sequence[Any] | np.ndarray | None, argument: str, place: str
) -> Iterator[tuple[Any, Any]]:
    """Pair list members with their ids, or iterate over the items of a mapping."""
    if isinstance(level, Mapping):
        if labels is not None:
            raise DataError(
                f"{argument}= would rename the keys of a mapping",
                column=argument,
                value=labels,
                remedy=f"leave {argument}= out, or pass lists",
                where=place,
            )
        return iter(level.items())
    members = _list(level, "list or mapping", place)
    if labels is None:
        return enumerate(members)
    if len(labels) < len(members) or (argument == "items" and len(labels) > len(members)):
        raise DataError(
            f"{len(labels):,} {argument}= for a list of {len(members):,}",
            column=argument,
            value=len(labels),
            allowed="one label for each place",
            remedy=f"pass {len(members):,} {argument}",
            where=place,
        )
    return zip(listed(labels), members, strict=False)


def _list(level: Any, what: str, place: str) -> list[Any]:
    """Members of a list, tuple or array; raises at anything else."""
    if isinstance(level, list | tuple | np.ndarray):
        return [*level] if isinstance(level, tuple | list) else listed(level)
    raise DataError(
        f"{shown(level)} is a {type(level).__name__}, not a {what}",
        value=level,
        allowed="[item][rater][block][category], or {item: {rater: [block][category]}}",
        remedy="wrap a single category in a block of its own: [[category]]",
        where=place,
    )


def _empty(problem: str, remedy: str, place: str) -> DataError:
    return DataError(problem, remedy=remedy, where=place)
