"""Plausibilities of a posterior, flat or dense, as one ragged array of the labels of each item.

A *cell* is one (item, label) pair. Cells of an item are contiguous; OTHER, the pooled rest of the categories,
is the last cell of its item and has code -1. Draws are read in blocks of whole items, so that memory is
bounded and a posterior on disk is never loaded as a whole.
"""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr

from .._messages import short_repr
from .errors import DrawsNotKept, EvaluationError
from .matching import ids_of
from .schema import ASK_TRUTH, DRAWS_NOT_KEPT, OTHER, SUMMARISED, TRUTHS, truth_by_model

Cells = tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]  # items, categories, start, code
Seed = int | np.random.Generator | None
Source = xr.DataTree | xr.Dataset | xr.DataArray
CORNER = 16  # values read along each dim to derive a seed: cheap also for arrays on disk
REMEDY = "inference.label(tree, data) adds what evaluation needs to any tree"
SAY_TRUTH: dict[type, str] = {
    xr.DataTree: 'inference.label(tree, data, truth="category")',
    xr.Dataset: 'dataset["plausibility"].attrs["truth"] = "category"',
    xr.DataArray: 'array.attrs["truth"] = "category"',
}


def summary_of(tree: object) -> xr.Dataset | None:
    """Return the summaries of the items of a tree; None if it has none."""
    if isinstance(tree, xr.DataTree) and SUMMARISED in tree.children:
        return tree[SUMMARISED].to_dataset()
    return None


def refuse_without_draws(tree: xr.DataTree, variable: str) -> None:
    """Raise `DrawsNotKept` if a tree has summaries of a variable and no draws of it."""
    summary = summary_of(tree)
    if summary is None or variable not in summary:
        return
    if "posterior" not in tree.children or variable not in tree["posterior"]:
        raise DrawsNotKept(DRAWS_NOT_KEPT.format(variable))


def kept_in_words(tree: object) -> dict[str, str]:
    """Return the attribute that says of which draws a metric is, for a posterior that keeps every so many; else none."""
    if (
        not isinstance(tree, xr.DataTree)
        or "kept_every" not in tree.attrs
        or "diagnosis" not in tree.children
    ):
        return {}
    sizes, made = tree["posterior"].sizes, tree["diagnosis"].attrs
    kept, drawn = sizes["chain"] * sizes["draw"], made["chains"] * made["draws"]
    return {
        "kept_draws": f"{kept:,} of the {drawn:,} draws of the posterior, the others were not kept; the Monte-Carlo error "
        "(mcse of metric_intervals) is that of the kept ones"
    }


def plausibility_of(tree: xr.DataTree | xr.Dataset | xr.DataArray) -> xr.DataArray:
    """Return the plausibility of a tree or a point estimate, or the array itself; raise if there is none."""
    if isinstance(tree, xr.DataArray):
        return tree
    if isinstance(tree, xr.Dataset):
        if "plausibility" not in tree:
            raise EvaluationError(f"the Dataset has no variable plausibility, but {list(tree.data_vars)}")
        return tree["plausibility"]
    if not isinstance(tree, xr.DataTree):
        raise EvaluationError(
            f"expected a DataTree or the DataArray of its plausibility, found {type(tree).__name__}"
        )
    refuse_without_draws(tree, "plausibility")
    if "posterior" not in tree.children:
        raise EvaluationError(f"the tree has no group posterior; {REMEDY}")
    posterior = tree["posterior"].to_dataset()
    if "plausibility" not in posterior:
        raise EvaluationError(f"the posterior has no variable plausibility; {REMEDY}")
    return posterior["plausibility"]


def truth_of(tree: xr.DataTree | xr.Dataset | xr.DataArray, array: xr.DataArray) -> str:
    """Return "category" or "distribution", what the plausibility of a draw is; raise if nothing says it.

    Without the attribute point estimates and candidates are distributions, and observations of models of this package say it.
    """
    given = array.attrs.get("truth")
    if given is None:
        known = truth_by_model(tree, array) if isinstance(tree, xr.DataTree) else None
        if known is not None:
            return known
        drawn = isinstance(tree, xr.DataTree) or not {*array.dims} <= {"item", "category"}
        if not drawn or "candidate" in array.dims:
            return "distribution"
        say = next(remedy for kind, remedy in SAY_TRUTH.items() if isinstance(tree, kind))
        raise UnknownTruth(f'{ASK_TRUTH}. Say it: {say}, or "distribution"')
    if given not in TRUTHS:
        raise EvaluationError(
            f"the attribute truth of plausibility is {short_repr(given)}; it must be 'category' or 'distribution'"
        )
    return TRUTHS[given]


