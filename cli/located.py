"""Report sections on scores: locations of the items, and use of the scale by raters and groups."""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr

from ..evaluation import plots
from ..models.data.scores import Scores
from ..reports import Section
from ..reports.words import few, percent, with_interval
from .scales import mean_scores

__all__ = ["interval_columns", "location_section", "rater_sections", "scale_rows"]

SAMPLE = ("chain", "draw")
TAILS = (0.05, 0.95)
GROUPS = "group_of_raters"
SHOWN = 20
MOST_DRAWN = 40  # rows of a forest


def location_section(tree: xr.DataTree, scores: Scores) -> Section:
    """Return the section on the locations of the items, the highest first."""
    posterior = tree["posterior"].to_dataset()
    given = np.bincount(scores.annotation_item, scores.count, len(scores.items)).astype(int)
    mean = mean_scores(scores)
    columns = interval_columns(posterior["location"], "location")
    if "scale" in posterior:
        columns["scale"] = posterior["scale"].mean(SAMPLE).to_numpy()
    rows = [
        {
            "item": str(scores.items[i]),
            "scores": int(given[i]),
            "mean score": float(mean[i]) if given[i] else None,
            **{name: float(values[i]) for name, values in columns.items()},
        }
        for i in np.argsort(-columns["location"], kind="stable")
    ]
    text = "The location of an item is the mean of all scores that it could be given. Intervals hold 90 %."
    if "scale" in posterior:
        text += (
            " It lies between the mean of those that it was given and what is usual: the fewer scores, the closer to what is "
            "usual. The scale is the standard deviation of the scores of an item: how far raters differ about it."
        )
    else:
        text += " Biases of those who scored it are taken out, and it is drawn to what is usual: the fewer scores, the closer."
    if len(rows) > MOST_DRAWN:
        text += " The picture has the highest and the lowest."
    figure = plots.rater_forest(posterior["location"].rename(item="rater"), label="location")
    return Section("Locations", text, [figure], rows, "locations", key="locations", most=SHOWN)


def rater_sections(tree: xr.DataTree, scores: Scores) -> list[Section]:
    """Return the sections on raters and groups of raters; none if the model has no raters."""
    posterior = tree["posterior"].to_dataset()
    if "rater_bias" not in posterior:
        return []
    given = np.bincount(scores.annotation_rater, scores.count, len(scores.raters)).astype(int)
    variables = {"rater_bias": "bias", "rater_scale": "scale"}
    rows = scale_rows(posterior, variables, {"scores": given}, scores.rater_attributes)
    highest, lowest = (f"{row['rater']}, {row['bias']:+.2f}" for row in (rows[0], rows[-1]))
    text = (
        "The bias of a rater is how much higher than the population of raters it scores the same item; the scale is the standard "
        f"deviation of its scores about that. The highest bias has {highest}; the lowest {lowest}. Intervals hold 90 %."
    )
    figures = [
        plots.rater_forest(posterior[f"rater_{name}"], label=f"{name} of the rater")
        for name in ("bias", "scale")
    ]
    sections = [Section("Raters", text, figures, rows, "raters", key="raters")]
    return [*sections, _group_section(posterior)] if "group_bias" in posterior else sections


def scale_rows(
    posterior: xr.Dataset,
    variables: dict[str, str],
    given: dict[str, np.ndarray],
    attributes: Mapping[str, np.ndarray],
) -> list[dict[str, Any]]:
    """Return a table row per rater, the largest of the first variable first.

    `variables` maps a variable to its column name; `given` holds counts of annotations by column name,
    (rater,); `attributes` further attributes, prefixed by "attribute" if they collide with another column.
    """
    columns: dict[str, np.ndarray] = {}
    for place, (variable, name) in enumerate(variables.items()):
        columns |= interval_columns(posterior[variable], name, f"{name} " if place else "")
    taken = {"rater", *given, *columns}
    known = {f"attribute {n}" if n in taken else n: values for n, values in attributes.items()}
    raters = posterior["rater"].to_numpy()
    first = next(iter(variables.values()))
    return [
        {
            "rater": str(raters[k]),
            **{name: values[k].item() for name, values in (given | known).items()},
            **{name: float(values[k]) for name, values in columns.items()},
        }
        for k in np.argsort(-columns[first], kind="stable")
    ]


def interval_columns(draws: xr.DataArray, name: str, whose: str = "") -> dict[str, np.ndarray]:
    """Return posterior means and 5 % and 95 % quantiles, from draws with one dim besides chain and draw.

    `whose` is a prefix of the columns of the ends, to keep the names in one table distinct.
    """
    low, high = draws.quantile(TAILS, SAMPLE).to_numpy()
    return {name: draws.mean(SAMPLE).to_numpy(), f"{whose}5 %": low, f"{whose}95 %": high}


def _group_section(posterior: xr.Dataset) -> Section:
    """Return the section on groups of raters: bias, scale and differences."""
    names = [str(name) for name in posterior[GROUPS].to_numpy()]
    bias = posterior["group_bias"].transpose(*SAMPLE, GROUPS)
    usual = posterior["usual_variance"].transpose(*SAMPLE, GROUPS) ** 0.5
    columns = interval_columns(bias, "bias") | interval_columns(
        usual, "usual scale", "usual scale "
    )
    rows = [
        {"group": name, **{key: float(values[g]) for key, values in columns.items()}}
        for g, name in enumerate(names)
    ]
    pairs = [
        _pair(names[a], names[b], bias.isel({GROUPS: a}) - bias.isel({GROUPS: b}))
        for a, b in combinations(range(len(names)), 2)
    ]
    figure = plots.rater_forest(bias.rename({GROUPS: "rater"}), label="bias of the group")
    text = (
        "How much higher than the others each group scores the same items, all groups with the same weight, and the usual "
        f"standard deviation of the scores of a rater of the group. {_pairs_in_words(pairs)}"
    )
    return Section(
        "Groups of raters",
        text,
        [figure],
        rows,
        "rater_groups",
        key="rater_groups",
        facts={"differences": pairs},
    )


def _pair(first: str, second: str, draws: xr.DataArray) -> dict[str, Any]:
    """Return the difference in bias of two groups, the higher first."""
    if float(draws.mean()) < 0:
        first, second, draws = second, first, -draws
    low, high = draws.quantile(TAILS).to_numpy().tolist()
    return {
        "group": first,
        "other": second,
        "difference": float(draws.mean()),
        "lower": low,
        "upper": high,
        "probability_higher": float((draws > 0).mean()),
    }


def _pairs_in_words(pairs: Sequence[dict[str, Any]]) -> str:
    said = []
    for row in sorted(pairs, key=lambda pair: -pair["difference"]):
        by = with_interval(row["difference"], row["lower"], row["upper"], 2)
        sure = percent(row["probability_higher"])
        said.append(
            f"Group {row['group']} scores higher than {row['other']} by {by}, with probability {sure}"
        )
    return f"{few(said, 3, '; ')}."
