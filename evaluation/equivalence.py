"""How many raters is a classifier worth? The survey power curve, and where a classifier stands on it.

    c_k = E[ score(combined labels of k random raters, label of a further rater) ]
    equivalence of a classifier = the smallest interpolated k with c_k above its own score against a random rater

The curve is a sum over everything that k raters can say, given how often each label was given to an item (`surveys.subsets`).
Answers are drawn only where the raters are known by name, or where a ratio is averaged subset by subset.

References
----------
Resnick, Kong, Schoenebeck and Weninger (2021), Survey equivalence: a procedure for measuring classifier accuracy against human
labels, arXiv:2106.01254.
"""

from collections.abc import Callable, Mapping
from typing import Any, Literal

import numpy as np
import xarray as xr

from .agreement import Labels
from .equivalence_posterior import posterior_power_curve, posterior_survey_equivalence
from .errors import EvaluationError
from .surveys.classifiers import Classifiers
from .surveys.combiners import Learn
from .surveys.described import Described
from .surveys.label_counts import LabelCounts
from .surveys.resamples import Resampling, check_resampling, survey_scores
from .surveys.rules import CombinerName, Items, Rules, ScorerName
from .surveys.state_rules import has_states, rules_of_states
from .surveys.survey import Survey

__all__ = ["equivalence_summary", "survey_equivalence", "survey_power_curve"]

Combine = CombinerName | Callable[[np.ndarray], Any]
Scoring = ScorerName | Callable[[np.ndarray, np.ndarray], Any]
Given = xr.DataArray | xr.DataTree | Labels


def survey_power_curve(
    counts: Given,
    combiner: Combine = "abc",
    scorer: Scoring = "cross_entropy",
    *,
    against: Given | None = None,
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
    relearn: bool = False,
    probability: float = 0.95,
    draws: bool = False,
    random_seed: int = 1,
) -> xr.Dataset:
    """Return how well k raters together predict what a further rater says.

    Parameters
    ----------
    counts : DataArray (item, category) or (item, rater), Labels, or DataTree
        How often each label was given; or who gave which label, blank (NaN, None, " ") where none; or a fitted model of labels,
        whose data are taken. The draws of `models.item_states` give the posterior of the curve, by `posterior_power_curve`, which
        takes combiner, scorer, base, max_raters and random_seed alone.
    combiner : {"abc", "frequency", "plurality", "mean"} or callable
        How k labels become a prediction: the anonymous Bayesian combiner, their shares, the most frequent one (ties averaged), or
        their mean number. A function takes counts (row, category) and returns probabilities; with an attribute ``categories`` it
        gets the counts in their order. `raterzoo.inference.label_combiner` makes one of a fitted model.
    scorer : str or callable
        "cross_entropy", "brier", "agreement"; "precision", "recall", "f1", "mcc", "dmi" and "soft_dmi" (determinant of the joint
        law of prediction and label); "auc", "pearson", "spearman". Higher is better. A function takes probabilities (row,
        category) and codes of labels (row,) and returns a score for each row, or with estimand="mean" one number.
    against : as `counts`, optional
        Labels by other raters, of the same items, whom the combined labels are scored against: amateurs against experts, or
        language models against people.
    clip : float
        Cross-entropy, Brier score and functions take every distribution between clip and 1 - clip, divided by its sum; those of
        classifiers too.
    items : {"available", "common"}
        Whether k raters are scored on all items that have k labels and those to score against, or on those alone that have labels
        for the largest k. Classifiers are compared on the same items as the raters.
    estimand : {"pooled", "mean"}
        Of scores that are not additive over items: the score of the joint law of all answers, exact; or the mean of the scores of
        single samples of raters, which are drawn.
    learn : {"leave-one-out", "in-sample"} or int
        What "abc" learns from: other items, all of them, or other folds, so many. With folds, scores that are not additive
        compare the items within a fold and are averaged.
    base : float
        Of the logarithm of the cross-entropy.
    reference : int
        The label that is predicted is the plurality of so many further raters, ties averaged.
    max_raters : int, optional
        Largest k; by default as many as half of the items have.
    no_labels : {"data", "uniform"}
        What "frequency" and "mean" predict from no labels: the shares of all labels, or equal ones.
    positive : optional
        Category that precision, recall, F1 and AUC are about; of two the second by default.
    values : mapping of category to number, optional
        For correlations and "mean", AUC included; by default the numbers that the categories are, or 0 and 1.
    raters : {"exchangeable", "identified"}
        With "identified" the function `combiner` takes codes of labels (item, rater), -1 where there is none, k of each item, and
        returns probabilities (item, category). Raters are drawn.
    samples : int
        Samples of raters where they are drawn.
    bootstrap : int
        Resamples of the items for the intervals; 0 for none.
    relearn : bool
        Whether the combiner learns from every resample anew, without the copies of an item that it predicts.
    probability : float
        Of the intervals, between equal tails.
    draws : bool
        Whether to return the resamples too.
    random_seed : int
        Draws items, folds and raters.

    Returns
    -------
    Dataset
        Over ``k``: ``power_curve``, ``information_gain`` (the curve less its start), ``items``, their number, and
        ``monte_carlo_error``, 0 where the curve is exact; ``baseline``, the start. With ``_interval`` (bound) and, on request,
        ``_draw`` (resample). The attributes name the rules and the items that were left out as they have too few labels.

    Raises
    ------
    EvaluationError
        If the labels are not whole counts, an argument is out of range, no item has labels enough, or there are too many ways to
        answer to be summed over.

    Notes
    -----
    NaN where a score has no value, such as recall without positive labels. With "abc" and many categories the curve falls again
    for large k: few other items can have shown the same labels, and where none could all categories are as probable.

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, algorithms 1-6.
    """
    scored: dict[str, Any] = dict(
        combiner=combiner, scorer=scorer, clip=clip, items=items, estimand=estimand, learn=learn, base=base, reference=reference,
        max_raters=max_raters, no_labels=no_labels, positive=positive, values=values, raters=raters, samples=samples,
    )  # fmt: skip
    if isinstance(counts, xr.DataTree) and has_states(counts):
        resampled: dict[str, Any] = dict(
            against=against, bootstrap=bootstrap, relearn=relearn, probability=probability, draws=draws, random_seed=random_seed
        )  # fmt: skip
        named = rules_of_states(survey_power_curve, scored | resampled)
        return posterior_power_curve(counts, **named)
    rules = Rules(**scored)
    check_resampling(bootstrap, probability, random_seed)
    survey = Survey.of(rules, *_both(counts, against), random_seed)
    nobody = np.empty((0, *survey.labels.counts.shape))
    how = Resampling(bootstrap, random_seed)
    scores = survey_scores(survey, nobody, how, relearn=relearn)
    return Described(survey, scores, probability, draws).curve()


