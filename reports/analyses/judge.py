"""Analysis of judges and classifiers beside people: how good each is, whether a judge is usable, and what to ask next."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from math import ceil
from typing import ClassVar

import numpy as np
import pandas as pd
import xarray as xr
from scipy.stats import norm

from ...inference.diagnostics import diagnose
from ..page import Section
from ..sections import judging
from ..sections.judging import CLASSIFIER, JUDGE, PERSON, Panel
from ..sections.metrics import pair_rows
from .analysis import Analysis, Quantity, Soundness
from .truth import ClassifierFacts, below_guess

PRECISE = 0.03  # half width of an accuracy that decides between most classifiers
GAINS = 1.05  # items with people, by a judge's labels of all, from which these are worth having
Z: float = float(norm.ppf(0.95))  # half width of a 90 % interval in standard deviations


@dataclass(frozen=True)
class JudgeFigures:
    """How good one judge is, and what its labels are worth."""

    right: Quantity
    worth: float  # typical people
    gain: (
        float | None
    )  # factor on the items with people by its labels of all; None where nothing is rectified


@dataclass(frozen=True)
class JudgeFacts:
    """Numbers of the answers about judges and classifiers."""

    items: int
    heard: int  # items with people
    people: int
    classifiers: ClassifierFacts
    judges: dict[str, JudgeFigures]
    useful: float  # gain from which the labels of a judge are worth having
    more: int  # further items until the accuracies are known to `precise`
    with_people: bool  # whether these are items of the table that people have not answered yet, else new ones
    precise: float
    sound: Soundness
    shared_errors: bool
    machines: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class JudgeAnalysis(Analysis):
    """Analysis of judges and classifiers: ``raters`` has who is worth what, ``classifiers`` how often these are right.

    ``tree`` is the posterior of people, judges and classifiers together, ``trees`` has those of people and judges, and of people
    and classifiers.
    """

    kind: ClassVar[str] = "judge"
    panel: Panel
    trees: Mapping[str, xr.DataTree]
    seed: int = 1
    extra: Sequence[Section] = field(default=())

    @cached_property
    def scores(self) -> dict[str, xr.Dataset]:
        """How often classifiers are right, and agree with the raters."""
        raters = self.trees.get("people and judges", self.trees.get("people"))
        assert raters is not None
        predicted = self.panel.predicted_of(self.panel.labels.items)
        return {
            "truth": judging.scored(self.tree, predicted, self.seed),
            "raters": judging.scored(raters, predicted, self.seed),
        }

    @cached_property
    def checked(self) -> xr.Dataset:
        """Checks of the posterior of all."""
        return judging.checked(self.tree, self.panel, self.seed)

    @cached_property
    def sections(self) -> dict[str, Section]:
        """Sections of the page by their key."""
        checks = judging.checks_section(self.checked, self.tree, self.panel)
        made = [
            judging.accuracy_section(self.scores),
            judging.quality_section(self.tree, self.panel),
            *judging.added_sections(
                self.panel, self.scores["truth"], self.trees.get("people and classifiers"), self.seed
            ),
            *self.extra,
            checks,
        ]
        return {section.key: section for section in made}

    @cached_property
    def raters(self) -> pd.DataFrame:
        """People, judges and classifiers: answers, accuracy and worth in typical people, with 90 % intervals."""
        return pd.DataFrame(list(self.sections["raters"].rows))

    @cached_property
    def classifiers(self) -> pd.DataFrame:
        """Classifiers: accuracy against the truth, and agreement with the raters, with 90 % intervals."""
        return pd.DataFrame(list(self.sections["accuracy"].rows))

    @cached_property
    def sound(self) -> Soundness:
        """Whether all posteriors have converged, and which checks of that of all fail."""
        own = super().sound
        converged = all(bool(diagnose(tree).attrs["converged"]) for tree in self.trees.values())
        return Soundness(converged, own.checks, own.failed, own.first_failure)

    @cached_property
    def facts(self) -> JudgeFacts:
        """Numbers of the answers."""
        panel, found = self.panel, self.scores["truth"]
        names = found["classifier"].to_numpy().tolist()
        figures = {str(name): judging.figures_of(found, name) for name in names}
        better = None
        if "difference" in found:
            (first, *_) = pair_rows({"accuracy": found})
            better = (first["classifier"], first["other"], first["probability_better"])
        quantities = {
            name: Quantity(own["mean"], own["lower"], own["upper"]) for name, own in figures.items()
        }
        gains: dict[str, list[float]] = {}
        rectified = self.sections.get("judges.rectified")
        for row in rectified.rows if rectified else ():
            gains.setdefault(row["judge"], []).append(row["gain"])
        rows = {row["rater"]: row for row in self.sections["raters"].rows if row["role"] == JUDGE}
        judges = {
            name: JudgeFigures(
                Quantity(row["accuracy"], row["lower"], row["upper"]),
                row["worth"],
                float(np.mean(gains[name])) if name in gains else None,
            )
            for name, row in rows.items()
        }
        heard = int(panel.answered(PERSON).sum())
        more, with_people = self._more(heard)
        return JudgeFacts(
            items=len(panel.labels.items),
            heard=heard,
            people=len(panel.names(PERSON)),
            classifiers=ClassifierFacts(
                "truth",
                "accuracy",
                quantities,
                better,
                below_guess(quantities, "accuracy", len(panel.labels.categories)),
            ),
            judges=judges,
            useful=GAINS,
            more=more,
            with_people=with_people,
            precise=PRECISE,
            sound=self.sound,
            shared_errors=bool(self.sections["shared_errors"].facts["shares_errors"]),
            machines=(*panel.names(JUDGE), *panel.names(CLASSIFIER)),
        )

    def _more(self, heard: int) -> tuple[int, bool]:
        """Return how many further items would make the widest accuracy precise, and whether items of the table are enough.

        The variance by the raters is in inverse proportion to the items with people, that by the sample of items to all items.
        """
        found, n = self.scores["truth"], len(self.panel.labels.items)
        wanted, most = (PRECISE / Z) ** 2, (0, True)
        for name in found["classifier"].to_numpy().tolist():
            raters, items = (judging.figures_of(found, name, own)["sd"] ** 2 for own in ("raters", "items"))
            if raters + items <= wanted:
                continue
            there = ceil(heard * (raters / (wanted - items) - 1)) if items < wanted else n
            if there <= n - heard:
                most = max(most, (there, True))
            else:
                most = max(
                    most,
                    (ceil(n * ((raters + items) / wanted - 1)), False),
                    key=lambda own: (not own[1], own[0]),
                )
        return most
