"""Slices of consecutive items of a container."""

from dataclasses import replace

import numpy as np

from ...models.data.labels import Labels
from ...models.data.rankings import PartialRankings
from ...models.data.scores import Scores

Annotations = PartialRankings | Labels | Scores


def items_between[Data: Annotations](data: Data, first: int, end: int) -> Data:
    """Take views of the annotations of items first ... end - 1; raters and categories all stay, unlike with ``data.select``."""
    own = slice(*np.searchsorted(data.annotation_item, (first, end)).tolist())
    columns = {
        "items": data.items[first:end],
        "annotation_item": data.annotation_item[own] - np.int32(first),
        "annotation_rater": data.annotation_rater[own],
    }
    if isinstance(data, PartialRankings):
        start = data.annotation_start[own.start : own.stop + 1]
        blocks = data.block_start[start[0] : start[-1] + 1]
        columns["annotation_start"], columns["block_start"] = start - start[0], blocks - blocks[0]
        columns["category_code"] = data.category_code[blocks[0] : blocks[-1]]
        if data.has_shown_sets:
            sets = data.shown_start[own.start : own.stop + 1]
            columns["shown_start"], columns["shown_code"] = (
                sets - sets[0],
                data.shown_code[sets[0] : sets[-1]],
            )
    else:
        columns["count"] = data.count[own]
    if isinstance(data, Labels):
        columns["label_code"], columns["gold"] = data.label_code[own], data.gold[first:end]
        columns["order"] = data.order[own] if len(data.order) else data.order
    elif isinstance(data, Scores):
        columns["score"] = data.score[own]
    return replace(data, **columns)
