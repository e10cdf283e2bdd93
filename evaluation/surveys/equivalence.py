"""Survey equivalence: the survey power curve, and the number of raters that a classifier is worth.

    c_k = E[ score(combined labels of k random raters, label of a further rater) ]
    equivalence of a classifier = the smallest interpolated k with c_k above its own score against a random rater

The curve is a sum over all possible answers of k raters, given how often each label was given to an item
(`surveys.subsets`). Raters are sampled only if they are identified, or if a ratio is averaged over subsets.
"""

from collections.abc import Callable, Mapping
from inspect import Signature, signature
from typing import Any, Literal, TypeGuard

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from .combiners import Learn
from .counts import Classifiers, LabelCounts, LabelSource
from .item_states.equivalence import posterior_power_curve, posterior_survey_equivalence
from .resampling import Resampling, check_resampling, survey_scores
from .results import SurveyDataset
from .rules import CombinerName, Items, ScorerName, SurveyOptions
from .survey import Survey

OPTIONS_OF_POSTERIOR = ("combiner", "scorer", "base", "max_raters", "random_seed")
Combine = CombinerName | Callable[[np.ndarray], Any]
Scoring = ScorerName | Callable[[np.ndarray, np.ndarray], Any]


def survey_power_curve(
    counts: LabelSource,
    combiner: Combine = "abc",
    scorer: Scoring = "cross_entropy",
    *,
    against: LabelSource | None = None,
    clip: float = 0.02,
    items: Items = "available",
    estimand: Literal["pooled", "mean"] = "pooled",
    learn: Learn = "leave-one-out",
    base: float = 2,
    reference: int = 1,
    max_raters: int | None = None,
    no_labels: Literal["data", "uniform"] = "data",
    positive: object = None,
    values: Mapping[Any, float] | None = None,
    raters: Literal["exchangeable", "identified"] = "exchangeable",
    samples: int = 100,
    bootstrap: int = 500,
    clusters: xr.DataArray | None = None,
    relearn: bool = False,
    probability: float = 0.95,
    draws: bool = False,
    random_seed: int = 1,
) -> xr.Dataset:
    """Return the survey power curve: how well the labels of k raters predict the label of a further rater.

    Parameters
    ----------
    counts : DataArray (item, category) or (item, rater), Labels, or DataTree
        Number of labels of each category; or labels by rater, blank (NaN, None, " ") if missing; or a fitted
        model of labels, whose data are used. For draws of `models.item_states` the posterior of the curve is
        returned by `raterzoo.papers.posterior_power_curve`: only combiner, scorer, base, max_raters and random_seed apply.
    combiner : {"abc", "frequency", "plurality", "mean"} or callable
        How k labels become a prediction: the anonymous Bayesian combiner, their shares, the most frequent
        label (ties averaged), or their mean value. A function takes counts (row, category) and returns
        probabilities; with an attribute ``categories`` it gets the counts in that order.
        `raterzoo.papers.label_combiner` makes one from a fitted model.
    scorer : str or callable
        "cross_entropy", "brier", "agreement"; "precision", "recall", "f1", "mcc", "dmi" and "soft_dmi"
        (determinant of the joint distribution of prediction and label); "auc", "pearson", "spearman". Higher
        is better. A function takes probabilities (row, category) and codes of labels (row,) and returns a
        score for each row, or with estimand="mean" one number.
    against : as `counts`, optional
        Labels of the same items by other raters, against whom the combined labels are scored: amateurs
        against experts, or language models against people.
    clip : float
        For cross-entropy, Brier score and functions, all predictions are clipped to [clip, 1 - clip] and
        renormalised.
    items : {"available", "common"}
        Whether k raters are scored on all items with enough labels for k raters and for scoring, or only on
        items with enough for the largest k. Classifiers are compared on the same items.
    estimand : {"pooled", "mean"}
        If not additive over items: score of the joint distribution of all answers, or mean over samples of
        raters.
    learn : {"leave-one-out", "in-sample"} or int
        Training items of "abc": all other items, all items, or the other folds of so many. With folds, scores
        that are not additive compare the items within a fold and are averaged.
    base : float
        Base of the logarithm of the cross-entropy.
    reference : int
        Number of further raters whose plurality is the predicted label, ties averaged.
    max_raters : int, optional
        Largest k; by default the largest k for which half of the items have enough labels.
    no_labels : {"data", "uniform"}
        Prediction of "frequency" and "mean" without labels: the shares of all labels, or equal shares. The paper has
        none: no labels have no frequency.
    positive : optional
        Positive category of precision, recall, F1 and AUC; by default the second of two.
    values : mapping of category to number, optional
        For correlations, AUC and "mean"; by default the categories if they are numbers, or 0 and 1.
    raters : {"exchangeable", "identified"}
        With "identified" the function `combiner` takes codes of labels (item, rater), -1 if missing, k for
        each item, and returns probabilities (item, category). Raters are then sampled.
    samples : int
        Number of samples of raters, if they are sampled.
    bootstrap : int
        Number of bootstrap resamples of the items for the intervals; 0 for none.
    clusters : DataArray (item), optional
        Cluster of each item, such as its patient or document, or copies of one item: clusters are resampled whole.
    relearn : bool
        Whether the combiner is trained again on every resample, without the copies of the item it predicts.
    probability : float
        Probability of the equal-tailed intervals.
    draws : bool
        Whether to return the resamples too.
    random_seed : int
        Seed for resampling items, folds and raters.

    Returns
    -------
    Dataset
        Over ``k``: ``power_curve``; ``information_gain``, the curve minus its start; ``items``, their number;
        and ``monte_carlo_error``, 0 where the curve is exact. ``baseline``: the start of the curve. With
        ``_interval`` (bound) and, if requested, ``_draw`` (resample). The attributes name the rules and the
        number of items that were left out because they have too few labels.

    Raises
    ------
    EvaluationError
        If labels are not whole counts, or too few or too many to sum over, or an argument is out of range.

    Notes
    -----
    NaN if a score is undefined, such as recall without positive labels. With "abc" and many categories the
    curve falls for large k: without other items of the same labels all categories are equally probable.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> coords = {"item": ["a", "b", "c", "d"], "category": ["x", "y"]}
    >>> counts = xr.DataArray([[3, 0], [2, 1], [0, 3], [1, 2]], coords, ("item", "category"))
    >>> curve = evaluation.survey_power_curve(counts, "frequency", "agreement", bootstrap=0)
    >>> curve["power_curve"].values.round(3)
    array([0.5  , 0.667, 0.667])

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), Survey equivalence: a procedure for measuring classifier
    accuracy against human labels, arXiv:2106.01254, algorithms 1-6.
    """
    options = {name: value for name, value in locals().items() if name != "counts"}
    if _has_item_states(counts):
        return posterior_power_curve(counts, **_posterior_options(options))
    return _scored_survey(counts, None, **options)[0].curve()


