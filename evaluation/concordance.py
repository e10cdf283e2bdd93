"""Chance-corrected agreement of raters on labels: Krippendorff's alpha, Cohen's kappa, Gwet's AC1.

References
----------
Krippendorff (2004), Content analysis, chapter 11 (package krippendorff). Cohen (1960),
doi:10.1177/001316446002000104 (scikit-learn). Gwet (2008), Computing inter-rater reliability and its variance
in the presence of high agreement, equations 4 and 5, doi:10.1348/000711006X126600.
"""

import warnings
from collections.abc import Callable
from itertools import combinations

import numpy as np
import xarray as xr

from .errors import EvaluationError

__all__ = ["label_agreement", "ratings_of"]


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
        order of the categories. The attribute ``categories`` is the number of categories.

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
    return xr.DataArray(
        ratings, names, ("item", "rater"), name="label", attrs={"categories": shape[2]}
    )


def label_agreement(
    ratings: xr.DataArray,
    *,
    bootstrap: int = 1000,
    probability: float = 0.9,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Return Krippendorff's alpha, Gwet's AC1 and Cohen's kappa of every pair of raters, with intervals.

    Parameters
    ----------
    ratings : DataArray, shape (item, rater)
        Codes of labels, NaN without an answer, as from `ratings_of`. The attribute ``categories`` is the
        number of categories; without it the categories that occur are counted.
    bootstrap : int, default 1000
        Number of bootstrap samples of items for the intervals; 0 for none.
    probability : float, default .9
        Probability of the intervals.
    random_seed : int or numpy.random.Generator, optional
        Seed of the bootstrap.

    Returns
    -------
    Dataset
        ``alpha`` and ``ac1`` (); ``kappa`` (rater, other), over the items that both labelled, NaN on the
        diagonal and if there are no such items or chance agreement is certain. Each also with ``_interval``
        (bound: lower, upper), over the samples in which the coefficient is defined, and ``_undefined``, the
        number of samples in which it is not.

    Raises
    ------
    EvaluationError
        If `ratings` has other dims, no item has two labels, or a package is missing: install
        ``raterzoo[agreement]``.

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
    if not 0 < probability < 1 or bootstrap < 0:
        raise EvaluationError(
            f"probability={probability!r} must lie between 0 and 1, and bootstrap={bootstrap!r} be a number from 0"
        )
    rng = np.random.default_rng(random_seed)
    samples = [rng.integers(0, len(table), len(table)) for _ in range(bootstrap)]
    tails = [(1 - probability) / 2, (1 + probability) / 2]
    raters = ratings["rater"].to_numpy()
    n_categories = ratings.attrs.get("categories", len(np.unique(table[np.isfinite(table)])))
    statistics: dict[str, tuple[tuple[str, ...], Callable]] = {
        "alpha": ((), _alpha),
        "ac1": ((), lambda rows: _ac1(rows, n_categories)),
        "kappa": (("rater", "other"), _kappas),
    }
    result = xr.Dataset(coords={"rater": raters, "other": raters, "bound": ["lower", "upper"]})
    for name, (dims, statistic) in statistics.items():
        result[name] = (dims, np.asarray(statistic(table)))
        if bootstrap:
            drawn = np.stack([np.asarray(statistic(table[rows])) for rows in samples])
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", RuntimeWarning)  # if one is never defined
                bounds = np.nanquantile(drawn, tails, axis=0)
            result[f"{name}_interval"] = (("bound", *dims), bounds)
            result[f"{name}_undefined"] = (dims, np.isnan(drawn).sum(axis=0))
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


def _alpha(table: np.ndarray) -> float:
    """Krippendorff's alpha of a table (item, rater); NaN if there is only one label."""
    try:
        import krippendorff
    except ImportError as missing:
        raise EvaluationError(f"{missing}; install raterzoo[agreement]") from None
    if len(np.unique(table[np.isfinite(table)])) < 2:
        return np.nan
    return krippendorff.alpha(reliability_data=table.T, level_of_measurement="nominal")


def _ac1(table: np.ndarray, n_categories: int) -> float:
    """Gwet's AC1 for any number of raters and missing labels (2008, equations 4 and 5); table (item, rater)."""
    labels = np.unique(table[np.isfinite(table)])
    counts = (table[:, :, None] == labels).sum(axis=1)
    n = counts.sum(axis=1)
    pairs = n >= 2
    if not pairs.any():
        return np.nan
    # eq. 4: agreeing pairs of raters over all pairs, of items with two labels or more
    agree = (counts * (counts - 1)).sum(axis=1)[pairs] / (n * (n - 1))[pairs]
    # eq. 5: chance agreement of raters who label at random
    share = (counts[n > 0] / n[n > 0, None]).mean(axis=0)
    chance = (share * (1 - share)).sum() / max(n_categories - 1, 1)
    return float((agree.mean() - chance) / (1 - chance))


def _kappas(table: np.ndarray) -> np.ndarray:
    """Cohen's kappa of every pair of raters (rater, rater) from a table (item, rater)."""
    try:
        from sklearn.metrics import cohen_kappa_score
    except ImportError as missing:
        raise EvaluationError(f"{missing}; install raterzoo[agreement]") from None
    n_raters = table.shape[1]
    kappas = np.full((n_raters, n_raters), np.nan)
    for a, b in combinations(range(n_raters), 2):
        both = np.isfinite(table[:, [a, b]]).all(axis=1)
        one, other = table[both, a], table[both, b]
        if len(np.unique([one, other])) > 1:
            kappas[a, b] = kappas[b, a] = cohen_kappa_score(one, other)
    return kappas
