"""Rectified estimates: few items with people, many with a judge.

A judge, such as a language model, labels all N items; people label n of them, chosen with known probabilities pi. With
m_i the metric of the true label of item i, and h_i the same metric with the judge's label in its place, a draw is

    theta = lambda A + P - lambda B                                                                     (1)
    A = sum_N g_i h_i / sum_N g_i
    P = sum_n (g_i / pi_i) m_i / sum_n (g_i / pi_i),    B = sum_n (g_i / pi_i) h_i / sum_n (g_i / pi_i)

with m_i of a draw of the truth, and g_i ~ Exponential(1), one for each of the N items and the same in all sums: the
Bayesian bootstrap of the population from which the N items are a sample. Where equal weights replace g and the posterior
mean replaces m, and all pi are equal, this is the estimate of PPI++: their coefficient of the mean of h over the
N - n other items is (1 - n / N) lambda, as A = (n / N) B + (1 - n / N) (mean of h over the others).

The coefficient lambda. Let R_i say that people label item i, independently with probability pi_i, and m, h be deviations
from their means. Then theta is, to first order, the mean over all items of psi_i = lambda h_i + (R_i / pi_i) (m_i - lambda h_i),
and

    var(psi) = E[m^2 / pi] - 2 lambda E[(1 / pi - 1) m h] + lambda^2 E[(1 / pi - 1) h^2],               (2)

whose minimum is at lambda = E[(1 / pi - 1) m h] / E[(1 / pi - 1) h^2]: Cov(m, h) / Var(h) where all pi are equal, which
is n / N times less than 1 in PPI++ (their equation for the mean: Cov(m, h) / ((1 + n / (N - n)) Var h)). The numerator is
estimated from the items with people, each weighted by (1 / pi) (1 / pi - 1), the denominator from all items. Estimating
lambda does not change the variance to first order, and any lambda is valid.

Few items. Where all n items have the same score the draws of theta do not vary, though one item more may differ. Draws of
intervals have one item more among those of people: its m and h are each at the least or the largest score, and each of the
four pairs has a weight Gamma(1/4, 1). For people alone and right or wrong answers this is Jeffreys' posterior,
Beta(k + 1/2, n - k + 1/2). The variance of the weights' draws is (n - 1) / (n + 1) of the unbiased estimate, and the
coefficient costs another degree of freedom: bounds are moved away from the middle by the root of the inverse of that, times
the ratio of quantiles of Student's t and the normal law. Intervals stay in the range of the scores and contain the mean.

References
----------
Angelopoulos, Duchi and Zrnic (2023), PPI++: efficient prediction-powered inference, arXiv:2311.01453. Zrnic and Candes
(2024), Active statistical inference, arXiv:2403.03208 (known probabilities). Fisch et al. (2024), Stratified
prediction-powered inference, arXiv:2406.04291. Rubin (1981), The Bayesian bootstrap, doi:10.1214/aos/1176345338. Brown, Cai
and DasGupta (2001), Interval estimation for a binomial proportion, doi:10.1214/ss/1009213286 (Jeffreys). Dorner, Nastl and
Hardt (2024), Limits to scalable evaluation at the frontier, arXiv:2410.13341.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import norm, t

from ...posterior.errors import EvaluationError
from ...posterior.matching import check_distinct, ids_of, places_of, with_complement
from ...posterior.plausibility import Block, Plausibility, plausibility_of
from ...posterior.schema import OTHER
from ...posterior.top_labels import NO_LABEL
from ..argument_checks import check_arguments, check_probability
from ..metrics.callables import ByDraw, metric_from_callable
from ..metrics.metric import Metric, Truth
from ..truth.item_arrays import coded_items, item_ids, places_of_items, values_of_items
from .adjusted import Scorer
from .alignment import align
from .intervals import metric_intervals, summarise
from .questions import is_of_truth

ESTIMATES = ("rectified", "people", "judge")
MOST_DRAWS = 2000  # of the posterior; more are thinned evenly. A point estimate has as many draws of weights
FEW = 30  # items or clusters of a stratum with people, fewer than which are noted
FEW_THAT_DIFFER = 5  # the same, of the effective number from which the spread comes
DIFFERS = (
    "the joint estimate differs from the rectified one by more than their errors: its model is wrong, such as for raters who "
    "share errors, or the items with people are no random sample of all"
)
ROUNDED_TO_ZERO = 1e-12  # coefficient of the judge, from sums that cancel


@dataclass(frozen=True)
class _Design:
    """Items sorted by stratum, and how those of the people were chosen."""

    order: np.ndarray  # (item,), position of each item in the predictions
    names: np.ndarray  # (stratum,)
    stratum: np.ndarray  # (item,), ascending codes
    labelled: np.ndarray  # (n,), ascending positions of the items with people
    row: np.ndarray  # (n,), their positions in the posterior
    probability: np.ndarray  # (item,), of being given to people
    cluster: np.ndarray | None  # (item,), codes; None: each item is its own

    @property
    def start(self) -> np.ndarray:
        """First item of each stratum."""
        return np.searchsorted(self.stratum, np.arange(len(self.names)))

    @property
    def labelled_start(self) -> np.ndarray:
        """First of the items with people of each stratum."""
        return np.searchsorted(self.stratum[self.labelled], np.arange(len(self.names)))

    @property
    def size(self) -> np.ndarray:
        """Items in each stratum."""
        return np.bincount(self.stratum, minlength=len(self.names))

    def sum_of_all(self, values: np.ndarray) -> np.ndarray:
        """Sum values (..., item) by stratum."""
        return np.add.reduceat(values, self.start, axis=-1)

    def sum_of_labelled(self, values: np.ndarray) -> np.ndarray:
        """Sum values (..., n) by stratum."""
        return np.add.reduceat(values, self.labelled_start, axis=-1)

    def weights(self, samples: int, rng: np.random.Generator) -> np.ndarray:
        """Draw weights (sample, item) of the Bayesian bootstrap, the same for the items of a cluster."""
        if self.cluster is None:
            return rng.standard_exponential((samples, len(self.order)))
        return rng.standard_exponential((samples, int(self.cluster.max()) + 1))[:, self.cluster]

    @property
    def unit(self) -> str:
        """Name of what was sampled."""
        return "item" if self.cluster is None else "cluster"

    @property
    def labelled_units(self) -> np.ndarray:
        """Items, or clusters, with people of each stratum (stratum,)."""
        unit = np.arange(len(self.order)) if self.cluster is None else self.cluster
        own = np.unique(np.stack([self.stratum[self.labelled], unit[self.labelled]]), axis=1)
        return np.bincount(own[0], minlength=len(self.names))


def rectified(
    metric: Metric | ByDraw,
    tree: xr.DataTree | xr.DataArray,
    predictions: xr.DataArray,
    judge: xr.DataArray,
    *,
    sampling: xr.DataArray | None = None,
    strata: xr.DataArray | None = None,
    clusters: xr.DataArray | None = None,
    judge_weight: float | None = None,
    joint: xr.DataTree | None = None,
    probability: float = 0.9,
    truth: Truth | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Estimate a metric where people labelled few items, and a judge, such as a language model, all of them.

    The mean over all items of the metric by the judge is corrected by the items that people labelled too:
    ``theta = lambda mean_N(h) + mean_n(m - lambda h)``, where m is the metric of an item's true label, and h
    the same with the judge's label in its place. Each draw of the posterior has its own m, and its own weights
    of the Bayesian bootstrap for all N items; PPI++ is the special case of one human label for each item and a
    normal interval. However wrong the judge, the estimate is right; a good judge makes it narrower. For
    accuracy, ``gain`` is at most 2 where the judge is no better than the classifier (Dorner et al., 2024,
    arXiv:2410.13341, theorem 6).

    The items with people must be a random sample with known probabilities. And if several people who may err
    labelled an item, the model of their labels must have seen the predictions, as one more rater: p(truth | people)
    alone is blurred by the errors of people, and understates the metric of a good classifier.

    Parameters
    ----------
    metric : Metric
        Mean over items, such as `top_k_accuracy`; metrics of all items together, such as F1, are refused.
    tree : DataTree or DataArray
        Posterior of the n items that people labelled, or a point estimate such as one human label for each (then
        with 2,000 draws of weights). Of more than 2,000 draws, evenly spaced ones are taken.
    predictions : DataArray
        Of all N items, in the forms of `uncertainty_adjusted`; optionally of several classifiers.
    judge : DataArray
        Labels of all N items by one judge, in the same forms; of scores, the label with the best counts.
    sampling : DataArray (item), optional
        Probability of each of the N items to be given to people, in (0, 1]; by default equal within a stratum.
    strata : DataArray (item), optional
        Stratum of each item, from each of which items were given to people. Strata have their shares of the N
        items, taken as known, and their own lambda.
    clusters : DataArray (item), optional
        Cluster of each item, such as its document, where items of a cluster are alike or were given to people
        together: they share one weight.
    judge_weight : float, optional
        The coefficient lambda in [0, 1]: 0 for people alone, 1 to trust the judge's differences between items.
        By default that of least variance, ``Cov(m, h) / Var(h)``, between 0 and N / (N - n), where the
        coefficient of PPI++, ``(1 - n / N) lambda``, is 1; 0 where the judge's h are all the same, or n = N.
    joint : DataTree, optional
        Posterior of all N items by one model of people, judge and classifiers (`Labels.with_predictions`). It is narrower
        where its model is right; `note` says where it differs from the rectified estimate by more than their errors.
    probability : float
        Probability of the equal-tailed intervals. For few items they allow for one more, at either end of the scores.
    truth : {"label", "set", "ranking", "plausibility", "sampled"}, optional
        As in `uncertainty_adjusted`.
    random_seed : int or numpy.random.Generator, optional
        Seed of weights and truths; by default derived from the tree.

    Returns
    -------
    Dataset
        Over ``estimate``: "rectified"; "people", of the n items alone; "judge", its labels taken for the truth,
        biased by its errors; with `joint` also "joint", as `metric_intervals` by that posterior; and over
        classifier: ``mean``, ``sd``, ``interval`` (bound: lower, upper), ``mcse`` and ``interval_mcse`` (Monte
        Carlo errors of mean and bounds), and ``plug_in``, with equal weights and the posterior mean of m. Over
        classifier: ``judge_weight`` (lambda, with `strata` also over stratum); ``gain``, the variance by people
        alone divided by the rectified; ``effective_items``, n times the gain; ``note``, what the numbers are worth
        where that is little, else "". Attributes: ``question`` in words, ``n``, ``N``,
        ``metric``, ``larger_is_better``, ``probability``.

    Raises
    ------
    EvaluationError
        If the metric is none of single items; items of posterior, predictions and judge do not match, or are
        repeated; a stratum has fewer than two items, or clusters, with people; a probability or `judge_weight`
        is out of range; or `joint` has not seen the predictions of all items as answers of raters.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> rng = np.random.default_rng(1)
    >>> right = np.where(rng.random(1000) < 0.8, "yes", "no")  # whether an answer is right
    >>> judged = np.where(rng.random(1000) < 0.9, right, "no")  # a judge that is too severe
    >>> table = lambda labels: xr.DataArray(labels[:, None], {"item": np.arange(len(labels))}, ("item", "position"))
    >>> people = xr.DataArray(right[:200, None] == ["no", "yes"], {"item": np.arange(200), "category": ["no", "yes"]})
    >>> claims = table(np.full(1000, "yes"))
    >>> accuracy = evaluation.top_k_accuracy(1)
    >>> found = evaluation.rectified(accuracy, people.astype(float), claims, table(judged), random_seed=1)
    >>> found["mean"].sel(estimate=["rectified", "people", "judge"]).round(2).values
    array([0.81, 0.8 , 0.7 ])

    References
    ----------
    Angelopoulos, Duchi and Zrnic (2023), PPI++: efficient prediction-powered inference, arXiv:2311.01453.
    """
    check_arguments(rectified, (), metric)
    check_probability("probability", probability)
    _check_judge_weight(judge_weight)
    of_items = metric if isinstance(metric, Metric) else metric_from_callable(metric, {}, truth)
    if of_items.over != "item":
        raise EvaluationError(
            f"{of_items.name} is computed from all items together, and only a mean over items can be rectified: pass a "
            "metric of single items, such as evaluation.top_k_accuracy(1) for accuracy"
        )
    tree, view = _with_draws(tree)
    ids = item_ids(predictions, "predictions")
    predictions = with_complement(predictions, view.declared)
    design = _design_of(view.items, ids, sampling, strata, clusters)
    predictions = predictions.isel(item=design.order)
    people = Scorer.of(metric, tree, predictions.isel(item=design.labelled), {}, truth=truth)
    people = _thinned(people)
    judged = _judged(people, predictions, judge)
    draws, with_ends, ends, mean_score = _draws(people, judged, design, random_seed)
    tuned = _tuned_weight(mean_score, judged, design)
    weight = tuned if judge_weight is None else np.full_like(tuned, judge_weight)
    plug_in = _three_means(np.ones((1, len(ids))), mean_score[..., None], judged, design)
    shares = design.size / len(ids)
    draws, with_ends, plug_in = (_estimates(means, weight, shares) for means in (draws, with_ends, plug_in))
    estimated = (2 if judge_weight is None and weight.any() else 1, 1)
    widening = np.array([*(_widening(number, design, probability) for number in estimated), 1.0])
    spreads = _spread_over(_influences(mean_score, judged, design, weight))
    found = {
        "plug_in": (("estimate", "classifier"), plug_in[..., 0]),
        "judge_weight": (("classifier", "stratum"), weight),
        "note": ("classifier", _notes(mean_score, judged, design, weight, spreads)),
    }
    result = _summary(people, (draws, with_ends), widening, ends, probability).assign(found)
    result["effective_items"] = len(design.labelled) * result["gain"]
    result = result.assign_coords(stratum=design.names) if strata is not None else result.isel(stratum=0)
    classifier = people.aligned.classifier
    named = classifier is not None
    result = result.assign_coords(classifier=classifier.to_numpy()) if named else result.isel(classifier=0)
    if joint is not None:
        options = {
            "probability": probability,
            "truth": truth,
            "random_seed": random_seed,
            "progressbar": False,
        }
        result = _with_joint(result, metric_intervals(metric, joint, predictions, **options))
    return result.assign_attrs(_attributes(people.metric, design, probability))


