"""Metrics of predictions: values with uncertainty from raters and items, and report sections."""

import warnings
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ... import evaluation
from ...evaluation import plots
from ...evaluation.uncertainty.questions import COMMANDS, OPEN
from ...posterior.matching import rounding_of
from ...posterior.plausibility import Plausibility, of_rankings
from ...posterior.schema import ALONE
from ..metric_names import MetricError, metric_named
from ..page import Row, Section, table_rows
from ..study import Study
from ..wording import percent, percent_with_interval, shown_interval, with_interval

FEW_CATEGORIES = 4

OF_RANKINGS = ("top-3-accuracy", "top-1-accuracy", "set-accuracy@2", "overlap@3", "average-overlap@3")
OF_LABELS = ("accuracy", "balanced-accuracy", "f1", "kappa", "mcc")
OF_PROBABILITIES = ("log-loss", "brier", "auc", "calibration-error")


def check_predictions(name: str, metric: evaluation.Metric, predicted: xr.DataArray) -> None:
    """Raise if a metric needs scores or probabilities and the predictions are ranks."""
    if "position" in predicted.dims and metric.response in ("scores", "probabilities"):
        scores = "probabilities" if metric.response == "probabilities" else "scores"
        sums = ", which sum to one for each item," * (scores == "probabilities")
        raise MetricError(
            f"{name} needs {scores} of all categories, and the predictions are ranks or single labels: give a column "
            f"'score' with {scores}{sums} in place of 'rank'"
        )


def default_metrics(tree: xr.DataTree, predicted: xr.DataArray) -> tuple[str, ...]:
    """Return the default metrics, the first for the comparison of classifiers; top-k only with more categories."""
    plausibility = tree["posterior"]["plausibility"]
    if "candidate" in plausibility.dims or of_rankings(tree):
        return tuple(name for name in OF_RANKINGS if not _is_certain(metric_named(name), tree))
    ranked = "category" in predicted.dims or predicted.sizes["position"] >= 3
    names: Sequence[str] = OF_LABELS
    if ranked and plausibility.sizes["category"] > FEW_CATEGORIES:
        names = (*names, "top-3-accuracy")
    if _are_probabilities(predicted, plausibility.sizes["category"]):
        names = (*names, *OF_PROBABILITIES)
    return tuple(names)


def _is_certain(metric: evaluation.Metric, tree: xr.DataTree | xr.DataArray) -> bool:
    """Return whether a metric of k best labels is 1 by construction, as k is not below the number of categories."""
    declared = Plausibility.of(tree).declared
    of_sets = metric.response == "labels" and metric.truth in ("label", "set")
    return declared is not None and of_sets and len(declared) <= metric.top


def _are_probabilities(predicted: xr.DataArray, n_categories: int) -> bool:
    """Return whether predictions are probabilities of all categories."""
    if predicted.sizes.get("category") != n_categories or predicted.dtype.kind != "f":
        return False
    values = predicted.transpose(..., "category").to_numpy()
    values = np.where(values == -np.inf, 0.0, values)
    return bool((values >= 0).all() and (abs(values.sum(axis=-1) - 1) <= rounding_of(values)).all())


SOURCES = {"both": "", "raters": "raters_", "items": "items_"}  # of uncertainty, and how their columns begin


def order_of(result: xr.Dataset) -> list[str]:
    """List the classifiers of an `evaluation.compare` result, best posterior mean first."""
    mean = result["mean"].sel(source="raters")
    sign = -1 if result.attrs["larger_is_better"] else 1
    order = np.argsort(sign * mean.to_numpy(), kind="stable")
    return [str(name) for name in result["classifier"].to_numpy()[order]]


