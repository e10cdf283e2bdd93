"""Posterior predictive checks of a posterior, by kind of annotation."""

import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Seed, generator_of, refuse_without_draws
from ..argument_checks import check_whole
from .comparisons import comparison_checks
from .discrepancies import FEWEST_REPLICATES
from .label_laws import OF_ITEMS
from .labels import label_checks
from .rankings import ranking_checks
from .scores import score_checks

REPLICATES = 200


def model_checks(
    tree: xr.DataTree, by: str | None = None, *, replicates: int = REPLICATES, random_seed: Seed = None
) -> xr.Dataset:
    """Check whether the model of a posterior fits its annotations.

    Numbers computed from the observed annotations are compared with those of replicates, drawn by the model anew, the truth
    included, at draws of the posterior.

    Labels: do raters err together more than the model believes (likelihood ratio of errors that a group or any set of raters
    shares; correlation of the residuals of all raters, within and between groups of raters); distinct answers by item and
    unanimous items; labels of each rater, agreement of each rater with the others, totals of the labels; whether gold items
    are right as often as claimed; with features of the items, whose truth replicates draw by them, whether labels are more or
    less frequent at both ends and in the middle of features with an effect, the curve of a law that is not linear in them. The
    residuals of each table are those of a Dawid-Skene fit to it. Also: errors between neighbours on a scale, people who repeat
    errors of a classifier, items that repeat others, gold that is easier or harder; with the order of the answers, raters who
    repeat the first one to an item, give one label late in their queue, or are right more or less often late than early.

    Scores: spread of the scores of an item and its inequality over items; skewness and kurtosis of the residuals about item
    and rater; scores at or beyond the bounds; mean and spread of each rater, and its use of the scale; scores that a rater
    repeated; errors that raters share; whether lenient raters scored the better items; curvature of the locations by features.

    Comparisons: wins of the left side, ties, pairs of items that are decided against the order of the qualities, cycles;
    agreement of each rater with the order, side, ties and strengths of each rater; whether strong votes are of items further
    apart; votes that a rater repeated; tastes of single raters, and tastes that raters share, within and between groups;
    effects of covariates of votes that bend or differ by rater.

    Rankings: agreement of the raters of an item (cosine of inverse ranks), on the first place, of each rater with the others,
    of pairs of raters, of rankings with ties and of long ones; ranked categories of an item.

    Parameters
    ----------
    tree : DataTree
        Posterior with the annotations. Replicates are those of its group ``posterior_predictive``, by
        `raterzoo.inference.predict` or ``sample(..., predictive=True)``. Labels, of models whose truth is one category for each
        item, need none: theirs are drawn by ``confusion`` and ``prevalence``; nor do rankings, whose replicates are drawn by
        ``plausibility``, at power one whatever the reliability.
    by : str, optional
        Coordinate along ``rater`` with the group of each rater; by default the first attribute with several groups, one of
        two raters or more.
    replicates : int, default 200
        Number of replicates, from 99.
    random_seed : int or numpy.random.Generator, optional
        Seed; by default derived from the tree.

    Returns
    -------
    Dataset
        Over ``check``: ``observed``, the predictive interval ``lower`` to ``upper`` (90 %), the limits ``fails_below`` and
        ``fails_above`` beyond which it fails (infinite where it cannot), ``tail_probability``, ``adjusted`` (the same for all
        checks together), ``effect`` (in the units of the check) and ``fails``; the coordinate ``meaning`` says what a deviation
        means. The same over ``pair`` (of raters), ``rater`` and ``category`` as ``pair_observed``
        ..., where ``adjusted`` is the false-discovery rate over them. Attributes: ``fits`` (0 or 1), whether no check fails
        with 5 % false alarms for all together; ``sentences``; ``replicates``; for labels ``copying``, sets of raters
        whose pairs stand out, ``copying_or_others``, those of more than a third of the raters, where the others may be
        those who copy, ``sides``, two sides of raters who agree within and not between, and ``assisted_by``, a classifier.

    Raises
    ------
    EvaluationError
        If the tree lacks the annotations or what replicates are drawn by, or keeps no draws of the items, or `by` is no
        coordinate of the raters.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> simulated = models.simulators.labels(items=60, raters=6, answers=4, random_seed=1)
    >>> tree = inference.sample(models.dawid_skene(simulated.data), random_seed=1)
    >>> checks = evaluation.model_checks(tree)
    >>> bool(checks.attrs["fits"]), str(checks["check"].values[0])
    (True, 'log likelihood ratio of a set of raters who share errors')

    References
    ----------
    Gelman, Meng and Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies, Statistica
    Sinica 6. Westfall and Young (1993), Resampling-based multiple testing, section 2.3.
    """
    check_whole("replicates", replicates, FEWEST_REPLICATES)
    for variable in ("plausibility", "location"):
        refuse_without_draws(tree, variable)
    observed = tree["observed_data"].data_vars if "observed_data" in tree.children else {}
    rng = generator_of(random_seed, tree)
    if "observed_label" in observed:
        return label_checks(tree, by, int(replicates), rng)
    if "observed_score" in observed:
        return score_checks(tree, by, int(replicates), rng)
    if "observed_winner" in observed:
        return comparison_checks(tree, by, int(replicates), rng)
    if "observed_ranking" in observed:
        return ranking_checks(tree, by, int(replicates), rng)
    found = ", ".join(map(str, observed)) or "no observed annotations"
    raise EvaluationError(
        f"model_checks reads trees of labels, scores, comparisons or rankings; this one has {found}"
    )


def needs_replicates(tree: xr.DataTree) -> bool:
    """Return whether the checks of a tree need replicates that only its model can draw, and that it does not have."""
    observed = tree["observed_data"].data_vars if "observed_data" in tree.children else {}
    if "posterior_predictive" in tree.children or not observed:
        return False
    if "observed_label" in observed:
        return bool(OF_ITEMS & set(tree["posterior"].data_vars))
    return "observed_ranking" not in observed or "candidate_of_place" not in tree["constant_data"]
