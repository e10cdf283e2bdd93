"""Certainty against the truth, where it is known: log score and calibration of a posterior on items whose truth it has not seen.

Symbols: p_si(c) ``plausibility`` of category c of item i in draw s; T_i the known truth; E mean over draws; n items.
"""

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats
from scipy.stats import beta

from ..._messages import first_reprs, short_repr
from ...posterior.errors import EvaluationError
from ...posterior.matching import ids_of, places_of
from ...posterior.plausibility import BLOCK_SIZE, plausibility_of
from ..argument_checks import check_probability, check_whole

Tree = xr.DataTree | xr.Dataset | xr.DataArray


def log_score(tree: Tree, truth: Any) -> xr.Dataset:
    """Return the log of the probability that a posterior gives to the known truth of items.

        log_score_i = log E[p_si(T_i)]

    A proper score: in expectation the true probabilities have the largest. It says something of new items if the posterior has
    not seen the truth of these, neither as gold nor as an answer.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``plausibility`` (chain, draw, item, category), such as that of `raterzoo.inference.predict` with features
        of new items, a point estimate, or that array.
    truth : mapping of item to category, pandas Series or DataArray (item,)
        True category of items of the posterior; items without one are not scored.

    Returns
    -------
    Dataset
        In nats; larger is better, 0 is certainty of the truth, and a truth of probability zero has minus infinity.

        ``log_score`` (item)
            Score of each item with a truth, in the order of the posterior.
        ``mean``
            Mean score of an item.
        ``sampling_error``
            Standard error of the mean, as the items are a sample: standard deviation of the scores / sqrt(n).
        ``monte_carlo_error``
            Standard error of the mean, as the draws are finitely many: that of the mean over draws of
            mean_i p_si(T_i) / E[p_si(T_i)], by their effective sample size; 0 for a point estimate.

    Raises
    ------
    EvaluationError
        If no item has a truth, or a truth names an item or category that the posterior has not.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> coords = {"item": ["a", "b"], "category": ["ham", "spam"]}
    >>> plausibility = xr.DataArray([[0.9, 0.1], [0.5, 0.5]], coords, ("item", "category"))
    >>> evaluation.log_score(plausibility, {"a": "ham", "b": "spam"})["log_score"].round(3).values.tolist()
    [-0.105, -0.693]

    References
    ----------
    Gneiting and Raftery (2007), Strictly proper scoring rules, prediction, and estimation, Journal of the American Statistical
    Association 102, doi:10.1198/016214506000001437.
    """
    known = _Known.of(tree, truth)
    p = known.draws_of(known.code)
    probability = p.mean(axis=0)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.log(probability)
        relative = (p / probability).mean(axis=1)
    n = len(score)
    spread = float(np.std(score, ddof=1)) if n > 1 and np.isfinite(score).all() else np.nan
    found = {
        "log_score": ("item", score),
        "mean": score.mean(),
        "sampling_error": spread / np.sqrt(n),
        "monte_carlo_error": known.monte_carlo_error(relative),
    }
    return xr.Dataset(found, {"item": known.items}, {"units": "nats"})


def calibration_curve(
    tree: Tree, truth: Any, *, bins: int = 10, category: Any = None, probability: float = 0.9
) -> xr.Dataset:
    """Return how often the most probable category is the truth, by its probability: how true claims of certainty are.

    Items are sorted by q_i = E[p_si(c_i)], the probability of their most probable category c_i (ties by the order of the
    categories), or of one `category`, and divided into bins of equally many; items of equal probability stay together.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``plausibility`` (chain, draw, item, category), a point estimate, or that array.
    truth : mapping of item to category, pandas Series or DataArray (item,)
        True category of items of the posterior; items without one do not count.
    bins : int
        Number of bins; fewer where probabilities are equal.
    category : optional
        Category whose probability is examined; by default the most probable one of each item.
    probability : float
        Posterior probability of the intervals of the shares.

    Returns
    -------
    Dataset, dims (bin,) in ascending order of the probability
        ``predicted``
            Mean of q_i.
        ``observed``
            Share of the items whose truth is the category.
        ``lower``, ``upper``
            Interval of that share, as the items are a sample: Jeffreys' prior, Beta(1/2, 1/2).
        ``count``
            Number of items.
        ``sampling_error``
            Standard deviation of observed - predicted, if the probabilities are right: sqrt(sum q_i (1 - q_i)) / count.
        ``monte_carlo_error``
            Standard error of predicted, as the draws are finitely many, by their effective sample size.

    Raises
    ------
    EvaluationError
        If no item has a truth, a truth names an item or category that the posterior has not, or an option is out of range.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> coords = {"item": ["a", "b", "c", "d"], "category": ["ham", "spam"]}
    >>> p = xr.DataArray([[0.9, 0.1], [0.6, 0.4], [0.1, 0.9], [0.4, 0.6]], coords, ("item", "category"))
    >>> curve = evaluation.calibration_curve(p, {"a": "ham", "b": "spam", "c": "spam", "d": "spam"}, bins=2)
    >>> curve["predicted"].values.tolist(), curve["observed"].values.tolist()
    ([0.6, 0.9], [0.5, 1.0])

    References
    ----------
    DeGroot and Fienberg (1983), The comparison and evaluation of forecasters, The Statistician 32, doi:10.2307/2987588. Brown,
    Cai and DasGupta (2001), Interval estimation for a binomial proportion, Statistical Science 16, doi:10.1214/ss/1009213286.
    """
    check_whole("bins", bins, 1)
    check_probability("probability", probability)
    known = _Known.of(tree, truth)
    chosen = known.most_probable() if category is None else np.full(len(known.code), known.code_of(category))
    p = known.draws_of(chosen)
    q, right = p.mean(axis=0), chosen == known.code
    members = _bins_of(q, bins)
    count = np.bincount(members)
    hits = np.bincount(members, right)
    inner = np.array([(1 - probability) / 2, (1 + probability) / 2])[:, None]
    ends = beta.ppf(inner, hits + 0.5, count - hits + 0.5)
    of_bin = [members == b for b in range(len(count))]
    found = {
        "predicted": np.bincount(members, q) / count,
        "observed": hits / count,
        "lower": np.where(hits == 0, 0.0, ends[0]),
        "upper": np.where(hits == count, 1.0, ends[1]),
        "count": count,
        "sampling_error": np.sqrt(np.bincount(members, q * (1 - q))) / count,
        "monte_carlo_error": [known.monte_carlo_error(p[:, own].mean(axis=1)) for own in of_bin],
    }
    of = "the most probable category" if category is None else str(category)
    attrs = {"category": of, "probability": probability, "items": len(q)}
    return xr.Dataset({name: ("bin", values) for name, values in found.items()}, attrs=attrs)


