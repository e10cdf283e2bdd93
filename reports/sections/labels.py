"""Report sections on labels: certainty of the true categories, and quality of the raters."""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ... import evaluation
from ...evaluation import plots
from ...evaluation.plots.raters import MOST_TEXTS
from ...evaluation.truth.gold import contradicts_answers, gold_in_words
from ...models import Labels, catalog
from ...models._catalog import SHARED_ON_ITEMS, shared_errors_of
from ...posterior.prior_of_items import effect_on_categories, shares_of_categories
from ...posterior.schema import SAMPLE, posterior_with_attributes
from ..page import Section, interval_columns, table_rows
from ..wording import PEOPLE, first_names, interval
from .agreement import agreement_section
from .certainty import BestGuesses, certainty_in_words
from .scores import GROUPS, scale_figures, scale_rows
from .vote_correlation import groups_in_words, independence_in_words

TAIL = 0.05


def _worth_section(tree: xr.DataTree, replicated: xr.DataTree, group: str | None, seed: int) -> Section:
    """Return the section on the worth of raters, and of groups by attribute `group`, in typical raters: people, or all raters.

    `replicated` is the tree with the replicates by which independent raters are counted, if these need some.
    """
    reference, of_group, names = None, "", list[str]()
    if group is not None:
        names = np.unique(posterior_with_attributes(tree)[group].to_numpy().astype(str)).tolist()
        reference = next((name for name in names if name.lower() in PEOPLE), None)
        of_group = "" if reference is None else f" of the group {reference}"
    found = evaluation.rater_worth(tree, group, reference)
    rows = worth_rows(found, "worth", "censored", "rater")
    text = (
        f"Worth: how many answers of raters{of_group}, we do not know which, tell as much about the truth as one answer of this "
        "rater. To know who answers helps, so that most are worth more than one. By accuracy: how many would give as many right "
        f"majority labels. The largest panel has {found.sizes['answers'] - 1} raters. Intervals hold 90 %."
    )
    if shared_errors_of(tree) in SHARED_ON_ITEMS:
        text += (
            " The matrices of this model are averages over the items, and leave out that raters err together on hard items: "
            "panels look better, and the worth of a rater smaller, than they are."
        )
    figure = cast(Figure, plots.rater_worth(found).figure)
    facts: dict[str, Any] = {"group": group, "reference": reference}
    if group is not None:
        groups = worth_rows(found, "group_worth", "group_censored", GROUPS)
        facts["groups"] = groups
        worths = [(row["group"], *worth_figures(row, "information")) for row in groups]
        named = [f"{name} is worth {middle} ({ends})" for name, middle, ends in worths]
        text += f" On average over its raters, {first_names(named, 6, '; ')}."
        if "group_together" in found:
            together = found["group_together"].median(SAMPLE)
            beyond = found["group_together_censored"].mean(SAMPLE) >= 0.5
            facts["together"] = dict(
                zip(names, together.sel({GROUPS: names}).to_numpy().tolist(), strict=True)
            )
            facts["together_beyond"] = [name for name in names if bool(beyond.sel({GROUPS: name}))]
            said = [
                f"those of {name} {'more than ' * (name in facts['together_beyond'])}{worth:.2f}"
                for name, worth in facts["together"].items()
            ]
            text += f" One answer of each of its raters together, who share guesses, are worth: {first_names(said, 6, '; ')}."
        counted, facts["effective"] = _effective_in_words(replicated, group, seed)
        text += counted
        kinds = found[group].to_numpy().astype(str)
        of_rater = dict(zip(found["rater"].to_numpy().astype(str), kinds, strict=True))
        rows = [{"rater": row["rater"], group: str(of_rater[row["rater"]]), **row} for row in rows]
    shown = [_shown(row) for row in rows]
    return Section("Worth of each rater", text, [figure], rows, "worth", "worth", facts, shown=shown)


def _effective_in_words(tree: xr.DataTree, group: str, seed: int) -> tuple[str, dict[str, Any] | None]:
    """Return as how many independent raters each group counts in words, "" if unknown, and numbers by group."""
    try:
        found = evaluation.effective_raters(tree, group, random_seed=seed)
    except evaluation.EvaluationError:
        return "", None
    draws = [dim for dim in SAMPLE if dim in found["effective"].dims]
    effective = found["effective"].mean(draws).to_numpy()
    correlation = found["residual_correlation"].mean(draws).to_numpy()
    names, sizes = found[GROUPS].to_numpy().astype(str).tolist(), found["raters"].to_numpy().tolist()
    rows = list(zip(names, sizes, correlation.tolist(), effective.tolist(), strict=True))
    several = [row for row in rows if row[1] > 1]
    said = [f"{n:,} of {name} as {count:.1f} (r = {r:.2f})" for name, n, r, count in several]
    how = "by the law of the model" if draws else "beyond that of answers simulated by the model"
    unseen = (
        ""
        if draws
        else " Errors that nearly all raters share leave no such correlation, and are not counted."
    )
    text = (
        f" As many raters as err independently, by the mean correlation r of the errors of two raters of a group {how} "
        f"(Kish's n / (1 + (n - 1) r)): {first_names(said, 6, '; ')}.{unseen}"
    )
    keys = ("raters", "residual_correlation", "effective")
    return text * bool(said), {name: dict(zip(keys, own, strict=True)) for name, *own in rows}


