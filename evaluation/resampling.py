"""Resampling of items: two uncertainties of a metric, of the truth and of the sample of items.

A draw of the posterior fixes the truth of every item; then the metric over the population of items has the
posterior of the Bayesian bootstrap: items have weights Dirichlet(1, ..., 1), that is normalised exponentials.
One draw of the truth with one weight vector is a draw of both: multiple imputation, exact if the model of the
truth learns the population of the items, and too wide if it has more information than the items (a prior
fixed for each item). For the items alone, the same weights are used and the metric is averaged over the draws
of the truth. Where all draws would be too many (metrics of all items, groups with changing members), a few
fixed draws are used, which leaves a little uncertainty of the truth.

References
----------
Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9, doi:10.1214/aos/1176345338. Efron (1979),
Bootstrap methods, Annals of Statistics 7, doi:10.1214/aos/1176344552 (counts of items drawn with
replacement). Meng (1994), Multiple-imputation inferences with uncongenial sources of input, Statistical
Science 9, doi:10.1214/ss/1177010269.
"""

import warnings
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np

from .errors import EvaluationError
from .membership import Drawn, Members
from .plausibility import Block
from .scoring import Scorer

__all__ = ["ItemWeights", "Resampled", "Resampling", "resampled_scores"]

ItemWeights = Literal["bayesian", "counts"]
# number of draws of the truth to average over for the items alone; for a callable, which is slow
FEW_TRUTHS, FEWEST = 20, 10


class Resampling(NamedTuple):
    """Options of the bootstrap: kind of weights, number of resamples of the items alone, and seed."""

    items: ItemWeights
    resamples: int
    seed: int
    progressbar: bool


class Resampled(NamedTuple):
    """Draws of a metric in every group, and the share of the items in it."""

    raters: np.ndarray  # (classifier, group, sample), NaN for empty groups and undefined metrics
    both: np.ndarray  # (classifier, group, sample)
    items: np.ndarray  # (classifier, group, resample)
    share: np.ndarray  # (classifier, group, sample)


