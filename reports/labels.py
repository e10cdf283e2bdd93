"""Report sections on labels: certainty of the true categories, and quality of the raters."""

from collections.abc import Mapping
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .. import evaluation
from ..evaluation import plots
from ..models import Labels
from . import Section
from .certainty import certainty_in_words
from .scores import interval_columns, scale_rows
from .wording import few, interval

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
        {name: str(names[i]), **{key: float(values[i]) for key, values in columns.items()}} for i in order
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


# --- Report sections on labels: certainty of the true categories, and quality of the raters ---

FEW_RATERS = 8  # up to which matrices and pairs of raters fit on a page

RESAMPLES = 200

OF_ITEMS = {"expected_difficulty": "difficulty", "expected_location": "location"}

OF_RATERS = {"competence": "competence", "ability": "ability"}


def truth_sections(tree: xr.DataTree, data: Labels, seed: int = 1, group: str | None = None) -> list[Section]:
    """Return the sections on the certainty of the true categories and, if the model has them, on the raters.

    `seed` is for the weights of the items; `group` is the rater attribute that defines groups.
    """
    truth = evaluation.truth_certainty(tree)
    certainty, labels = (truth[name].to_numpy() for name in ("certainty", "label"))
    answers = data.counts.sum(axis=1)
    further = _means(tree["posterior"].to_dataset(), OF_ITEMS, "item")
    rows = [
        {
            "item": str(data.items[i]),
            "answers": int(answers[i]),
            "most probable": str(labels[i]),
            "certainty": float(certainty[i]),
            **{name: float(values[i]) for name, values in further.items()},
        }
        for i in np.argsort(certainty, kind="stable")
    ]
    words, facts = certainty_in_words(tree, certainty, seed)
    text = (
        "The certainty of an item is the posterior probability of its most probable true category. "
        f"{words} The least certain items come first."
    )
    figure = Figure(figsize=(10, 3.4), layout="constrained")
    left, right = figure.subplots(1, 2)
    plots.sorted_certainty(truth["certainty"], ax=left)
    left.set_ylabel("certainty")
    plots.certainty_histogram(truth["certainty"], ax=right)
    sections = [
        Section("Certainty", text, [figure], rows, "certainty", key="certainty", facts=facts, most=10),
        _prevalence_section(tree),
    ]
    return [*sections, *_rater_sections(tree, data, group)]


def _rater_sections(tree: xr.DataTree, data: Labels, group: str | None) -> list[Section]:
    """Return the sections on raters, if the model has them, and on the thresholds of ordered labels."""
    posterior = tree["posterior"].to_dataset()
    sections = [_thresholds_section(posterior)] if "threshold" in posterior else []
    if "rater" not in posterior.dims:
        return sections
    if "confusion" not in posterior:
        sections.append(_shifts_section(posterior, data))
    else:
        sections.append(_raters_section(tree))
        if len(data.raters) > 1:
            sections.append(worth_section(tree, group))
    if 1 < len(data.raters) <= FEW_RATERS and data.identified:
        sections.append(_agreement_section(tree))
    return sections


def _means(posterior: xr.Dataset, names: Mapping[str, str], dim: str) -> dict[str, np.ndarray]:
    """Return posterior means by display name, of variables that exist with this dim only."""
    return {
        name: posterior[variable].mean(SAMPLE).to_numpy()
        for variable, name in names.items()
        if variable in posterior and posterior[variable].dims == (*SAMPLE, dim)
    }


def _thresholds_section(posterior: xr.Dataset) -> Section:
    """Return the section on the thresholds between ordered labels."""
    threshold = posterior["threshold"]
    columns = interval_columns(threshold, "threshold")
    rows = [
        {"between": str(name), **{key: float(values[i]) for key, values in columns.items()}}
        for i, name in enumerate(threshold[threshold.dims[-1]].to_numpy())
    ]
    text = (
        "Where the typical rater passes from one label to the next, on a scale on which the items have mean 0 and standard "
        "deviation 1. Intervals hold 90 %."
    )
    return Section("Thresholds", text, rows=rows, file="label_thresholds", key="label_thresholds")