def of_rankings(tree: xr.DataTree) -> bool:
    """Whether the tree holds the rankings that a model observed."""
    return "observed_data" in tree.children and "observed_ranking" in tree["observed_data"]


class UnknownTruth(EvaluationError):
    """A posterior does not say whether a plausibility is one of a category, or a distribution of labels."""


def flat_cells(array: xr.DataArray) -> Cells:
    """Items, categories, start and code of the cells of an array (..., candidate), or raise."""
    for name in ("item", "category"):
        if name not in array.coords:
            raise EvaluationError(f"plausibility has no coord {name} along candidate; {REMEDY}")
    item, labels = ids_of(array["item"].to_numpy()), array["category"].to_numpy().astype(str)
    start = np.flatnonzero(np.r_[True, item[1:] != item[:-1]])
    items = item[start]
    if len(np.unique(items)) < len(items):
        raise EvaluationError(f"the candidates of an item must be contiguous; {REMEDY}")
    named = labels != OTHER
    unique, first, inverse = np.unique(labels[named], return_index=True, return_inverse=True)
    order = np.argsort(first)
    code = np.full(len(labels), -1, np.int32)
    code[named] = np.argsort(order)[inverse]
    return items, unique[order], np.r_[start, len(item)], code


def dense_cells(array: xr.DataArray) -> Cells:
    """Items, categories, start and code of the cells of an array (..., item, category), or raise."""
    for name in ("item", "category"):
        if name not in array.dims:
            raise EvaluationError(
                f"plausibility has dims {array.dims}: expected candidate, or item and category"
            )
        if name not in array.coords:
            raise EvaluationError(f"dim {name} of plausibility has no labels; {REMEDY}")
    items, labels = ids_of(array["item"].to_numpy()), array["category"].to_numpy().astype(str)
    start = np.arange(len(items) + 1) * len(labels)
    return items, labels, start, np.tile(np.arange(len(labels), dtype=np.int32), len(items))


def law_of_other(constant: xr.Dataset, items: np.ndarray) -> tuple[np.ndarray | None, float | None]:
    """Return the number of categories in each item's OTHER (item,) and their concentration, or None."""
    size = constant.get("other_size")
    if size is not None:
        ids = ids_of(size["item"].to_numpy()) if "item" in size.coords else items
        if len(ids) != size.sizes["item"] or not np.isin(items, ids).all():
            raise EvaluationError(f"constant_data other_size lacks items; {REMEDY}")
        size = size.assign_coords(item=ids).sel(item=items).to_numpy().astype(np.int64)
    return size, float(constant["other_concentration"]) if "other_concentration" in constant else None


MOST_THREADS = 4


def in_threads[Result](
    function: Callable[..., Result], *arguments: Iterable[Any], most: int = MOST_THREADS
) -> Iterator[Result]:
    """Yield the results of `map(function, *arguments)` in order, computed on up to `most` threads."""
    if most == 1:
        yield from map(function, *arguments)
        return
    with ThreadPoolExecutor(min(os.cpu_count() or 1, most)) as threads:
        yield from threads.map(function, *arguments)


# plausibilities in one block: few enough to stay in the cache, many for few numpy calls
BLOCK_SIZE = 1_250_000
SLAB = 64  # samples transposed at once


def block_edges(cells: np.ndarray, n_samples: int) -> list[int]:
    """Edges of the blocks of items, of which each has some number of cells (item,), all samples in memory at once."""
    number = np.cumsum(cells) * n_samples // BLOCK_SIZE
    return np.flatnonzero(np.diff(number, prepend=-1, append=number[-1] + 1)).tolist()


