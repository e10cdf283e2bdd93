"""The section on agreement of raters beyond chance."""

from collections.abc import Iterator
from itertools import combinations
from typing import Any, get_args

import numpy as np
import xarray as xr

from ... import evaluation
from ...evaluation.raters.agreement_coefficients import Weights
from ...models import catalog
from ...models.data.labels import EVERYONE
from ...posterior.groups import with_groups
from ...posterior.ordered import ordered_categories
from ..page import Section

RESAMPLES = 200
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


def agreement_rows(tree: xr.DataTree, *, pairs: bool, random_seed: int) -> list[dict[str, Any]]:
    """Return a row for each coefficient with its 90 % interval over resampled items; of ordered categories also weighted ones.

    Raises
    ------
    EvaluationError
        If no item has labels of two raters.
    """
    alike = _are_one(tree)
    ratings, ordered = _in_order(_answers_in_turn(tree) if alike else evaluation.ratings_of(tree))
    ordered = ordered or catalog[tree.attrs["model"]].needs_order
    rows: list[dict[str, Any]] = []
    for weights in get_args(Weights) if ordered else ("nominal",):
        found = evaluation.label_agreement(
            ratings, weights=weights, bootstrap=RESAMPLES, pairs=pairs and not alike, random_seed=random_seed
        )
        found = found.drop_vars(("conger", "kappa") if alike else (), errors="ignore")
        how = "" if weights == "nominal" else f", {weights} weights"
        for name, statistic, place in _places(found, OF_ORDER.get(weights, (*COEFFICIENTS, "kappa"))):
            low, high = found[f"{statistic}_interval"].sel(place).to_numpy().tolist()
            value = float(found[statistic].sel(place))
            rows.append({"coefficient": name + how, "value": value, "low": low, "high": high})
    return rows


def _are_one(tree: xr.DataTree) -> bool:
    """Whether raters with one answer each are taken as one, so that coefficients may only ask which answers an item got."""
    return tree["posterior"].coords.get("rater", xr.DataArray([])).to_numpy().tolist() == [EVERYONE]


def _answers_in_turn(tree: xr.DataTree) -> xr.DataArray:
    """Return the answers to each item in a column each, as `evaluation.ratings_of`, shape (item, rater)."""
    constant = tree["constant_data"].to_dataset()
    item = constant["annotation_item"].to_numpy()
    order = np.argsort(item, kind="stable")
    turn = np.empty(len(item), int)
    turn[order] = np.arange(len(item)) - np.searchsorted(item[order], item[order])
    one_by_one = (
        tree["posterior"].to_dataset().drop_dims("rater").assign_coords(rater=np.arange(turn.max() + 1))
    )
    constant = constant.assign(annotation_rater=("annotation", turn))
    return evaluation.ratings_of(with_groups(tree, posterior=one_by_one, constant_data=constant))


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


def agreement_section(tree: xr.DataTree) -> Section:
    """Return the section on agreement beyond chance, with 90 % intervals over resampled items."""
    try:
        found = agreement_rows(tree, pairs=True, random_seed=1)
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