def _shifts_section(posterior: xr.Dataset, data: Labels) -> Section:
    """Return the section on shift and scale of each rater's thresholds."""
    given = np.bincount(data.annotation_rater, data.count, len(data.raters)).astype(int)
    variables = {"rater_shift": "shift", "rater_scale": "scale"}
    rows = scale_rows(posterior, variables, {"answers": given}, data.rater_attributes)
    text = (
        "The shift of a rater is how much higher than the others it puts all thresholds between labels, in standard deviations "
        "of the items: with a high one it gives low labels. The scale says how far its answers scatter. Intervals hold 90 %."
    )
    figures = [
        plots.rater_forest(posterior[variable], label=f"{name} of the rater")
        for variable, name in variables.items()
    ]
    return Section("Raters", text, figures, rows, "raters", key="raters")


def _prevalence_section(tree: xr.DataTree) -> Section:
    """Return the section on the prevalence, with 90 % intervals."""
    prevalence = tree["posterior"]["prevalence"]
    mean = prevalence.mean(("chain", "draw")).to_numpy()
    low, high = prevalence.quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
    rows = [
        {"category": str(name), "prevalence": float(m), "5 %": float(a), "95 %": float(b)}
        for name, m, a, b in zip(prevalence["category"].to_numpy(), mean, low, high, strict=True)
    ]
    text = "How frequent each true category is among the items from which these are a sample."
    return Section("Prevalence", text, rows=rows, file="prevalence", key="prevalence")


def _raters_section(tree: xr.DataTree) -> Section:
    """Return the section on information and accuracy of each rater, with 90 % intervals."""
    quality = evaluation.rater_quality(tree)
    mean = quality["information"].mean(("chain", "draw")).to_numpy()
    bounds = {
        name: quality[name].quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
        for name in ("information", "accuracy")
    }
    further = _means(tree["posterior"].to_dataset(), OF_RATERS, "rater")
    rows = [
        {
            "rater": str(quality["rater"].to_numpy()[r]),
            "information (bits)": float(mean[r]),
            "5 %": float(bounds["information"][0, r]),
            "95 %": float(bounds["information"][1, r]),
            "accuracy": float(quality["accuracy"].mean(("chain", "draw"))[r]),
            "accuracy 5 %": float(bounds["accuracy"][0, r]),
            "accuracy 95 %": float(bounds["accuracy"][1, r]),
            **{name: float(values[r]) for name, values in further.items()},
        }
        for r in np.argsort(-mean, kind="stable")
    ]
    text = (
        "Information is how many bits one label of the rater says about the truth; accuracy how often it is the truth. A rater "
        "who always confuses two categories has no accuracy, but all information."
    )
    figures = [plots.rater_forest(quality["information"], label="information in bits")]
    if quality.sizes["rater"] <= FEW_RATERS:
        text += " Of the confusion matrices the mean is shown, and the 90 % interval."
        matrices = evaluation.confusion_intervals(tree)
        figures.append(plots.confusion_matrices(matrices, matrices["rater"].to_numpy().tolist()))
    return Section("Raters", text, figures, rows, "raters", key="raters")


def _agreement_section(tree: xr.DataTree) -> Section:
    """Return the section on agreement beyond chance, with 90 % intervals over resampled items."""
    try:
        found = evaluation.label_agreement(evaluation.ratings_of(tree), bootstrap=RESAMPLES, random_seed=1)
    except evaluation.EvaluationError as missing:
        return Section("Agreement", f"Not computed: {missing}.")
    raters = found["rater"].to_numpy()
    figures = {"Krippendorff's alpha": ("alpha", {}), "Gwet's AC1": ("ac1", {})}
    for a, b in combinations(raters.tolist(), 2):
        figures[f"kappa of {a} and {b}"] = ("kappa", {"rater": a, "other": b})
    rows = [
        {
            "coefficient": name,
            "value": float(found[statistic].sel(**place)),
            "5 %": float(found[f"{statistic}_interval"].sel(**place, bound="lower")),
            "95 %": float(found[f"{statistic}_interval"].sel(**place, bound="upper")),
        }
        for name, (statistic, place) in figures.items()
    ]
    text = (
        "How much more the raters agree than chance would, of the most frequent answer of each to an item. It says nothing of "
        "who is right; the section above does."
    )
    return Section("Agreement", text, rows=rows, file="agreement", key="agreement")
