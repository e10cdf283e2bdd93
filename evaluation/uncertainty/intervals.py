"""Draws and intervals of a metric: uncertainty of the truth, of the sample of items, and both.

Given the truth of a draw, the metric over the population of items has the posterior of the Bayesian bootstrap: weights
Dirichlet(1, ..., 1) of the items, that is normalised exponentials. One draw of the truth with one weight vector is a
draw of both: multiple imputation, exact if the model learns the population of the items, and too wide if it has more
information than the items, such as a prior fixed for each item. For the items alone, the metric is averaged over draws
of the truth with the same weights: over all draws where it is linear in the truth, else over as many draws for each weight
vector as use every draw at least once, other draws for another vector. What the choice of draws adds to the variance between
vectors is estimated from the draws within each, and taken off.

Few items. Where all items have the same score, as where all are right, no weights vary. Intervals of metrics of single items
allow for one item more at either end of the scores, by Jeffreys' prior of right and wrong answers; mean and sd do not.

References
----------
Rubin (1981), The Bayesian bootstrap, Annals of Statistics 9, doi:10.1214/aos/1176345338. Efron (1979), Bootstrap
methods, Annals of Statistics 7, doi:10.1214/aos/1176344552 (counts of items drawn with replacement). Meng (1994),
Multiple-imputation inferences with uncongenial sources of input, Statistical Science 9, doi:10.1214/ss/1177010269.
"""

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import chain
from math import ceil
from typing import Any, Literal, NamedTuple, cast, get_args

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Block, fixed_seed, kept_in_words
from ...posterior.top_labels import OtherAs
from ..argument_checks import check_arguments, check_probability, check_whole
from ..metrics.callables import ByDraw
from ..metrics.metric import Metric, Response, Truth
from ..truth.gold import gold_against_answers, gold_in_words
from ..truth.item_arrays import coded_items
from .adjusted import Scorer
from .questions import question_of
from .subgroups import By, GroupWeights, ScoredPart, members_of

ItemWeights = Literal["bayesian", "counts"]

# least number of draws of the truth, if there are as many, to average over with each weight vector
FEW_TRUTHS = 20
LEAST_KEPT = 0.25  # share of the variance of the items alone that is never taken off: where it would be, its estimate is noise
MOST_USED = 0.7  # share of the items in a group, up to which these alone are scored
ONE_ITEM = "of one item: nothing is known of the differences between items, and the interval leaves them out"
ALL_TIED = "all scores are tied in every item: the number is that of the rule for ties, not of the classifier"


class BootstrapOptions(NamedTuple):
    """Options of the bootstrap: kind of weights, number of resamples of the items alone, seed, and clusters."""

    items: ItemWeights
    resamples: int
    seed: int
    progressbar: bool
    cluster: np.ndarray | None = None  # (item,), codes; None: each item is its own


class Resampled(NamedTuple):
    """Draws of a metric in every group, and the share of the items in it."""

    raters: np.ndarray  # (classifier, group, sample), NaN for empty groups and undefined metrics
    both: np.ndarray  # (classifier, group, sample)
    items: np.ndarray  # (classifier, group, resample)
    share: np.ndarray  # (classifier, group, sample)
    range: (
        np.ndarray
    )  # least and largest score of an item (classifier, bound), NaN for metrics of all items together