def pair_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Rows for every metric and pair of classifiers, the one with the better mean first.

    `found` maps metrics to results of `evaluation.compare`. Keys: ``difference``; ``lower`` and ``upper``
    from raters and items together, ``raters_lower`` ... from either alone; ``probability_better`` likewise;
    ``mcse`` of the difference.
    """
    return [
        _pair(name, result, better, worse)
        for name, result in found.items()
        for better, worse in combinations(order_of(result), 2)
    ]


def _pair(name: str, result: xr.Dataset, better: str, worse: str) -> dict[str, Any]:
    own = result.sel(classifier=better, other=worse)
    row: dict[str, Any] = {"metric": name, "classifier": better, "other": worse}
    row["difference"] = float(own["difference"].sel(source="raters"))
    for source, start in SOURCES.items():
        row |= _ends(start, own["difference_interval"].sel(source=source))
    for source in SOURCES:
        end = "" if source == "both" else f"_{source}"
        row[f"probability_better{end}"] = float(own["probability_better"].sel(source=source))
    return row | {"mcse": float(own["difference_mcse"].sel(source="raters"))}


def _ends(start: str, ends: xr.DataArray) -> dict[str, Any]:
    """Both ends of an interval, as columns named lower and upper after the prefix `start`."""
    lower, upper = ends.to_numpy().tolist()
    return {f"{start}lower": lower, f"{start}upper": upper}


def shown_pairs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Display form of the rows of `pair_rows`."""
    several = len({row["metric"] for row in rows}) > 1
    shown = []
    for row in rows:
        own = {"metric": row["metric"]} if several else {}
        own |= {"classifier": row["classifier"], "against": row["other"], "difference": row["difference"]}
        own |= shown_interval(row) | {"is better with": percent(row["probability_better"])}
        alone = {source: row.get(f"probability_better_{source}") for source in ("raters", "items")}
        shown.append(own | {f"{source} alone": percent(p) for source, p in alone.items() if p is not None})
    return shown


def best_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Rows with the probability that each classifier is the best of all, by metric."""
    rows = []
    for name, result in found.items():
        own = result.sel(classifier=order_of(result), source="both")
        columns = {"metric": [name] * own.sizes["classifier"], "classifier": own["classifier"].astype(str)}
        rows += table_rows(columns | {n: own[n].astype(float) for n in ("probability_best", "mean_rank")})
    return rows


def optimism_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Rows with the optimism of point estimates of the truth, for each metric, estimate and classifier.

    `found` as in `pair_rows`; results without point estimates are left out. Keys: ``point``, the metric
    against the estimate; ``mean`` against the posterior; ``optimism``, positive where the estimate favours
    the classifier; its ``lower`` and ``upper`` from the uncertainty about the truth.
    """
    rows = []
    for name, result in found.items():
        sign = 1 if result.attrs["larger_is_better"] else -1
        for estimate in result["estimate"].to_numpy() if "point" in result else ():
            own = result.sel(classifier=order_of(result), source="raters", estimate=estimate)
            apart = sign * (own["point"] - own["interval"]).transpose("classifier", ...).to_numpy()
            columns: dict[str, Any] = {
                "metric": [name] * len(apart),
                "classifier": own["classifier"].astype(str),
            }
            columns["estimate"] = [str(estimate)] * len(apart)
            columns |= {column: own[column].astype(float) for column in ("point", "mean", "optimism")}
            rows += table_rows(columns | {"lower": apart.min(axis=1), "upper": apart.max(axis=1)})
    return rows


def comparison_sections(found: Mapping[str, xr.Dataset], headline: str, figure: Figure) -> list[Section]:
    """Sections with pairwise comparisons by `headline`, probabilities of being the best, and optimism of point estimates."""
    pairs = pair_rows(found)
    main = [row for row in pairs if row["metric"] == headline]
    better = difference_sentence(main[0])
    text = f"By {headline}. {better} All classifiers are scored on the same draws of the truth and the same items."
    best = best_rows(found)
    facts = {"headline": headline, "order": order_of(found[headline])}
    wins: dict[str, dict[str, Any]] = {}
    for row in best:
        own = wins.setdefault(row["classifier"], {"classifier": row["classifier"]})
        own[row["metric"]] = percent(row["probability_best"])
    shown = shown_pairs(main)
    sections = [Section("Comparison", text, [figure], pairs, "comparison", "comparison", facts, shown=shown)]
    text = (
        "The probability of being the best by each metric, from raters and items together; ties are shared."
    )
    shown, title = list(wins.values()), "Probability of being the best"
    sections.append(Section(title, text, (), best, "best", "comparison.best", shown=shown, part=True))
    if flattered := optimism_rows(found):
        sections.append(_optimism_section(flattered, headline))
    return sections


def difference_sentence(row: Mapping[str, Any]) -> str:
    """Sentence with the probability that the first classifier of a row of `pair_rows` is better."""
    difference = with_interval(row["difference"], row["lower"], row["upper"])
    return (
        f"{row['classifier']} is better than {row['other']} with probability {percent(row['probability_better'])}: the "
        f"difference is {difference}."
    )