@dataclass(frozen=True)
class Block:
    """Draws of consecutive items."""

    items: slice
    cells: slice
    rows: np.ndarray  # (sample, cell), as they are stored

    @cached_property
    def draws(self) -> np.ndarray:
        """Draws (cell, sample), contiguous by cell: transposed on first use, slab by slab to stay in the cache."""
        draws = np.empty(self.rows.shape[::-1], self.rows.dtype)
        for first in range(0, len(self.rows), SLAB):
            draws[:, first : first + SLAB] = self.rows[first : first + SLAB].T
        return draws


@dataclass(frozen=True)
class Plausibility:
    """Posterior plausibility of every label of every item."""

    array: xr.DataArray  # sample dims first, then candidate, or item and category
    sample_dims: tuple[str, ...]  # all dims except those of the cells; none for a point estimate
    items: np.ndarray  # (item,), ids, text or integers
    categories: np.ndarray  # (label,), text in the order of the coordinate, without OTHER
    start: np.ndarray  # (item + 1,), the cells of item i are start[i]:start[i + 1]
    code: np.ndarray  # (cell,), position in `categories`; -1 is OTHER
    integer_labels: bool  # whether the labels are integers, stored as their decimal text
    other_size: np.ndarray | None  # (item,), categories in OTHER; None if the tree does not contain it
    other_concentration: float | None  # of the members of OTHER, symmetric Dirichlet; NaN: not to be split
    declared: np.ndarray | None  # closed set of categories, ranked or not; None if the tree does not list it
    source: xr.DataTree | xr.Dataset | xr.DataArray  # what it was read from

    @cached_property
    def is_of_category(self) -> bool:
        """Whether the truth is one category, as in Dawid-Skene, and plausibility its probability in a draw; raise if unknown."""
        return bool(self.sample_dims) and truth_of(self.source, self.array) == "category"

    @classmethod
    def of(cls, tree: xr.DataTree | xr.Dataset | xr.DataArray) -> "Plausibility":
        """Read a labelled tree, a Dataset with a plausibility, or the DataArray of it, or raise."""
        array = plausibility_of(tree)
        flat = "candidate" in array.dims
        last = ("candidate",) if flat else ("item", "category")
        # chains before draws, whatever the order in memory; the dims of the cells are checked next
        array = array.transpose("chain", "draw", ..., *last, missing_dims="ignore")
        if array.dtype.kind not in "iuf":
            raise EvaluationError(
                f"plausibility has dtype {array.dtype}: expected real numbers; if these are predictions, the order is "
                "metric, posterior, predictions"
            )
        if not array.size:
            raise EvaluationError(f"plausibility is empty: its sizes are {dict(array.sizes)}")
        cells = flat_cells(array) if flat else dense_cells(array)
        stored = isinstance(tree, xr.DataTree) and "constant_data" in tree.children
        constant = tree["constant_data"].to_dataset() if stored else xr.Dataset()
        declared = None if flat else cells[1]
        if flat and "category_name" in constant:
            declared = constant["category_name"].to_numpy().astype(str)
        view = cls(
            array,
            tuple(str(d) for d in array.dims if d not in ("candidate", "item", "category")),
            *cells,
            array["category"].dtype.kind in "iu" or array["category"].attrs.get("kind") == "integer",
            *law_of_other(constant, cells[0]),
            declared,
            tree,
        )
        view._check_cells()
        return view

    @cached_property
    def seed(self) -> int:
        """Default seed of what is drawn from it."""
        return default_seed(self.source)

    @property
    def n_samples(self) -> int:
        """Number of draws over all sample dims."""
        return int(np.prod([self.array.sizes[d] for d in self.sample_dims], dtype=int))

    @property
    def has_other(self) -> np.ndarray:
        """Mask of items with the pooled candidate OTHER (item,)."""
        return self.code[self.start[1:] - 1] < 0

    def named_count(self) -> np.ndarray:
        """Return the number of cells of every item (item,), without OTHER."""
        return np.diff(self.start) - self.has_other

    def declared_count(self) -> int | None:
        """Return the number K of declared categories, or None without OTHER or if unknown."""
        if self.other_size is None or not self.has_other.any():
            return None
        return int((self.other_size + self.named_count())[self.has_other].max())

    def with_categories(self, labels: Iterable[str]) -> "Plausibility":
        """Return the same posterior with further categories; raise if there are then more than declared."""
        known = set(self.categories.tolist())
        added = [label for label in dict.fromkeys(labels) if label not in known]
        if not added:
            return self
        view = replace(self, categories=np.array([*self.categories.tolist(), *added]))
        declared = self.declared_count()
        if declared is not None and len(view.categories) > declared:
            raise EvaluationError(
                f"{len(view.categories)} categories are named but {declared} were declared: "
                f"{added[-1]!r} is none of them, or another is not; check the spelling"
            )
        return view

    def of_items(self, chosen: np.ndarray) -> "Plausibility":
        """Return the posterior of chosen items (item,), positions in `items`, in this order."""
        count = np.diff(self.start)[chosen]
        start = np.r_[0, count.cumsum()]
        cells = np.repeat(self.start[chosen] - start[:-1], count) + np.arange(start[-1])
        part = {"candidate": cells} if "candidate" in self.array.dims else {"item": chosen}
        return replace(
            self,
            array=self.array.isel(part),
            items=self.items[chosen],
            start=start,
            code=self.code[cells],
            other_size=None if self.other_size is None else self.other_size[chosen],
        )

    def map_blocks[Result](
        self,
        function: Callable[[Block, np.random.Generator], Result],
        random_seed: Seed = None,
        width: int = 0,
    ) -> list[Result]:
        """Apply a function of a block and its own generator to blocks of items, on several threads.

        Independent of the number of threads. `width`: numbers needed by item and draw, if more than the
        cells.
        """
        edges = block_edges(np.maximum(np.diff(self.start), width), self.n_samples)
        generators = generator_of(random_seed, self.seed).spawn(len(edges) - 1)

        def apply(ends: tuple[int, int], rng: np.random.Generator) -> Result:
            items, cells = slice(*ends), slice(*self.start[list(ends)].tolist())
            part = {"candidate": cells} if "candidate" in self.array.dims else {"item": items}
            rows = self.array.isel(part).to_numpy().reshape(self.n_samples, -1)
            return function(self._checked(Block(items, cells, rows)), rng)

        return list(in_threads(apply, pairwise(edges), generators))

    def map_draws[Result](
        self,
        function: Callable[[Block, slice, np.random.Generator], Result],
        random_seed: Seed = None,
        width: int = 0,
        *,
        most_threads: int = MOST_THREADS,
    ) -> Iterator[Result]:
        """Apply a function of a block, its samples and its own generator to blocks of draws of all items.

        `width`: numbers needed by draw, if more than the cells. most_threads=1 if not thread-safe.
        """
        parts = list(self.parts(width))
        generators = generator_of(random_seed, self.seed).spawn(len(parts))

        def apply(part: tuple[slice, xr.DataArray], rng: np.random.Generator) -> Result:
            samples, array = part
            rows = array.to_numpy().reshape(samples.stop - samples.start, -1)
            block = Block(slice(0, len(self.items)), slice(0, rows.shape[1]), rows)
            return function(self._checked(block), samples, rng)

        yield from in_threads(apply, parts, generators, most=most_threads)

    def parts(self, width: int = 0) -> Iterator[tuple[slice, xr.DataArray]]:
        """Yield all items by blocks of consecutive samples; `width`: numbers needed by draw, if more than the cells."""
        if not self.sample_dims:
            yield slice(0, 1), self.array
            return
        *leading, last = (self.array.sizes[d] for d in self.sample_dims)
        step = max(BLOCK_SIZE // max(len(self.code), width, 1), 1)
        for number, chain in enumerate(np.ndindex(*leading)):
            for first in range(0, last, step):
                end = min(first + step, last)
                which = dict(zip(self.sample_dims, (*chain, slice(first, end)), strict=True))
                yield slice(number * last + first, number * last + end), self.array.isel(which)

    def sample_coords(self) -> dict[str, xr.DataArray]:
        """Return the coordinates of the sample dims."""
        return {d: self.array[d] for d in self.sample_dims if d in self.array.coords}

    def unstack(self, samples: np.ndarray) -> np.ndarray:
        """Reshape the last axis of an array, all samples, to the sample dims, moved to the front."""
        shape = tuple(self.array.sizes[d] for d in self.sample_dims)
        return np.moveaxis(samples, -1, 0).reshape(*shape, *samples.shape[:-1])

    def _checked(self, block: Block) -> Block:
        """Return a block, or raise at a plausibility that is NaN, negative or infinite."""
        rows, cells = block.rows, block.cells
        if not _finite_and_not_negative(rows):
            bad = ~((rows >= 0) & (rows < np.inf))
            cell = bad.any(axis=0).argmax()
            item = self.items[np.searchsorted(self.start, cells.start + cell, "right") - 1]
            wrong = rows[bad[:, cell], cell][0]
            what = "NaN: a draw failed; sample again"
            if not np.isnan(wrong):
                what = f"{wrong}: probabilities are needed, from 0 on"
            raise EvaluationError(f"plausibility of item {item!s} is {what}")
        return block

    def _check_cells(self) -> None:
        """Raise if OTHER is not last, or a label occurs twice in an item."""
        if (np.delete(self.code, self.start[1:] - 1) < 0).any():
            raise EvaluationError(f"{OTHER} must be the last candidate of its item; {REMEDY}")
        item = np.repeat(np.arange(len(self.items)), np.diff(self.start))
        cells = np.sort(item * (len(self.categories) + 1) + self.code)
        if len(set(self.categories.tolist())) < len(self.categories) or (np.diff(cells) == 0).any():
            raise EvaluationError(f"plausibility has a label twice in an item; {REMEDY}")


def _finite_and_not_negative(values: np.ndarray) -> bool:
    """Whether no value is NaN, negative or infinite."""
    kind = values.dtype
    if kind.kind == "f" and kind.isnative and kind.itemsize in (4, 8):
        # as unsigned integers, floats from 0 on are in their order, below infinity, NaN and all with a sign
        bits = np.dtype(f"u{kind.itemsize}")
        if values.view(bits).max() < np.array(np.inf, kind).view(bits):
            return True
    return bool(values.min() >= 0 and values.max() < np.inf)


# --- Seeds derived from a posterior, so that the same call gives the same result twice ---


def default_seed(source: Source) -> int:
    """Return a seed derived from the one that a tree was sampled with, or else from some values of a tree or array."""
    sampled = source.attrs.get("seed")
    # never the seed of the sampler itself, whose random numbers made the draws
    digest = blake2b(b"evaluation", digest_size=8)
    if isinstance(sampled, int | np.integer):
        digest.update(str(int(sampled)).encode())
        return int.from_bytes(digest.digest()) >> 1
    if isinstance(source, xr.DataTree):
        source = source["posterior"].to_dataset() if "posterior" in source.children else source.to_dataset()
    arrays = [source] if isinstance(source, xr.DataArray) else list(source.data_vars.values())
    for array in arrays:
        corner = array.isel({dim: slice(CORNER) for dim in array.dims}).to_numpy()
        digest.update(str(array.sizes.values()).encode())
        digest.update(corner.tobytes() if corner.dtype.kind in "biuf" else b"")
    return int.from_bytes(digest.digest()) >> 1


def generator_of(random_seed: Seed, source: Source | int) -> np.random.Generator:
    """Return a generator for a seed, by default for that of a tree or array; raise if the seed is invalid."""
    if isinstance(random_seed, bool) or not isinstance(random_seed, int | np.integer):
        if not (random_seed is None or isinstance(random_seed, np.random.Generator)):
            raise EvaluationError(f"random_seed={random_seed!r}: expected an integer, a Generator or None")
    elif random_seed < 0:
        raise EvaluationError(f"random_seed={random_seed}: expected an integer from 0 on")
    if random_seed is None:
        random_seed = source if isinstance(source, int) else default_seed(source)
    return np.random.default_rng(random_seed)


def fixed_seed(random_seed: Seed, source: Source | int) -> int:
    """Return an integer seed, so that the same draws can be made twice; by default that of a tree or array."""
    rng = generator_of(random_seed, source)
    if isinstance(random_seed, int | np.integer):
        return int(random_seed)
    return int(rng.integers(np.iinfo(np.int64).max))
