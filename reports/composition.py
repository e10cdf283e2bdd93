"""Reports from Python: the sections of each kind of annotation, from posterior, annotations and predictions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
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
from ..evaluation.uncertainty.questions import is_of_truth
from ..models import Comparisons, Labels, PartialRankings, Scores, catalog
from ..models._catalog import annotation_kinds
from ..models.data.look_alikes import alike_in_words, look_alikes
from ..posterior.matching import match_items, with_complement
from ..posterior.prior_of_items import EFFECT
from .analyses.analysis import Analysis, Answer, printable
from .analyses.equivalence import MODEL, EquivalenceAnalysis
from .analyses.judge import JudgeAnalysis
from .analyses.labels import LabelAnalysis
from .analyses.rankings import RankingAnalysis
from .analyses.scores import ScoreAnalysis
from .analyses.truth import TruthAnalysis
from .analyses.votes import VoteAnalysis
from .items import Items
from .page import Row, Section, page_text, write_report
from .posterior_files import kept_posterior
from .sections.against_truth import against_truth_section, without_section
from .sections.certainty import agreement_section, certainty_section, strips_section
from .sections.comparisons import (
    comparison_section,
    concordance_section,
    model_in_words,
    order_pairs,
    vote_sections,
)
from .sections.equivalence import equivalence_part, worths_in_words
from .sections.features import feature_sections, worth_in_words
from .sections.fit import citation_section, convergence_section, model_section, versions_of
from .sections.labels import truth_sections
from .sections.lookup import score_items, truth_items, vote_items
from .sections.metrics import metric_sections, question_of_all, scored
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
from .wording import contradictions_in_words, first_names, percent_with_interval


def analysis_of(
    data: Any,
    trees: Mapping[float, xr.DataTree],
    model: pm.Model | None,
    settings: Settings,
    predicted: xr.DataArray | None = None,
    *,
    metrics: Sequence[str] = (),
    groups: Groups | None = None,
    joint: Joint | None = None,
    only_predicted: Sequence[str] = (),
) -> Analysis:
    """Return the analysis of annotations of any kind, with posteriors by reliability; the parts of a `Study`.

    Predictions of comparisons are orders (classifier, item); `only_predicted` are categories that no rater used.
    """
    tree = trees[settings.reliabilities[0]]
    if isinstance(data, Comparisons):
        return VoteAnalysis(data, tree, model, settings, predicted, compose=report_of)
    if isinstance(data, Scores):
        return ScoreAnalysis(data, tree, model, settings, predicted, tuple(metrics), compose=report_of)
    study = Study(data, settings, trees, predicted, tuple(metrics), groups, joint)
    made = LabelAnalysis if isinstance(data, Labels) else RankingAnalysis
    return made(data, tree, model, study, only_predicted, compose=report_of)


def _risk(section: Section) -> str:
    """Return how many items are of a risk that is less than .99 certain."""
    facts: Mapping[str, Any] = section.facts
    share = percent_with_interval(*(facts[f"below_99{end}"] for end in ("", "_lower", "_upper")))
    return f"The risk is less than 99 % certain for {share} of the items."


def _sides(section: Section) -> str:
    """Return how sure the more probable sides of the first threshold are."""
    facts: Mapping[str, Any] = section.facts
    threshold = facts["thresholds"][0]["threshold"]
    sure, low, high = (f"{100 * facts[name]:.0f}" for name in ("mean", "lower", "upper"))
    return f"The more probable side of threshold {threshold:g} is right for {sure} % of the items ({low} to {high} %)."


def _predictions(section: Section) -> str:
    """Return the first metric of the two best classifiers of sides."""
    facts: Mapping[str, Any] = section.facts
    metric = section.rows[0]["metric"]
    rows = [row for row in section.rows if row["metric"] == metric]
    best_first = sorted(rows, key=lambda row: row["mean"], reverse=facts["larger_is_better"][metric])
    return " ".join(
        f"{f'{row["classifier"]} has' if len(rows) > 1 else 'They have'} {metric} "
        f"{row['mean']:.2f} ({row['lower']:.2f} to {row['upper']:.2f})."
        for row in best_first[:2]
    )


# answers of sections beside those of the analysis, by key of the section
FURTHER: Mapping[str, tuple[str, Callable[[Section], str]]] = {
    "equivalence": (
        "How many raters is a classifier worth?",
        lambda own: worths_in_words(own.rows) if own.rows else "",
    ),
    "risk": ("How sure is the risk?", _risk),
    "features": ("What do the features tell?", worth_in_words),
    "vote_covariates": ("What else sways the votes?", favours_in_words),
}


OF_SIDES: Mapping[str, tuple[str, Callable[[Section], str]]] = {
    "certainty": ("How sure is the side of the threshold?", _sides),
    "metrics": ("How good are the predictions?", _predictions),
}


def _further(sections: Sequence[Section]) -> list[Answer]:
    """Return the answers of sections; what features tell is not said where their law does not fit."""
    by_key = {section.key: section for section in sections if section.key}
    misfit = "fit" in by_key and by_key["fit"].facts.get("features_fit") is False
    found = [
        Answer(question, text)
        for key, (question, say) in FURTHER.items()
        if key in by_key and not (key == "features" and misfit) and (text := say(by_key[key]))
    ]
    return found


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
        The posterior that is reported in full, and written; empty where none is.
    items : Items, optional
        Estimates, annotations and predictions of each item, to look up on the page.
    answers : sequence of Answer
        Answers to the questions of the kind of annotation, on top of the page.
    facts : mapping, optional
        Further keys of ``report.json``.

    Examples
    --------
    >>> from raterzoo import inference, models, reports
    >>> table = {"item": [*"aabbcc"], "rater": [*"xyxyxy"], "score": [1.0, 2.0, 4.0, 5.0, 2.0, 4.0]}
    >>> scores = models.Scores.from_table(table)
    >>> report = reports.make(inference.sample(models.normal_scores(scores)), annotations=scores)
    >>> [section.title for section in report.sections]
    ['Locations', 'Does the model fit?', 'Convergence', 'Model', 'Data', 'How to cite']
    """

    kind: str
    title: str
    summary: str
    sections: Sequence[Section]
    tree: xr.DataTree
    items: Items | None = None
    answers: Sequence[Answer] = ()
    facts: Mapping[str, Any] = field(default_factory=dict)

    @property
    def headlines(self) -> list[str]:
        """Answers as text, shown on top of the page."""
        return [printable(own) for own in self.answers]

    @property
    def text(self) -> str:
        """The page as HTML."""
        return page_text(self.title, self.summary, self.sections, self.answers, self.items)

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
        folder, sections = Path(folder), self.sections
        facts: dict[str, Any] = {"kind": self.kind, **self.facts}
        if "posterior" in self.tree.children:
            kept = kept_posterior(self.tree, keep)
            kept.write(self.tree, folder / kept.name)
            facts["versions"] = versions_of(self.tree)
            *sections, cite = sections
            sections = [*sections, Section("Posterior", kept.in_words(kept.name)), cite]
        said = {"box": self.answers, "facts": facts, "items": self.items}
        return write_report(folder, self.title, self.summary, sections, **said)

    def _repr_html_(self) -> str:
        """Return the page in a frame, so that its style does not reach the notebook."""
        return f'<iframe srcdoc="{escape(self.text)}" width="100%" height="800"></iframe>'


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
    known = None
    if isinstance(annotations, Comparisons):
        if predictions is not None:
            if "classifier" not in predictions.dims:
                predictions = predictions.expand_dims(classifier=["predictions"])
            match_items(annotations.items, predictions["item"].to_numpy())
            predictions = predictions.reindex(item=annotations.items).transpose("classifier", "item")
    elif isinstance(annotations, Scores):
        if predictions is not None and not thresholds:
            raise ValueError("thresholds: predictions of scores refer to a threshold; give one")
    else:
        if predictions is not None:
            match_items(annotations.items, predictions["item"].to_numpy())
            predictions = with_complement(predictions, annotations.categories)
        if groups is not None:
            known = Groups("groups", groups, values).of(annotations.categories.tolist())
    seen = None if joint is None else Joint(joint)
    given = {"metrics": metrics, "groups": known, "joint": seen}
    analysis = analysis_of(annotations, trees, model, settings, predictions, **given)
    report = report_of(analysis)
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


