"""Report section on the worth of a rater: the number of typical raters with the same information."""

from typing import Any

import numpy as np
import xarray as xr

from .. import evaluation
from ..evaluation import plots
from ..reports import Section
from ..reports.words import few, interval

__all__ = ["worth_section"]

SAMPLE = ("chain", "draw")
GROUPS = "group_of_raters"
TAIL = 0.05
HARD_ITEMS = ("glad", "logistic_random_effects", "ordinal")  # models with difficulty of items


def worth_section(tree: xr.DataTree, group: str | None) -> Section:
    """Return the section on the worth of each rater in typical raters, and of each group of raters.

    `group` is the attribute that defines groups; typical is then a rater of the largest group.
    """
    reference, of_group = None, ""
    if group is not None:
        names, sizes = np.unique(tree["posterior"][group].to_numpy(), return_counts=True)
        reference = names[sizes.argmax()].item()
        of_group = f" of the group {reference}"
    found = evaluation.rater_worth(tree, group, reference)
    rows = _rows(found, "worth", "censored", "rater")
    text = (
        f"One answer of a judge is worth as many answers of typical raters{of_group}, whose names are not told, as have the same "
        "information about the truth. Accuracy counts only what changes the best guess: of two answers that contradict each "
        f"other the second changes none. The largest panel has {found.sizes['answers'] - 1} raters. Intervals hold 90 %."
    )
    if tree.attrs.get("model") in HARD_ITEMS:
        text += (
            " The matrices of this model are averages over the items: that raters fail together on the hard ones is left out, "
            "which makes panels look better, and a judge worth less of one, than they are."
        )
    figure = plots.rater_worth(found, backend="matplotlib").figure
    facts: dict[str, Any] = {"group": group, "reference": reference}
    if group is not None:
        groups = _rows(found, "group_worth", "group_censored", GROUPS)
        facts["groups"] = groups
        text += f" On average over its raters, {few([_in_words(row) for row in groups], 6, '; ')}."
        kinds = found[group].to_numpy().astype(str)
        of_rater = dict(zip(found["rater"].to_numpy().astype(str), kinds, strict=True))
        rows = [{"rater": row["rater"], group: str(of_rater[row["rater"]]), **row} for row in rows]
    return Section(
        "What a judge is worth",
        text,
        [figure],
        rows,
        "worth",
        key="worth",
        facts=facts,
        shown=[_shown(row) for row in rows],
    )


def _rows(found: xr.Dataset, worth: str, censored: str, dim: str) -> list[dict[str, Any]]:
    """Return a table row per rater or group, the largest worth first."""
    columns: dict[str, np.ndarray] = {}
    for measure in found["measure"].to_numpy().tolist():
        draws = found[worth].sel(measure=measure)
        columns[measure] = draws.median(SAMPLE).to_numpy()
        ends = draws.quantile([TAIL, 1 - TAIL], SAMPLE).to_numpy()
        columns[f"{measure}_lower"], columns[f"{measure}_upper"] = ends
        beyond = found[censored].sel(measure=measure).mean(SAMPLE)
        columns[f"{measure}_beyond"] = beyond.to_numpy()
    names = found[dim].to_numpy()
    name = "group" if dim == GROUPS else dim
    order = np.argsort(-columns["information"], kind="stable")
    return [
        {name: str(names[i]), **{key: float(values[i]) for key, values in columns.items()}}
        for i in order
    ]


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of the report: worth by information and by accuracy, each with its interval."""
    own = {name: value for name, value in row.items() if isinstance(value, str)}
    for measure in ("information", "accuracy"):
        middle, ends = _figures(row, measure)
        own |= {f"by {measure}": middle, "90 % interval" + " " * (measure == "accuracy"): ends}
    return own


def _figures(row: dict[str, Any], measure: str) -> tuple[str, str]:
    """Return median and interval as text, with "more than" if beyond the largest panel."""
    beyond = row[f"{measure}_beyond"]
    middle = ("more than " if beyond >= 0.5 else "") + f"{row[measure]:.2f}"
    ends = interval(row[f"{measure}_lower"], row[f"{measure}_upper"], 2)
    return middle, ends.replace("to ", "to more than ") if beyond >= TAIL else ends


def _in_words(row: dict[str, Any]) -> str:
    middle, ends = _figures(row, "information")
    return f"{row['group']} is worth {middle} ({ends})"