def _by_item(scorer: Scorer, members: GroupWeights, how: BootstrapOptions) -> Resampled:
    """Sum scores and weights of items in blocks, for metrics that are means over items."""
    view = scorer.aligned.view
    weighing = _Weighing(how, len(view.items), view.n_samples)
    samples, met = slice(0, view.n_samples), _met_resamples(view.n_samples, how.resamples)

    def sums(block: Block, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        truth = scorer.truth(block, rng)
        scores = scorer.by_item(truth, block.items)
        ends = np.array([[score.min(), score.max()] for score in scores], float)
        member = members.weights(ScoredPart(block.items, samples, _label_of(scorer, block, truth, rng)))
        weight = weighing(samples, block.items, rng)
        member = np.broadcast_to(member, (*member.shape[:3], weight.shape[1]))
        if member.shape[2] == 1:
            return *_sums_of_fixed(scores, member[:, :, 0], weight), ends
        of_resamples = weighing.of_block(block.items)
        weights = chain((np.ones_like(weight), weight), (of_resamples[of_draw] for of_draw in met.T))
        members_of_each = np.broadcast_to(member, (len(scores), *member.shape[1:]))
        totals = np.zeros((2, len(scores), member.shape[1], len(weight), 2 + met.shape[1]))
        for k, each in enumerate(weights):
            for c, (own, score) in enumerate(zip(members_of_each, scores, strict=True)):
                totals[0, c, ..., k] = np.einsum("gsi,si->gs", own, each * score.T)
                totals[1, c, ..., k] = np.einsum("gsi,si->gs", own, each)
        return totals, np.empty((2, 0)), ends

    totals, means, ends = zip(*view.map_blocks(sums, how.seed, scorer.width), strict=True)
    value, count = np.sum(totals, axis=0)
    raters, both, apart = (
        value[..., 0] / count[..., 0],
        value[..., 1] / count[..., 1],
        value[..., 2:] / count[..., 2:],
    )
    if apart.shape[-1]:
        items = _items_alone(apart - raters[..., None], raters, how.resamples)
    else:
        items = _of_resamples(np.concatenate(means, axis=-1), weighing, how)
    ends = np.stack([np.min(ends, axis=0)[:, 0], np.max(ends, axis=0)[:, 1]], axis=1)
    if np.isin(ends, (0, 1)).all():  # such as accuracy, where all may be right
        ends = np.broadcast_to([0.0, 1.0], ends.shape)
    return Resampled(raters, both, items, count[..., 0] / len(view.items), ends)


def _sums_of_fixed(
    scores: list[np.ndarray], member: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Sum scores (item, sample) of each classifier over fixed groups (classifier or 1, group, item).

    Returns scores and weights, each summed with equal and with random weights (2, classifier, group, sample, 2); and for the
    items alone the mean over all draws, in which the metric is linear, and the membership (2, classifier, group, item).
    """
    totals = np.empty((2, len(scores), member.shape[1], len(weight), 2))
    means = np.empty((2, len(scores), *member.shape[1:]))
    for c, score in enumerate(scores):
        own = member[c if len(member) > 1 else 0].astype(float)
        totals[0, c, ..., 0], totals[0, c, ..., 1] = own @ score, own @ (score * weight.T)
        totals[1, c, ..., 0], totals[1, c, ..., 1] = own.sum(axis=1)[:, None], own @ weight.T
        means[0, c], means[1, c] = own * score.mean(axis=1, dtype=float), own
    return totals, means


def _over_items(scorer: Scorer, members: GroupWeights, how: BootstrapOptions) -> Resampled:
    """Score blocks of draws, with the weights of all items, for metrics of all items together."""
    if (function := scorer.called) is not None:
        function.check_weights()
    scorer = scorer.closed(how.seed)
    view = scorer.aligned.view
    weighing = _Weighing(how, len(view.items), view.n_samples)
    met = _met_resamples(view.n_samples, how.resamples)

    def scores(block: Block, samples: slice, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        truth = scorer.truth(block, rng)
        label = _label_of(scorer, block, truth, rng)
        member = members.weights(ScoredPart(block.items, samples, label))
        member = np.broadcast_to(member, (*member.shape[:3], truth.shape[1]))
        numbers = np.arange(samples.start, samples.stop)
        of_draws = np.ones(truth.shape[:2]), weighing(samples, block.items, rng)
        of_resamples = (np.stack([weighing.one(number) for number in own]) for own in met[samples].T)
        weights = chain(of_draws, of_resamples)
        found = [_group_scores(scorer, truth, member, weight, numbers) for weight in weights]
        count = np.broadcast_to(member.sum(-1, dtype=float), (*member.shape[:2], len(truth)))
        return np.stack(found, axis=-1), count

    found, count = zip(*scorer.map_draws(scores, how.seed, how.progressbar), strict=True)
    values, count = np.concatenate(found, axis=2), np.concatenate(count, axis=2)
    raters, both = values[..., 0], values[..., 1]
    items = _items_alone(values[..., 2:] - raters[..., None], raters, how.resamples)
    share = np.broadcast_to(count / len(view.items), raters.shape)
    return Resampled(raters, both, items, share, np.full((len(raters), 2), np.nan))


def _met_resamples(n_samples: int, resamples: int) -> np.ndarray:
    """Return the resamples (sample, number) whose weights each draw meets, so that all draws are used, and equally often.

    Each resample meets at least `FEW_TRUTHS` draws, or all, spread evenly.
    """
    each = min(resamples, ceil(resamples * min(FEW_TRUTHS, n_samples) / n_samples))
    return np.arange(n_samples * each).reshape(n_samples, each) % resamples


def _items_alone(apart: np.ndarray, raters: np.ndarray, resamples: int) -> np.ndarray:
    """Average what weights change over the draws that meet a resample, centred on the mean over all draws.

    The variance that is due to the choice of draws, estimated from the draws of each resample, is taken off, up to three quarters
    of the whole: where more is due to it, intervals are too wide rather than too narrow.

    Shapes: apart (..., sample, number), scores with the weights of `_met_resamples` less those with equal weights; raters
    (..., sample); result (..., resample).
    """
    n_samples, each = apart.shape[-2:]
    padded = np.full((*apart.shape[:-2], -(-n_samples * each // resamples) * resamples), np.nan)
    padded[..., : n_samples * each] = apart.reshape(*apart.shape[:-2], -1)
    of_resample = padded.reshape(*apart.shape[:-2], -1, resamples)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # a group without members, one draw
        found = np.nanmean(raters, axis=-1)[..., None] + np.nanmean(of_resample, axis=-2)
        number, of_all = np.isfinite(of_resample).sum(axis=-2), np.isfinite(raters).sum(axis=-1)[..., None]
        excess = np.nanvar(of_resample, axis=-2, ddof=1) / number * (1 - number / of_all)
        middle = np.nanmean(found, axis=-1, keepdims=True)
        between = np.nanvar(found, axis=-1, ddof=1, keepdims=True)
        kept = 1 - np.nan_to_num(np.nanmean(excess, axis=-1, keepdims=True)) / between
    return middle + np.sqrt(np.clip(np.nan_to_num(kept, nan=1.0, neginf=0.0), LEAST_KEPT, 1)) * (
        found - middle
    )


def _of_resamples(means: np.ndarray, weighing: "_Weighing", how: BootstrapOptions) -> np.ndarray:
    """Weight mean scores and membership (2, classifier, group, item) by every resample: (classifier, group, resample)."""
    values, member = means
    weights = (weighing.one(number) for number in range(how.resamples))
    return np.stack([(values @ weight) / (member @ weight) for weight in weights], axis=-1)


def _group_scores(
    scorer: Scorer, truth: np.ndarray, member: np.ndarray, weight: np.ndarray, samples: np.ndarray
) -> np.ndarray:
    """Score the groups one by one (classifier, group, sample), NaN in draws without members.

    Shapes: truth (sample, item[, ...]); member (classifier or 1, group, sample or 1, item); weight (sample, item).
    """
    n_classifiers = len(scorer.aligned.predicted)
    found = np.full((n_classifiers, member.shape[1], len(samples)), np.nan)
    for w, g in np.ndindex(member.shape[:2]):
        own, items = member[w, g], None
        used = own.any(axis=0)
        if scorer.called is None and used.sum() < MOST_USED * len(used):
            items = np.flatnonzero(used)  # the other items have no weight at any draw
        columns = slice(None) if items is None else items
        of_group = own[:, columns] * weight[:, columns]
        rows = np.flatnonzero(of_group.any(axis=-1))
        if len(rows):
            part, of_group = truth[:, columns], of_group.astype(float)
            if len(rows) < len(truth):
                part, of_group = part[rows], of_group[rows]
            scores = scorer.over_items(part, of_group, samples[rows], items)
            which = slice(None) if len(member) == 1 else slice(w, w + 1)
            found[which, g, rows] = scores[which]
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


class _Weighing:
    """Random weights of the items, different for each draw, and those of the resamples of the items alone."""

    def __init__(self, how: BootstrapOptions, n_items: int, n_samples: int) -> None:
        self.bayesian, self.n_items, self.seed = how.items == "bayesian", n_items, how.seed
        self.resamples, self.cluster = how.resamples, how.cluster
        rng = np.random.default_rng([how.seed, 2])
        # counts of draws with replacement depend on all items: computed once, one byte each
        drawn = [] if self.bayesian else [self._of_all(rng).astype(np.uint8) for _ in range(n_samples)]
        self.counts = np.array(drawn)

    def __call__(self, samples: slice, items: slice, rng: np.random.Generator) -> np.ndarray:
        """Return weights (sample, item) up to a factor by sample."""
        if self.bayesian and self.cluster is not None:  # items of other blocks have the same weight
            rngs = (
                np.random.default_rng([self.seed, 4, number]) for number in range(samples.start, samples.stop)
            )
            return np.stack([self._of_all(rng)[items] for rng in rngs])
        if self.bayesian:
            return rng.standard_exponential((samples.stop - samples.start, items.stop - items.start))
        return self.counts[samples, items].astype(float)

    def one(self, resample: int) -> np.ndarray:
        """Return the weights (item,) of a resample."""
        return self._of_all(np.random.default_rng([self.seed, 1, resample]))

    def of_block(self, items: slice) -> np.ndarray:
        """Return the weights (resample, item) of some items in all resamples, up to a factor by resample."""
        if not self.bayesian or self.cluster is not None:
            return np.stack([self.one(number)[items] for number in range(self.resamples)])
        rng = np.random.default_rng([self.seed, 3, items.start])
        return rng.standard_exponential((self.resamples, items.stop - items.start))

    def _of_all(self, rng: np.random.Generator) -> np.ndarray:
        """Draw the weights (item,) of all items, the same for those of a cluster."""
        n = self.n_items if self.cluster is None else int(self.cluster.max()) + 1
        if self.bayesian:
            weights = rng.standard_exponential(n)
        else:
            weights = np.bincount(rng.integers(0, n, n), minlength=n).astype(float)
        return weights if self.cluster is None else weights[self.cluster]


SOURCES = ("raters", "items", "both")

# resamples of items: for means over items, and for metrics computed from all items at once
RESAMPLES_OF_MEANS, RESAMPLES_OF_ALL_ITEMS = 1000, 200


def metric_draws(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    *,
    by: By | None = None,
    items: ItemWeights = "bayesian",
    clusters: xr.DataArray | None = None,
    resamples: int | None = None,
    truth: Truth | None = None,
    response: Response | None = None,
    top: int = 1,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
    larger_is_better: bool | None = None,
    progressbar: bool = True,
    **arguments: Any,
) -> xr.Dataset:
    """Return draws of a metric with the uncertainty of the truth, of the sample of items, and both.

    Against a posterior of the raters alone the metric is agreement with what they leave open, and accuracy
    against the truth if the posterior has seen the predictions, see `uncertainty_adjusted`.

    Parameters
    ----------
    metric, tree, predictions
        As in `uncertainty_adjusted`; a callable must take ``sample_weight``.
    by : mapping of label to group, or DataArray, optional
        Subgroups, whose members may differ between draws: the group of the label of the draw, such as its
        risk; or groups (item), optionally with the dims of the draws or ``classifier``, such as the predicted
        label; or weights (..., item, group).
    items : {"bayesian", "counts"}
        Weights of the items: of the Bayesian bootstrap, or counts of items drawn with replacement.
    clusters : DataArray (item), optional
        Cluster of each item, such as its patient or document, where items of a cluster are alike: they share one weight.
    resamples : int, optional
        Number of weight vectors for the uncertainty of the items alone; by default 1,000, or 200 if the
        metric is computed from all items at once.
    larger_is_better : bool, optional
        For a callable; by default derived from the name of a loss or a function of scikit-learn.
    truth, response, top, other, random_seed, progressbar, **arguments
        As in `uncertainty_adjusted`.

    Returns
    -------
    Dataset
        ``raters`` and ``both`` (chain, draw[, classifier][, group]): the metric of each draw of the truth,
        with equal or with random weights of the items. ``items`` (resample[, classifier][, group]): with
        random weights of the items, averaged over draws of the truth: all of them if the metric is linear in the truth, else
        other ones for each weight vector, and what this choice adds to the variance is taken off. NaN if a group has no member.
        With `by`, ``share`` (chain, draw[, classifier], group), the share of the items in the group (Rubin,
        1981, doi:10.1214/aos/1176345338). ``range`` ([classifier], bound): least and largest score of an item, NaN for
        metrics of all items together; the attribute ``sampled`` is the number of items, or clusters.
        ``note`` ([classifier][, group]): what a number is worth where that
        is little, of one item or of scores that are tied everywhere, else "". The attribute ``note`` names items
        whose gold label no rater gave, if there are any; ``question`` says whether the metric is agreement with
        what the raters leave open or accuracy against the truth.

    Raises
    ------
    EvaluationError
        If predictions, groups and posterior do not match.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[[0.6, 0.4], [0.3, 0.7]], [[0.7, 0.3], [0.8, 0.2]]]]
    >>> names = {"item": ["a", "b"], "category": ["x", "y"]}
    >>> truth = xr.DataArray(draws, names, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"})
    >>> predicted = xr.DataArray([["x"], ["x"]], {"item": ["a", "b"]}, ("item", "position"))
    >>> found = evaluation.metric_draws(evaluation.top_k_accuracy(1), truth, predicted, resamples=5, random_seed=1)
    >>> found["raters"].values, dict(found.sizes)
    (array([[0.5, 1. ]]), {'bound': 2, 'chain': 1, 'draw': 2, 'resample': 5})
    """
    check_arguments(metric_draws, arguments, metric)
    scorer = Scorer.of(
        metric, tree, predictions, arguments, truth=truth, response=response, top=top, other=other
    )
    if larger_is_better is not None:
        scorer = replace(scorer, metric=replace(scorer.metric, larger_is_better=larger_is_better))
    scorer, members = members_of(scorer, by)
    many = RESAMPLES_OF_MEANS if scorer.metric.over == "item" else RESAMPLES_OF_ALL_ITEMS
    seed = fixed_seed(random_seed, scorer.aligned.view.seed)
    cluster = None if clusters is None else coded_items(scorer.aligned.view.items, clusters, "clusters")[1]
    how = BootstrapOptions(items, many if resamples is None else resamples, seed, progressbar, cluster)
    if items not in get_args(ItemWeights):
        raise EvaluationError(f"items={items!r}: expected one of {get_args(ItemWeights)}")
    check_whole("resamples", how.resamples, 1)
    with np.errstate(invalid="ignore", divide="ignore"):
        found = (_by_item if scorer.metric.over == "item" else _over_items)(scorer, members, how)
    view, classifier = scorer.aligned.view, scorer.aligned.classifier
    samples = view.sample_dims
    dims = {"raters": samples, "both": samples, "items": ("resample",), "share": samples}
    arrays = {"range": (("classifier", "bound"), found.range)}
    for name in dims:
        values = getattr(found, name)
        unstacked = np.moveaxis(values, -1, 0) if name == "items" else view.unstack(values)
        arrays[name] = ((*dims[name], "classifier", "group"), unstacked)
    arrays["note"] = (("classifier", "group"), _notes_on(scorer, predictions, found.share.mean(axis=-1)))
    drawn = xr.Dataset(arrays, {**view.sample_coords(), "group": members.names})
    drawn.attrs = {
        "metric": scorer.metric.name,
        "larger_is_better": int(scorer.metric.larger_is_better),
        "items": len(view.items),
        "sampled": len(view.items) if cluster is None else int(cluster.max()) + 1,
        "note": gold_in_words(gold_against_answers(tree)),
        "question": question_of(tree, predictions),
        **kept_in_words(tree),
    }
    if by is None:
        drawn = drawn.isel(group=0, drop=True).drop_vars("share")
    if classifier is None:
        return drawn.isel(classifier=0)
    return drawn.assign_coords(classifier=classifier.to_numpy())


def metric_intervals(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    *,
    probability: float = 0.9,
    **options: Any,
) -> xr.Dataset:
    """Return a metric with intervals for the uncertainty of the truth, of the sample of items, and both.

    Against a posterior of the raters alone the metric is agreement with what they leave open, and accuracy
    against the truth if the posterior has seen the predictions, see `uncertainty_adjusted`.

    The variance of both together exceeds the sum of the two variances, because the weights of the items meet
    truths that are uncertain one by one. That is right if the model learns the population of the items from
    them, and conservative if it does not (Meng, 1994, doi:10.1214/ss/1177010269).

    Intervals of metrics of single items allow for one item more, at either end of the scores: of ten items that are all
    right they do not say that every item is.

    Parameters
    ----------
    metric, tree, predictions
        As in `metric_draws`.
    probability : float
        Probability of the equal-tailed intervals.
    **options
        As in `metric_draws`: ``by``, ``items``, ``truth``, ``random_seed`` and the others.

    Returns
    -------
    Dataset
        Over ``source`` ("raters", "items", "both") and, like the draws, over classifier and group: ``mean``;
        ``sd``; ``interval`` (bound: lower, upper); ``mcse`` and ``interval_mcse`` (bound), the Monte Carlo
        standard errors of mean and bounds; ``undefined``, the share of draws without a value. With `by`,
        ``share`` and ``share_interval`` of the items in the group. ``note`` and the attributes ``note`` and
        ``question`` as in `metric_draws`.

    Raises
    ------
    EvaluationError
        As in `metric_draws`.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[[0.6, 0.4], [0.3, 0.7]], [[0.7, 0.3], [0.8, 0.2]]]]
    >>> names = {"item": ["a", "b"], "category": ["x", "y"]}
    >>> truth = xr.DataArray(draws, names, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"})
    >>> predicted = xr.DataArray([["x"], ["x"]], {"item": ["a", "b"]}, ("item", "position"))
    >>> found = evaluation.metric_intervals(evaluation.top_k_accuracy(1), truth, predicted, random_seed=1)
    >>> found["mean"].sel(source="raters").item(), found["interval"].dims
    (0.75, ('source', 'bound'))
    """
    check_arguments(metric_intervals, options, metric, metric_draws)
    check_probability("probability", probability)
    drawn = metric_draws(metric, tree, predictions, **options)
    return summary_of_draws(drawn, probability)


def summary_of_draws(drawn: xr.Dataset, probability: float) -> xr.Dataset:
    """Summarise draws of `metric_draws` for every source: mean, sd, interval and Monte Carlo errors; notes are kept."""
    check_probability("probability", probability)
    found = {name: summarise(drawn[name], probability) for name in SOURCES}
    if "range" in drawn:
        found |= {name: _of_one_more(drawn, name, found[name], probability) for name in SOURCES[1:]}
    # resamples of the items average over the same draws of the truth, whose Monte-Carlo error does not show between them
    of_truth = found["raters"]["mcse"].fillna(0)
    for name in ("mcse", "interval_mcse"):
        found["items"][name] = (found["items"][name] ** 2 + of_truth**2) ** 0.5
    result = xr.concat(found.values(), xr.DataArray(list(SOURCES), dims="source", name="source"))
    if "share" in drawn:
        share = summarise(drawn["share"], probability)
        result["share"], result["share_interval"] = share["mean"], share["interval"]
    if "note" in drawn:
        result["note"] = drawn["note"]
    attrs = {**drawn.attrs, "probability": probability}
    return result.transpose("source", ..., "bound").assign_attrs(attrs)


def _of_one_more(drawn: xr.Dataset, name: str, found: xr.Dataset, probability: float) -> xr.Dataset:
    """Return a summary whose interval allows for one item more, at either end of the scores; metrics of single items only.

    Its weight in the Bayesian bootstrap of n items is Beta(1, n), and its score is at the ends by Beta(1/2, 1/2).
    """
    rng, draws = np.random.default_rng(0), drawn[name]  # a function of the draws
    dims = [d for d in draws.dims if d not in ("classifier", "group")]
    share = drawn.get("share", xr.DataArray(1.0))  # a known truth has groups without draws
    n = drawn.attrs["sampled"] * share.mean([d for d in ("chain", "draw") if d in share.dims])
    shape = [draws.sizes[d] for d in dims]
    weight = 1 - xr.DataArray(rng.random(shape), dims=dims) ** (1 / np.maximum(n, 1))
    low, high = (drawn["range"].isel(bound=end, drop=True) for end in (0, 1))
    score = low + (high - low) * xr.DataArray(rng.beta(0.5, 0.5, shape), dims=dims)
    with_it = summarise((draws + weight * (score - draws)).where(low.notnull(), draws), probability)
    lower, upper = (with_it["interval"].sel(bound=bound, drop=True) for bound in ("lower", "upper"))
    held: list[Any] = [np.minimum(lower, found["mean"]), np.maximum(upper, found["mean"])]
    return found.assign(interval=xr.concat(held, found["bound"]), interval_mcse=with_it["interval_mcse"])


def summarise(draws: xr.DataArray, probability: float) -> xr.Dataset:
    """Mean, sd, interval and Monte Carlo errors over all dims except those of classifiers, groups and estimates."""
    kept = [d for d in ("estimate", "classifier", "other", "group") if d in draws.dims]
    samples = [d for d in draws.dims if d not in kept]
    shape = [draws.sizes[d] for d in kept]
    values = draws.transpose(*kept, *samples).to_numpy()
    chains = values.reshape(*shape, -1, values.shape[-1] if samples else 1)
    flat = values.reshape(*shape, -1)
    tails = ((1 - probability) / 2, (1 + probability) / 2)
    with warnings.catch_warnings(), np.errstate(invalid="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)  # a group that never has a member
        summary = {
            "mean": (kept, np.nanmean(flat, axis=-1)),
            "sd": (kept, np.nanstd(flat, axis=-1)),
            "interval": ((*kept, "bound"), np.moveaxis(np.nanquantile(flat, tails, axis=-1), 0, -1)),
            "mcse": (kept, _mcse(chains)),
            "interval_mcse": ((*kept, "bound"), np.stack([_mcse(chains, p) for p in tails], axis=-1)),
            "undefined": (kept, np.isnan(flat).mean(axis=-1)),
        }
    coords = {d: draws[d] for d in kept if d in draws.coords}
    return xr.Dataset(summary, {**coords, "bound": ["lower", "upper"]})


def _mcse(chains: np.ndarray, probability: float | None = None) -> np.ndarray:
    """Monte Carlo error of the mean, or of a quantile, of the draws (..., chain, draw) that are not NaN."""
    how = {} if probability is None else {"method": "quantile", "prob": probability}
    if np.isfinite(chains).all():
        return cast(np.ndarray, array_stats.mcse(chains, **how))
    error = np.full(chains.shape[:-2], np.nan)
    for place in np.ndindex(error.shape):
        defined = chains[place][~np.isnan(chains[place])]
        error[place] = array_stats.mcse(defined[None], **how) if len(defined) else np.nan
    return error


# --- Notes on numbers that say little ---


def _notes_on(scorer: Scorer, predictions: xr.DataArray, share: np.ndarray) -> np.ndarray:
    """Return what each number is worth (classifier, group), where that is little, else "".

    `share`: the mean share of the items in each group (classifier, group).
    """
    items = share * len(scorer.aligned.view.items)
    tied = np.broadcast_to(_all_tied(predictions) & _breaks_ties(scorer), len(share))
    notes = np.full(share.shape, "", object)
    for place in np.ndindex(share.shape):
        found = [ALL_TIED] * bool(tied[place[0]]) + [ONE_ITEM] * bool(0 < items[place] < 1.5)
        notes[place] = "; ".join(found)
    return notes.astype(str)


def _breaks_ties(scorer: Scorer) -> bool:
    """Whether equal scores are ordered by a rule, or count half; a loss of single probabilities takes them as they are."""
    metric = scorer.metric
    return metric.response != "probabilities" or (scorer.called is None and metric.over == "items")


def _all_tied(predictions: xr.DataArray) -> np.ndarray:
    """Whether the scores of all categories are the same in every item (classifier,); not of labels and sets."""
    if (
        "category" not in predictions.dims
        or predictions.sizes["category"] < 2
        or predictions.dtype.kind == "b"
    ):
        return np.zeros(1, bool)
    equal = predictions == predictions.isel(category=0, drop=True)
    return np.atleast_1d(equal.all([d for d in predictions.dims if d != "classifier"]).to_numpy())