def worth_rows(found: xr.Dataset, worth: str, censored: str, dim: str) -> list[dict[str, Any]]:
    """Return a table row per rater or group, the largest worth first."""
    columns = {"group" if dim == GROUPS else dim: found[dim].to_numpy().astype(str)}
    for measure in found["measure"].to_numpy().tolist():
        draws = found[worth].sel(measure=measure)
        columns[measure] = draws.median(SAMPLE).to_numpy()
        ends = draws.quantile([TAIL, 1 - TAIL], SAMPLE).to_numpy()
        columns[f"{measure}_lower"], columns[f"{measure}_upper"] = ends
        columns[f"{measure}_beyond"] = found[censored].sel(measure=measure).mean(SAMPLE).to_numpy()
    return table_rows(columns, np.argsort(-columns["information"], kind="stable"))


def _shown(row: dict[str, Any]) -> dict[str, Any]:
    """Return the columns of the report: worth by information and by accuracy, each with its interval."""
    own = {name: value for name, value in row.items() if isinstance(value, str)}
    for measure in ("information", "accuracy"):
        middle, ends = worth_figures(row, measure)
        own |= {f"by {measure}": middle, "90 % interval" + " " * (measure == "accuracy"): ends}
    return own


def worth_figures(row: Mapping[str, Any], measure: str) -> tuple[str, str]:
    """Return median and interval as text, with "more than" if beyond the largest panel."""
    beyond = row[f"{measure}_beyond"]
    middle = ("more than " if beyond >= 0.5 else "") + f"{row[measure]:.2f}"
    ends = interval(row[f"{measure}_lower"], row[f"{measure}_upper"], 2)
    return middle, ends.replace("to ", "to more than ") if beyond >= TAIL else ends


FEW_RATERS = 8  # up to which pairs of raters fit on a page
MATRICES = "confusion_matrices"
MATRICES_DRAWN: dict[float, int] = {4: 8, 8: 4, np.inf: 2}  # by the largest number of categories
OF_ITEMS = {"expected_difficulty": "difficulty", "expected_location": "location"}
OF_RATERS = {"competence": "competence", "ability": "ability"}


def gold_against_raters(data: Labels) -> list[str]:
    """Return the items with a gold label that none of their raters gave."""
    found = contradicts_answers(data.gold, data.annotation_item, data.label_code)
    return data.items[found].astype(str).tolist()


def truth_sections(
    tree: xr.DataTree,
    data: Labels,
    best: BestGuesses,
    truth: xr.Dataset,
    right: xr.Dataset | None,
    group: str | None = None,
    replicated: xr.DataTree | None = None,
) -> list[Section]:
    """Return the sections on true categories and raters; `group` is a rater attribute.

    `truth` is `evaluation.truth_certainty` of the tree, `right` its `answers_right`, `replicated` the tree with the replicates
    that its checks need, if any.
    """
    seed, certainty = best.seed, truth["certainty"].to_numpy()
    columns = {
        "item": data.items.astype(str),
        "answers": data.counts.sum(axis=1).astype(int),
        "most probable": truth["label"].to_numpy().astype(str),
        "certainty": certainty,
        **_means(tree["posterior"].to_dataset(), OF_ITEMS, "item"),
    }
    rows = table_rows(columns, np.argsort(certainty, kind="stable"))
    words, facts = certainty_in_words(best.scores, certainty)
    against = gold_against_raters(data)
    gold = gold_in_words(against)
    together, found = independence_in_words(tree, data, seed)
    facts = {**facts, **found, "gold_against_all_raters": against, "independence": together}
    facts["groups_of_raters"] = groups_in_words(data)
    text = (
        f"{gold + ' ' if gold else ''}The certainty of an item is the posterior probability of its most probable true category. "
        f"{words} {together + ' ' if together else ''}The least certain items come first."
    )
    figures = [Figure(figsize=(4.3, 3.2), layout="constrained") for _ in range(2)]
    curve, bars = (figure.add_subplot() for figure in figures)
    plots.sorted_certainty(truth["certainty"], ax=curve).set_ylabel("certainty")
    plots.certainty_histogram(truth["certainty"], ax=bars)
    main = Section(
        "Certainty",
        text,
        figures,
        rows,
        "certainty",
        key="certainty",
        facts=facts,
        most=10,
        alarm=bool(against),
    )
    worth = [_worth_section(tree, replicated or tree, group, seed)] if _has_worth(tree, data) else []
    return [main, _prevalence_section(tree), *_rater_sections(tree, data, right, worth)]


def _has_worth(tree: xr.DataTree, data: Labels) -> bool:
    """Return whether a posterior has confusion matrices of several raters."""
    posterior = tree["posterior"].to_dataset()
    return "rater" in posterior.dims and "confusion" in posterior and len(data.raters) > 1


