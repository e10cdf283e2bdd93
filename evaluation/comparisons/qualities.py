"""Draws of what is ranked (qualities or locations of items, metrics of classifiers), and qualities matched by item."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import refuse_without_draws

Qualities = xr.DataTree | xr.Dataset | xr.DataArray
BLOCK_SIZE = 5_000_000  # ranks in one block
RANKED = ("quality", "location", "ability")  # variables in models of comparisons, of scores and of labels
OF_RATERS = ("classifier", "model", "rater")  # dims of what is ranked that is no item


def ranked_of(source: Qualities) -> xr.DataArray:
    """Return what is ranked: qualities or locations (..., item), or a metric or abilities (..., dim of `OF_RATERS`), or raise."""
    array = _quality(source, "quality", RANKED)
    dim = next((own for own in OF_RATERS if own in array.dims), None)
    if dim is None:
        return qualities_of(array)
    if "item" in array.dims:
        raise EvaluationError(
            f"{array.name or 'metric'}: dims {array.dims} hold the metric of every item: take its mean over items first, "
            "reduce='item' of uncertainty_adjusted"
        )
    if "category" in array.dims:
        raise EvaluationError(
            f"{array.name or 'ability'}: dims {array.dims} hold an ability of each category: rank those of one, "
            ".sel(category=...), or their mean('category')"
        )
    return qualities_of(array.rename({dim: "item"})).rename(item=dim)


def qualities_of(source: Qualities, what: str = "quality") -> xr.DataArray:
    """Return the qualities (..., item) of a tree, dataset or array; raise if missing or not labelled by item."""
    array = _quality(source, what)
    if "item" not in array.dims or "item" not in array.coords:
        raise EvaluationError(
            f"{what}: expected a dim item with the labels of the items as its coordinate, found dims {array.dims}; "
            "inference.label(tree, pairs) adds the labels"
        )
    if not array.size:
        raise EvaluationError(
            f"{what}: there are no qualities, dims {dict(array.sizes)}: expected at least one item"
        )
    if array.dtype.kind not in "iuf":
        raise EvaluationError(f"{what}: qualities have dtype {array.dtype}: expected numbers")
    array = array.transpose(..., "item").astype(float, copy=False)
    items, count = np.unique(array["item"].to_numpy(), return_counts=True)
    if (count > 1).any():
        raise EvaluationError(f"{what}: item {items[count > 1].tolist()[0]!r} is duplicated")
    return array


def matched_qualities(estimate: Qualities, truth: Qualities) -> tuple[xr.DataArray, xr.DataArray]:
    """Return two qualities over the same items, in the order of the truth; raise if items differ."""
    estimates, truths = qualities_of(estimate, "estimate"), qualities_of(truth, "truth")
    known, asked = (array["item"].to_numpy().tolist() for array in (estimates, truths))
    for missing, owner, other in (
        ([item for item in asked if item not in set(known)], "estimate", "truth"),
        ([item for item in known if item not in set(asked)], "truth", "estimate"),
    ):
        if missing:
            more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
            raise EvaluationError(
                f"{owner}: no quality of item {missing[0]!r}{more}, which the {other} has; "
                "select the items of both, .sel(item=...), or correct the spelling"
            )
    for array, owner in ((estimates, "estimate"), (truths, "truth")):
        _check_finite(array.to_numpy(), array, owner)
    return estimates.sel(item=truths["item"]), truths


def sample_matrix(array: xr.DataArray) -> np.ndarray:
    """Return the draws (sample, item) of what is ranked, sample dims flattened; raise if one is not finite."""
    draws = array.to_numpy().reshape(-1, array.shape[-1])
    _check_finite(draws, array, "quality")
    return draws


def _quality(source: Qualities, what: str, names: tuple[str, ...] = ("quality",)) -> xr.DataArray:
    """Return the variable of a source, the first of `names` that it has, or raise."""
    if isinstance(source, xr.DataArray):
        return source
    if isinstance(source, xr.DataTree):
        for name in names:
            refuse_without_draws(source, name)
        source = source["posterior"].to_dataset() if "posterior" in source.children else xr.Dataset()
    if not isinstance(source, xr.Dataset):
        raise EvaluationError(
            f"{what}: expected a DataTree, or a Dataset or DataArray of qualities, found {type(source).__name__}"
        )
    if found := [name for name in names if name in source]:
        return source[found[0]]
    scores = (
        ", models of scores a 'location', item_response and one_coin an 'ability'" if len(names) > 1 else ""
    )
    raise EvaluationError(
        f"{what}: there is no variable 'quality', but {', '.join(map(str, source.data_vars)) or 'nothing'}. "
        f"Models and estimators of comparisons, such as bradley_terry, have one{scores}"
    )


def _check_finite(values: np.ndarray, array: xr.DataArray, what: str) -> None:
    """Raise if a value (..., item) is not finite."""
    bad = ~np.isfinite(values.reshape(-1, array.shape[-1])).all(axis=0)
    if bad.any():
        dim = array.dims[-1]
        item = array[dim].to_numpy().tolist()[int(np.argmax(bad))]
        raise EvaluationError(
            f"{what}: quality of {dim} {item!r} is NaN or infinite: a draw failed or the item was never compared; "
            "sample again, or leave it out by .sel(item=...)"
        )


@dataclass(frozen=True)
class RankDraws:
    """Ranks of all items in all draws, from 1 (the best); items of equal quality share a range, from `best` to `worst`."""

    quality: np.ndarray  # (sample, item)
    best: np.ndarray  # (item, sample), int32
    worst: np.ndarray  # (item, sample), int32; the same array as best unless there are exact ties
    item: xr.DataArray  # coordinate: item, classifier, model or rater

    @property
    def dim(self) -> str:
        """Dim of what is ranked: item, classifier, model or rater."""
        return str(self.item.dims[0])

    @property
    def tied(self) -> bool:
        """Whether any draw has an exact tie."""
        return self.worst is not self.best

    def blocks(self, width: int = 1) -> Iterator[slice]:
        """Yield slices of items; the draws of a slice times `width` fit into one block."""
        n, samples = self.best.shape
        step = max(1, BLOCK_SIZE // (samples * width))
        for first in range(0, n, step):
            yield slice(first, min(first + step, n))


def drawn_ranks(tree: Qualities) -> RankDraws:
    """Rank items, classifiers or raters in every draw; raise if there is nothing to rank, or a value is not finite."""
    array = ranked_of(tree)
    quality = sample_matrix(array)
    samples, n = quality.shape
    best = np.empty((n, samples), np.int32)
    worst = None
    step = max(1, BLOCK_SIZE // n)
    for first in range(0, samples, step):
        block = slice(first, min(first + step, samples))
        best[:, block], own_worst = (ranks.T for ranks in _ranks(quality[block]))
        if worst is None and (own_worst != best[:, block]).any():
            worst = best.copy()
        if worst is not None:
            worst[:, block] = own_worst
    return RankDraws(quality, best, best if worst is None else worst, array[array.dims[-1]])


def _ranks(quality: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Best and worst rank of every item (sample, item)."""
    order = np.argsort(-quality, axis=1)
    ordered = np.take_along_axis(quality, order, axis=1)
    place = np.broadcast_to(np.arange(1, quality.shape[1] + 1, dtype=np.int32), quality.shape)
    changes = ordered[:, 1:] != ordered[:, :-1]
    edge = np.ones((len(quality), 1), bool)
    first = np.maximum.accumulate(np.where(np.hstack([edge, changes]), place, 0), axis=1)
    last = np.where(np.hstack([changes, edge]), place, quality.shape[1])[:, ::-1]
    last = np.minimum.accumulate(last, axis=1)[:, ::-1]
    best, worst = np.empty_like(first), np.empty_like(last)
    np.put_along_axis(best, order, first, axis=1)
    np.put_along_axis(worst, order, last, axis=1)
    return best, worst