def survey_equivalence(
    counts: Given,
    predictions: xr.DataArray,
    combiner: Combine = "abc",
    scorer: Scoring = "cross_entropy",
    *,
    against: Given | None = None,
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
    relearn: bool = False,
    probability: float = 0.95,
    draws: bool = False,
    random_seed: int = 1,
) -> xr.Dataset:
    """Return how many raters each classifier is worth.

    Parameters
    ----------
    counts, combiner, scorer, against, clip, items, estimand, learn, base, reference, max_raters, no_labels, positive, values
        As in `survey_power_curve`. Draws of `models.item_states`, which take clip too, go by `posterior_survey_equivalence`.
    predictions : DataArray (item, category) or (classifier, item, category)
        Probabilities of every label of every item; of a hard classifier 1 for its label. Items and categories match by name.
        Predictions for items without labels are not used. Categories that only predictions name, where labels are read from
        raters, enter the scores of classifiers but not the curve.
    raters, samples, bootstrap, relearn, probability, draws, random_seed
        As in `survey_power_curve`. Curve and classifiers are resampled together.

    Returns
    -------
    Dataset
        What `survey_power_curve` returns and, over ``classifier`` if there is such a dim: ``score`` against a random rater;
        ``classifier_gain``, the score less the baseline; ``score_of_same_items`` (k), on the items that have labels for k raters;
        ``equivalence``, and ``integer_equivalence``, the fewest raters who are as good. ``censored`` is "below" for a classifier
        worse than no labels at all, "above" for one that is never passed by the curve, else ""; where it is censored the
        equivalence is NaN, and bounds beyond the curve are -inf or inf. ``words`` says it. ``probability_above`` (k): the share
        of resamples where the classifier scores above k raters. Of several classifiers also ``score_difference``,
        ``equivalence_difference`` (NaN unless both are inside the curve) and ``probability_better`` (classifier, versus).

    Raises
    ------
    EvaluationError
        As `survey_power_curve`, or if predictions are no probabilities, or lack an item or a category.

    References
    ----------
    Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254.
    """
    scored: dict[str, Any] = dict(
        combiner=combiner, scorer=scorer, clip=clip, items=items, estimand=estimand, learn=learn, base=base, reference=reference,
        max_raters=max_raters, no_labels=no_labels, positive=positive, values=values, raters=raters, samples=samples,
    )  # fmt: skip
    if isinstance(counts, xr.DataTree) and has_states(counts):
        resampled: dict[str, Any] = dict(
            against=against, bootstrap=bootstrap, relearn=relearn, probability=probability, draws=draws, random_seed=random_seed
        )  # fmt: skip
        named = rules_of_states(survey_equivalence, scored | resampled, "clip")
        return posterior_survey_equivalence(counts, predictions, **named)
    rules = Rules(**scored)
    check_resampling(bootstrap, probability, random_seed)
    labels, theirs = _both(counts, against)
    classifiers = Classifiers.matched(predictions, labels)
    survey = Survey.of(rules, labels, theirs, random_seed, classifiers.categories)
    kept = classifiers.probability[:, np.isin(labels.items, survey.labels.items)]
    scores = survey_scores(survey, kept, Resampling(bootstrap, random_seed), relearn=relearn)
    found = Described(survey, scores, probability, draws).classifiers(classifiers.names)
    return found if classifiers.named else found.isel(classifier=0, drop=True)


def equivalence_summary(found: xr.Dataset) -> xr.Dataset:
    """Return one row for each classifier, ready for ``to_dataframe()``.

    Parameters
    ----------
    found : Dataset
        Of `survey_equivalence` or `rater_equivalence`.

    Returns
    -------
    Dataset
        ``score``, ``classifier_gain`` and ``equivalence``, each with ``_lower`` and ``_upper`` where there are intervals;
        ``integer_equivalence``, ``censored``; and ``words``, such as "3.4 raters (2.9 to 4.1)" or "more than 9 raters".

    Raises
    ------
    EvaluationError
        If there are no equivalences.
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


def _both(counts: Given, against: Given | None) -> tuple[LabelCounts, LabelCounts | None]:
    """Return labels, and those by others, of the same items and categories."""
    labels = LabelCounts.of(counts)
    if against is None:
        return labels, None
    theirs = LabelCounts.of(against, "against").matched(labels.items, ("counts", "against"))
    more = [name for name in theirs.categories.tolist() if name not in labels.categories.tolist()]
    labels = labels.over(np.array([*labels.categories.tolist(), *more]), "counts")
    return labels, theirs.over(labels.categories, "against")
