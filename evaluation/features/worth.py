"""Worth of features in answers: how many typical raters tell as much of the truth of an item as its features.

Symbols: p_si the probabilities of the categories of item i given its features in draw s; r_s their mean over items, which is
what is believed of an item without features and answers; q_i the plausibility given features and answers, mean over draws;
l_si the likelihood of the answers to item i.

The features of an item gain, in the log probability of its truth,

    g_i = sum_c q_ic log2(p_-ic / r_-ic),    p_-ic = sum_s w_si p_sic,  r_-ic = sum_s w_si r_sc,    w_si ~ 1 / l_si

in bits, where the weights, Pareto-smoothed, leave the answers to the item itself out of the posterior: coefficients that have
learnt these answers by heart gain nothing by it. k answers of typical raters gain I(k), the mutual information of the truth and
the answers, before which r is believed (`panel_curves`). The features are worth the k with I(k) = mean g_i.

For scores all laws are normal: the features leave of the variance of locations s^2 + tau^2 the part tau^2, and an answer by a
typical rater has variance v, so that

    k = v (1 / tau^2 - 1 / (s^2 + tau^2)),    s^2 = var_i(x_i beta),  v = omega^2 + mean_k sigma2_k
"""

from typing import Any

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats
from scipy.special import softmax, xlogy

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Seed, generator_of
from ...posterior.prior_of_items import EFFECT, features_of, given_features
from ...posterior.schema import SAMPLE
from ..argument_checks import check_probability
from ..raters.worth import interpolated_worth, largest_panel, panel_curves

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


MOST_DRAWS, MOST_ITEMS = 1_000, 2_000  # that the gain is computed from, evenly spaced
UNRELIABLE = 0.7  # Pareto k
FEW_DRAWS = 25  # whose tail is not smoothed


def feature_worth(tree: xr.DataTree, *, largest: int | None = None, random_seed: Seed = None) -> xr.Dataset:
    """Return what the features of an item tell of its truth, in bits and in answers of typical raters.

    Of labels the gain of an item is that of the log probability of its truth, by its features without its answers. It is computed
    from at most 1,000 draws and 2,000 items with answers or gold, evenly spaced. Of scores the worth follows from the variances.

    Parameters
    ----------
    tree : DataTree
        Posterior of a model with features. Of labels with ``prevalence``, ``confusion`` (rater, category, answer),
        ``plausibility``, log likelihoods by item, and the ``features`` in constant_data; of scores with ``location_spread``,
        ``bias_spread`` and ``rater_variance``.
    largest : int, optional
        Number of answers of the largest panel, as for `rater_worth`.
    random_seed : int or numpy.random.Generator, optional
        Seed of the Bayesian bootstrap of the items; by default derived from the tree.

    Returns
    -------
    Dataset
        ``worth`` (chain, draw)
            Number of answers of typical raters that tell as much as the features, before any answer. Answers after the features,
            and features after answers, tell less. Of scores take the median: where features may explain nearly all variance the
            mean is not finite.
        ``gain`` (chain, draw)
            Of labels: mean gain in bits, with Bayesian-bootstrap weights of the items. At or below zero features tell nothing of
            items whose answers are left out.
        ``gain_of_item`` (item,)
            Of labels: gain of each item, in bits.
        ``gold_gain``, ``gold_claimed``, ``gold_error``, ``gold_items``
            Of labels with gold items: mean gain in bits of the known truth, which it is left out for like the answers; that
            which the model claims for the same items; the standard error of their difference, as the items are a sample; and
            their number. It is lower than claimed if features tell of the raters' errors, or not as the model says.
        ``censored`` (chain, draw)
            Of labels: whether features are worth more than the largest panel.
        ``explained`` (chain, draw)
            Of scores: share of the variance of locations that features explain.

        The attribute ``unreliable`` is the share of items whose weights are (Pareto k above .7).

    Raises
    ------
    EvaluationError
        If the posterior has no effects of features, or lacks a variable.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws, x = ("chain", "draw"), np.array([-1.0, 1.0, 0.0])
    >>> numbers = {"location_spread": 1.0, "bias_spread": 0.0}
    >>> posterior = xr.Dataset({name: (draws, [[value]]) for name, value in numbers.items()})
    >>> posterior["feature_effect"] = ((*draws, "feature"), [[[1.5]]])
    >>> posterior["rater_variance"] = ((*draws, "rater"), [[[2.0, 3.0]]])
    >>> constant = xr.Dataset({"features": (("item", "feature"), x[:, None])})
    >>> tree = xr.DataTree.from_dict({"posterior": posterior, "constant_data": constant})
    >>> found = evaluation.feature_worth(tree)
    >>> round(found["worth"].item(), 2), round(found["explained"].item(), 2)
    (1.5, 0.6)

    References
    ----------
    Vehtari, Gelman and Gabry (2017), Practical Bayesian model evaluation using leave-one-out cross-validation and WAIC,
    Statistics and Computing 27, doi:10.1007/s11222-016-9696-4 (the weights). Lindley (1956), On a measure of the information
    provided by an experiment, Annals of Mathematical Statistics 27, doi:10.1214/aoms/1177728069.
    """
    effect = effect_of(tree)
    if "category" in effect.dims:
        return _of_labels(tree, effect, largest, generator_of(random_seed, tree))
    return _of_scores(tree, effect)


