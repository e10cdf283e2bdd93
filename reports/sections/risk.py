"""Risk sections of a report: certainty of the risk group of each item, and metrics within risk groups."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ... import evaluation
from ...evaluation import plots
from ..metric_names import metric_named
from ..page import Section, mean_with_ends, table_rows
from ..study import Study
from ..wording import share_interval, share_with_interval, with_interval
from .metrics import metric_rows, question_sentence, scored, shown_metrics

NEARLY = 0.99
ITEMS_SHOWN = 10


def risk_sections(
    certainty: xr.DataArray,
    masses: xr.DataArray,
    expected: xr.DataArray | None,
    within: Mapping[str, xr.Dataset],
    figures: Sequence[Figure],
) -> list[Section]:
    """Sections with the risk of the items, by plausibilities summed over groups (`masses`), and metrics `within` groups."""
    rows = _item_rows(certainty, masses, expected)
    sure = certainty.to_numpy()
    below = int((sure < NEARLY).sum())
    lower, upper = share_interval(below, len(sure))
    groups = [str(group) for group in masses["category"].to_numpy()]
    facts: dict[str, Any] = {"groups": groups, "below_99": below / len(sure)}
    facts |= {"below_99_lower": lower, "below_99_upper": upper}
    text = (
        f"The most probable group of an item is that of its top-1 label in most posterior draws; the certainty is the share of "
        f"those draws. It is below .99 for {share_with_interval(below, len(sure))} of the items. The columns named after groups "
        "are mean plausibilities, summed over a group's labels: another group may have the largest, of several labels. "
    )
    if expected is not None:
        facts["expected"] = own = mean_with_ends(expected.mean("item").to_numpy())
        mean = with_interval(own["mean"], own["lower"], own["upper"])
        text += f"The expected value, weighted over all labels, is {mean} on average over these items. "
    text += "The least certain items come first."
    shown = [_shown(row) for row in rows]
    main = Section("Risk", text, figures[:1], rows, "risk", "risk", facts, shown=shown, most=ITEMS_SHOWN)
    return [main, _within_section(within, figures[1:])] if within else [main]


def _item_rows(
    certainty: xr.DataArray, masses: xr.DataArray, expected: xr.DataArray | None
) -> list[dict[str, Any]]:
    """Rows for each item, the least certain first."""
    mean = masses.transpose("item", "category", ...).to_numpy()
    mean = mean.reshape(*mean.shape[:2], -1).mean(axis=2)
    names = masses["category"].to_numpy().astype(str)
    columns: dict[str, Any] = {
        "item": certainty["item"].to_numpy().astype(str),
        "group": certainty["group"],
        "certainty": certainty,
        **{f"plausibility_{name}": mean[:, g] for g, name in enumerate(names.tolist())},
    }
    if expected is not None:
        draws = expected.transpose(..., "item").to_numpy().reshape(-1, expected.sizes["item"])
        lower, upper = np.quantile(draws, [0.05, 0.95], axis=0)
        columns |= {"expected": draws.mean(axis=0), "lower": lower, "upper": upper}
    return table_rows(columns, np.argsort(certainty.to_numpy(), kind="stable"))


def _shown(row: Mapping[str, Any]) -> dict[str, Any]:
    shown = {
        "item": row["item"],
        "most probable": row["group"],
        "certainty": row["certainty"],
        **{n.removeprefix("plausibility_"): v for n, v in row.items() if n.startswith("plausi")},
    }
    if "expected" in row:
        shown["expected value (90 %)"] = with_interval(row["expected"], row["lower"], row["upper"], 2)
    return shown


def _within_section(within: Mapping[str, xr.Dataset], figures: Sequence[Figure]) -> Section:
    """Section with metrics within risk groups; group membership varies over the draws."""
    rows = metric_rows(within)
    headline = next(iter(within))
    text = (
        f"By {headline}; the other metrics are in the table. Group membership is uncertain too: it varies over the "
        f"posterior draws, and the intervals include that. {question_sentence(within)}"
    )
    shown = shown_metrics([row for row in rows if row["metric"] == headline])
    title, file = "Metrics within groups", "metrics_within_groups"
    return Section(title, text, figures, rows, file, "risk.metrics", shown=shown, part=True)


MOST_METRICS = 2  # each group costs as much as all items


def risk_parts(study: Study) -> list[Section]:
    """Return the section on certainty of the groups and metrics within them; none without groups."""
    if study.groups is None:
        return []
    tree, groups = study.tree, study.groups.group
    certainty = evaluation.annotation_certainty(tree, groups=groups, random_seed=study.seed)
    masses = evaluation.coarsen(tree, groups)["posterior"].to_dataset()["plausibility"]
    values = study.groups.value
    expected = None if values is None else evaluation.expected_value(tree, values)
    within: dict[str, xr.Dataset] = {}
    if study.predicted is not None:
        # a metric of all items jointly takes as long for every group as for all items
        by_item = [name for name in study.metrics if metric_named(name).over == "item"]
        names = by_item[:MOST_METRICS] or study.metrics[:1]
        within = scored(tree, study.predicted, names, study.seed, by=groups)
    figures = [_risk_figure(certainty, expected)]
    if within:
        name, first = next(iter(within.items()))
        figures.append(plots.subgroups(first, label=name))
    return risk_sections(certainty, masses, expected, within, figures)


def _risk_figure(certainty: xr.DataArray, expected: xr.DataArray | None) -> Figure:
    if expected is not None:
        return plots.risk(certainty, expected)
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    plots.sorted_certainty(certainty, ax=figure.add_subplot()).set_ylabel("certainty of the group")
    return figure
