"""Reports from Python: the sections of each kind of annotation, from posterior, annotations and predictions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from html import escape
from pathlib import Path
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from .. import inference, models
from ..evaluation import threshold_certainty
from ..evaluation.certainty.thresholds import threshold_and_certainty
from ..evaluation.checks.checks import needs_replicates
from ..evaluation.uncertainty.questions import OPEN, is_of_raters, is_of_truth
from ..models import Comparisons, Labels, PartialRankings, Scores, catalog
from ..models._catalog import annotation_kinds
from ..models.data.look_alikes import alike_in_words, look_alikes
from ..posterior.matching import match_items, with_complement
from ..posterior.prior_of_items import EFFECT
from .items import Items
from .page import Row, Section, page_text, write_report
from .posterior_files import kept_posterior
from .sections.against_truth import against_truth_section, truth_in_words, without_section
from .sections.certainty import BestGuesses, agreement_section, certainty_section, strips_section
from .sections.comparisons import (
    PREFERS,
    comparison_section,
    concordance_section,
    ids_by_rank,
    model_in_words,
    order_pairs,
    vote_sections,
)
from .sections.equivalence import equivalence_part, worths_in_words
from .sections.features import feature_sections, worth_in_words
from .sections.fit import citation_section, convergence_section, model_section, versions_of
from .sections.labels import order_sections, truth_sections, worth_figures
from .sections.lookup import score_items, truth_items, vote_items
from .sections.metrics import default_metrics, found_metrics, metric_sections, question_of_all, scored
from .sections.model_fit import fit_sections
from .sections.next_annotation import item_questions, pair_questions
from .sections.predictive_fit import predictive_fit_sections, with_replicates
from .sections.risk import risk_parts
from .sections.scores import (
    cut_sections,
    location_sections,
    mean_score_plausibility,
    metrics_of_sides,
    rater_sections,
)
from .sections.sensitivity import prior_part, sensitivity_sections
from .sections.vote_covariates import favours_in_words
from .study import Groups, Joint, Settings, Study
from .wording import contradictions_in_words, first_names, percent, percent_with_interval, with_interval


def headlines(sections: Sequence[Section]) -> list[str]:
    """Return the headline sentences, from the facts and rows of the sections."""
    by_key = {section.key: section for section in sections if section.key}
    checked = by_key.get("fit")
    verdict = str(checked.facts.get("verdict", "")) if checked else ""
    first = [verdict] if verdict and checked and checked.facts.get("fits") is False else []
    told = [by_key["order"].text] if "order" in by_key else []
    shares = bool(
        checked and checked.facts.get("shares_errors")
    )  # worths would be those of independent raters
    misfit = bool(checked and checked.facts.get("features_fit") is False)
    makers: dict[str, Callable[[Section], str]] = {
        "leaderboard": _best_item,
        "certainty": lambda own: _certainty(own, offers=not verdict),
        "fit": lambda _: "" if first else verdict,
        "metrics": lambda own: _metric(own, by_key.get("comparison")),
        "metrics.truth": truth_in_words,
        "comparison.optimism": _optimism,
        "equivalence": lambda own: worths_in_words(own.rows) if own.rows else "",
        "worth": lambda own: "" if shares else _worth_of_raters(own),
        "raters": _raters_apart,
        "risk": lambda own: (
            f"The certainty of the risk is below .99 for {_share_below(own.facts)} of the items."
        ),
        "features": lambda own: "" if misfit else worth_in_words(own),
        "vote_covariates": favours_in_words,
        "ask_next": _question,
    }
    said = [sentence for key, make in makers.items() if key in by_key and (sentence := make(by_key[key]))]
    return [*told, *first, *said]


def _best_item(section: Section) -> str:
    if warnings := section.facts.get("warnings"):
        return " ".join(map(str, warnings))  # type: ignore[arg-type]
    row = section.rows[0]
    quality = with_interval(row["quality"], row["quality from"], row["quality to"], 2)
    sure = percent(row["P(best)"])
    return f"{row['item']} is the best of {len(section.rows):,} with probability {sure}; its quality is {quality}."


def _certainty(section: Section, *, offers: bool = True) -> str:
    """Return the mean certainty; without `offers` the checks have said whether groups of raters share errors."""
    facts: Mapping[str, Any] = section.facts
    if "mean" not in facts:
        return ""
    guess = "The most plausible label of an item"
    if "thresholds" in facts:  # of scores
        guess = f"The more probable side of threshold {facts['thresholds'][0]['threshold']:g}"
    sure = with_interval(facts["mean"], facts["lower"], facts["upper"])
    below = f"less than .99 certain for {_share_below(facts)} of the items"
    together = facts.get("independence", "")
    if not offers:
        together = together.removesuffix(facts.get("groups_of_raters", ""))
    return (
        f"{guess} is right with probability {sure} on average, and {below}.{' ' * bool(together)}{together}"
    )


def _share_below(facts: Mapping[str, Any]) -> str:
    """Return the share of items below .99 in words, with its interval."""
    return percent_with_interval(*(facts[f"below_99{end}"] for end in ("", "_lower", "_upper")))


def _metric(section: Section, comparison: Section | None) -> str:
    rows = [row for row in section.rows if row["metric"] == section.rows[0]["metric"]]
    first = rows[0]
    if comparison is not None:
        (first,) = (row for row in rows if row["classifier"] == comparison.rows[0]["classifier"])
    figure = with_interval(first["mean"], first["lower"], first["upper"]) + _asked(section)
    if comparison is None:
        return f"By {first['metric']} the predictions reach {figure}."
    second = comparison.rows[0]
    difference = with_interval(second["difference"], second["lower"], second["upper"])
    return (
        f"By {first['metric']} {first['classifier']} does best, with {figure}; it is better than {second['other']}, "
        f"the next, with probability {percent(second['probability_better'])} (difference {difference})."
    )


def _asked(section: Section) -> str:
    """Return the question that the metrics answer, in brackets; "" if the section does not say it."""
    question = str(section.facts.get("question", ""))
    truth = "consensus" if "consensus" in question else "truth"
    if is_of_truth(question):
        return f" (accuracy against the {truth})"
    if is_of_raters(question):
        return f" ({OPEN}, not accuracy against the {truth})"
    return f" ({question})" if question else ""


def _optimism(section: Section) -> str:
    row = section.rows[0]
    if row["lower"] <= 0 <= row["upper"]:
        return ""
    estimate = row["estimate"] if row["estimate"] == "IRN" else f"the {row['estimate']}"
    too = "too good" if row["optimism"] > 0 else "worse than it is"
    figure = with_interval(abs(row["optimism"]), *sorted((abs(row["lower"]), abs(row["upper"]))))
    return f"Taking {estimate} for the certain truth would make {row['classifier']} look {too}: by {figure}."


def _worth_of_raters(section: Section) -> str:
    """Return the worth of each group, or of the most and the least informative rater."""
    groups: Any = section.facts.get("groups", ())
    if groups:
        said = [f"{row['group']} {_worth_figure(row)}" for row in groups]
        together: Any = section.facts.get("together", {})
        beyond: Any = section.facts.get("together_beyond", ())
        named = [f"{name} {'more than ' * (name in beyond)}{worth:.2f}" for name, worth in together.items()]
        more = (
            " One answer of each rater of a group, taken together, is worth, as some copy: "
            f"{first_names(named, 6, '; ')}."
            if together
            else ""
        )
        return f"In typical raters, one answer is on average worth: {first_names(said, 6, '; ')}.{more}"
    best, worst = section.rows[0], section.rows[-1]
    if best is worst:
        return f"One answer of rater {best['rater']} is worth {_worth_figure(best)} typical raters."
    if float(best["information_lower"]) < float(worst["information_upper"]):
        return (
            "What the answers of single raters are worth is not told apart by these data: in typical raters, "
            f"{_worth_figure(worst)} of rater {worst['rater']} to {_worth_figure(best)} of {best['rater']}."
        )
    return (
        f"One answer of rater {best['rater']}, the most informative, is worth {_worth_figure(best)} typical raters; one of "
        f"{worst['rater']}, the least informative, {_worth_figure(worst)}."
    )


def _worth_figure(row: Mapping[str, Any]) -> str:
    """Return the worth by information with its interval."""
    middle, ends = worth_figures(row, "information")
    return f"{middle} ({ends})"


def _raters_apart(section: Section) -> str:
    """Return the raters of highest and lowest reliability (comparisons) or bias (scores)."""
    if len(section.rows) < 2:
        return ""
    first, last = section.rows[0], section.rows[-1]
    if "reliability" in first:
        if PREFERS in first and section.alarm:
            return ""
        high, low = (with_interval(row["reliability"], row["from"], row["to"], 2) for row in (first, last))
        return (
            f"The most reliable rater is {first['rater']}, with reliability {high}; the least reliable is "
            f"{last['rater']}, with {low}; the mean is 1."
        )
    if "bias" in first:
        high, low = (with_interval(row["bias"], row["5 %"], row["95 %"], 2) for row in (first, last))
        return f"Rater {first['rater']} scores highest, with bias {high}; {last['rater']} lowest, with {low}."
    return ""


def _question(section: Section) -> str:
    facts: Mapping[str, Any] = section.facts
    first = facts["first"][:3]
    asked = f"to compare {'; '.join(first)}" if "left" in section.rows[0] else f"about {', '.join(first)}"
    return f"Ask one more rater {asked} first." if first else ""


TITLES = {
    "rankings": "Plausible categories of the items, with uncertainty",
    "labels": "True categories of the items, with uncertainty",
    "comparisons": "Ranking of the items, with uncertainty",
    "scores": "Locations of the items, with uncertainty",
}


@dataclass(frozen=True)
class Report:
    """Sections of a report and the posterior that it is about; a notebook shows the page.

    Attributes
    ----------
    kind : {"rankings", "labels", "comparisons", "scores"}
        Kind of annotation.
    title : str
        Heading.
    summary : str
        Sentence below the heading: numbers of items, raters and annotations.
    sections : sequence of Section
        In reading order.
    tree : DataTree
        The posterior that is reported in full.
    items : Items, optional
        Estimates, annotations and predictions of each item, to look up on the page.

    Examples
    --------
    >>> from raterzoo import inference, models, reports
    >>> table = {"item": [*"aabbcc"], "rater": [*"xyxyxy"], "score": [1.0, 2.0, 4.0, 5.0, 2.0, 4.0]}
    >>> scores = models.Scores.from_table(table)
    >>> report = reports.make(inference.sample(models.normal_scores(scores)), annotations=scores)
    >>> [section.title for section in report.sections]
    ['Data', 'Model', 'Convergence', 'Locations', 'Does the model fit?', 'How to cite']
    """

    kind: str
    title: str
    summary: str
    sections: Sequence[Section]
    tree: xr.DataTree
    items: Items | None = None

    @property
    def headlines(self) -> list[str]:
        """Key sentences, shown on top of the page."""
        return headlines(self.sections)

    def write(self, folder: Path | str, *, keep: str | None = None) -> Path:
        """Write ``report.html``, ``report.json``, ``items.jsonl``, the posterior and a CSV file for each table.

        Parameters
        ----------
        folder : Path or str
            Created if it does not exist.
        keep : {"all", "thinned", "summary"}, optional
            Part of the posterior that is written: all draws; of each chain every n-th, at least 100, so that
            the file has at most 200 MB; or ``posterior_summary.nc`` without draws. By default all draws if
            they take at most 200 MB, else thinned ones. The report is computed from all draws of the tree; of one that
            `inference.sample` thinned, certainties and convergence are of all draws that were made.

        Returns
        -------
        Path
            The HTML page.

        Raises
        ------
        ValueError
            If `keep` is another word.
        """
        folder, kept = Path(folder), kept_posterior(self.tree, keep)
        kept.write(self.tree, folder / kept.name)
        facts = {"kind": self.kind, "versions": versions_of(self.tree)}
        files = Section("Posterior", kept.in_words(kept.name))
        *sections, cite = self.sections
        sections = [*sections, files, cite]
        said = {"box": self.headlines, "facts": facts, "items": self.items}
        return write_report(folder, self.title, self.summary, sections, **said)

    def _repr_html_(self) -> str:
        """Return the page in a frame, so that its style does not reach the notebook."""
        page = page_text(self.title, self.summary, self.sections, self.headlines, self.items)
        return f'<iframe srcdoc="{escape(page)}" width="100%" height="800"></iframe>'


def make(
    tree: xr.DataTree | Mapping[float, xr.DataTree],
    predictions: xr.DataArray | None = None,
    *,
    annotations: PartialRankings | Labels | Comparisons | Scores,
    out: Path | str | None = None,
    groups: Mapping[Any, str] | None = None,
    values: Mapping[Any, float] | None = None,
    metrics: Sequence[str] = (),
    thresholds: Sequence[float] = (),
    group: str | None = None,
    priors: Mapping[str, Any] | None = None,
    model: pm.Model | None = None,
    joint: xr.DataTree | None = None,
    title: str | None = None,
    seed: int = 1,
) -> Report:
    """Make the report of a posterior, as `raterzoo report` does of a table.

    Parameters
    ----------
    tree : DataTree or mapping of float to DataTree
        Posterior by `inference.sample`; or posteriors by the reliability of the raters, as by
        `inference.sweep`, of which the first is reported in full.
    predictions : DataArray, optional
        As for `evaluation`: labels (item, position), scores or probabilities (item, category), perhaps with a
        dim classifier. For comparisons scores (item,) or (classifier, item), larger is better; for scores
        predictions of the side of the first threshold, with categories such as "at most 0" and "above 0".
    annotations : PartialRankings, Labels, Comparisons or Scores
        The annotations that were fitted.
    out : Path or str, optional
        Folder to which the report is written, as by `Report.write`.
    groups : mapping, optional
        For rankings and labels: category to its group, such as its risk.
    values : mapping, optional
        For rankings and labels: category to a number, such as its risk; only with `groups`.
    metrics : sequence of str, optional
        Names as of ``raterzoo evaluate --metric``; classifiers are compared by the first. Not for comparisons.
    thresholds : sequence of float, optional
        For scores: thresholds above which a score counts as high.
    group : str, optional
        For labels: the rater attribute by which the worth of raters is averaged.
    priors : mapping, optional
        Arguments of the builder, to be reported; by default the report does not state them.
    model : pymc.Model, optional
        The fitted model, by which the posterior predictive checks of comparisons, scores and labels with effects of
        the items simulate annotations; other labels, and rankings, are checked without it.
    joint : DataTree, optional
        For labels, and rankings by a model that learns reliabilities: posterior of the same model for
        ``annotations.with_predictions(predictions)``, by which the metrics are shown against the truth, or the consensus,
        beside those by `tree`.
    title : str, optional
        Heading of the page.
    seed : int, optional
        Random seed of bootstrap weights and simulations.

    Returns
    -------
    Report
        Sections of the report, with a method that writes them.

    Raises
    ------
    ValueError
        If an argument does not belong to the kind of annotation, or the predictions do not fit it.

    Examples
    --------
    >>> from raterzoo import inference, models, reports
    >>> table = {"item": [*"aabbcc"], "rater": [*"xyxyxy"], "score": [1.0, 2.0, 4.0, 5.0, 2.0, 4.0]}
    >>> scores = models.Scores.from_table(table)
    >>> tree = inference.sample(models.normal_scores(scores), random_seed=1)
    >>> report = reports.make(tree, annotations=scores, out="report")
    >>> report.summary
    '3 items, 2 raters, 6 scores.'
    """
    trees = {_reliability_of(tree): tree} if isinstance(tree, xr.DataTree) else dict(tree)
    if not trees:
        raise ValueError("tree: an empty mapping; give at least one posterior")
    containers = {kind: getattr(models, own.container) for kind, own in annotation_kinds.items()}
    kinds = [kind for kind, own in containers.items() if isinstance(annotations, own)]
    if not kinds:
        found = type(annotations).__name__
        raise ValueError(
            f"annotations: expected PartialRankings, Labels, Comparisons or Scores, found {found}"
        )
    (kind,) = kinds
    given = {
        "groups": groups,
        "values": values,
        "group": group,
        "metrics": metrics,
        "thresholds": thresholds,
        "joint": joint,
    }
    _refuse_other_arguments(kind, given)
    if joint is not None and predictions is None:
        raise ValueError(
            "joint: a posterior that has seen predictions, and there are none to score; give predictions as well"
        )
    if values is not None and groups is None:
        raise ValueError("values: numbers of categories are reported by group; give groups as well")
    first = next(iter(trees.values()))
    name = first.attrs.get("model")
    if not isinstance(name, str) or name not in catalog or catalog[name].data != kind:
        raise ValueError(
            f"tree: its attribute model is {name!r}, no model of {kind} in models.catalog; give a tree by inference.sample"
        )
    settings = Settings(
        kind,
        name,
        tuple(trees),
        first["posterior"].sizes["draw"],
        first["posterior"].sizes["chain"],
        seed,
        rater_attributes=() if group is None else (group,),
        thresholds=tuple(thresholds),
        has_reliability=len(trees) > 1 or _has_reliability(first),
        priors=None if priors is None else dict(priors),
    )
    if isinstance(annotations, Comparisons):
        orders = predictions
        if orders is not None:
            if "classifier" not in orders.dims:
                orders = orders.expand_dims(classifier=["predictions"])
            match_items(annotations.items, orders["item"].to_numpy())
            orders = orders.reindex(item=annotations.items).transpose("classifier", "item")
        report = comparison_report(first, annotations, settings, orders, model)
    elif isinstance(annotations, Scores):
        if predictions is not None and not thresholds:
            raise ValueError("thresholds: predictions of scores refer to a threshold; give one")
        report = score_report(first, annotations, settings, predictions, metrics, model)
    else:
        if predictions is not None:
            match_items(annotations.items, predictions["item"].to_numpy())
            predictions = with_complement(predictions, annotations.categories)
        known = None
        if groups is not None:
            known = Groups("groups", groups, values).of(annotations.categories.tolist())
        seen = None if joint is None else Joint(joint)
        study = Study(annotations, settings, trees, predictions, tuple(metrics), known, seen)
        report = truth_report(study, model=model)
    if title is not None:
        report = replace(report, title=title)
    if out is not None:
        report.write(out)
    return report


def _refuse_other_arguments(kind: str, given: Mapping[str, Any]) -> None:
    """Raise if an argument belongs to other kinds of annotation."""
    takers = {
        "groups": ("rankings", "labels"),
        "values": ("rankings", "labels"),
        "group": ("labels",),
        "joint": ("rankings", "labels"),
        "metrics": ("rankings", "labels", "scores"),
        "thresholds": ("scores",),
    }
    for name, kinds in takers.items():
        empty = given[name] is None or (name in ("metrics", "thresholds") and len(given[name]) == 0)
        if not empty and kind not in kinds:
            raise ValueError(f"{name}: an argument for {' and '.join(kinds)}, not for {kind}")


def _reliability_of(tree: xr.DataTree) -> float:
    """Return the reliability with which a tree was sampled; 1 if its model has none."""
    return float(tree["constant_data"]["reliability"].to_numpy().flat[0]) if _has_reliability(tree) else 1.0


def _has_reliability(tree: xr.DataTree) -> bool:
    """Return whether a tree was sampled with a given reliability of the raters."""
    return "constant_data" in tree.children and "reliability" in tree["constant_data"]


# --- Sections by kind of annotation, also for the command line ---


def truth_report(study: Study, only_predicted: Sequence[str] = (), model: pm.Model | None = None) -> Report:
    """Return the report on rankings or labels; `only_predicted` are categories that no rater used, `model` is the fitted one."""
    if study.predicted is not None and not study.metrics:
        study = replace(study, metrics=default_metrics(study.tree, study.predicted))
    data, tree = study.data, study.tree
    counts = {
        "items": len(data.items),
        "raters": len(data.raters),
        "annotations": len(data),
        "categories": len(data.categories),
        "only_predicted": list(only_predicted),
    }
    found = found_metrics(study)
    checked = tree
    if needs_replicates(tree):
        checked = with_replicates(tree, model, study.seed) or tree
    best = BestGuesses(tree, study.seed)
    if isinstance(data, Labels) and "prevalence" in tree["posterior"]:
        certainty = truth_sections(tree, data, study.seed, study.group, checked)
    else:
        certainty = certainty_section(best, data)
    if isinstance(data, Labels):
        fit = fit_sections(checked, data, study.seed, study.group)
    else:
        fit = predictive_fit_sections(checked, {}, study.seed)
    if agreement := agreement_section(tree, data, study.seed):
        certainty.insert(1, agreement)
    said = _summary_of(data)
    if only_predicted:
        said += (
            "\n\nThe closed set was not declared (--categories): it is what raters or predictions name. Only predicted: "
            f"{first_names(only_predicted, 10)}."
        )
    sections = []
    if study.predicted is not None:
        against = _against_truth(study, found)
        further = next((own.title for own in against if own.rows), "")
        sections += [*metric_sections(study.predicted, found, further), *against, *equivalence_part(study)]
    sections += [
        Section("Data", said, key="data", facts=counts),
        *order_sections(data, study.settings.model),
        model_section(study.settings, tree),
        convergence_section(tree),
        *fit,
        *certainty,
        strips_section(best, data, study.points),
        *feature_sections(tree, study.seed),
    ]
    sections += [*sensitivity_sections(study, found, best), *risk_parts(study), *item_questions(study, best)]
    summary = f"{len(data.items):,} items, {len(data.raters):,} raters, {len(data):,} annotations."
    items = truth_items(tree, data, _rows_of(certainty, "certainty"), study.predicted)
    return _report(study.settings, summary, sections, tree, items)


def _against_truth(study: Study, found: Mapping[str, xr.Dataset]) -> list[Section]:
    """Return the section with the metrics of the posterior that has seen the predictions, if a study has one."""
    if study.joint is None or is_of_truth(question_of_all(found)):
        return []
    tree, model, why_not = study.joint
    if tree is None:
        return [without_section(why_not, "truth" if isinstance(study.data, Labels) else "consensus")]
    assert study.predicted is not None
    seen = scored(tree, study.predicted, study.metrics, study.seed)
    checked = tree
    if needs_replicates(tree):
        checked = with_replicates(tree, model, study.seed) or tree
    diagnosis = inference.diagnose(tree).attrs
    unconverged = "" if diagnosis["converged"] else str(diagnosis["verdict"])
    left_out = EFFECT in study.tree["posterior"] and EFFECT not in tree["posterior"]
    return [against_truth_section(found, seen, checked, study.seed, unconverged, without_features=left_out)]


def _summary_of(data: Any) -> str:
    """Return the summary of a container, with what may have to be cleaned and how."""
    notes = []
    if repeated := len(data) - len(data.without_duplicates()):
        notes.append(
            f"{repeated:,} of the {len(data):,} annotations repeat another of the same rater exactly, and each is counted. "
            "If that is not meant, --drop-duplicates counts each once (in Python data.without_duplicates())."
        )
    if other := data.contradictions():
        notes.append(f"{contradictions_in_words(other, len(data))}.")
    for what in ("items", "raters", "categories"):
        groups = look_alikes(getattr(data, what, np.array([], int)))
        if groups:
            notes.append(
                f"{what.capitalize()} that look alike, such as {alike_in_words(groups[0])}, are taken to be different. If they "
                "are the same, --merge-look-alikes takes them as one (in Python data.with_look_alikes_merged())."
            )
    return "\n\n".join([data.report(), *notes])


def score_report(
    tree: xr.DataTree,
    scores: Scores,
    settings: Settings,
    predicted: xr.DataArray | None = None,
    metrics: Sequence[str] = (),
    model: pm.Model | None = None,
) -> Report:
    """Return the report on scores; `predicted` holds predictions of the side of the first threshold; without `model` no check."""
    counts = {"items": len(scores.items), "raters": len(scores.raters), "annotations": len(scores)}
    sections = [
        Section("Data", _summary_of(scores), key="data", facts={**counts, "bounds": scores.bounds}),
        model_section(settings, tree),
        convergence_section(tree),
        *location_sections(tree, scores),
        *rater_sections(tree, scores),
        *feature_sections(tree, settings.seed),
    ]
    replicates = with_replicates(tree, model, settings.seed)
    sections += predictive_fit_sections(replicates, scores.rater_attributes, settings.seed)
    locations, above = _rows_of(sections, "locations"), []
    if settings.thresholds:
        judged, sides = _threshold_sections(tree, scores, settings, predicted, metrics)
        sections, above = [*judged, *sections, *sides], _rows_of(sides, "certainty")
    summary = f"{len(scores.items):,} items, {_raters(scores)}, {len(scores):,} scores."
    items = score_items(scores, locations, above, predicted)
    return _report(settings, summary, sections, tree, items)


def _threshold_sections(
    tree: xr.DataTree,
    scores: Scores,
    settings: Settings,
    predicted: xr.DataArray | None,
    metrics: Sequence[str],
) -> tuple[list[Section], list[Section]]:
    """Return the sections on the predictions, and those on the sides of the thresholds."""
    first, *others = settings.thresholds
    cut, sure = threshold_and_certainty(tree, first)
    further = [threshold_certainty(tree, other) for other in others]
    sections = cut_sections(tree, cut, [sure, *further], settings.seed)
    judged: list[Section] = []
    if predicted is not None:
        points = None
        if predicted.sizes.get("classifier", 1) > 1:
            points = {"mean score": mean_score_plausibility(scores, first)}
        names = metrics or metrics_of_sides(cut, predicted)
        found = scored(cut, predicted, names, settings.seed, points=points)
        judged = metric_sections(predicted, found)
    text, prior = "Sensitivity of the sides of the items to the prior.", []
    if "log_prior" in cut.children:
        prior = [prior_part(cut, settings.seed)]
    else:
        text += (
            " The items of this model share what it learns of the raters, so that no prior can be scaled item by item: fit again "
            "with another prior, and compare."
        )
    return judged, [*sections, Section("Sensitivity", text, key="sensitivity"), *prior]


def comparison_report(
    tree: xr.DataTree,
    votes: Comparisons,
    settings: Settings,
    orders: xr.DataArray | None = None,
    model: pm.Model | None = None,
) -> Report:
    """Return the report on comparisons, with proposed rankings `orders` (classifier, item); without `model` there is no check."""
    kept = "\n\nOnly the largest component of the table is kept." * settings.largest_component
    counts = {"items": len(votes.items), "raters": len(votes.raters), "annotations": len(votes)}
    boards = vote_sections(tree, votes)
    predicted = with_replicates(tree, model, settings.seed)
    sections = []
    if orders is not None:
        sections.append(concordance_section(tree, orders))
        if pairs := order_pairs(tree, orders):
            sections.append(comparison_section(pairs))
    sections += [
        Section("Data", _summary_of(votes) + kept, key="data", facts=counts),
        model_section(settings, tree, model_in_words(tree)),
        convergence_section(tree),
        *boards,
        *predictive_fit_sections(predicted, votes.rater_attributes, settings.seed),
    ]
    sections.append(pair_questions(tree, ids_by_rank(tree, boards[0].rows)))
    summary = f"{len(votes.items):,} items, {_raters(votes)}, {len(votes):,} votes."
    return _report(settings, summary, sections, tree, vote_items(votes, boards[0].rows, orders))


def _rows_of(sections: Sequence[Section], key: str) -> Sequence[Row]:
    """Return the rows of the section with a key."""
    return next(own.rows for own in sections if own.key == key)


def _raters(data: Comparisons | Scores) -> str:
    """Return the number of raters in words."""
    return "anonymous raters" if data.anonymous else f"{len(data.raters):,} raters"


def _report(
    settings: Settings, summary: str, sections: Sequence[Section], tree: xr.DataTree, items: Items
) -> Report:
    """Return the report with the title of its kind and the reference of the model."""
    sections = [*sections, citation_section(settings.model)]
    return Report(settings.kind, TITLES[settings.kind], summary, sections, tree, items)
