"""Options of a survey: combiner, scorer and reference raters, validated."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal, get_args

import numpy as np

from ...posterior.errors import EvaluationError
from ...posterior.table_text import decimal_number
from ..argument_checks import check_whole
from . import scores
from .combiners import AnonymousBayesian, Combiner, Frequency, Function, Learn, Plurality
from .scores import Score
from .subsets import Patterns

CombinerName = Literal["plurality", "mean", "frequency", "abc"]
ScorerName = Literal[
    "agreement", "cross_entropy", "brier", "precision", "recall", "f1", "mcc",
    "dmi", "soft_dmi", "pearson", "spearman", "auc",
]  # fmt: skip
Items = Literal["available", "common"]
OF_POSITIVE = {"precision": scores.precision, "recall": scores.recall, "f1": scores.f1}
OF_VALUES: dict[str, Any] = {"pearson": scores.pearson, "spearman": scores.spearman}
OF_NUMBERS = (*OF_VALUES, "auc")
ALLOWED: dict[str, tuple[str, ...]] = {
    "items": get_args(Items),
    "estimand": ("pooled", "mean"),
    "no_labels": ("data", "uniform"),
    "raters": ("exchangeable", "identified"),
}


@dataclass(frozen=True, kw_only=True)
class SurveyOptions:
    """Arguments of `survey_power_curve` that define the score; documented there."""

    combiner: CombinerName | Callable[[np.ndarray], Any] = "abc"
    scorer: ScorerName | Callable[[np.ndarray, np.ndarray], Any] = "cross_entropy"
    clip: float = 0.02
    items: Items = "available"
    estimand: Literal["pooled", "mean"] = "pooled"
    learn: Learn = "leave-one-out"
    base: float = 2
    reference: int = 1
    max_raters: int | None = None
    no_labels: Literal["data", "uniform"] = "data"
    positive: object = None
    values: Mapping[Any, float] | None = None
    raters: Literal["exchangeable", "identified"] = "exchangeable"
    samples: int = 100

    def __post_init__(self) -> None:
        for name, known in (("combiner", get_args(CombinerName)), ("scorer", get_args(ScorerName))):
            value = getattr(self, name)
            if not callable(value) and value not in known:
                raise EvaluationError(f"{name}={value!r}: expected a function, or one of {', '.join(known)}")
        for name, allowed in ALLOWED.items():
            if getattr(self, name) not in allowed:
                raise EvaluationError(f"{name}={getattr(self, name)!r}: expected one of {allowed}")
        for name in ("clip", "base"):
            if not _is_number(getattr(self, name)):
                raise EvaluationError(f"{name}={getattr(self, name)!r}: expected a number")
        if not 1 < self.base < np.inf:
            raise EvaluationError(f"base={self.base!r}: expected a number above 1")
        check_whole("reference", self.reference, 1)
        check_whole("samples", self.samples, 2)
        if self.max_raters is not None:
            check_whole("max_raters", self.max_raters, 1)
        if self.learn not in ("leave-one-out", "in-sample"):
            check_whole("learn", self.learn, 2, '"leave-one-out", "in-sample", or a number of folds')
        self._check_pair()

    def _check_pair(self) -> None:
        """Raise if combiner and scorer are incompatible."""
        if self.combiner == "mean" and self.scorer not in OF_NUMBERS:
            raise EvaluationError(
                f'combiner="mean" gives a number, which scorer={_shown(self.scorer)} cannot take; pass combiner="frequency", '
                f"or one of the scorers {', '.join(OF_NUMBERS)}"
            )
        if self.raters == "identified" and not callable(self.combiner):
            raise EvaluationError(
                'raters="identified": pass a function of labels (item, rater) as combiner; the built-in combiners '
                "ignore who gave which label"
            )
        if self.raters == "identified" and hasattr(self.combiner, "categories"):
            raise EvaluationError(
                f'raters="identified": combiner={_shown(self.combiner)} takes counts (row, category), not labels (item, rater); '
                'pass raters="exchangeable"'
            )
        leaves_out = self.combiner == "abc" and self.learn == "leave-one-out"
        if leaves_out and not self.additive:
            raise EvaluationError(
                f'scorer={_shown(self.scorer)} compares predictions of items with each other, and learn="leave-one-out" shifts '
                "each of them away from the item's own labels: of no labels, the AUC would be far below .5; pass "
                'learn="in-sample", or a number of folds'
            )

    @property
    def additive(self) -> bool:
        """Whether the score is a mean over items."""
        if callable(self.scorer):
            return self.estimand == "pooled"
        return self.scorer in ("agreement", "cross_entropy", "brier")

    @property
    def sampled(self) -> bool:
        """Whether the raters' labels are sampled instead of enumerated."""
        return self.raters == "identified" or (self.estimand == "mean" and not self.additive)

    @property
    def folds(self) -> int:
        """Number of folds of items; 1 if nothing is learned by folds."""
        by_fold = self.combiner == "abc" and not isinstance(self.learn, str)
        return int(self.learn) if by_fold else 1

    def combiner_of(self, patterns: Patterns, categories: np.ndarray) -> Combiner:
        """Return the combiner for labels with these categories."""
        if callable(self.combiner):
            return Function(self.combiner, categories)
        if self.combiner == "abc":
            return AnonymousBayesian(self.learn)
        if self.combiner == "plurality":
            return Plurality()
        total = patterns.counts if patterns.against is None else patterns.against
        return Frequency(total.astype(float) if self.no_labels == "data" else None)

    def score_of(self, given: np.ndarray, named: np.ndarray | None = None) -> Score:
        """Return the score, given the categories of the labels and all those that predictions name."""
        names = (given if named is None else named).tolist()
        if not 0 <= self.clip < 1 / len(names):
            raise EvaluationError(
                f"clip={self.clip!r}: expected a number from 0, below 1 / {len(names)} categories"
            )
        if callable(self.scorer):
            if not self.additive:
                return scores.WholeFunction(self.scorer, self.clip)
            return scores.additive_score(partial(scores.user_score, function=self.scorer, clip=self.clip))
        if self.scorer == "auc":
            positive = self._positive(given.tolist())
            of_masses = partial(scores.area_under_curve, positive=positive)
            return scores.RankScore(self._ranks(names, positive, len(given)), of_masses)
        if self.scorer in OF_POSITIVE:
            of_joint = partial(OF_POSITIVE[self.scorer], positive=self._positive(given.tolist()))
            return scores.joint_score(of_joint)
        if self.scorer in OF_VALUES:
            return OF_VALUES[self.scorer](self._values(names))
        cross_entropy = partial(scores.cross_entropy, clip=self.clip, base=self.base)
        determinant = partial(scores.determinant, n_given=len(given))
        return {
            "agreement": scores.additive_score(scores.agreement),
            "cross_entropy": scores.additive_score(cross_entropy),
            "brier": scores.additive_score(partial(scores.brier, clip=self.clip)),
            "mcc": scores.joint_score(scores.matthews),
            "dmi": scores.joint_score(determinant),
            "soft_dmi": scores.joint_score(determinant, soft=True),
        }[self.scorer]

    def _positive(self, names: list[str]) -> int:
        """Return the code of the positive category."""
        if self.positive is None and len(names) == 2:
            return 1
        if self.positive is None or str(self.positive) not in names:
            raise EvaluationError(
                f"positive={self.positive!r}: scorer={self.scorer!r} needs the positive label: one of {', '.join(names)}"
            )
        return names.index(str(self.positive))

    def _ranks(self, names: list[str], positive: int, n_given: int) -> np.ndarray:
        """Return values (category,) whose mean orders predictions for the AUC; the labels have the first `n_given` categories."""
        if self.combiner != "mean":
            return np.eye(len(names))[positive]
        values = self._values(names)
        largest = int(values.argmax())
        if values[positive] < values[largest]:
            # a label that no rater gave cannot be positive
            remedy = "that label, other" if largest < n_given else "other"
            raise EvaluationError(
                f'positive={names[positive]!r}: combiner="mean" needs the positive label to have the largest number, but '
                f'{names[largest]!r} has the largest; pass {remedy} values, or combiner="frequency"'
            )
        return values

    def _values(self, names: list[str]) -> np.ndarray:
        """Return the number (category,) of each category, scaled to [0, 1]: the scores are scale-free."""
        values = self._given_values(names)
        if len(values) > 1 and (values == values[0]).all():
            raise EvaluationError(
                f"values: {values[0]:g} for every category; nothing can be correlated with it, pass different numbers"
            )
        values = values / (np.abs(values).max() or 1.0)
        return (values - values.min()) / (np.ptp(values) or 1.0)

    def _given_values(self, names: list[str]) -> np.ndarray:
        if self.values is not None:
            if not isinstance(self.values, Mapping):
                raise EvaluationError(
                    f"values: {type(self.values).__name__}; pass a mapping {{category: number}}"
                )
            given = {str(name): value for name, value in self.values.items() if _is_number(value)}
            lost = [name for name in names if not np.isfinite(given.get(name, np.nan))]
            if lost:
                raise EvaluationError(
                    f"values: no finite number for category {lost[0]!r}; pass one for each of {', '.join(names)}"
                )
            return np.array([float(given[name]) for name in names])
        numbers = [decimal_number(name) for name in names]
        if all(number is not None and np.isfinite(number) for number in numbers):
            return np.array(numbers, float)
        if len(names) == 2:
            return np.array([0.0, 1.0])
        raise EvaluationError(
            f"values: scorer={self.scorer!r} needs a number for each of {', '.join(names)}; pass values={{category: number}}"
        )


def _is_number(value: object) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)


def _shown(value: object) -> str:
    return getattr(value, "__name__", repr(value)) if callable(value) else repr(value)