def _check_judge_weight(judge_weight: object) -> None:
    """Raise unless the coefficient of the judge is None or a number in [0, 1]."""
    number = isinstance(judge_weight, int | float | np.integer | np.floating)
    if judge_weight is not None and not (
        number and not isinstance(judge_weight, bool) and 0 <= float(judge_weight) <= 1
    ):
        raise EvaluationError(
            f"judge_weight={judge_weight!r}: expected a number from 0, people alone, to 1, or None to estimate it"
        )


def _with_draws(tree: xr.DataTree | xr.DataArray) -> tuple[xr.DataTree | xr.DataArray, Plausibility]:
    """Return a posterior and its view; a point estimate is repeated, so that there are draws of the weights."""
    view = Plausibility.of(tree)
    if not view.sample_dims:
        repeated = plausibility_of(tree).expand_dims(chain=1, draw=MOST_DRAWS)
        tree = repeated.assign_attrs(truth="distribution")
        view = Plausibility.of(tree)
    check_distinct(view.items, "item", "posterior")
    return tree, view


def _thinned(scorer: Scorer) -> Scorer:
    """Return a scorer of evenly spaced draws, at most about `MOST_DRAWS`."""
    view = scorer.aligned.view
    apart = -(-view.n_samples // MOST_DRAWS)
    view = replace(view, array=view.array.isel({view.sample_dims[-1]: slice(None, None, apart)}))
    aligned, labels = replace(scorer.aligned, view=view), replace(scorer.labels, view=view)
    return replace(scorer, aligned=aligned, labels=labels)


# --- Items: people's, predicted and judged, and how they were sampled ---


def check_sample(
    people: np.ndarray,
    ids: np.ndarray,
    sampling: xr.DataArray | None = None,
    strata: xr.DataArray | None = None,
    clusters: xr.DataArray | None = None,
) -> None:
    """Raise EvaluationError unless `rectified` takes these items with people as a sample of all items."""
    _design_of(people, ids, sampling, strata, clusters)


def _design_of(
    items: np.ndarray,
    ids: np.ndarray,
    sampling: xr.DataArray | None,
    strata: xr.DataArray | None,
    clusters: xr.DataArray | None,
) -> _Design:
    """Sort the items by stratum and align sampling probabilities and clusters, or raise."""
    place = places_of(items, ids, ("posterior", "the predictions"))
    row = np.full(len(ids), -1)
    row[place] = np.arange(len(items))
    names, stratum = coded_items(ids, strata, "strata")
    order = np.argsort(stratum, kind="stable")
    stratum, row = stratum[order], row[order]
    labelled = np.flatnonzero(row >= 0)
    cluster = None if clusters is None else coded_items(ids, clusters, "clusters")[1][order]
    n, size = (np.bincount(codes, minlength=len(names)) for codes in (stratum[labelled], stratum))
    chance = (n / size)[stratum] if sampling is None else _probabilities(ids, sampling)[order]
    design = _Design(order, names, stratum, labelled, row[labelled], chance, cluster)
    _check_people(design, strata is not None)
    certain = np.flatnonzero((chance >= 1) & (row < 0))
    if len(certain):
        raise EvaluationError(
            f"sampling: item {ids[order][certain[0]]!s} has probability 1 of being given to people, but is not in the "
            "posterior; give the probabilities before the items were chosen"
        )
    return design


def _check_people(design: _Design, stratified: bool) -> None:
    """Raise unless people labelled at least two items, or clusters, of every stratum."""
    unit, count = design.unit, design.labelled_units
    few = np.flatnonzero(count < 2)
    if len(few):
        where = f"stratum {design.names[few[0]]!s}" if stratified else "the posterior"
        remedy = "merge it with another" if stratified else "have people label more"
        raise EvaluationError(
            f"{where}: people labelled {count[few[0]]} {unit}(s) of it, at least 2 are needed to know how they differ; {remedy}"
        )


def _probabilities(ids: np.ndarray, sampling: xr.DataArray) -> np.ndarray:
    """Return the sampling probability of each item, or raise."""
    values = values_of_items(ids, sampling, "sampling")
    if values.dtype.kind not in "iuf":
        raise EvaluationError(f"sampling: expected probabilities, found dtype {values.dtype}")
    wrong = np.flatnonzero(~((values > 0) & (values <= 1)))
    if len(wrong):
        raise EvaluationError(
            f"sampling: item {ids[wrong[0]]!s} has probability {values[wrong[0]]:g} of being given to people; expected more "
            "than 0 and at most 1. Leave out items that could not be given to people: nothing is known of them"
        )
    return values.astype(float)


# --- Scores by the judge, draws, and the coefficient of the judge ---


def _judged(people: Scorer, predictions: xr.DataArray, judge: xr.DataArray) -> np.ndarray:
    """Score the predictions with the judge's labels as the truth: (classifier, item)."""
    ids = ids_of(predictions["item"].to_numpy())
    places = places_of_items(ids, judge, "judge's labels")
    judge = judge.isel(item=places)
    if judge.sizes.get("classifier", 1) > 1:
        raise EvaluationError(
            f"judge: expected one judge, found {judge.sizes['classifier']} along classifier; select one"
        )
    metric = people.metric
    if metric.truth in ("plausibility", "sampled"):
        metric = metric.against("label")
    point = _any_label(people.aligned.view, predictions, judge)
    scorer = Scorer.of(metric, point, predictions, {})
    top = metric.top if metric.truth in ("set", "ranking") else 1
    try:
        codes = align(scorer.aligned.view, judge, top, "exclude", ordered=metric.truth != "set").predicted[0]
    except EvaluationError as error:
        raise EvaluationError(f"judge, whose labels are read as predictions are: {error}") from None
    silent = np.flatnonzero(codes[:, 0] < 0)
    if len(silent):
        raise EvaluationError(f"judge: item {ids[silent[0]]!s} has no label; the judge must label every item")
    codes = np.where(codes < 0, NO_LABEL, codes)
    truth = codes if metric.truth in ("set", "ranking") else codes[:, 0]
    return np.stack([score[:, 0] for score in scorer.by_item(truth[None], slice(0, len(ids)))]).astype(float)


def _any_label(view: Plausibility, predictions: xr.DataArray, judge: xr.DataArray) -> xr.DataArray:
    """Return equal plausibilities (item, category) of all items, over the categories of the posterior.

    Without a closed set, those that predictions or judge name are categories, too.
    """
    names = (view.categories if view.declared is None else view.declared).tolist()
    if view.declared is None:
        for array in (predictions, judge):
            found = array["category"].to_numpy() if "category" in array.dims else np.unique(array.to_numpy())
            names += [str(name) for name in found.tolist()]
    names = [name for name in dict.fromkeys(names) if name not in ("", OTHER)]
    values = np.broadcast_to(1 / len(names), (predictions.sizes["item"], len(names)))
    kind = {"kind": "integer" if view.integer_labels else "text"}
    coords = {"item": predictions["item"].to_numpy(), "category": ("category", names, kind)}
    return xr.DataArray(values, coords, ("item", "category"))


def _draws(
    people: Scorer, judged: np.ndarray, design: _Design, random_seed: int | np.random.Generator | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Draw the weighted means (mean, classifier, stratum, sample) of `_three_means`, and the same with one item more.

    The item more has a weight Gamma(1/4, 1) for each pair of scores by people and judge at the ends of their range, times the
    mean weight of an item (or cluster). Returns also the ends (classifier, 2), and mean scores (classifier, n).
    """
    view, of_stratum = people.aligned.view, design.labelled_units
    item_weight = design.sum_of_labelled(1 / design.probability[design.labelled]) / of_stratum

    def of_block(block: Block, samples: slice, rng: np.random.Generator) -> tuple[np.ndarray, ...]:
        scores = np.stack(people.by_item(people.truth(block, rng), block.items))[:, design.row]
        weights = design.weights(samples.stop - samples.start, rng)
        own = design.sum_of_labelled(weights[:, design.labelled] / design.probability[design.labelled])
        share = of_stratum / (4 * of_stratum.sum())
        more = rng.standard_gamma(share, (2, 2, len(weights), len(share))) * item_weight
        extremes = np.stack([scores.min(axis=(1, 2)), scores.max(axis=(1, 2))], axis=-1)
        means = _three_means(weights, scores, judged, design)
        return (
            means,
            own.T[None],
            more.swapaxes(-1, -2),
            extremes[..., None],
            scores.sum(axis=-1, dtype=float),
        )

    width = max(len(view.items) * people.width * len(judged), 2 * len(design.order))
    *drawn, sums = zip(*view.map_draws(of_block, random_seed, width), strict=True)
    means, own, more, extremes = (np.concatenate(parts, axis=-1) for parts in drawn)
    low = np.minimum(extremes[:, 0].min(axis=-1), judged.min(axis=-1))
    high = np.maximum(extremes[:, 1].max(axis=-1), judged.max(axis=-1))
    of_hits = np.isin(low, (0, 1)) & np.isin(high, (0, 1))  # such as accuracy, where all may be right
    ends = np.stack([np.where(of_hits, 0, low), np.where(of_hits, 1, high)], axis=-1)
    with_ends = means.copy()
    for mean, added in ((0, more.sum(axis=1)), (1, more.sum(axis=0))):  # by the end of m, and of h
        with_ends[mean] = (means[mean] * own + np.einsum("ce,esd->csd", ends, added)) / (
            own + added.sum(axis=0)
        )
    return means, with_ends, ends, np.sum(sums, axis=0) / view.n_samples


def _three_means(weights: np.ndarray, scores: np.ndarray, judged: np.ndarray, design: _Design) -> np.ndarray:
    """Weighted means P, B and A of equation (1) by stratum: (mean, classifier, stratum, sample).

    Shapes: weights (sample, item), scores (classifier, n, sample), judged (classifier, item).
    """
    own = weights[:, design.labelled] / design.probability[design.labelled]
    of_all, of_labelled = design.sum_of_all(weights), design.sum_of_labelled(own)
    found = np.empty((3, len(judged), len(design.names), len(weights)))
    for c, (score, judge) in enumerate(zip(scores, judged, strict=True)):
        found[0, c] = (design.sum_of_labelled(own * score.T) / of_labelled).T
        found[1, c] = (design.sum_of_labelled(own * judge[design.labelled]) / of_labelled).T
        found[2, c] = (design.sum_of_all(weights * judge) / of_all).T
    return found


def _tuned_weight(score: np.ndarray, judged: np.ndarray, design: _Design) -> np.ndarray:
    """Coefficient of the judge of least variance (classifier, stratum), equation (2); score (classifier, n)."""
    at, inverse = design.labelled, 1 / design.probability
    more = inverse - 1
    mean_score = design.sum_of_labelled(inverse[at] * score) / design.sum_of_labelled(inverse[at])
    score = score - mean_score[:, design.stratum[at]]
    judged = judged - (design.sum_of_all(judged) / design.size)[:, design.stratum]
    weight = inverse[at] * more[at]
    varies = _varies(judged, design) & (design.sum_of_labelled(weight) > 0)
    # the sums of n items estimate those of all; size - 1 as in the unbiased variance
    covariance = design.sum_of_labelled(weight * score * judged[:, at]) * design.sum_of_all(more)
    variance = design.sum_of_all(more * judged**2) * design.size / (design.size - 1)
    variance = variance * design.sum_of_labelled(weight)
    tuned = np.divide(covariance, variance, out=np.zeros_like(variance), where=varies)
    others = design.size - np.bincount(design.stratum[at], minlength=len(design.names))
    return np.clip(tuned, 0, design.size / np.maximum(others, 1))


def _varies(judged: np.ndarray, design: _Design) -> np.ndarray:
    """Whether the scores by the judge (classifier, item) differ within each stratum: (classifier, stratum)."""
    ends = (of.reduceat(judged, design.start, axis=-1) for of in (np.minimum, np.maximum))
    return np.not_equal(*ends)


def _estimates(means: np.ndarray, weight: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Combine the means of `_three_means` over strata: (estimate, classifier, sample)."""
    people, judge_of_people, judge = means
    of_strata = np.stack([people + weight[..., None] * (judge - judge_of_people), people, judge])
    return np.einsum("ecsd,s->ecd", of_strata, shares)


# --- Summary ---


def _summary(
    people: Scorer,
    drawn: tuple[np.ndarray, np.ndarray],
    widening: np.ndarray,
    ends: np.ndarray,
    probability: float,
) -> xr.Dataset:
    """Summarise draws (estimate, classifier, sample), and intervals of those with one item more, widened, with the gain.

    Shapes: widening (estimate,), ends (classifier, 2) of the range, from which intervals do not go.
    """
    view = people.aligned.view
    dims, coords = (*view.sample_dims, "estimate", "classifier"), view.sample_coords()
    coords = {**coords, "estimate": list(ESTIMATES)}
    result, of_few = (
        summarise(xr.DataArray(view.unstack(draws), coords, dims), probability).drop_vars("undefined")
        for draws in drawn
    )
    factor = xr.DataArray(widening, dims="estimate")
    low, high = (xr.DataArray(end, dims="classifier") for end in ends.T)
    interval = (of_few["mean"] + factor * (of_few["interval"] - of_few["mean"])).clip(low, high)
    lower, upper = (interval.sel(bound=bound, drop=True) for bound in ("lower", "upper"))
    held: list[Any] = [np.minimum(lower, result["mean"]), np.maximum(upper, result["mean"])]
    interval = xr.concat(held, result["bound"])
    variance = result["sd"] ** 2
    least = variance.sel(estimate="rectified", drop=True)
    # without any spread there is nothing to gain
    gain = (variance.sel(estimate="people", drop=True) / least.where(least > 0)).fillna(1.0)
    error = factor * of_few["interval_mcse"]
    return result.assign(interval=interval, interval_mcse=error, gain=gain).transpose(..., "bound")


def _with_joint(result: xr.Dataset, joint: xr.Dataset) -> xr.Dataset:
    """Add the estimate by one model of all items, and note where it differs from the rectified one by more than their errors."""
    if not is_of_truth(question := joint.attrs["question"]):
        raise EvaluationError(
            f"joint: expected the posterior of people, judge and classifiers for all items; its metric is {question}"
        )
    both, draws = joint.sel(source="both", drop=True), joint.sel(source="raters", drop=True)
    own = both[["sd", "interval", "interval_mcse"]].assign(
        mean=draws["mean"], mcse=draws["mcse"], plug_in=draws["mean"]
    )
    by_estimate = [name for name, values in result.data_vars.items() if "estimate" in values.dims]
    together = xr.concat(
        [result[by_estimate], own.assign_coords(estimate="joint")],
        "estimate",
        coords="minimal",
        compat="override",
    )
    result = result.drop_dims("estimate").assign(together)
    rectified, other = (together.sel(estimate=name) for name in ("rectified", "joint"))
    error = np.hypot(rectified["sd"], other["sd"])
    differs = abs(rectified["mean"] - other["mean"]) > norm.ppf((1 + joint.attrs["probability"]) / 2) * error
    note = xr.where(result["note"] == "", DIFFERS, result["note"] + ("; " + DIFFERS))
    return result.assign(note=xr.where(differs, note, result["note"]))


def _notes(
    score: np.ndarray, judged: np.ndarray, design: _Design, weight: np.ndarray, spreads: np.ndarray
) -> list[str]:
    """Say for each classifier where its numbers are worth little.

    Shapes: score (classifier, n), judged (classifier, item), weight (classifier, stratum), spreads (classifier,).
    """
    unit, count = design.unit, design.labelled_units
    small, few = int(count.argmin()), []
    if count[small] < FEW:
        of_stratum = f" of stratum {design.names[small]!s}" if len(count) > 1 else ""
        few = [f"people labelled only {count[small]} {unit}s{of_stratum}: intervals from so few are rough"]
    notes = []
    for own, coefficient, varies, spread in zip(score, weight, _varies(judged, design), spreads, strict=True):
        found = list(few)
        if np.ptp(own) == 0:
            found.append(
                "all items with people have the same score: the intervals allow for one more that differs"
            )
        elif spread < FEW_THAT_DIFFER:
            found.append(
                f"the spread comes from about {spread:.0f} {unit}s that differ from the others: intervals from so few are rough"
            )
        if not varies.any():
            found.append("by the judge all items have the same score, so that it adds nothing")
        elif (coefficient < ROUNDED_TO_ZERO).all() and len(design.labelled) < len(design.order):
            found.append("the judge's scores do not go with those of people, so that it adds nothing")
        notes.append("; ".join(found))
    return notes


def _influences(score: np.ndarray, judged: np.ndarray, design: _Design, weight: np.ndarray) -> np.ndarray:
    """Influence of each item, or cluster, on the estimate (classifier, unit): psi of equation (2), divided by N.

    Shapes: score (classifier, n), judged (classifier, item), weight (classifier, stratum). The sum of squares is the
    variance of the Bayesian bootstrap to first order.
    """
    at, stratum = design.labelled, design.stratum
    own = 1 / design.probability[at]
    own = own * design.size[stratum[at]] / design.sum_of_labelled(own)[stratum[at]]
    residual = score - weight[:, stratum[at]] * judged[:, at]
    residual = residual - (design.sum_of_labelled(own * residual) / design.size)[:, stratum[at]]
    deviation = judged - (design.sum_of_all(judged) / design.size)[:, stratum]
    influence = weight[:, stratum] * deviation
    influence[:, at] += own * residual
    if design.cluster is not None:
        influence = np.stack([np.bincount(design.cluster, one) for one in influence])
    return influence / len(stratum)


def _spread_over(influences: np.ndarray) -> np.ndarray:
    """Effective number of items or clusters from which the variance comes (classifier,): their number divided by the kurtosis."""
    square, fourth = ((influences**power).sum(axis=-1) for power in (2, 4))
    return np.divide(square**2, fourth, out=np.zeros_like(square), where=fourth > 0)


def _widening(estimated: int, design: _Design, probability: float) -> float:
    """Factor of the half-width of intervals for few items; `estimated`: parameters of each stratum.

    The variance by the weights is (n - estimated) / (n + 1) of the unbiased one, averaged over strata by their items.
    """
    count = design.labelled_units
    freedom = np.maximum(count - estimated, 1)
    unbiased = ((count + 1) / freedom) @ (count / count.sum())
    upper = (1 + probability) / 2
    return float(np.sqrt(unbiased) * t.ppf(upper, freedom.sum()) / norm.ppf(upper))


def _attributes(metric: Metric, design: _Design, probability: float) -> dict[str, Any]:
    """Say the question, the numbers of items, and the metric."""
    n, n_all = len(design.labelled), len(design.order)
    return {
        "question": f"What is the mean {metric.name} of the predictions against the truth, in the population that the {n_all:,} "
        f"items are a sample of? People labelled {n:,} of them, the judge all.",
        "n": n,
        "N": n_all,
        "metric": metric.name,
        "larger_is_better": int(metric.larger_is_better),
        "probability": probability,
    }
