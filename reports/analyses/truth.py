"""What analyses of labels and rankings share: best guesses, checks, classifiers, and items to ask about."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import pandas as pd
import xarray as xr

from ...evaluation.checks.checks import needs_replicates
from ...evaluation.uncertainty.questions import is_of_truth
from ...posterior.errors import EvaluationError
from ..sections.certainty import BestGuesses
from ..sections.metrics import default_metrics, found_metrics, metric_rows, pair_rows, question_of_all, scored
from ..sections.model_fit import checked
from ..sections.next_annotation import item_rows
from ..sections.predictive_fit import with_replicates
from ..study import Study
from .analysis import Analysis, Quantity, table

LISTED = 20  # things to ask next that the first page counts


@dataclass(frozen=True)
class ClassifierFacts:
    """Numbers of the answer about classifiers."""

    against: str  # what the figures are against: "truth", "consensus" or "raters"; "" without classifiers
    metric: str
    figures: dict[str, Quantity]  # by classifier
    better: (
        tuple[str, str, float] | None
    )  # the best classifier, the next, and the probability that it is better
    below: tuple[str, ...] = ()  # classifiers with an accuracy below that of a guess
    shown: str = ""  # classifier whose errors raters repeat, as if they had seen its predictions: its figure is left out


def below_guess(figures: dict[str, Quantity], metric: str, categories: int) -> tuple[str, ...]:
    """Return the classifiers whose accuracy, with its interval, is below that of a guess among all categories."""
    guess = 1 / categories if metric == "accuracy" and categories else 0.0
    return tuple(name for name, own in figures.items() if own.high < guess)


@dataclass(frozen=True, eq=False)
class TruthAnalysis(Analysis):
    """What analyses of labels and rankings share: best guesses, classifiers, checks, and items to ask about."""

    study: Study
    only_predicted: Sequence[str] = ()

    def __post_init__(self) -> None:
        """Take the default metrics of predictions where none are named."""
        predicted = self.study.predicted
        if predicted is not None and not self.study.metrics:
            metrics = default_metrics(self.tree, predicted)
            object.__setattr__(self, "study", replace(self.study, metrics=metrics))

    @property
    def seed(self) -> int:
        """Random seed."""
        return self.study.seed

    @cached_property
    def best(self) -> BestGuesses:
        """The most plausible labels and their expected accuracy."""
        return BestGuesses(self.tree, self.seed)

    @cached_property
    def replicated(self) -> xr.DataTree:
        """The tree, with simulated annotations where its checks need them."""
        if needs_replicates(self.tree):
            return with_replicates(self.tree, self.model, self.seed) or self.tree
        return self.tree

    @cached_property
    def checked(self) -> xr.Dataset | EvaluationError:
        """Checks of the model, or why there are none."""
        group, known = self.study.group, getattr(self.data, "rater_attributes", {})
        return checked(self.replicated, self.seed, group if group in known else None)

    @cached_property
    def copying(self) -> list[list[str]]:
        """Sets of raters who copy each other, by the checks of the model."""
        return self._sets("copying")

    def _sets(self, name: str) -> list[list[str]]:
        """Return sets of raters that the checks name."""
        if isinstance(self.checked, EvaluationError):
            return []
        return [[*map(str, group)] for group in self.checked.attrs.get(name, ())]

    @cached_property
    def questions(self) -> list[dict[str, Any]]:
        """Rows of the items to ask about."""
        return item_rows(self.study, self.best, {own for group in self.copying for own in group})

    @cached_property
    def next(self) -> pd.DataFrame:
        """Items to ask about, the most informative first: bits expected, and the most informative rater."""
        return pd.DataFrame(self.questions)

    @cached_property
    def ask(self) -> tuple[str, ...]:
        """The first items to ask about."""
        return tuple(row["item"] for row in self.questions[:LISTED])

    @cached_property
    def metrics(self) -> dict[str, xr.Dataset]:
        """Metrics of the classifiers by the posterior of the raters."""
        return found_metrics(self.study)

    @cached_property
    def against(self) -> dict[str, xr.Dataset]:
        """Metrics of the classifiers against the truth, by a posterior that has seen them; empty if there is none."""
        joint, predicted = self.study.joint, self.study.predicted
        if joint is None or joint.tree is None or is_of_truth(question_of_all(self.metrics)):
            return {}
        assert predicted is not None
        if self.shown:  # its figure would be too high
            names = predicted["classifier"].to_numpy().astype(str) if "classifier" in predicted.dims else []
            if not (others := [name for name in names if name != self.shown]):
                return {}
            predicted = predicted.sel(classifier=others)
        return scored(joint.tree, predicted, self.study.metrics, self.seed)

    @cached_property
    def shown(self) -> str:
        """Classifier whose errors raters repeat, by the checks of the posterior that has seen the predictions, or ""."""
        joint = self.study.joint
        if joint is None or joint.tree is None:
            return ""
        tree = joint.tree
        if needs_replicates(tree):
            tree = with_replicates(tree, joint.model, self.seed) or tree
        found = checked(tree, self.seed)
        named = [] if isinstance(found, EvaluationError) else found.attrs.get("assisted_by", [])
        return next(iter(named), "")

    @cached_property
    def classifiers(self) -> pd.DataFrame:
        """Classifiers: each metric with its 90 % interval, against the truth where that is estimated."""
        found = self.against or self.metrics
        if not found:
            return table({"classifier": [], "metric": [], "mean": [], "low": [], "high": []})
        frame = pd.DataFrame(metric_rows(found)).rename(columns={"lower": "low", "upper": "high"})
        return frame.loc[:, ["classifier", "metric", "mean", "low", "high"]]

    @property
    def classifier_facts(self) -> ClassifierFacts:
        """Numbers of the answer about classifiers."""
        found = self.against or self.metrics
        if not found:
            return ClassifierFacts("", "", {}, None)
        name = next(iter(found))
        better = None
        if "difference" in found[name]:
            (first, *_) = pair_rows({name: found[name]})
            better = (first["classifier"], first["other"], first["probability_better"])
        question = question_of_all(found)
        against = "raters"
        if self.against or is_of_truth(question):
            against = "consensus" if "consensus" in question else "truth"
        figures = {
            row["classifier"]: Quantity(row["mean"], row["lower"], row["upper"])
            for row in metric_rows({name: found[name]})
        }
        below = below_guess(figures, name, len(getattr(self.data, "categories", ())))
        return ClassifierFacts(against, name, figures, None if self.shown else better, below, self.shown)
