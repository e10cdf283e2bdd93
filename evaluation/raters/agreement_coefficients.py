"""Agreement of raters beyond chance: Krippendorff's alpha, Gwet's AC1 and AC2, kappas of two and more raters, with intervals.

References
----------
Krippendorff (2004), Content analysis, chapter 11 (package krippendorff). Cohen (1968), Weighted kappa,
doi:10.1037/h0026256. Fleiss (1971), doi:10.1037/h0031619. Conger (1980), Integration and generalization of kappas for multiple
raters, doi:10.1037/0033-2909.88.2.322. Gwet (2008), Computing inter-rater reliability and its variance in the presence of high
agreement, equations 4 and 5, doi:10.1348/000711006X126600; Gwet (2014), Handbook of inter-rater reliability, chapters 3 and 4
(package irrCAC).
"""

import warnings
from collections.abc import Callable, Iterator
from typing import Literal, get_args

import numpy as np
import xarray as xr
from scipy import sparse

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import generator_of
from ..argument_checks import check_probability, check_whole

Weights = Literal["nominal", "ordinal", "linear", "quadratic"]
BLOCK = 4_000_000  # resampled items that are held at once


def ratings_of(tree: xr.DataTree) -> xr.DataArray:
    """Return the label that each rater gave each item, from the tree of a model of raters.

    Parameters
    ----------
    tree : DataTree
        Tree with ``observed_label``, ``annotation_item`` and ``annotation_rater``.

    Returns
    -------
    DataArray, shape (item, rater)
        Codes of labels, NaN without an answer. Of several answers of a rater the most frequent, ties by the
        order of the categories. The attributes are the number of ``categories`` and their ``names``.

    Raises
    ------
    EvaluationError
        If the tree lacks a variable.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> names = {"item": ["a", "b"], "rater": ["r", "s"], "category": ["x", "y"]}
    >>> who = {"annotation_item": ("annotation", [0, 0, 1]), "annotation_rater": ("annotation", [0, 1, 1])}
    >>> label = {"observed_label": ("annotation", [0, 1, 1])}
    >>> groups = {"posterior": xr.Dataset(coords=names), "constant_data": xr.Dataset(who)}
    >>> tree = xr.DataTree.from_dict(groups | {"observed_data": xr.Dataset(label)})
    >>> evaluation.ratings_of(tree).values
    array([[ 0.,  1.],
           [nan,  1.]])
    """
    try:
        constant, posterior = tree["constant_data"], tree["posterior"]
        label = tree["observed_data"]["observed_label"].to_numpy()
        item, rater = (constant[f"annotation_{who}"].to_numpy() for who in ("item", "rater"))
        names = {"item": posterior["item"].to_numpy(), "rater": posterior["rater"].to_numpy()}
    except KeyError as missing:
        raise EvaluationError(
            f"the tree lacks {missing}; ratings_of reads trees of models of raters that inference.sample returned"
        ) from None
    shape = (len(names["item"]), len(names["rater"]), posterior.sizes["category"])
    answer, count = np.unique(np.ravel_multi_index((item, rater, label), shape), return_counts=True)
    order = np.lexsort((-answer, count))  # the most frequent, then the first, is written last
    item, rater, label = np.unravel_index(answer[order], shape)
    ratings = np.full(shape[:2], np.nan)
    ratings[item, rater] = label
    attrs = {"categories": shape[2], "names": posterior["category"].to_numpy()}
    return xr.DataArray(ratings, names, ("item", "rater"), name="label", attrs=attrs)


