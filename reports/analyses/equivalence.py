"""Analysis of survey equivalence: how many raters each classifier is worth, which is better, and whether to rely on it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import ClassVar

import pandas as pd
import xarray as xr
from matplotlib.figure import Figure

from ..page import Section
from ..sections.equivalence import (
    caveats,
    classifier_rows,
    curve_rows,
    equivalence_pair_rows,
    equivalence_sections,
    equivalence_sentences,
    scored_by,
)
from .analysis import Analysis


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


@dataclass(frozen=True, eq=False)
class EquivalenceAnalysis(Analysis):
    """Analysis of survey equivalence: ``classifiers`` has worth and score, ``curve`` the score of k raters.

    ``found`` is the result of `evaluation.survey_equivalence`; ``tree`` is the posterior beyond the observed raters, or empty.
    """

    kind: ClassVar[str] = "equivalence"
    found: xr.Dataset
    figures: Sequence[Figure] = ()
    extra: Sequence[Section] = field(default=())
    extrapolated: bool | None = None

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
        return [*equivalence_sections(self.found, *self.figures[:1]), *self.extra]

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