def survey_equivalence(
    counts: LabelSource,
    predictions: xr.DataArray,
    combiner: Combine = "abc",
    scorer: Scoring = "cross_entropy",
    **options: Any,
) -> xr.Dataset:
    """Return the survey equivalence: the number of raters that each classifier is worth.

    Parameters
    ----------
    counts, combiner, scorer
        As in `survey_power_curve`; draws of `models.item_states`, with `clip`, go to
        `raterzoo.papers.posterior_survey_equivalence`.
    predictions : DataArray (item, category) or (classifier, item, category)
        Probabilities of every label of every item; for a hard classifier 1 for its label. Items and
        categories are matched by name. Predictions for items without labels are ignored. With labels by
        rater, categories of the predictions alone affect only the classifiers' scores.
    **options
        Other options of `survey_power_curve`: against, clip, items, estimand, learn, base, reference, max_raters, no_labels,
        positive, values, raters, samples, bootstrap, clusters, relearn, probability, draws, random_seed. Curve and classifiers
        are resampled together.

    Returns
    -------
    Dataset
        The result of `survey_power_curve` and, over ``classifier`` if there is such a dim: ``score`` against
        a random rater; ``classifier_gain``, the score minus the baseline; ``score_of_same_items`` (k), on the
        items with enough labels for k raters; ``equivalence``; and ``integer_equivalence``, the smallest
        number of raters who are as good. ``censored`` is "below" for a classifier worse than no labels at
        all, "above" for one that the curve never exceeds, else ""; if censored, the equivalence is NaN, and
        bounds beyond the curve are -inf or inf. ``words`` is the equivalence as text. ``probability_above``
        (k): the share of resamples in which the classifier scores above k raters. For several classifiers
        also ``score_difference``, ``equivalence_difference`` (NaN unless both are inside the curve) and
        ``probability_better``, each (classifier, versus).

    Raises
    ------
    EvaluationError
        As `survey_power_curve`, or if predictions are not probabilities, or lack an item or a category.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> coords = {"item": ["a", "b", "c", "d"], "category": ["x", "y"]}
    >>> counts = xr.DataArray([[3, 0], [2, 1], [0, 3], [1, 2]], coords, ("item", "category"))
    >>> predicted = counts.copy(data=[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.4, 0.6]])
    >>> evaluation.survey_equivalence(counts, predicted, "frequency", "agreement", bootstrap=0)["words"].item()
    'more than 2 raters'

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254.
    """
    bound = OPTIONS.bind(combiner, scorer, **options)
    bound.apply_defaults()
    options = bound.arguments
    if _has_item_states(counts):
        options = _posterior_options(options, "clip")
        return posterior_survey_equivalence(counts, predictions, **options)
    scored, classifiers = _scored_survey(counts, predictions, **options)
    found = scored.classifiers(classifiers.names)
    return found if classifiers.named else found.isel(classifier=0, drop=True)


