"""Report sections on scores: locations of the items, and use of the scale by raters and groups."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ..._messages import way
from ...evaluation import plots
from ...evaluation.certainty.scale_ends import HALF, ScaleEnds, scale_ends
from ...models.data.scores import MANY_LEVELS, Scores
from ...posterior.schema import SAMPLE
from ..page import Section, interval_columns, table_rows
from ..wording import first_names, percent, with_interval
from .certainty import best_guess_scores, certainty_in_words
from .metrics import default_metrics

ITEMS_SHOWN = 10


def cut_sections(
    tree: xr.DataTree, cut: xr.DataTree, certainties: Sequence[xr.Dataset], seed: int
) -> list[Section]:
    """Return the sections on the sides of each threshold, from `threshold_certainty`; the first, of the tree `cut`, in full."""
    found = {f"{own.attrs['threshold']:.12g}": own for own in certainties}
    rows = {name: _rows(own) for name, own in found.items()}
    first, *others = found
    sure = found[first]["annotation_certainty"].to_numpy()
    words, facts = certainty_in_words(best_guess_scores(cut, seed), sure, what="side")
    text = (
        f"Above {first}, or at most {first}? Two quantities, not to be confused. Annotation certainty is the posterior "
        "probability of the more probable side: it goes to one with more scores. Threshold probability is the probability that "
        "the next score is on its more probable side: raters who differ go on to differ, and it stays below one. "
        f"{_means(found[first])} {words} The least certain items come first.{_on_the_threshold(tree, found[first])}"
    )
    named = {f"threshold {name}": own for name, own in found.items()}
    curve = Figure(figsize=(6.4, 4.0), layout="constrained")
    plots.threshold_certainty(named if others else found[first], ax=curve.add_subplot())
    clouds = plots.threshold_distance(named if others else found[first])
    every = [{"threshold": name, **row} for name, own in rows.items() for row in own]
    facts |= {"thresholds": [_summary(own) for own in found.values()]}
    given = {"facts": facts, "shown": rows[first], "most": ITEMS_SHOWN}
    title, name = "Certainty of the side", "certainty"
    sections = [Section(title, text, [curve, clouds], every, name, name, **given)]
    # the numbers of further thresholds are in the table and facts of the first
    for name in others:
        text, more = _means(found[name]), rows[name]
        sections.append(Section(f"Threshold {name}", text, shown=more, part=True, most=ITEMS_SHOWN))
    return sections


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
    means = {n: float(found[n].mean()) for n in ("annotation_certainty", "threshold_probability")}
    return {"threshold": found.attrs["threshold"], "items_above": int((found["above"] > 0.5).sum()), **means}


def _rows(found: xr.Dataset) -> list[dict[str, Any]]:
    """Return a table row per item, the least certain first."""
    names = {
        "location": "location",
        "above": "P(above)",
        "annotation_certainty": "annotation certainty",
        "threshold_probability": "threshold probability",
    }
    columns = {name: found[variable] for variable, name in names.items()}
    order = np.lexsort((found["threshold_probability"], found["annotation_certainty"]))
    return table_rows({"item": found["item"].to_numpy().astype(str), **columns}, order)


def mean_scores(scores: Scores) -> np.ndarray:
    """Return the mean score of every item, shape (item,), NaN for items without scores."""
    n = len(scores.items)
    total = np.bincount(scores.annotation_item, scores.score * scores.count, n)
    given = np.bincount(scores.annotation_item, scores.count, n)
    return np.divide(total, given, out=np.full(n, np.nan), where=given > 0)


def sides_of(threshold: float) -> list[str]:
    """Return the names of the two sides of a threshold, the lower first."""
    return [f"at most {threshold:g}", f"above {threshold:g}"]


def metrics_of_sides(tree: xr.DataTree, predicted: xr.DataArray) -> tuple[str, ...]:
    """Return the default metrics of a report; AUC also for scores that are not probabilities."""
    names = default_metrics(tree, predicted)
    return names if "auc" in names or "category" not in predicted.dims else (*names, "auc")


def mean_score_plausibility(scores: Scores, threshold: float) -> xr.DataArray:
    """Return the plausibility (item, category): 1 for the side of the mean score, 0 for both sides of items without scores."""
    mean = mean_scores(scores)
    values = np.stack([mean <= threshold, mean > threshold], axis=1).astype(float)
    return xr.DataArray(values, {"item": scores.items, "category": sides_of(threshold)}, ("item", "category"))


TAILS = (0.05, 0.95)
GROUPS = "group_of_raters"
SHOWN = 20
MOST_DRAWN = 40  # rows of a forest
MANY_OUTSIDE = 0.05  # share of the items with a location that may be beyond a bound


def misfit_in_words(found: ScaleEnds | None) -> str:
    """Sentences on scores and locations at the bounds that contradict a normal model, with the remedy; "" if none do."""
    if found is None or not found.misfits:
        return ""
    low, high = (f"{end:.12g}" for end in found.bounds)
    said = []
    if found.share >= HALF:
        said.append(
            f"{100 * found.share:.0f} % of the scores are {found.fullest:.12g}, a bound: their median is the bound, and a normal "
            "law has half of its scores beyond its median"
        )
    if found.outside:
        said.append(
            f"the 90 % interval of the mean score leaves the bounds {low} to {high} for {len(found.outside):,} of "
            f"{found.n_items:,} items ({first_names(found.outside, 3)})"
        )
    levels = ",".join(f"{level:.12g}" for level in found.levels)
    if len(found.levels) > MANY_LEVELS:
        levels, rounded = (
            "LOWEST,...,HIGHEST",
            f" (round the {len(found.levels):,} distinct scores to fewer than {MANY_LEVELS})",
        )
    else:
        rounded = ""
    return f"MISFIT: {'; '.join(said)}. Take the scores as ordered categories{rounded}: " + way(
        f"--kind labels --model ordinal --categories {levels} --column label=score.",
        f"analyse(table, 'labels', model='ordinal', categories=[{levels}], columns={{'label': 'score'}}).",
    )


def location_sections(tree: xr.DataTree, scores: Scores) -> list[Section]:
    """Return the section on the locations of the items, after one on misfit at the bounds if there is some."""
    found = scale_ends(tree)
    section = _location_section(tree, scores)
    if found is None or not (said := misfit_in_words(found)):
        return [section]
    alarm = found.share >= HALF or len(found.outside) > MANY_OUTSIDE * found.n_items
    facts = {"share_at_bound": found.share, "bound": found.fullest, "items_outside": len(found.outside)}
    return [Section("Misfit at the bounds", said, alarm=alarm), replace(section, facts=facts)]


def _location_section(tree: xr.DataTree, scores: Scores) -> Section:
    """Return the section on the locations of the items, the highest first."""
    posterior = tree["posterior"].to_dataset()
    given = np.bincount(scores.annotation_item, scores.count, len(scores.items)).astype(int)
    mean = mean_scores(scores).astype(object)
    mean[given == 0] = None
    columns = {
        "item": scores.items.astype(str),
        "scores": given,
        "mean score": mean,
        **interval_columns(posterior["location"], "location"),
    }
    if "scale" in posterior:
        columns["scale"] = posterior["scale"].mean(SAMPLE).to_numpy()
    rows = table_rows(columns, np.argsort(-columns["location"], kind="stable"))
    text = "The location of an item is the mean of all scores that it could be given. Intervals hold 90 %."
    if "scale" in posterior:
        text += (
            " It lies between the mean of those that it was given and what is usual: the fewer scores, the closer to what is "
            "usual. The scale is the standard deviation of the scores of an item: how far raters differ about it."
        )
    else:
        text += " Biases of its raters are subtracted, and it is shrunk to the mean of the items: the fewer scores, the more."
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
    sections = [Section("Raters", text, scale_figures(posterior, variables), rows, "raters", key="raters")]
    return [*sections, _group_section(posterior)] if "group_bias" in posterior else sections


def scale_rows(
    posterior: xr.Dataset,
    variables: dict[str, str],
    given: dict[str, np.ndarray],
    attributes: Mapping[str, np.ndarray],
) -> list[dict[str, Any]]:
    """Return a table row per rater, the largest of the first of `variables` first; attributes that clash get a prefix."""
    columns: dict[str, np.ndarray] = {}
    for place, (variable, name) in enumerate(variables.items()):
        columns |= interval_columns(posterior[variable], name, f"{name} " if place else "")
    taken = {"rater", *given, *columns}
    known = {f"attribute {n}" if n in taken else n: values for n, values in attributes.items()}
    order = np.argsort(-columns[next(iter(variables.values()))], kind="stable")
    return table_rows(
        {"rater": posterior["rater"].to_numpy().astype(str), **given, **known, **columns}, order
    )


def scale_figures(posterior: xr.Dataset, variables: dict[str, str]) -> list[Figure]:
    """Return a forest of the raters for each of `variables`, which are named."""
    return [
        plots.rater_forest(posterior[own], label=f"{name} of the rater") for own, name in variables.items()
    ]


def _group_section(posterior: xr.Dataset) -> Section:
    """Return the section on groups of raters: bias, scale and differences."""
    names = [str(name) for name in posterior[GROUPS].to_numpy()]
    bias = posterior["group_bias"].transpose(*SAMPLE, GROUPS)
    usual = posterior["usual_variance"].transpose(*SAMPLE, GROUPS) ** 0.5
    columns = interval_columns(bias, "bias") | interval_columns(usual, "usual scale", "usual scale ")
    rows = table_rows({"group": names, **columns})
    pairs = [
        _pair(names[a], names[b], bias.isel({GROUPS: a}) - bias.isel({GROUPS: b}))
        for a, b in combinations(range(len(names)), 2)
    ]
    figure = plots.rater_forest(bias.rename({GROUPS: "rater"}), label="bias of the group")
    text = (
        "How much higher than the others each group scores the same items, all groups with the same weight, and the usual "
        f"standard deviation of the scores of a rater of the group. {_pairs_in_words(pairs)}"
    )
    facts, key = {"differences": pairs}, "rater_groups"
    return Section("Groups of raters", text, [figure], rows, key, key, facts)


def _pair(first: str, second: str, draws: xr.DataArray) -> dict[str, Any]:
    """Return the difference in bias of two groups, the higher first."""
    if float(draws.mean()) < 0:
        first, second, draws = second, first, -draws
    low, high = draws.quantile(TAILS).to_numpy().tolist()
    row = {"group": first, "other": second, "difference": float(draws.mean()), "lower": low, "upper": high}
    return row | {"probability_higher": float((draws > 0).mean())}


def _pairs_in_words(pairs: Sequence[dict[str, Any]]) -> str:
    said = []
    for row in sorted(pairs, key=lambda pair: -pair["difference"]):
        by = with_interval(row["difference"], row["lower"], row["upper"], 2)
        higher = f"scores higher than {row['other']} by {by}, with probability {percent(row['probability_higher'])}"
        said.append(f"Group {row['group']} {higher}")
    return f"{first_names(said, 3, '; ')}."