def _truth_report(own: TruthAnalysis) -> Report:
    """Return the report on rankings or labels."""
    study, only_predicted = own.study, own.only_predicted
    data, tree = study.data, study.tree
    counts = {
        "items": len(data.items),
        "raters": len(data.raters),
        "annotations": len(data),
        "categories": len(data.categories),
        "only_predicted": list(only_predicted),
    }
    found, best = own.metrics, own.best
    if isinstance(own, LabelAnalysis):
        fit = fit_sections(own.checked, own.replicated, own.labels, study.seed, study.group)
    else:
        fit = predictive_fit_sections(own.replicated, {}, own.checked)
    if isinstance(own, LabelAnalysis) and "prevalence" in tree["posterior"]:
        certainty = truth_sections(
            tree, own.labels, best, own.truth, own.answers_right, study.group, own.replicated
        )
    else:
        certainty = certainty_section(best, data)
    if agreement := agreement_section(tree, data, study.seed):
        certainty.insert(1, agreement)
    said = _summary_of(data)
    if only_predicted:
        said += (
            "\n\nThe closed set was not declared (--categories): it is what raters or predictions name. Only predicted: "
            f"{first_names(only_predicted, 10)}."
        )
    sections = [*certainty, strips_section(best, data, study.points)]
    if study.predicted is not None:
        against = _against_truth(study, found, own.against)
        further = next((own.title for own in against if own.rows), "")
        compared = metric_sections(study.predicted, found, further, withheld=bool(own.shown))
        sections += [*compared, *against, *equivalence_part(study)]
    sections += [
        *feature_sections(tree, study.seed),
        *risk_parts(study),
        *item_questions(own.questions),
        *fit,
        convergence_section(tree),
        model_section(study.settings, tree),
        *sensitivity_sections(study, found, best),
        Section("Data", said, key="data", facts=counts),
    ]
    summary = f"{len(data.items):,} items, {len(data.raters):,} raters, {len(data):,} annotations."
    items = truth_items(tree, data, _rows_of(certainty, "certainty"), study.predicted)
    return _report(study.settings, summary, sections, tree, items, own.answers)