OPTIONS = Signature([*signature(survey_power_curve).parameters.values()][1:])
survey_equivalence.__signature__ = signature(
    survey_equivalence
).replace(  # pyright: ignore[reportFunctionMemberAccess]
    parameters=[*[*signature(survey_equivalence).parameters.values()][:2], *OPTIONS.parameters.values()]
)


def equivalence_summary(found: xr.Dataset) -> xr.Dataset:
    """Summarise survey equivalences in one row for each classifier, ready for ``to_dataframe()``.

    Parameters
    ----------
    found : Dataset
        Result of `survey_equivalence` or `rater_equivalence`.

    Returns
    -------
    Dataset
        ``score``, ``classifier_gain`` and ``equivalence``, with ``_lower`` and ``_upper`` if there are
        intervals; ``integer_equivalence``, ``censored``; ``words``, such as "3.4 raters (2.9 to 4.1)".

    Raises
    ------
    EvaluationError
        If there are no equivalences.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation, papers
    >>> coords = {"item": ["a", "b", "c", "d"], "category": ["x", "y"]}
    >>> counts = xr.DataArray([[3, 0], [2, 1], [0, 3], [1, 2]], coords, ("item", "category"))
    >>> predicted = counts.copy(data=[[0.9, 0.1], [0.6, 0.4], [0.2, 0.8], [0.4, 0.6]])
    >>> found = evaluation.survey_equivalence(counts, predicted, "frequency", "agreement", bootstrap=0)
    >>> list(papers.equivalence_summary(found))
    ['score', 'classifier_gain', 'equivalence', 'integer_equivalence', 'censored', 'words']
    """
    if not isinstance(found, xr.Dataset) or "words" not in found:
        raise EvaluationError("found: no equivalences; pass what survey_equivalence returned")
    rows = {}
    for name in ("score", "classifier_gain", "equivalence"):
        rows[name] = found[name]
        if f"{name}_interval" in found:
            for bound in found["bound"].to_numpy().tolist():
                rows[f"{name}_{bound}"] = found[f"{name}_interval"].sel(bound=bound, drop=True)
    rows |= {name: found[name] for name in ("integer_equivalence", "censored", "words")}
    return xr.Dataset(rows, attrs=found.attrs)


def _has_item_states(counts: LabelSource) -> TypeGuard[xr.DataTree]:
    """Return whether a tree has posterior draws of item states."""
    if not isinstance(counts, xr.DataTree) or "posterior" not in counts.children:
        return False
    return "state_weight" in counts["posterior"].data_vars


def _posterior_options(options: Mapping[str, Any], *more: str) -> dict[str, Any]:
    """Return the options of a posterior, `more` among them; raise if an option that applies to counts alone was given."""
    allowed = (*OPTIONS_OF_POSTERIOR, *more)
    for name, value in options.items():
        default = OPTIONS.parameters[name].default
        changed = value is not default and (default is None or value != default)
        if name not in allowed and changed:
            raise EvaluationError(
                f"{name}={value!r} is for counts of labels; with item states pass {', '.join(allowed)}"
            )
    selected = {name: options[name] for name in allowed}
    longest = selected.pop("max_raters")
    return selected if longest is None else selected | {"longest": longest}


def _scored_survey(
    counts: LabelSource,
    predictions: xr.DataArray | None,
    *,
    against: LabelSource | None,
    bootstrap: int,
    clusters: xr.DataArray | None,
    relearn: bool,
    probability: float,
    draws: bool,
    random_seed: int,
    **options: Any,
) -> tuple[SurveyDataset, Classifiers]:
    """Return scores of raters and classifiers by `options` of `SurveyOptions`, and the classifiers, none without predictions."""
    rules = SurveyOptions(**options)
    check_resampling(bootstrap, probability, random_seed)
    labels, other_labels = _read_counts(counts, against)
    if predictions is None:
        nobody = np.empty((0, *labels.counts.shape))
        classifiers = Classifiers(np.array([]), nobody, False, labels.categories)
    else:
        classifiers = Classifiers.aligned_to(predictions, labels)
    survey = Survey.of(rules, labels, other_labels, random_seed, classifiers.categories)
    predicted = classifiers.probability[:, np.isin(labels.items, survey.labels.items)]
    how = Resampling.of(bootstrap, random_seed, clusters, (labels.items, survey.labels.items))
    scores = survey_scores(survey, predicted, how, relearn=relearn)
    return SurveyDataset(survey, scores, probability, draws), classifiers


def _read_counts(counts: LabelSource, against: LabelSource | None) -> tuple[LabelCounts, LabelCounts | None]:
    """Read labels and, if given, labels by other raters, over the same items and categories."""
    labels = LabelCounts.of(counts)
    if against is None:
        return labels, None
    other = LabelCounts.of(against, "against").aligned_to(labels.items, ("counts", "against"))
    more = [name for name in other.categories.tolist() if name not in labels.categories.tolist()]
    labels = labels.with_categories(np.array([*labels.categories.tolist(), *more]), "counts")
    return labels, other.with_categories(labels.categories, "against")
