"""The section on agreement of raters beyond chance."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, get_args

import numpy as np
import xarray as xr

from ... import evaluation
from ...evaluation.raters.agreement_coefficients import Weights
from ...models import Labels
from ...models.data.labels import EVERYONE, expand_answers
from ...posterior.ordered import ordered_categories
from ..page import Section

RESAMPLES = 200
MAX_CELLS = 20_000_000  # of the table of items by raters
COEFFICIENTS = {
    "alpha": "Krippendorff's alpha",
    "ac1": "Gwet's AC1",
    "ac2": "Gwet's AC2",
    "fleiss": "Fleiss' kappa",
    "conger": "Conger's kappa",
}
OF_ORDER: dict[str, tuple[str, ...]] = {
    "ordinal": ("alpha",),
    "linear": ("ac2", "fleiss", "conger", "kappa"),
    "quadratic": ("ac2", "fleiss", "conger", "kappa"),
}  # where the categories have an order: kinds of weights, and the coefficients that are shown with each


def agreement_rows(labels: Labels, *, ordered: bool, pairs: bool, random_seed: int) -> list[dict[str, Any]]:
    """Return a row for each coefficient with its 90 % interval over resampled items; of ordered categories also weighted ones.

    Conger's and Cohen's kappas need raters who are told apart, and a table of items by raters that is not too large.

    Raises
    ------
    EvaluationError
        If no item has labels of two raters.
    """
    alike = labels.anonymous or EVERYONE in labels.raters.tolist()
    in_turn = alike or len(labels.items) * len(labels.raters) > MAX_CELLS
    ratings, looks_ordered = _in_order(_ratings(labels, alike, in_turn))
    rows: list[dict[str, Any]] = []
    for weights in get_args(Weights) if ordered or looks_ordered else ("nominal",):
        found = evaluation.label_agreement(
            ratings,
            weights=weights,
            bootstrap=RESAMPLES,
            pairs=pairs and not in_turn,
            random_seed=random_seed,
        )
        found = found.drop_vars(("conger", "kappa") if in_turn else (), errors="ignore")
        how = "" if weights == "nominal" else f", {weights} weights"
        for name, statistic, place in _places(found, OF_ORDER.get(weights, (*COEFFICIENTS, "kappa"))):
            low, high = found[f"{statistic}_interval"].sel(place).to_numpy().tolist()
            value = float(found[statistic].sel(place))
            rows.append({"coefficient": name + how, "value": value, "low": low, "high": high})
    return rows


def _ratings(labels: Labels, alike: bool, in_turn: bool) -> xr.DataArray:
    """Return answers as `evaluation.ratings_of` does, shape (item, rater); `in_turn`: those of each item in a column each.

    Of several answers of a rater the most frequent counts, unless the raters are `alike`.
    """
    if alike:
        item, rater, label = expand_answers(labels)
    else:
        item, rater, label = labels.annotation_item, labels.annotation_rater, labels.label_code
        order = np.lexsort((label, -labels.count, rater, item))
        item, rater, label = item[order], rater[order], label[order]
        other = np.append(True, (item[1:] != item[:-1]) | (rater[1:] != rater[:-1]))
        item, rater, label = item[other], rater[other], label[other]
    ids: np.ndarray = labels.raters
    if in_turn:
        rater = np.arange(len(item)) - np.searchsorted(item, item)
        ids = np.arange(rater.max() + 1)
    found = np.full((len(labels.items), len(ids)), np.nan)
    found[item, rater] = label
    attrs = {"categories": len(labels.categories), "names": labels.categories}
    return xr.DataArray(found, {"item": labels.items, "rater": ids}, ("item", "rater"), attrs=attrs)


def _in_order(ratings: xr.DataArray) -> tuple[xr.DataArray, bool]:
    """Return ratings with the codes of ordered categories from lowest to highest, and whether the categories look ordered."""
    names = ratings.attrs["names"]
    order = ordered_categories(names)
    if order is None:
        return ratings, False
    place = np.array([order.index(name) for name in names.tolist()] + [np.nan])
    codes = ratings.fillna(len(names)).astype(int)
    return ratings.copy(data=place[codes]), True


def _places(found: xr.Dataset, shown: tuple[str, ...]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield name, variable and place of each coefficient among those shown."""
    for statistic, name in COEFFICIENTS.items():
        if statistic in shown and statistic in found:
            yield name, statistic, {}
    if "kappa" in shown and "kappa" in found:
        for a, b in combinations(found["rater"].to_numpy().tolist(), 2):
            yield f"kappa of {a} and {b}", "kappa", {"rater": a, "other": b}


def agreement_section(labels: Labels, *, ordered: bool) -> Section:
    """Return the section on agreement beyond chance, with 90 % intervals over resampled items."""
    try:
        found = agreement_rows(labels, ordered=ordered, pairs=True, random_seed=1)
    except evaluation.EvaluationError as missing:
        return Section("Agreement", f"Not computed: {missing}.")
    rows = [
        {"coefficient": own["coefficient"], "value": own["value"], "5 %": own["low"], "95 %": own["high"]}
        for own in found
    ]
    text = (
        "How much more the raters agree than chance would, of the most frequent answer of each to an item. It says nothing of "
        "who is right; the section above does."
    )
    if any("weights" in own["coefficient"] for own in rows):
        text += " The categories have an order: with weights, answers that are near each other agree in part."
    return Section("Agreement", text, rows=rows, file="agreement", key="agreement")