def _optimism_section(rows: list[dict[str, Any]], headline: str) -> Section:
    """Section on the optimism of votes and other point estimates."""
    shown = [
        {"classifier": row["classifier"], "against": row["estimate"], "as if certain": row["point"]}
        | {"under uncertainty": row["mean"], "too good by": row["optimism"], **shown_interval(row)}
        for row in rows
        if row["metric"] == headline
    ]
    text = (
        f"By {headline}. A point estimate takes one answer for certain. Optimism is how much better a classifier looks "
        "against it than against the posterior; the interval is from the uncertainty about the truth."
    )
    title, key = "Optimism of point estimates", "comparison.optimism"
    return Section(title, text, (), rows, "optimism", key, shown=shown, part=True)


def metric_rows(found: Mapping[str, xr.Dataset]) -> list[dict[str, Any]]:
    """Rows for every metric, classifier and group.

    `found` maps metrics to results of `evaluation.metric_intervals` or `evaluation.compare`. Keys: ``mean``
    over the draws; ``lower`` and ``upper`` from raters and items together, ``raters_lower`` ... from either
    alone; ``sd_raters``, ``sd_items``, ``sd_both``; ``raters_share`` of the variance; Monte-Carlo errors of
    mean and ends; ``undefined``, the share of draws without a value; ``note``, if any row has one, on what its number is
    worth.
    """
    rows = [
        _row(name, str(classifier), group, own)
        for name, dataset in found.items()
        for classifier, by_group in _each(dataset, "classifier", ALONE)
        for group, own in _each(by_group, "group", None)
    ]
    noted = any(row["note"] for row in rows)
    return [row if noted else {k: v for k, v in row.items() if k != "note"} for row in rows]


def _each(dataset: xr.Dataset, dim: str, alone: object) -> list[tuple[object, xr.Dataset]]:
    """List (label, part) along a dim, or the whole dataset with the label `alone`."""
    if dim not in dataset.dims:
        return [(alone, dataset)]
    return [(dataset[dim].to_numpy()[i], dataset.isel({dim: i})) for i in range(dataset.sizes[dim])]


def _row(name: str, classifier: str, group: object, own: xr.Dataset) -> dict[str, Any]:
    raters, both = own.sel(source="raters"), own.sel(source="both")
    row: dict[str, Any] = {"metric": name, "classifier": classifier}
    if group is not None:
        row |= {"group": str(group), "share": float(own["share"])} | _ends("share_", own["share_interval"])
    row["mean"] = float(raters["mean"])
    for source, start in SOURCES.items():
        row |= _ends(start, own["interval"].sel(source=source))
    row |= {f"sd_{s}": float(own["sd"].sel(source=s)) for s in ("raters", "items", "both")}
    row |= {"raters_share": _share(row["sd_raters"], row["sd_items"]), "mcse": float(raters["mcse"])}
    row |= _ends("mcse_", both["interval_mcse"]) | {"undefined": float(raters["undefined"])}
    return row | {"note": str(own["note"].item())}


def note_on_all(found: Mapping[str, xr.Dataset]) -> str:
    """Return the note on the truth behind all metrics; "" if there is none."""
    return next((str(result.attrs["note"]) for result in found.values()), "")


def question_of_all(found: Mapping[str, xr.Dataset]) -> str:
    """Return the question that the metrics answer, which is one of the posterior and the predictions."""
    return next(str(result.attrs["question"]) for result in found.values())


def question_sentence(found: Mapping[str, xr.Dataset]) -> str:
    """Sentence on the question that the metrics answer, for a page."""
    question = question_of_all(found)
    said = question if question.startswith("Of ") else f"The metrics are {question}"
    for python, command in COMMANDS.items():
        said = said.replace(python, f"{python}, or {command}")
    return f"{said}."


def _share(raters: float, items: float) -> float | None:
    """Share of the variance that is due to the raters; None if undefined."""
    total = raters**2 + items**2
    return raters**2 / total if np.isfinite(total) and total > 0 else None


def shown_metrics(rows: list[dict[str, Any]]) -> list[Row]:
    """Display form of the rows of `metric_rows`."""
    return [_shown(row) for row in rows]


def _shown(row: Row) -> dict[str, Any]:
    shown = {name: row[name] for name in ("metric", "classifier", "group") if name in row}
    if "share" in row:
        shown["share of items"] = percent_with_interval(row["share"], row["share_lower"], row["share_upper"])
    alone = ("± raters", "± items", "raters' part")
    if not np.isfinite(row["mean"]):
        missing = "infinite" if np.isinf(row["mean"]) else "not defined"
        return shown | dict.fromkeys(("mean", "90 % interval"), missing) | dict.fromkeys(alone)
    shown |= {"mean": row["mean"], **shown_interval(row)}
    shown |= {"note": row["note"]} if "note" in row else {}
    part = "" if row["raters_share"] is None else f"{100 * row['raters_share']:.0f} %"
    return shown | dict(zip(alone, (row["sd_raters"], row["sd_items"], part), strict=True))