def label_agreement(
    ratings: xr.DataArray,
    *,
    weights: Weights = "nominal",
    bootstrap: int = 1000,
    probability: float = 0.9,
    pairs: bool = True,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Return Krippendorff's alpha, Gwet's AC1 or AC2, Fleiss', Conger's and Cohen's kappa, with intervals.

    Parameters
    ----------
    ratings : DataArray, shape (item, rater)
        Codes of labels, NaN without an answer, as from `ratings_of`. The attribute ``categories`` is the
        number of categories; without it the categories that occur are counted.
    weights : {"nominal", "ordinal", "linear", "quadratic"}
        Weight of a disagreement: the same for any, or more for codes that are further apart on an ordered scale. "ordinal"
        is Krippendorff's difference of ranks for alpha, and Gwet's ordinal weights for AC2 and kappa.
    bootstrap : int, default 1000
        Number of bootstrap samples of items for the intervals; 0 for none.
    probability : float, default .9
        Probability of the intervals.
    pairs : bool, default True
        Whether to return Cohen's kappa of every pair of raters, whose cost grows with the square of their number.
    random_seed : int or numpy.random.Generator, optional
        Seed of the bootstrap; by default derived from the ratings.

    Returns
    -------
    Dataset
        ``alpha`` and ``ac1``, of other weights ``ac2`` (). ``fleiss`` (), the kappa whose chance agreement is that of the shares
        of labels of all raters together, and ``conger`` (), of those of each rater: Cohen's kappa of more than two raters.
        With `pairs` Cohen's ``kappa`` (rater, other), over the items that both labelled, NaN on the diagonal. Each also with
        ``_interval`` (bound: lower, upper), over the samples in which it is defined, and ``_undefined``, the number of others.
        An interval is NaN where one item alone has the labels compared, a kappa where no item has two labels or chance agreement
        is certain.

    Raises
    ------
    EvaluationError
        If `ratings` has other dims, no item has two labels, or `weights` are unknown.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> codes = np.array([[0, 0], [0, 1], [1, 1], [1, 1]])
    >>> ratings = xr.DataArray(codes, {"rater": ["r", "s"]}, ("item", "rater"))
    >>> found = evaluation.label_agreement(ratings, bootstrap=0)
    >>> found["kappa"].values.round(2), round(found["alpha"].item(), 2)
    (array([[nan, 0.5],
           [0.5, nan]]), 0.53)
    """
    table = _checked(ratings)
    if weights not in get_args(Weights):
        raise EvaluationError(
            f"weights={weights!r}: expected one of {', '.join(map(repr, get_args(Weights)))}"
        )
    check_probability("probability", probability)
    check_whole("bootstrap", bootstrap, 0)
    rng = generator_of(random_seed, ratings)
    tails = [(1 - probability) / 2, (1 + probability) / 2]
    raters = ratings["rater"].to_numpy()
    code, values = _codes(table, ratings.attrs.get("categories"))
    agrees = _agreement_weights(values, weights)
    n_categories = ratings.attrs.get("categories", len(values))
    statistics: dict[str, tuple[tuple[str, ...], Callable[[np.ndarray], np.ndarray]]] = {
        "alpha": ((), _alpha(code, agrees, ordinal=weights == "ordinal")),
        "ac1" if weights == "nominal" else "ac2": ((), _gwet(code, agrees, n_categories)),
        "fleiss": ((), _beyond_chance(code, agrees, _chance_of_all(code, agrees))),
        "conger": ((), _beyond_chance(code, agrees, _chance_of_each(code, agrees))),
    }
    if pairs:
        statistics["kappa"] = (("rater", "other"), _kappas(code, agrees))
    answered = np.isfinite(table).astype(int)
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in statistics}
    for times in _resampled(rng, bootstrap, len(table)):
        for name, (_, statistic) in statistics.items():
            drawn[name].append(statistic(times))
    result = xr.Dataset(coords={"rater": raters, "other": raters, "bound": ["lower", "upper"]})
    for name, (dims, statistic) in statistics.items():
        result[name] = (dims, statistic(np.ones((1, len(table))))[0])
        if bootstrap:
            samples = np.concatenate(drawn[name])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # if one is never defined
                bounds = np.nanquantile(samples, tails, axis=0)
            told = (
                answered.T @ answered if dims else (answered.sum(axis=1) > 1).sum()
            )  # items with both labels
            result[f"{name}_interval"] = (("bound", *dims), np.where(told > 1, bounds, np.nan))
            result[f"{name}_undefined"] = (dims, np.isnan(samples).sum(axis=0))
    return result


def _checked(ratings: xr.DataArray) -> np.ndarray:
    """Convert ratings to a float table (item, rater), or raise."""
    if not isinstance(ratings, xr.DataArray):
        raise EvaluationError(
            f"a {type(ratings).__name__} is not a DataArray (item, rater); ratings_of makes one of a tree"
        )
    if set(ratings.dims) != {"item", "rater"}:
        raise EvaluationError(f"ratings have dims {ratings.dims}; they must be item and rater")
    table = ratings.transpose("item", "rater").to_numpy().astype(float)
    if (np.isfinite(table).sum(axis=1) < 2).all():
        raise EvaluationError("no item has labels of two raters: there is no agreement to measure")
    return table


def _codes(table: np.ndarray, n_categories: int | None) -> tuple[np.ndarray, np.ndarray]:
    """Places of the labels on the scale (item, rater), -1 for none, and the values of the scale (category,)."""
    values = np.unique(table[np.isfinite(table)])
    if n_categories is not None and np.isin(values, np.arange(n_categories)).all():
        values = np.arange(n_categories)
    return np.where(np.isfinite(table), np.searchsorted(values, table), -1), values


def _resampled(rng: np.random.Generator, samples: int, n_items: int) -> Iterator[np.ndarray]:
    """Yield blocks of bootstrap samples: how often each item is drawn (sample, item)."""
    size = max(BLOCK // n_items, 1)
    for start in range(0, samples, size):
        drawn = [rng.integers(0, n_items, n_items) for _ in range(min(size, samples - start))]
        yield np.stack([np.bincount(items, minlength=n_items) for items in drawn]).astype(float)


def _agreement_weights(values: np.ndarray, weights: Weights) -> np.ndarray:
    """Agreement of two labels, from 1 for the same to 0 for the ends of the scale (category, category)."""
    n = len(values)
    if weights == "nominal" or n < 2:
        return np.eye(n)
    if weights == "ordinal":  # by the pairs of categories between the two, both included
        within = np.abs(np.subtract.outer(np.arange(n), np.arange(n))) + 1
        return 1 - within * (within - 1) / (n * (n - 1))
    apart = np.abs(np.subtract.outer(values, values))
    return 1 - (apart / apart.max()) ** (2 if weights == "quadratic" else 1)


def _counts(code: np.ndarray, n_categories: int) -> np.ndarray:
    """Count the raters who gave each label, shape (item, category)."""
    item, rater = np.nonzero(code >= 0)
    counts = np.zeros((len(code), n_categories))
    np.add.at(counts, (item, code[item, rater]), 1)
    return counts


def _ratio(part: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """Quotient, NaN where the denominator is zero."""
    return np.divide(
        part, whole, out=np.full(np.broadcast_shapes(part.shape, whole.shape), np.nan), where=whole != 0
    )


def _alpha(code: np.ndarray, agrees: np.ndarray, *, ordinal: bool) -> Callable[[np.ndarray], np.ndarray]:
    """Krippendorff's alpha by how often each item is drawn (sample, item); NaN if all paired labels are the same."""
    counts = _counts(code, len(agrees))
    paired = counts.sum(axis=1) >= 2
    counts = counts[paired]
    n, differ = counts.sum(axis=1), 1 - agrees

    def alpha(times: np.ndarray) -> np.ndarray:
        times = times[:, paired]
        margin = times @ counts  # (sample, category)
        total = margin.sum(axis=1)
        if ordinal:  # squared differences of mid-ranks, which are those of the sample
            rank = np.cumsum(margin, axis=1) - margin / 2
            spread = n * (rank**2 @ counts.T) - (rank @ counts.T) ** 2
            observed = (times * spread / (n - 1)).sum(axis=1)
            expected = total * (margin * rank**2).sum(axis=1) - (margin * rank).sum(axis=1) ** 2
        else:
            observed = times @ (((counts @ differ) * counts).sum(axis=1) / (n - 1))
            expected = ((margin @ differ) * margin).sum(axis=1)
        differing = (margin > 0).sum(axis=1) > 1  # rounding may leave a little of an expected 0
        return 1 - _ratio((total - 1) * observed, expected * differing)

    return alpha


def _beyond_chance(
    code: np.ndarray, agrees: np.ndarray, chance: Callable[[np.ndarray], np.ndarray]
) -> Callable[[np.ndarray], np.ndarray]:
    """Agreement beyond that by `chance`, as a share of what is possible, by how often each item is drawn (sample, item).

    Agreeing pairs of raters over all pairs, of items with two labels or more: Gwet (2008), equation 4.
    """
    counts = _counts(code, len(agrees))
    n = counts.sum(axis=1)
    paired = (n >= 2).astype(float)
    agree = (((counts @ agrees) * counts).sum(axis=1) - n) * paired / np.maximum(n * (n - 1), 1)

    def coefficient(times: np.ndarray) -> np.ndarray:
        found, by_chance = _ratio(times @ agree, times @ paired), chance(times)
        return _ratio(found - by_chance, 1 - by_chance)

    return coefficient


def _shares(code: np.ndarray, n_categories: int) -> Callable[[np.ndarray], np.ndarray]:
    """Mean over items of the shares of labels (sample, category), by how often each item is drawn (sample, item)."""
    counts = _counts(code, n_categories)
    n = counts.sum(axis=1)
    share, answered = counts / np.maximum(n, 1)[:, None], (n > 0).astype(float)
    return lambda times: _ratio(times @ share, (times @ answered)[:, None])


def _gwet(code: np.ndarray, agrees: np.ndarray, n_categories: int) -> Callable[[np.ndarray], np.ndarray]:
    """Gwet's AC1 or AC2: chance agreement of raters who label at random, equation 5; of AC2 by the mean of the weights."""
    shares = _shares(code, len(agrees))
    scale = agrees.sum() / len(agrees) / max(n_categories - 1, 1)

    def chance(times: np.ndarray) -> np.ndarray:
        given = shares(times)
        return scale * (given * (1 - given)).sum(axis=1)

    return _beyond_chance(code, agrees, chance)


def _chance_of_all(code: np.ndarray, agrees: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Chance agreement of raters who all give each label as often as the average one: Fleiss."""
    shares = _shares(code, len(agrees))

    def chance(times: np.ndarray) -> np.ndarray:
        given = shares(times)
        return ((given @ agrees) * given).sum(axis=1)

    return chance


def _chance_of_each(code: np.ndarray, agrees: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Chance agreement of two different raters, each of whom gives labels as often as he does: Conger."""
    (n_items, n_raters), n_categories = code.shape, len(agrees)
    item, rater = np.nonzero(code >= 0)
    cell = rater * n_categories + code[item, rater]
    labels = sparse.csr_array((np.ones(len(item)), (item, cell)), (n_items, n_raters * n_categories))

    def chance(times: np.ndarray) -> np.ndarray:
        given = (times @ labels).reshape(len(times), n_raters, n_categories)
        number = given.sum(axis=2, keepdims=True)
        given = np.divide(given, number, out=np.zeros_like(given), where=number > 0)
        raters, of_all = (number[..., 0] > 0).sum(axis=1), given.sum(axis=1)
        own = ((given @ agrees) * given).sum(axis=(1, 2))
        return _ratio(((of_all @ agrees) * of_all).sum(axis=1) - own, raters * (raters - 1.0))

    return chance


def _kappas(code: np.ndarray, agrees: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Cohen's kappa of every pair of raters (sample, rater, rater) by how often each item is drawn (sample, item)."""
    n_raters, labels = code.shape[1], np.arange(len(agrees))
    weight = np.pad(agrees, (0, 1))  # in the last row and column: of no label

    def kappas(times: np.ndarray) -> np.ndarray:
        found = np.full((len(times), n_raters, n_raters), np.nan)
        for a in range(n_raters - 1):
            own = code[:, a] >= 0
            one, others, drawn = code[own, a], code[own, a + 1 :], times[:, own]
            both = (others >= 0).astype(float)
            pairs = drawn @ both  # (sample, other)
            agree = _ratio(drawn @ weight[one[:, None], others], pairs)
            given = (others[..., None] == labels).reshape(len(one), -1).astype(float)
            of_others = (drawn @ given).reshape(len(times), -1, len(labels))
            of_one = np.stack([drawn[:, one == label] @ both[one == label] for label in labels], axis=-1)
            chance = _ratio(((of_one @ agrees) * of_others).sum(axis=-1), pairs**2)
            found[:, a, a + 1 :] = found[:, a + 1 :, a] = _ratio(agree - chance, 1 - chance)
        return found

    return kappas
