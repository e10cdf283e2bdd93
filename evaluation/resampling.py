"""Two uncertainties of a metric: what the raters left open, and that the items are a sample.

A draw of the posterior settles the truth of every item; then the metric over the population that the items
come from has the posterior of the Bayesian bootstrap: items count by weights Dirichlet(1, ..., 1), that is by
exponentials divided by their sum. One draw of the truth with one of the weights is a draw of both: multiple
imputation, exact where the model of the truth learns the population of the items, and too wide where it knows
more than they tell (a prior fixed for each item). The items alone: the same weights, the metric averaged over the
draws of the truth; over a few that stay the same, and so leave a little of the raters in it, where all would be too
many: metrics of all items, and groups whose members change.

References
----------
Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9, doi:10.1214/aos/1176345338. Efron (1979), Bootstrap
methods, Annals of Statistics 7, doi:10.1214/aos/1176344552 (counts of items drawn with replacement). Meng (1994),
Multiple-imputation inferences with uncongenial sources of input, Statistical Science 9, doi:10.1214/ss/1177010269.
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
# draws that the items alone are averaged over; of a callable, which is slow
FEW_TRUTHS, FEWEST = 20, 10


class Resampling(NamedTuple):
    """How items are weighted, how often without the raters, and from where the draws come."""

    items: ItemWeights
    resamples: int
    seed: int
    progressbar: bool


class Resampled(NamedTuple):
    """Draws of a metric in every group: of the raters, of both, of the items; and the share of the items in it.

    Attributes
    ----------
    raters, both : ndarray, shape (classifier, group, sample)
        By draw of the posterior; NaN where a group has no member, or the metric no value.
    items : ndarray, shape (classifier, group, resample)
        By weights of the items.
    share : ndarray, shape (classifier, group, sample)
        Share of the items in the group.
    """

    raters: np.ndarray
    both: np.ndarray
    items: np.ndarray
    share: np.ndarray


def resampled_scores(scorer: Scorer, members: Members, how: Resampling) -> Resampled:
    """Score every draw, with and without weights of the items.

    Parameters
    ----------
    scorer : Scorer
        What to score.
    members : Members
        Groups.
    how : Resampling
        Weights and seed.
    """
    whole = isinstance(how.resamples, int | np.integer) and how.resamples >= 1
    if how.items not in get_args(ItemWeights) or not whole:
        raise EvaluationError(
            f"items={how.items!r}, resamples={how.resamples}: expected one of {get_args(ItemWeights)}, and a whole number from 1"
        )
    with np.errstate(invalid="ignore", divide="ignore"):
        return (_by_item if scorer.metric.over == "item" else _over_items)(scorer, members, how)


def _by_item(scorer: Scorer, members: Members, how: Resampling) -> Resampled:
    """Sum scores and weights block by block of items."""
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
        # where nobody changes groups the mean is linear in the truth: its mean over all draws will do
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
    """Score block by block of draws, with the weights of all items."""
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
    """Average a score of few truths, given weights of the items, at every resample; centred on the mean over all draws."""
    rng = np.random.default_rng([how.seed, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # the mean of a group without members
        off = np.nanmean(raters, axis=-1) - np.nanmean(score(weighing.none()), axis=-1)
        draws = [np.nanmean(score(weighing.one(rng)), axis=-1) for _ in range(how.resamples)]
    return np.stack(draws, axis=-1) + off[..., None]


def _of_groups(
    scorer: Scorer, truth: np.ndarray, weights: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """Score the groups (classifier or 1, group, sample, item) one by one where they have members."""
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
    """Return the function that gives the label (sample, item) of each draw: the one that is scored, where one is."""
    if scorer.metric.truth in ("label", "sampled"):
        return lambda: truth
    if scorer.metric.truth == "plausibility":
        return lambda: scorer.labels.draw(block, 1, rng)[0].T
    return lambda: truth[..., 0]


def _few(n_samples: int, few: int) -> np.ndarray:
    """Return the numbers of few draws, evenly spread."""
    return np.unique(np.linspace(0, n_samples - 1, min(few, n_samples)).astype(int))


def _dot(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return np.einsum("si,si->s", a, b)


class _Weighing:
    """Weights of the items, of which each draw has its own."""

    def __init__(self, how: Resampling, n_items: int, n_samples: int) -> None:
        self.bayesian, self.n_items = how.items == "bayesian", n_items
        rng = np.random.default_rng([how.seed, 2])
        # how often an item is drawn depends on all items: the counts are made at once, a byte each
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
        """Return the weights of the items as they are."""
        return np.ones(self.n_items)
