"""Consecutive items of a container: slicing, and a picklable form."""

from dataclasses import fields, replace
from typing import Any, NamedTuple, overload

import numpy as np

from ...models.data.container import Container
from ...models.data.labels import Labels
from ...models.data.rankings import PartialRankings
from ...models.data.scores import Scores

Annotations = PartialRankings | Labels | Scores


class Packed(NamedTuple):
    """Container as plain arrays: its read-only mappings cannot be pickled."""

    kind: type[Container]
    values: dict[str, Any]  # its fields

    def unpack(self) -> Any:
        """Return the container."""
        return self.kind(**self.values)


def pack(data: Container) -> Packed:
    """Return a container in a picklable form."""
    names = [field.name for field in fields(data)]  # type: ignore[arg-type]
    values = {name: getattr(data, name) for name in names}
    if "rater_attributes" in values:
        values["rater_attributes"] = dict(values["rater_attributes"])
    return Packed(type(data), values)


@overload
def items_between(data: PartialRankings, first: int, end: int) -> PartialRankings: ...


@overload
def items_between(data: Labels, first: int, end: int) -> Labels: ...


@overload
def items_between(data: Scores, first: int, end: int) -> Scores: ...


def items_between(data: Annotations, first: int, end: int) -> Annotations:
    """Return the annotations of items first ... end - 1, as views of the same arrays.

    Raters and categories keep their codes; unlike ``data.select`` it keeps raters without annotations of
    these items.
    """
    own = slice(*np.searchsorted(data.annotation_item, (first, end)).tolist())
    items = data.items[first:end]
    item = data.annotation_item[own] - np.int32(first)
    rater = data.annotation_rater[own]
    if isinstance(data, PartialRankings):
        start = data.annotation_start[own.start : own.stop + 1]
        blocks = data.block_start[start[0] : start[-1] + 1]
        return replace(
            data,
            items=items,
            annotation_item=item,
            annotation_rater=rater,
            annotation_start=start - start[0],
            block_start=blocks - blocks[0],
            category_code=data.category_code[blocks[0] : blocks[-1]],
        )
    if isinstance(data, Labels):
        return replace(
            data,
            items=items,
            annotation_item=item,
            annotation_rater=rater,
            label_code=data.label_code[own],
            count=data.count[own],
            gold=data.gold[first:end],
        )
    return replace(
        data,
        items=items,
        annotation_item=item,
        annotation_rater=rater,
        score=data.score[own],
        count=data.count[own],
    )
