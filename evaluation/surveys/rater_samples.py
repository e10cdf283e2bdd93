"""Monte-Carlo samples of named raters, for combiners that depend on rater identity."""

from collections.abc import Iterator

import numpy as np

from ..errors import EvaluationError
from .combiners import checked_law
from .label_cells import BLANK
from .label_counts import LabelCounts
from .predicted import Predicted
from .rules import Rules
from .subsets import shared_top

__all__ = ["rater_samples"]


def rater_samples(
    rules: Rules, labels: LabelCounts, against: LabelCounts | None, k: int, rng: np.random.Generator
) -> Iterator[Predicted]:
    """Yield `rules.samples` samples of k combined raters and of a reference label for every item.

    The combiner gets codes (item, rater) of the k labels, -1 elsewhere, for the items with enough labels.
    """
    codes = labels.labels
    if codes is None or not callable(rules.combiner):
        raise EvaluationError(
            'raters="identified": pass a DataArray (item, rater) of labels as counts, so that each label has its rater'
        )
    r = rules.reference
    needed = k + r if against is None else k
    enough = labels.size >= needed
    if against is not None:
        enough &= against.size >= r
    item = np.flatnonzero(enough)
    every, codes = np.arange(len(enough)), codes[item]
    for _ in range(rules.samples):
        # random order of each item's raters, blanks last
        order = np.where(codes == BLANK, 2.0, rng.random(codes.shape)).argsort(axis=1)
        place = order.argsort(axis=1)
        told = np.where(place < k, codes, BLANK)
        shape = (len(item), len(labels.categories))
        law = checked_law(rules.combiner(told), shape, "combiner")
        if against is None:
            further = np.take_along_axis(codes, order[:, k : k + r], axis=1)
            counts = (further[:, :, None] == np.arange(shape[1])).sum(axis=1)
        else:
            counts = np.array(
                [rng.multivariate_hypergeometric(own, r) for own in against.counts[item]]
            )
        yield Predicted.of_items(item, law, shared_top(counts)).sampled(every, rng)