def resampled_scores(scorer: Scorer, members: Members, how: Resampling) -> Resampled:
    """Score every draw of the truth, with and without random weights of the items."""
    whole = isinstance(how.resamples, int | np.integer) and how.resamples >= 1
    if how.items not in get_args(ItemWeights) or not whole:
        raise EvaluationError(
            f"items={how.items!r}, resamples={how.resamples}: expected one of {get_args(ItemWeights)}, and a whole number from 1"
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        return (_by_item if scorer.metric.over == "item" else _over_items)(scorer, members, how)


def _by_item(scorer: Scorer, members: Members, how: Resampling) -> Resampled:
    """Sum scores and weights of items in blocks, for metrics that are means over items."""
    view = scorer.aligned.view
    weighing = _Weighing(how, len(view.items), view.n_samples)
    every, kept = slice(0, view.n_samples), _few(view.n_samples, FEW_TRUTHS)

    def sums(block: Block, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        truth = scorer.truth(block, rng)
        scores = scorer.by_item(truth, block.items)
        member = members.weights(Drawn(block.items, every, _label_of(scorer, block, truth, rng)))
        weight = weighing(every, block.items, rng)
        shape = (len(scores), member.shape[1], len(weight))
        totals = np.zeros((4, *shape))
        # with fixed groups the mean is linear in the truth, so the mean score over all draws is enough
        fixed = member.shape[2] == 1
        few = np.zeros((2, *shape[:2], 1 if fixed else len(kept), weight.shape[1]))
        for c, g in np.ndindex(shape[:2]):
            own = np.broadcast_to(member[c if len(member) > 1 else 0, g], weight.shape)
            value = own * scores[c].T
            totals[:, c, g] = value.sum(-1), own.sum(-1), _dot(value, weight), _dot(own, weight)
            few[0, c, g] = value.mean(0) if fixed else value[kept]
            few[1, c, g] = own[0] if fixed else own[kept]
        return totals, few

    totals, few = zip(*view.map_blocks(sums, how.seed, scorer.width), strict=True)
    value, count, weighted, weights = np.sum(totals, axis=0)
    raters = value / count
    values, member = np.concatenate(few, axis=-1)

    def mean(weight: np.ndarray) -> np.ndarray:
        return (values @ weight) / (member @ weight)

    items = _items_alone(mean, raters, weighing, how)
    return Resampled(raters, weighted / weights, items, count / len(view.items))


def _over_items(scorer: Scorer, members: Members, how: Resampling) -> Resampled:
    """Score blocks of draws, with the weights of all items, for metrics of all items together."""
    if (function := scorer.called) is not None:
        function.check_weights()
    scorer = scorer.closed(how.seed)
    view = scorer.aligned.view
    weighing = _Weighing(how, len(view.items), view.n_samples)
    kept = _few(view.n_samples, FEW_TRUTHS if scorer.called is None else FEWEST)

    def scores(block: Block, samples: slice, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        truth = scorer.truth(block, rng)
        label = _label_of(scorer, block, truth, rng)
        member = members.weights(Drawn(block.items, samples, label))
        member = np.broadcast_to(member, (*member.shape[:2], *truth.shape[:2])).astype(float)
        both = member * weighing(samples, block.items, rng)
        numbers = np.arange(samples.start, samples.stop)
        few = np.flatnonzero(np.isin(numbers, kept))
        found = [_of_groups(scorer, truth, weight, numbers) for weight in (member, both)]
        return *found, member.sum(-1), truth[few], member[:, :, few]

    blocks = list(zip(*scorer.map_draws(scores, how.seed, how.progressbar), strict=True))
    raters, both, count = (np.concatenate(part, axis=-1) for part in blocks[:3])
    truth, member = np.concatenate(blocks[3]), np.concatenate(blocks[4], axis=2)

    def mean(weight: np.ndarray) -> np.ndarray:
        return _of_groups(scorer, truth, member * weight, kept)

    items = _items_alone(mean, raters, weighing, how)
    share = np.broadcast_to(count / len(view.items), raters.shape)
    return Resampled(raters, both, items, share)


def _items_alone(
    score: Callable[[np.ndarray], np.ndarray],
    raters: np.ndarray,
    weighing: "_Weighing",
    how: Resampling,
) -> np.ndarray:
    """Average a score over few truths at every resample, centred on the mean over all draws.

    Shapes: score(weight) (classifier, group, few), for weight (item,); raters (classifier, group, sample);
    result (classifier, group, resample).
    """
    rng = np.random.default_rng([how.seed, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of a group without members
        off = np.nanmean(raters, axis=-1) - np.nanmean(score(weighing.none()), axis=-1)
        draws = [np.nanmean(score(weighing.one(rng)), axis=-1) for _ in range(how.resamples)]
    return np.stack(draws, axis=-1) + off[..., None]


def _of_groups(
    scorer: Scorer, truth: np.ndarray, weights: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """Score the groups one by one, NaN in draws without members.

    Shapes: truth (sample, item[, position]); weights (classifier or 1, group, sample, item); result
    (classifier, group, sample).
    """
    n_classifiers = len(scorer.aligned.predicted)
    found = np.full((n_classifiers, weights.shape[1], len(samples)), np.nan)
    for w, g in np.ndindex(weights.shape[:2]):
        weight = weights[w, g]
        own = np.flatnonzero(weight.any(axis=-1))
        if len(own):
            scores = scorer.over_items(truth[own], weight[own], samples[own])
            which = slice(None) if len(weights) == 1 else slice(w, w + 1)
            found[which, g, own] = scores[which]
    return found


def _label_of(
    scorer: Scorer, block: Block, truth: np.ndarray, rng: np.random.Generator
) -> Callable[[], np.ndarray]:
    """Return a function for the label (sample, item) of each draw: the scored label, if there is one."""
    if scorer.metric.truth in ("label", "sampled"):
        return lambda: truth
    if scorer.metric.truth == "plausibility":
        return lambda: scorer.labels.draw(block, 1, rng)[0].T
    return lambda: truth[..., 0]


def _few(n_samples: int, few: int) -> np.ndarray:
    """Numbers of few evenly spaced draws."""
    return np.unique(np.linspace(0, n_samples - 1, min(few, n_samples)).astype(int))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("si,si->s", a, b)


class _Weighing:
    """Random weights of the items, different for each draw."""

    def __init__(self, how: Resampling, n_items: int, n_samples: int) -> None:
        self.bayesian, self.n_items = how.items == "bayesian", n_items
        rng = np.random.default_rng([how.seed, 2])
        # counts of draws with replacement depend on all items: computed once, one byte each
        drawn = [] if self.bayesian else [self.one(rng).astype(np.uint8) for _ in range(n_samples)]
        self.counts = np.array(drawn)

    def __call__(self, samples: slice, items: slice, rng: np.random.Generator) -> np.ndarray:
        """Return weights (sample, item) up to a factor by sample."""
        if self.bayesian:
            shape = (samples.stop - samples.start, items.stop - items.start)
            return rng.standard_exponential(shape)
        return self.counts[samples, items].astype(float)

    def one(self, rng: np.random.Generator) -> np.ndarray:
        """Return the weights (item,) of one resample."""
        if self.bayesian:
            return rng.standard_exponential(self.n_items)
        drawn = rng.integers(0, self.n_items, self.n_items)
        return np.bincount(drawn, minlength=self.n_items).astype(float)

    def none(self) -> np.ndarray:
        """Return equal weights (item,)."""
        return np.ones(self.n_items)