def report_of(analysis: Analysis) -> Report:
    """Return the report of an analysis."""
    if isinstance(analysis, JudgeAnalysis):
        own = {"doubts": analysis.doubts, "facts": asdict(analysis.facts)}
        sections = list(analysis.sections.values())
        told = analysis.heading, analysis.summary
        return Report("labels", *told, sections, xr.DataTree(), None, analysis.answers, own)
    if isinstance(analysis, EquivalenceAnalysis):
        sections = [*analysis.sections, citation_section(MODEL)]
        return Report(
            "labels", analysis.heading, analysis.summary, sections, xr.DataTree(), None, analysis.answers
        )
    if isinstance(analysis, TruthAnalysis):
        return _truth_report(analysis)
    if isinstance(analysis, VoteAnalysis):
        return _comparison_report(analysis)
    assert isinstance(analysis, ScoreAnalysis)
    return _score_report(analysis)


def _against_truth(
    study: Study, found: Mapping[str, xr.Dataset], seen: Mapping[str, xr.Dataset]
) -> list[Section]:
    """Return the section with the metrics `seen` by the posterior that has seen the predictions, if a study has one."""
    if study.joint is None or is_of_truth(question_of_all(found)):
        return []
    tree, model, why_not = study.joint
    if tree is None:
        return [without_section(why_not, "truth" if isinstance(study.data, Labels) else "consensus")]
    if not seen:
        why = "raters repeat errors of the classifier, as if they had seen its predictions"
        return [without_section(why)]
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