def metrics_section(
    found: Mapping[str, xr.Dataset],
    directions: Mapping[str, bool],
    figure: Figure,
    note: str,
    question: str = "",
) -> Section:
    """Section with the metrics of all classifiers; `directions`: whether larger is better, by metric; `note` ends the text.

    `question` is the sentence on the question that they answer, by default theirs.
    """
    rows = metric_rows(found)
    smaller = [name for name, larger in directions.items() if not larger]
    way = f" Smaller is better for {', '.join(smaller)}, larger for the others." if smaller else ""
    text = (
        f"{question or question_sentence(found)} "
        "Each metric is computed against the truth of every posterior draw. The 90 % interval covers both the uncertainty about "
        "the truth that the raters leave and the sampling of the items. ± is the standard deviation from either alone: more "
        f"raters make the first smaller, more items the second; the last column is the raters' part of the variance.{way}{note}"
    )
    facts = {"probability": 0.9, "larger_is_better": dict(directions), "question": question_of_all(found)}
    return Section("Metrics", text, [figure], rows, "metrics", "metrics", facts, shown=shown_metrics(rows))


def scored(
    tree: xr.DataTree,
    predicted: xr.DataArray,
    metrics: Sequence[str],
    seed: int,
    *,
    points: Mapping[str, xr.DataArray] | None = None,
    by: Mapping[object, object] | xr.DataArray | None = None,
    clusters: xr.DataArray | None = None,
) -> dict[str, xr.Dataset]:
    """Score classifiers by every metric: several by `compare`, with `points`; one, or with groups `by`, by `metric_intervals`."""
    found: dict[str, xr.Dataset] = {}
    for name in metrics:
        metric = metric_named(name)
        check_predictions(name, metric, predicted)
        if _is_certain(metric, tree):
            warnings.warn(
                f"{name} says nothing here: there are no more than {metric.top} categories, and whoever ranks all of them "
                "reaches 1; take accuracy",
                UserWarning,
                stacklevel=2,
            )
        options: dict[str, Any] = {"clusters": clusters, "random_seed": seed, "progressbar": False}
        if predicted.sizes.get("classifier", 1) < 2 or by is not None:
            found[name] = evaluation.metric_intervals(metric, tree, predicted, by=by, **options)
            continue
        of_labels = points if metric.response == "labels" else None
        found[name] = evaluation.compare(metric, tree, predicted, points=of_labels, **options)
    return found


DRAWN = 2  # metrics plotted side by side


def found_metrics(study: Study) -> dict[str, xr.Dataset]:
    """Score the predictions by every metric, as `scored`; empty without predictions."""
    if study.predicted is None:
        return {}
    points = study.points if study.predicted.sizes.get("classifier", 1) > 1 else {}
    return scored(study.tree, study.predicted, study.metrics, study.seed, points=points)


def metric_sections(
    predicted: xr.DataArray, found: dict[str, xr.Dataset], further: str = "", *, withheld: bool = False
) -> list[Section]:
    """Return the section on metrics and, for several classifiers, their comparison by the first metric.

    `further` is the title of a section that answers the other question, "" if there is none; `withheld` leaves the comparison
    out, where raters saw the predictions of a classifier.
    """
    directions = {name: metric_named(name).larger_is_better for name in found}
    drawn = dict(list(found.items())[:DRAWN])
    forest = plots.metric_intervals(drawn)
    note = f" Note: {predicted.attrs['note']}." if "note" in predicted.attrs else ""
    note += f" {gold}" if (gold := note_on_all(found)) else ""
    question = ""
    if further:
        elsewhere = f"{further[0].lower()}{further[1:]} they are in the section of that name."
        if question_of_all(found).startswith(f"{OPEN};"):  # whose other question is that section's
            question = f"The metrics are {OPEN}; {elsewhere}"
        else:
            question = f"{question_sentence(found)} {elsewhere[0].upper()}{elsewhere[1:]}"
    sections = [metrics_section(found, directions, forest, note, question)]
    if predicted.sizes.get("classifier", 1) > 1 and not withheld:
        name = next(iter(found))
        duels = plots.comparison(found[name], label=name)
        sections += comparison_sections(found, name, duels)
    return sections
