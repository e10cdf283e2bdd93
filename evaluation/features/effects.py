"""Effects of features: what a standard deviation of a feature changes, with intervals."""

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.prior_of_items import EFFECT
from ..argument_checks import check_probability

REMEDY = "fit a model with features, such as models.dawid_skene(labels, features=features)"


def effect_of(tree: xr.DataTree) -> xr.DataArray:
    """Return the coefficients of the features, draws first; raise if the posterior has none."""
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    if EFFECT not in posterior:
        raise EvaluationError(f"the posterior has no {EFFECT!r}; {REMEDY}")
    return posterior[EFFECT].transpose("chain", "draw", "feature", ...)


def feature_effects(tree: xr.DataTree, probability: float = 0.9) -> xr.Dataset:
    """Return the effect of one standard deviation of each feature, the other features being the same.

    Of labels, with W the coefficients, whose rows sum to zero, and K categories:

        effect_fc = W_fc - mean_{c' != c} W_fc' = W_fc K / (K - 1)

    the change of the log odds of category c against the (geometric) mean of the others; of two categories it is the change of
    the log odds of one against the other. Of scores the change of the location, in units of the score.

    Parameters
    ----------
    tree : DataTree
        Posterior of a model with features: ``feature_effect`` (feature, category) or, of scores, (feature).
    probability : float
        Posterior probability of the intervals.

    Returns
    -------
    Dataset, dims (feature, category) or (feature,)
        ``mean``; ``lower`` and ``upper``, quantiles; ``positive``, the probability that the effect is above zero. Features that
        correlate share an effect: a single one then means little, whatever the features are worth together. An effect is an
        association, and no cause.

    Raises
    ------
    EvaluationError
        If the posterior has no effects of features, or `probability` is out of range.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = xr.DataArray([[[[-1.0, 1.0]], [[-0.5, 0.5]]]], {"feature": ["size"]}, ("chain", "draw", "feature", "category"))
    >>> effects = evaluation.feature_effects(xr.DataTree.from_dict({"posterior": xr.Dataset({"feature_effect": draws})}))
    >>> effects["mean"].values.tolist(), effects["positive"].values.tolist()
    ([[-1.5, 1.5]], [[0.0, 1.0]])
    """
    check_probability("probability", probability)
    effect = effect_of(tree).astype(float)
    if "category" in effect.dims:
        n = effect.sizes["category"]
        effect = effect * (n / (n - 1))
    ends = [(1 - probability) / 2, (1 + probability) / 2]
    lower, upper = effect.quantile(ends, ("chain", "draw")).transpose("quantile", ...).drop_vars("quantile")
    found = {
        "mean": effect.mean(("chain", "draw")),
        "lower": lower,
        "upper": upper,
        "positive": (effect > 0).mean(("chain", "draw")),
    }
    return xr.Dataset(found, attrs={"probability": probability})


def spread_out(n: int, most: int) -> np.ndarray:
    """Return at most `most` of n places, evenly spaced."""
    return np.arange(n) if n <= most else np.linspace(0, n - 1, most).astype(np.int64)
