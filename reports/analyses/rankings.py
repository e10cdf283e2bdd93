"""Analysis of rankings: what is plausible, how sure that is, how good the classifiers are, and what to ask next."""

from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np
import pandas as pd

from ... import papers
from ...models.rankings.named_sets import perhaps_not_shown
from ..sections.certainty import NEARLY
from ..sections.metrics import metric_rows
from ..study import annotations_by_item
from .analysis import Quantity, Soundness, table
from .truth import ClassifierFacts, TruthAnalysis


@dataclass(frozen=True)
class RankingFacts:
    """Numbers of the answers about rankings."""

    items: int
    rankings: int
    raters: int
    not_shown: tuple[str, str] | None  # category that raters may not have been shown, and how many name it
    plausible: Quantity  # mean certainty of the first category
    unsure: int  # items less than .99 certain
    reliability: float | None
    classifiers: ClassifierFacts
    sound: Soundness
    ask: tuple[str, ...]


@dataclass(frozen=True, eq=False)
class RankingAnalysis(TruthAnalysis):
    """Analysis of rankings: ``items`` has the most plausible category and its certainty."""

    kind: ClassVar[str] = "rankings"

    @cached_property
    def items(self) -> pd.DataFrame:
        """Items: the most plausible category, its certainty, the number of rankings, and whether to ask about them first."""
        item, first = self.data.items.astype(str), set(self.ask)
        return table(
            {
                "item": item,
                "category": self.best.labels["label"].to_numpy()[:, 0, 0].astype(str),
                "certainty": self.best.certainty.to_numpy(),
                "rankings": annotations_by_item(self.data),
                "ask": [name in first for name in item.tolist()],
            }
        )

    @cached_property
    def raters(self) -> pd.DataFrame:
        """Raters: rankings of each."""
        counts = np.bincount(self.data.annotation_rater, minlength=len(self.data.raters))
        return table({"rater": self.data.raters.astype(str), "rankings": counts})

    @cached_property
    def agreement(self) -> pd.DataFrame:
        """Items by the share of raters who agree with the first category of the others, beside its certainty."""
        found = papers.certainty_and_agreement(self.tree, self.data, random_seed=self.seed)
        return found[["raters", "certainty", "agreement"]].to_dataframe().reset_index()

    @cached_property
    def facts(self) -> RankingFacts:
        """Numbers of the answers."""
        (sure,) = metric_rows({"sure": self.best.scores})
        settings = self.study.settings
        return RankingFacts(
            items=len(self.data.items),
            rankings=len(self.data),
            raters=len(self.data.raters),
            not_shown=perhaps_not_shown(self.data),
            plausible=Quantity(sure["mean"], sure["lower"], sure["upper"]),
            unsure=int((self.best.certainty.to_numpy() < NEARLY).sum()),
            reliability=settings.reliabilities[0] if settings.has_reliability else None,
            classifiers=self.classifier_facts,
            sound=self.sound,
            ask=self.ask,
        )