def _of_scores(tree: xr.DataTree, effect: xr.DataArray) -> xr.Dataset:
    """Worth and explained variance of locations."""
    spread, omega, variance = (
        _variable(tree, "posterior", name).astype(float)
        for name in ("location_spread", "bias_spread", "rater_variance")
    )
    centre = effect.to_numpy().astype(float) @ features_of(tree).T
    explained = xr.DataArray(centre.var(axis=-1), spread.transpose(*SAMPLE).coords, SAMPLE)
    left = spread**2
    of_answer = omega**2 + variance.mean("rater")
    worth = of_answer * (1 / left - 1 / (left + explained))
    share = explained / (left + explained)
    return xr.Dataset({"worth": worth.transpose(*SAMPLE), "explained": share.transpose(*SAMPLE)})


def _of_labels(
    tree: xr.DataTree, effect: xr.DataArray, largest: int | None, rng: np.random.Generator
) -> xr.Dataset:
    """Gain of each item and of all, and worth."""
    likelihood = _variable(tree, "log_likelihood", "observed_label")
    if "item" not in likelihood.dims:
        raise EvaluationError(
            "the log likelihood is not by item; label the tree by inference.label(tree, data)"
        )
    plausibility = _variable(tree, "posterior", "plausibility")
    confusion = _variable(tree, "posterior", "confusion")
    if "rater" not in confusion.dims:
        confusion = confusion.expand_dims("rater")
    items = plausibility["item"].to_numpy()
    scored = likelihood["item"].to_numpy()
    place = {item: row for row, item in enumerate(items.tolist())}
    place_of_scored = np.array([place[item] for item in scored.tolist()])
    draws = spread_out(effect.sizes["draw"], max(1, MOST_DRAWS // effect.sizes["chain"]))

    def drawn(array: xr.DataArray, *dims: str) -> np.ndarray:
        some = array.isel(draw=draws).transpose(*SAMPLE, *dims)
        return some.to_numpy().astype(float).reshape(-1, *some.shape[2:])

    prevalence = drawn(_variable(tree, "posterior", "prevalence"), "category")
    effects, features = drawn(effect, "feature", "category"), features_of(tree)

    def prior(chosen: np.ndarray) -> np.ndarray:
        # (sample, item, category)
        return given_features(prevalence, features[place_of_scored[chosen]], effects)

    def without_answers(chosen: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """Return p_-i and r_-i of scored items (item, category), and the share of unreliable weights."""
        weight, bad = _weights(drawn(likelihood.isel(item=chosen), "item"))
        return np.einsum("si,sic->ic", weight, p), weight.T @ share, bad

    chosen = spread_out(len(scored), MOST_ITEMS)
    rows, p = place_of_scored[chosen], prior(chosen)
    share = p.mean(axis=1)
    left_out, believed, bad = without_answers(chosen, p)
    q = drawn(plausibility.isel(item=rows), "item", "category").mean(axis=0)
    gain = (xlogy(q, left_out) - xlogy(q, believed)).sum(axis=-1) / np.log(2)
    boot = rng.exponential(size=(len(share), len(rows)))
    gains = boot @ gain / boot.sum(axis=1)
    mean = drawn(confusion.mean("rater"), "category", "answer")
    curve = panel_curves(
        share, mean / mean.sum(axis=-1, keepdims=True), largest_panel(largest, mean.shape[-1])
    )
    worth, censored = interpolated_worth(curve[0], gains[:, None])
    shape = (effect.sizes["chain"], len(draws))
    coords: dict[str, Any] = {d: c for d, c in effect.isel(draw=draws).coords.items() if d in SAMPLE}
    found = {
        name: (SAMPLE, values.reshape(shape))
        for name, values in (("worth", worth), ("gain", gains), ("censored", censored))
    }
    own: dict[str, Any] = {"gain_of_item": ("item", gain)}
    constant = tree["constant_data"].to_dataset()
    gold = (constant["gold"].to_numpy() if "gold" in constant else np.full(len(items), -1))[place_of_scored]
    if (gold >= 0).any():
        known = np.flatnonzero(gold >= 0)
        known = known[spread_out(len(known), MOST_ITEMS)]
        left_out, believed, _ = without_answers(known, prior(known))
        own |= _by_gold(left_out, believed, gold[known])
    return xr.Dataset({**found, **own}, coords | {"item": items[rows]}, {"unreliable": bad})


def _by_gold(left_out: np.ndarray, believed: np.ndarray, gold: np.ndarray) -> dict[str, Any]:
    """Return the mean gain of the known truth in bits, that claimed, the standard error of their difference, and the number.

    Claimed is sum_c p_-ic log2(p_-ic / r_-ic), what is expected of g_i if p_-i is right. Shapes: left_out and believed
    (gold item, category), gold (gold item,).
    """
    bits = (np.log(left_out) - np.log(believed)) / np.log(2)
    gained, claimed = bits[np.arange(len(gold)), gold], (left_out * bits).sum(axis=-1)
    spread = np.std(gained - claimed, ddof=1) if len(gold) > 1 else np.nan
    error = spread / np.sqrt(len(gold))
    numbers = {"gain": gained.mean(), "claimed": claimed.mean(), "error": error, "items": len(gold)}
    return {f"gold_{name}": value for name, value in numbers.items()}


def _weights(log_likelihood: np.ndarray) -> tuple[np.ndarray, float]:
    """Pareto-smoothed weights of leaving each item out (sample, item), of sum 1, and the share that is unreliable.

    Shapes: log_likelihood (sample, item).
    """
    weight, k = np.empty(log_likelihood.shape), np.zeros(log_likelihood.shape[1])
    for i, own in enumerate(log_likelihood.T):
        log_weight = -own
        if np.ptp(own) > 0 and len(own) > FEW_DRAWS:
            log_weight, k[i] = array_stats.psislw(own)  # it takes the log likelihood, and inverts it
        weight[:, i] = softmax(log_weight)
    return weight, float((k > UNRELIABLE).mean())


def _variable(tree: xr.DataTree, group: str, name: str) -> xr.DataArray:
    """Variable of a group, or raise."""
    found = tree[group].to_dataset().get(name) if group in tree.children else None
    if found is None:
        more = "sample with log_likelihood=True" if group == "log_likelihood" else f"keep it, or {REMEDY}"
        raise EvaluationError(f"the tree has no {name!r} in {group}; {more}")
    return found