def _score_report(analysis: ScoreAnalysis) -> Report:
    """Return the report on scores."""
    tree, scores, settings = analysis.tree, analysis.scores, analysis.settings
    counts = {"items": len(scores.items), "raters": len(scores.raters), "annotations": len(scores)}
    sections = [
        *location_sections(tree, scores),
        *rater_sections(tree, scores),
        *feature_sections(tree, settings.seed),
    ]
    locations, above = _rows_of(sections, "locations"), []
    if settings.thresholds:
        judged, sides = _threshold_sections(analysis)
        sections, above = [*sections, *judged, *sides], _rows_of(sides, "certainty")
    sections += [
        *predictive_fit_sections(analysis.replicated, scores.rater_attributes, analysis.checked),
        convergence_section(tree),
        model_section(settings, tree),
        Section("Data", _summary_of(scores), key="data", facts={**counts, "bounds": scores.bounds}),
    ]
    summary = f"{len(scores.items):,} items, {_raters(scores)}, {len(scores):,} scores."
    items = score_items(scores, locations, above, analysis.predicted)
    by_key = {own.key: own for own in sections}
    answers = [
        Answer(question, say(by_key[key])) for key, (question, say) in OF_SIDES.items() if key in by_key
    ]
    return _report(settings, summary, sections, tree, items, [*analysis.answers, *answers])


def _threshold_sections(analysis: ScoreAnalysis) -> tuple[list[Section], list[Section]]:
    """Return the sections on the predictions, and those on the sides of the thresholds."""
    tree, settings, predicted = analysis.tree, analysis.settings, analysis.predicted
    first, *others = settings.thresholds
    cut, sure = threshold_and_certainty(tree, first)
    further = [threshold_certainty(tree, other) for other in others]
    sections = cut_sections(tree, cut, [sure, *further], settings.seed)
    judged: list[Section] = []
    if predicted is not None:
        points = None
        if predicted.sizes.get("classifier", 1) > 1:
            points = {"mean score": mean_score_plausibility(analysis.scores, first)}
        names = analysis.metrics or metrics_of_sides(cut, predicted)
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


def _comparison_report(analysis: VoteAnalysis) -> Report:
    """Return the report on comparisons."""
    tree, votes, settings, orders = analysis.tree, analysis.votes, analysis.settings, analysis.orders
    kept = "\n\nOnly the largest component of the table is kept." * settings.largest_component
    counts = {"items": len(votes.items), "raters": len(votes.raters), "annotations": len(votes)}
    boards = vote_sections(tree, votes, analysis.board)
    sections = [*boards]
    if orders is not None:
        sections.append(concordance_section(tree, orders))
        if pairs := order_pairs(tree, orders):
            sections.append(comparison_section(pairs))
    sections += [
        pair_questions(*analysis.pairs),
        *predictive_fit_sections(analysis.replicated, votes.rater_attributes, analysis.checked),
        convergence_section(tree),
        model_section(settings, tree, model_in_words(tree)),
        Section("Data", _summary_of(votes) + kept, key="data", facts=counts),
    ]
    summary = f"{len(votes.items):,} items, {_raters(votes)}, {len(votes):,} votes."
    items = vote_items(votes, analysis.board, orders)
    return _report(settings, summary, sections, tree, items, analysis.answers)


def _rows_of(sections: Sequence[Section], key: str) -> Sequence[Row]:
    """Return the rows of the section with a key."""
    return next(own.rows for own in sections if own.key == key)


def _raters(data: Comparisons | Scores) -> str:
    """Return the number of raters in words."""
    return "anonymous raters" if data.anonymous else f"{len(data.raters):,} raters"


def _report(
    settings: Settings,
    summary: str,
    sections: Sequence[Section],
    tree: xr.DataTree,
    items: Items,
    answers: Sequence[Answer],
) -> Report:
    """Return the report with the title of its kind and the reference of the model."""
    sections = [*sections, citation_section(settings.model)]
    return Report(
        settings.kind, TITLES[settings.kind], summary, sections, tree, items, [*answers, *_further(sections)]
    )
