"""Analysis of survey equivalence: how many raters each classifier is worth, which is better, and whether to rely on it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple

import pandas as pd
import pymc as pm
import xarray as xr
from matplotlib.figure import Figure

from ... import evaluation, models, papers
from ...inference.diagnostics import diagnose
from ...models import Labels
from ...models._catalog import annotation_kinds
from ...posterior.matching import named_as, with_complement
from ..page import Section
from ..sections.equivalence import (
    caveats,
    classifier_rows,
    curve_rows,
    default_rules,
    equivalence_pair_rows,
    equivalence_sections,
    equivalence_sentences,
    equivalences,
    picture_of,
    posterior_sections,
    probabilities_of,
    scored_by,
)
from ..study import labels_of
from ..wording import ADDITIVE, OF_POSTERIOR, first_names
from .analysis import Analysis

MODEL = annotation_kinds["labels"].power_curve_model
LONGEST = 50  # largest number of raters on the posterior's curve
LEAST_CALIBRATED = 10  # items


@dataclass(frozen=True)
class EquivalenceFacts:
    """Numbers of the answers about survey equivalence."""

    worth: tuple[str, ...]  # a sentence for each classifier
    better: (
        tuple[str, str, float] | None
    )  # the best classifier, the next, and the probability that it is better
    scorer: str
    raters: int  # on the curve
    items: int  # at its first point
    caveats: str
    extrapolated: bool | None  # whether the posterior beyond the observed raters converged; None without one


class Beyond(NamedTuple):
    """Posterior of the curve beyond the observed raters."""

    found: xr.Dataset  # result of papers.survey_summary
    converged: bool
    verdict: str


@dataclass(frozen=True, eq=False)
class EquivalenceAnalysis(Analysis):
    """Analysis of survey equivalence: ``classifiers`` has worth and score, ``curve`` the score of k raters.

    ``found`` is the result of `evaluation.survey_equivalence`; ``tree`` is the posterior beyond the observed raters, or empty.
    """

    kind: ClassVar[str] = "equivalence"
    heading: ClassVar[str] = "Survey equivalence of classifiers"
    found: xr.Dataset
    beyond: Beyond | None = None
    pictured: bool = True  # whether the sections have figures

    @property
    def extrapolated(self) -> bool | None:
        """Whether the posterior beyond the observed raters has converged; None without one."""
        return self.beyond and self.beyond.converged

    @property
    def summary(self) -> str:
        """Size of the study in one sentence."""
        data = self.data
        raters = "anonymous raters" if data.anonymous else f"{len(data.raters):,} raters"
        return f"{len(data.items):,} items, {raters}, {int(data.counts.sum()):,} labels."

    @cached_property
    def figures(self) -> list[Figure]:
        """Power curve of the observed raters, and the one beyond."""
        curves = [self.found, *([self.beyond.found] if self.beyond else [])]
        return [picture_of(own) for own in curves] if self.pictured else []

    @cached_property
    def classifiers(self) -> pd.DataFrame:
        """Classifiers: score, gain over no labels, equivalence in raters."""
        return pd.DataFrame(classifier_rows(self.found))

    @cached_property
    def curve(self) -> pd.DataFrame:
        """Score of k raters, and the probability that each classifier is better."""
        return pd.DataFrame(curve_rows(self.found))

    @cached_property
    def sections(self) -> list[Section]:
        """Sections of the page."""
        return [*equivalence_sections(self.found, *self.figures[:1]), *self.sections_beyond]

    @cached_property
    def sections_beyond(self) -> list[Section]:
        """Sections on the curve beyond the observed raters."""
        if self.beyond is None:
            return []
        summed, converged, verdict = self.beyond
        probability = self.found.attrs["probability"]
        return posterior_sections(summed, (converged, verdict), *self.figures[1:], probability=probability)

    @cached_property
    def facts(self) -> EquivalenceFacts:
        """Numbers of the answers."""
        better = None
        pairs = equivalence_pair_rows(self.found)
        if pairs and "probability_better" in pairs[0]:
            better = (pairs[0]["classifier"], pairs[0]["other"], pairs[0]["probability_better"])
        return EquivalenceFacts(
            worth=tuple(equivalence_sentences(self.found)),
            better=better,
            scorer=scored_by(self.found),
            raters=int(self.found["k"][-1]),
            items=int(self.found["items"][0]),
            caveats=caveats(self.found),
            extrapolated=self.extrapolated,
        )


def law_of(
    predicted: xr.DataArray, data: Labels, whose: str = "predictions", option: str = "categories="
) -> tuple[xr.DataArray, bool]:
    """Return probabilities (classifier, item, category), and whether predictions are hard; raise if raters never used a category.

    `whose` predictions these are, and the `option` that declares categories, are for the message.
    """
    known, predicted = data.categories.tolist(), named_as(predicted, data.categories)
    if only_predicted := [name for name in labels_of(predicted) if name not in map(str, known)]:
        raise ValueError(
            f"{whose}: {first_names(only_predicted)}: not used by any rater; the raters used {first_names(known)}; "
            f"correct the spelling, or declare the closed set by {option}"
        )
    predicted = with_complement(predicted, data.categories)
    return probabilities_of(predicted, data), "category" not in predicted.dims


def rules_of(hard: bool, options: Mapping[str, Any], *, posterior: bool) -> dict[str, Any]:
    """Return the rules of a survey equivalence with their defaults, or raise if a posterior has no such curve."""
    combiner, scorer, learn = (options.get(name) for name in ("combiner", "scorer", "learn"))
    rules = {"probability": 0.9, **options, **default_rules(hard, combiner, scorer, learn)}
    combiner, scorer = rules["combiner"], rules["scorer"].replace("_", "-")
    if posterior and (combiner not in OF_POSTERIOR or scorer not in ADDITIVE):
        raise ValueError(
            f"posterior with combiner {combiner} and scorer {scorer}: the curve of a posterior of item states is of "
            f"{' or '.join(OF_POSTERIOR)}, and {', '.join(ADDITIVE)}; take these, or leave it out"
        )
    if posterior and rules.get("clusters") is not None:
        raise ValueError(
            "clusters with a posterior: the posterior takes items for independent; leave one of them out"
        )
    return rules


def compared(
    data: Labels,
    law: xr.DataArray,
    rules: Mapping[str, Any],
    *,
    calibrate: bool = False,
    draw: Callable[[pm.Model], xr.DataTree] | None = None,
    pictured: bool = True,
    compose: Callable[[Any], Any] | None = None,
) -> EquivalenceAnalysis:
    """Compute the survey equivalences of classifiers with such probabilities by `rules_of`; `draw` samples the curve beyond."""
    if calibrate:
        law = _calibrated(law, data, rules["random_seed"])
    found = equivalences(data, law, {**rules, **({"max_raters": None} if draw else {})})
    tree, model, beyond = xr.DataTree(), None, None
    if draw is not None:
        model = getattr(models, MODEL)(data, plausibility=False)
        tree = draw(model)
        beyond = _beyond(tree, law, rules)
    return EquivalenceAnalysis(data, tree, model, found, beyond, pictured, compose=compose)


def _calibrated(law: xr.DataArray, data: Labels, seed: int) -> xr.DataArray:
    """Return predictions with and without calibration, cross-fitted on folds of the items."""
    heard = int((data.counts.sum(axis=1) > 0).sum())
    if heard < LEAST_CALIBRATED:
        raise ValueError(
            f"calibrate: {heard} items have labels; it learns from some of them to calibrate the others, and needs "
            f"{LEAST_CALIBRATED} at least"
        )
    return papers.calibrated(law, data, random_seed=seed).assign_attrs(law.attrs)


def _beyond(tree: xr.DataTree, law: xr.DataArray, rules: Mapping[str, Any]) -> Beyond:
    """Return the equivalences by the posterior of item states."""
    names = ("combiner", "scorer", "clip", "base", "random_seed")
    longest = LONGEST if rules.get("max_raters") is None else rules["max_raters"]
    chosen = {name: rules[name] for name in names if name in rules}
    drawn = evaluation.survey_equivalence(tree, law, max_raters=longest, **chosen)
    judged = drawn[["power_curve", "asymptote", "score"]]
    diagnosis = diagnose(xr.DataTree.from_dict({"posterior": judged})).attrs
    summed = papers.survey_summary(drawn, probability=rules["probability"])
    return Beyond(summed, bool(diagnosis["converged"]), str(diagnosis["verdict"]))
