"""Survey: the items that enter, the predictions of k raters for them, and those of classifiers."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from ...posterior.errors import EvaluationError
from .combiners import Combiner, checked_law
from .counts import BLANK, LabelCounts
from .rules import SurveyOptions
from .scores import RowScores, Score, row_scores
from .subsets import Patterns, Predicted, Subsets, check_number, further_label, shared_top, subsets_of


@dataclass(frozen=True)
class Survey:
    """Items with enough labels to be scored."""

    rules: SurveyOptions
    labels: LabelCounts  # of the raters who are combined
    against: LabelCounts | None  # of the reference raters, if they are another group; same items
    left_out: LabelCounts  # items with too few labels
    largest: int  # largest number of raters to combine
    seed: int  # of folds and samples
    categories: np.ndarray  # (category,) of predictions: those of the labels, then further ones

    @classmethod
    def of(
        cls,
        rules: SurveyOptions,
        labels: LabelCounts,
        against: LabelCounts | None,
        seed: int,
        categories: np.ndarray | None = None,
    ) -> "Survey":
        """Return the survey; raise if no item has enough labels."""
        r = rules.reference
        room = labels.size - (r if against is None else 0)
        enough = (room >= 1) & (against is None or against.size >= r)
        if not enough.any():
            needed = f"{1 + r} labels" if against is None else f"a label, and {r} to score against"
            raise EvaluationError(f"counts: no item has {needed}; nothing can be scored")
        largest = _largest(rules, room[enough])
        if rules.items == "common":
            enough &= room >= largest
        if rules.folds > enough.sum():
            raise EvaluationError(
                f"learn={rules.learn}: more folds than the {enough.sum()} items with enough labels; pass a smaller number, or "
                '"leave-one-out"'
            )
        kept, left_out = labels.select(enough), labels.select(~enough)
        against = None if against is None else against.select(enough)
        named = labels.categories if categories is None else categories
        return cls(rules, kept, against, left_out, largest, seed, named)

    @cached_property
    def patterns(self) -> Patterns:
        """Distinct label counts."""
        fold = None
        if self.rules.folds > 1:
            rng = np.random.default_rng([self.seed, 1])
            fold = rng.permutation(len(self.labels.items)) % self.rules.folds
        return Patterns.of(self.labels.counts, None if self.against is None else self.against.counts, fold)

    @cached_property
    def combiner(self) -> Combiner:
        """Combiner of the labels."""
        return self.rules.combiner_of(self.patterns, self.labels.categories)

    @cached_property
    def score(self) -> Score:
        """Score of raters."""
        return self.rules.score_of(self.labels.categories)

    @cached_property
    def score_of_classifiers(self) -> Score:
        """Score of classifiers, whose predictions can name more categories."""
        return self.rules.score_of(self.labels.categories, self.categories)

    @cached_property
    def eligible(self) -> np.ndarray:
        """Mask (k, item) of items with enough labels for k raters."""
        of_pattern = [self.patterns.eligible(k, self.rules.reference) for k in range(self.largest + 1)]
        return np.array(of_pattern)[:, self.patterns.of_item]

    @cached_property
    def subsets(self) -> tuple[Subsets, ...]:
        """Label counts of k raters, for every k."""
        check_number(self.patterns.counts, self.largest)
        ks = range(self.largest + 1)
        return tuple(subsets_of(self.patterns, k, self.rules.reference) for k in ks)

    def predicted_by(self, k: int, weights: np.ndarray | None = None, copies: int = 1) -> Predicted:
        """Return the predictions of k raters for each pattern, learned with weights (pattern,)."""
        weights = self.patterns.multiplicity if weights is None else weights
        return self.combiner.predicted(self.subsets[k], weights, copies)

    def scored(self, predicted: Predicted) -> RowScores:
        """Return the scores of predictions by pattern."""
        return row_scores(self.score, predicted, len(self.patterns), self._folds(self.patterns.fold))

    def scored_samples(self, k: int) -> Iterator[RowScores]:
        """Yield scores by item for Monte-Carlo samples of k raters and a reference rater of every item."""
        for sample in self._samples(k):
            yield self._of_items(self.score, sample)

    def classifier(self, probability: np.ndarray) -> RowScores:
        """Return the scores by item of a classifier's predictions (item, category)."""
        return self._of_items(self.score_of_classifiers, self._predicted(probability))

    def classifier_samples(self, probability: np.ndarray) -> Iterator[RowScores]:
        """Yield scores by item of predictions (item, category) for sampled reference labels."""
        rng = np.random.default_rng([self.seed, 2])
        predicted = self._predicted(probability)
        items = np.arange(len(self.labels.items))
        for _ in range(self.rules.samples):
            yield self._of_items(self.score_of_classifiers, predicted.sampled(items, rng))

    def _predicted(self, probability: np.ndarray) -> Predicted:
        labels = self.labels if self.against is None else self.against
        law = further_label(labels.counts, self.rules.reference)
        never = np.zeros((len(law), len(self.categories) - law.shape[1]))
        return Predicted.of_items(np.arange(len(law)), probability, np.hstack([law, never]))

    def _samples(self, k: int) -> Iterator[Predicted]:
        rng = np.random.default_rng([self.seed, 3, k])
        if self.rules.raters == "identified":
            yield from self._identified_samples(k, rng)
            return
        predicted = self.predicted_by(k)
        for _ in range(self.rules.samples):
            yield predicted.sampled(self.patterns.of_item, rng)

    def _identified_samples(self, k: int, rng: np.random.Generator) -> Iterator[Predicted]:
        """Yield predictions and a reference label of every item; the combiner gets codes (item, rater) of k labels, else -1."""
        combiner, r, codes = self.rules.combiner, self.rules.reference, self.labels.labels
        if codes is None or not callable(combiner):
            raise EvaluationError(
                'raters="identified": pass a DataArray (item, rater) of labels as counts, so that each label has its rater'
            )
        item = np.flatnonzero(self.eligible[k])
        codes, shape = codes[item], (len(item), len(self.labels.categories))
        for _ in range(self.rules.samples):
            # random order of each item's raters, blanks last
            order = np.where(codes == BLANK, 2.0, rng.random(codes.shape)).argsort(axis=1)
            law = checked_law(combiner(np.where(order.argsort(axis=1) < k, codes, BLANK)), shape)
            if self.against is None:
                further = np.take_along_axis(codes, order[:, k : k + r], axis=1)
                counts = (further[:, :, None] == np.arange(shape[1])).sum(axis=1)
            else:
                counts = np.array([rng.multivariate_hypergeometric(n, r) for n in self.against.counts[item]])
            predicted = Predicted.of_items(item, law, shared_top(counts))
            yield predicted.sampled(np.arange(len(self.labels.items)), rng)

    def _of_items(self, score: Score, predicted: Predicted) -> RowScores:
        fold = self._folds(self.patterns.fold[self.patterns.of_item])
        return row_scores(score, predicted, len(self.labels.items), fold)

    def _folds(self, fold: np.ndarray) -> np.ndarray | None:
        return fold if self.rules.folds > 1 else None


def _largest(rules: SurveyOptions, room: np.ndarray) -> int:
    """Return the largest number of raters to combine: as requested, or as many as half of the items have."""
    if rules.max_raters is None:
        return int(np.sort(room)[(len(room) - 1) // 2])
    if rules.max_raters > room.max():
        raise EvaluationError(
            f"max_raters={rules.max_raters}: no item has labels for more than {room.max()} raters besides the "
            f"{rules.reference} to score against; pass {room.max()} at the most"
        )
    return int(rules.max_raters)