def _bins_of(q: np.ndarray, bins: int) -> np.ndarray:
    """Bin (item,) of probabilities (item,), of about equally many items, equal probabilities in one; no bin is empty."""
    rank = np.searchsorted(np.sort(q), q, "left")
    return np.unique(rank * bins // len(q), return_inverse=True)[1]


class _Known:
    """Items of a posterior whose true category is known, and what is said of them."""

    def __init__(self, array: xr.DataArray, code: np.ndarray) -> None:
        self._array, self._rows = array, np.flatnonzero(code >= 0)
        self.code = code[self._rows]
        self.items = array["item"].to_numpy()[self._rows]
        self._samples = array.shape[:-2]

    @classmethod
    def of(cls, tree: Tree, truth: Any) -> "_Known":
        """Match known truths (item -> category) with a posterior (..., item, category)."""
        array = plausibility_of(tree)
        if not {"item", "category"} <= {*array.dims}:
            raise EvaluationError(
                f"plausibility has dims {array.dims}: expected item and category, as of models of labels"
            )
        array = array.transpose("chain", "draw", ..., "item", "category", missing_dims="ignore")
        items, labels = _pairs(truth)
        place = places_of(ids_of(items), ids_of(array["item"].to_numpy()), ("the truth", "the posterior"))
        code = np.full(array.sizes["item"], -1)
        known = cls(array, code)
        code[place] = [known.code_of(label) for label in labels]
        return cls(array, code)

    def code_of(self, label: Any) -> int:
        """Place of a category, or raise."""
        names = self._array["category"].to_numpy().astype(str).tolist()
        if str(label) not in names:
            raise EvaluationError(
                f"{short_repr(label)} is not a category of the posterior, which are {first_reprs(names)}"
            )
        return names.index(str(label))

    def most_probable(self) -> np.ndarray:
        """Code of the most probable category of each item (item,)."""
        found = np.empty(len(self._rows), np.int64)
        for some, values in self._blocks():
            found[some] = values.mean(axis=0, dtype=np.float64).argmax(axis=-1)
        return found

    def draws_of(self, code: np.ndarray) -> np.ndarray:
        """Plausibility of one category of each item (sample, item)."""
        found = np.empty((int(np.prod(self._samples)), len(self._rows)))
        for some, values in self._blocks():
            found[:, some] = np.take_along_axis(values, code[None, some, None], axis=2)[..., 0]
        if not np.isfinite(found).all():
            raise EvaluationError("plausibility is NaN or infinite: a draw failed; sample again")
        return found

    def monte_carlo_error(self, draws: np.ndarray) -> float:
        """Monte-Carlo standard error of the mean of draws (sample,); 0 if they are all the same."""
        if not np.isfinite(draws).all():
            return np.nan
        if np.ptp(draws) == 0:
            return 0.0
        shape = self._samples if len(self._samples) == 2 else (1, -1)
        return float(
            cast(Any, array_stats.mcse(draws.reshape(shape), chain_axis=0, draw_axis=1, method="mean"))
        )

    def _blocks(self) -> Any:
        """Yield slices of the items with the draws of their plausibilities (sample, item, category)."""
        n = len(self._rows)
        step = max(1, BLOCK_SIZE // max(1, int(np.prod(self._samples)) * self._array.sizes["category"]))
        for first in range(0, n, step):
            some = slice(first, min(first + step, n))
            part = self._array.isel(item=self._rows[some])
            yield some, part.to_numpy().reshape(-1, *part.shape[-2:])


def _pairs(truth: Any) -> tuple[np.ndarray, list[Any]]:
    """Items and true categories of all items that have one."""
    if isinstance(truth, xr.DataArray) and truth.dims == ("item",) and "item" in truth.coords:
        pairs = list(zip(truth["item"].to_numpy().tolist(), truth.to_numpy().tolist(), strict=True))
    elif isinstance(truth, Mapping):
        pairs = list(truth.items())
    elif hasattr(truth, "index") and hasattr(truth, "to_list"):
        pairs = list(zip(truth.index.tolist(), truth.to_list(), strict=True))
    else:
        raise EvaluationError(
            f"truth: expected a mapping of item to category, a pandas Series or a DataArray (item,) with ids, found "
            f"{type(truth).__name__}"
        )
    pairs = [(item, label) for item, label in pairs if label is not None and label == label and label != ""]
    if not pairs:
        raise EvaluationError("truth: no item has a true category")
    items = [item for item, _ in pairs]
    if len({*items}) < len(items):
        raise EvaluationError("truth: an item stands twice; keep one category for each")
    return np.array(items), [label for _, label in pairs]