def _rater_sections(
    tree: xr.DataTree, data: Labels, right: xr.Dataset | None, worth: list[Section]
) -> list[Section]:
    """Return the sections on raters, if the model has them, with those on `worth`, and on the thresholds of ordered labels."""
    posterior = tree["posterior"].to_dataset()
    sections = [_thresholds_section(posterior)] if "threshold" in posterior else []
    if "rater" not in posterior.dims:
        return sections
    if "confusion" not in posterior:
        sections.append(_shifts_section(posterior, data))
    else:
        sections += [*_raters_sections(tree, right), *worth]
    if 1 < len(data.raters) <= FEW_RATERS and data.identified:
        ordered = catalog[tree.attrs["model"]].needs_order
        sections.append(agreement_section(data, ordered=ordered))
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
    between = threshold[threshold.dims[-1]].to_numpy().astype(str)
    rows = table_rows({"between": between, **interval_columns(threshold, "threshold")})
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
    return Section("Raters", text, scale_figures(posterior, variables), rows, "raters", key="raters")


def _prevalence_section(tree: xr.DataTree) -> Section:
    """Return the section on the prevalence, with 90 % intervals."""
    prevalence = shares_of_categories(tree, tree["posterior"].to_dataset()["prevalence"])
    names = prevalence["category"].to_numpy().astype(str)
    rows = table_rows({"category": names, **interval_columns(prevalence, "prevalence")})
    text = "How frequent each true category is among the items from which these are a sample."
    if effect_on_categories(tree) is not None:
        text = "How frequent each true category is among items with the features of these, before any answer."
    return Section("Prevalence", text, rows=rows, file="prevalence", key="prevalence")


def _raters_sections(tree: xr.DataTree, found: xr.Dataset | None) -> list[Section]:
    """Return the sections on answers that are right, information, accuracy and confusion of each rater, with 90 % intervals."""
    quality = evaluation.rater_quality(tree)
    right, of_right = _right_answers(found)
    columns = {
        "rater": quality["rater"].to_numpy().astype(str),
        **right,
        **interval_columns(quality["information"], "information (bits)"),
        **interval_columns(quality["accuracy"], "accuracy", "accuracy "),
        **_means(tree["posterior"].to_dataset(), OF_RATERS, "rater"),
    }
    rows = table_rows(columns, np.argsort(-columns["information (bits)"], kind="stable"))
    text = (
        f"{of_right}Information is how many bits one more label of the rater would say about the truth; accuracy how often it "
        "would be the truth. A rater who always swaps A and B is never right, yet tells you everything."
    )
    if shared_errors_of(tree) == "average":
        text += " Both take raters to err independently."
    figures = [plots.rater_forest(quality["information"], label="information in bits")]
    ranked = quality["rater"].to_numpy()[np.argsort(-columns["information (bits)"], kind="stable")].tolist()
    main = Section("Raters", text, figures, rows, "raters", key="raters")
    return [main, _matrices_section(tree, ranked)]


def _right_answers(found: xr.Dataset | None) -> tuple[dict[str, np.ndarray], str]:
    """Return columns of the answers of each rater and how many are right, and a sentence on them; none without draws or names."""
    if found is None:
        return {}, ""
    columns = {"answers": found["answers"].to_numpy(), **interval_columns(found["right"], "right", "right ")}
    text = (
        "Right is the share of the answers of this rater that are the truth, by the certainties of this report. Information and "
        "accuracy are by the confusion matrix of the rater, which few answers to a category leave near its prior. "
    )
    return columns, text


def _matrices_section(tree: xr.DataTree, ranked: list[Any]) -> Section:
    """Return the section on confusion matrices, of `ranked` raters, the most informative first."""
    matrices = evaluation.confusion_intervals(tree).transpose("rater", "category", "answer")
    n = matrices.sizes["category"]
    most = next(most for sizes, most in MATRICES_DRAWN.items() if n <= sizes)
    drawn, which = ranked, f"of all {len(ranked):,} raters" if len(ranked) > 1 else "of the rater"
    if len(ranked) > most:
        drawn = [*ranked[: most // 2], *ranked[-(most // 2) :]]
        which = f"of the {most // 2} most and the {most // 2} least informative of {len(ranked):,} raters"
    intervals = " and its 90 % interval" * (n <= MOST_TEXTS)
    text = (
        f"How often a rater gives an answer (column) when the true category is that of the row. Drawn: the mean{intervals}, "
        f"{which}, the most informative first. Those of all raters are in {MATRICES}.csv."
    )
    names = [matrices[dim].to_numpy().astype(str) for dim in ("rater", "category", "answer")]
    rater, category, answer = (own.ravel() for own in np.meshgrid(*names, indexing="ij"))
    ends = {"mean": "mean", "lower": "5 %", "upper": "95 %"}
    values = {name: matrices[variable].to_numpy().ravel() for variable, name in ends.items()}
    rows = table_rows({"rater": rater, "true category": category, "answer": answer, **values})
    figure = plots.confusion_matrices(matrices, drawn)
    given = {"file": MATRICES, "key": "raters.confusion", "part": True, "most": 0}
    return Section("Confusion matrices", text, [figure], rows, **given)
