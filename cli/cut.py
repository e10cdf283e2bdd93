"""Report sections on scores split at a threshold: certainty of the side of each item."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ..evaluation import plots
from ..reports import Section
from ..reports.words import percent
from .certain import certainty_in_words

__all__ = ["cut_sections"]

ITEMS_SHOWN = 10


def cut_sections(
    tree: xr.DataTree, cut: xr.DataTree, certainties: Sequence[xr.Dataset], seed: int
) -> list[Section]:
    """Return the sections on the certainty of the sides of each threshold.

    `cut` is the tree `thresholded` at the first threshold; `certainties` holds `threshold_certainty` at each
    threshold, of which the first is reported in full; `seed` is for the weights of the items.
    """
    found = {f"{own.attrs['threshold']:.12g}": own for own in certainties}
    rows = {name: _rows(own) for name, own in found.items()}
    first, *others = found
    sure = found[first]["annotation_certainty"].to_numpy()
    words, facts = certainty_in_words(cut, sure, seed, what="side")
    text = (
        f"Above {first}, or at most {first}? Two quantities, not to be confused. Annotation certainty is the posterior "
        "probability of the more probable side: it goes to one with more scores. Threshold probability is the probability that "
        "the next score is on its more probable side: raters who differ go on to differ, and it stays below one. "
        f"{_means(found[first])} {words} The least certain items come first.{_on_the_threshold(tree, found[first])}"
    )
    named = {f"threshold {name}": own for name, own in found.items()}
    curve = Figure(figsize=(6.4, 4.0), layout="constrained")
    plots.threshold_certainty(named if others else found[first], ax=curve.add_subplot())
    clouds = plots.threshold_distance(named if others else found[first], backend="matplotlib")
    every = [{"threshold": name, **row} for name, own in rows.items() for row in own]
    main = Section(
        "Certainty of the side",
        text,
        [curve, clouds],
        every,
        "certainty",
        key="certainty",
        facts={**facts, "thresholds": [_summary(own) for own in found.values()]},
        shown=rows[first],
        most=ITEMS_SHOWN,
    )
    return [main, *(_further(name, found[name], rows[name]) for name in others)]


def _further(name: str, found: xr.Dataset, rows: Sequence[Mapping[str, Any]]) -> Section:
    """Return the section of another threshold; its numbers are in the table and facts of the first."""
    return Section(f"Threshold {name}", _means(found), shown=rows, part=True, most=ITEMS_SHOWN)


def _on_the_threshold(tree: xr.DataTree, found: xr.Dataset) -> str:
    """Return a sentence on the share of scores equal to the threshold; "" if there are none."""
    threshold = found.attrs["threshold"]
    observed = tree["observed_data"]["observed_score"].to_numpy()
    if not (share := (observed == threshold).mean()):
        return ""
    return (
        f" {percent(share)} of the scores are {threshold:g} itself, which counts as at most {threshold:g}; of scores with gaps "
        "between them, a threshold within a gap treats both sides alike."
    )


def _means(found: xr.Dataset) -> str:
    """Return a sentence on the items above a threshold, and the mean of both quantities."""
    own = _summary(found)
    return (
        f"At threshold {own['threshold']:g}, {own['items_above']:,} of {found.sizes['item']:,} items are more probably above; "
        f"on average the annotation certainty is {percent(own['annotation_certainty'])}, the threshold probability "
        f"{percent(own['threshold_probability'])}."
    )


def _summary(found: xr.Dataset) -> dict[str, float]:
    quantities = ("annotation_certainty", "threshold_probability")
    means = {name: float(found[name].mean()) for name in quantities}
    above = int((found["above"] > 0.5).sum())
    return {"threshold": found.attrs["threshold"], "items_above": above, **means}


def _rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Return a table row per item, the least certain first."""
    names = {
        "location": "location",
        "above": "P(above)",
        "annotation_certainty": "annotation certainty",
        "threshold_probability": "threshold probability",
    }
    columns = {name: found[variable].to_numpy() for variable, name in names.items()}
    order = np.lexsort((columns["threshold probability"], columns["annotation certainty"]))
    items = found["item"].to_numpy()
    return [
        {"item": str(items[i]), **{name: float(values[i]) for name, values in columns.items()}}
        for i in order
    ]
