"""Memory of a run and the draws of items it keeps: all, every so many beside summaries of all, or summaries alone.

The items of a run come block by block (`ItemBlocks`): a block is drawn or computed at all draws, summarised, and let go, so
that no more than one is in memory. What items share, such as the prevalence and the confusion matrices, is kept whole.

Groups of a tree that does not keep all draws:

    posterior          every step-th draw of all variables ("thinned"), or all draws of what items share ("summary")
    shared_posterior   all draws of what items share ("thinned")
    item_summary       mean, sd, quantiles, R-hat, ESS and MCSE of all draws, by element, along ``statistic``; certainties
    diagnosis          what `diagnose` finds of all draws
"""

import math
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import pymc as pm
import xarray as xr

from .._messages import warn_user
from ..posterior.certainties import ItemCertainties
from ..posterior.plausibility import block_edges
from ..posterior.schema import OF_ITEMS, SAMPLE, SHARED, SUMMARISED
from .diagnostics import DIAGNOSIS, ESS, R_HAT, by_blocks_of_items, judged, worst_by_item
from .kernels.convergence import FEW_DRAWS, mixing_of
from .nuts.drawing import nuts_thinning
from .runs.available_memory import available_memory
from .runs.run import PILOT_CHAINS, PILOT_DRAWS, Draws, ItemBlocks
from .runs.trees import CodeNames, constant_groups, label
from .storage.store import draws_per_block

Keep = Literal["all", "thinned", "summary"]

LARGE_STORE = 20_000_000_000  # bytes of the draws that `scatter` stores, as `LARGE`
OF_RATERS = (
    1_600_000_000  # bytes of draws of a run of 4 GB whose raters have most; above, fewer are made by default
)
LARGE = 500_000_000  # bytes of the draws of items; above, the default is to keep every so many
MOST, LEAST = 1000, 100  # draws of all chains that thinning keeps
QUANTILES = {"5 %": 0.05, "25 %": 0.25, "median": 0.5, "75 %": 0.75, "95 %": 0.95}
STATISTICS = ("mean", "sd", *QUANTILES, "R-hat", "bulk ESS", "tail ESS", "MCSE")
DENSITIES = ("log_likelihood", "log_prior")


class CostWarning(UserWarning):
    """A run takes more than 2 GB of memory, by an estimate before its first draw; or not all draws are kept by default.

    Examples
    --------
    >>> import warnings
    >>> from raterzoo import inference, models
    >>> simulated = models.simulators.labels(items=20, raters=3, random_seed=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", inference.CostWarning)  # raise rather than begin a large run
    ...     tree = inference.sample(models.dawid_skene(simulated.data), random_seed=1, progressbar=False)
    """


@dataclass(frozen=True)
class Kept:
    """Part of the draws of items that is kept: "all", every `step`-th ("thinned"), or none of them ("summary")."""

    keep: Keep
    step: int = 1

    @property
    def attrs(self) -> dict[str, str | int]:
        """Attributes of a tree that says what it keeps."""
        if self.keep == "all":
            return {}
        return {"keep": self.keep} | ({"kept_every": self.step} if self.keep == "thinned" else {})

    def draws(self, n: int) -> slice:
        """Return the draws of each chain that are kept, of `n`."""
        return slice(self.step - 1, n, self.step)


ALL = Kept("all")


def kept_of(keep: Keep | None, model: pm.Model, plan: Draws, *, in_store: bool) -> Kept:
    """Return what is kept of a run: as asked for or, above `LARGE` bytes, every so many draws, which a warning says.

    Raises ValueError if `keep` is none of the three, or not "all" with a store.
    """
    check_keep(keep)
    if in_store:
        if keep in (None, "all"):
            return ALL
        raise ValueError(
            f"keep={keep!r}: a store has all draws, written as they are made; leave store= out, or use inference.scatter, whose "
            "store keeps what is asked for"
        )
    return kept_by_size(keep, model, plan, LARGE)


def check_keep(keep: Keep | None) -> None:
    """Raise ValueError unless `keep` is None or one of its values."""
    if keep is not None and keep not in get_args(Keep):
        raise ValueError(f"keep={keep!r} is not one of 'all', 'thinned', 'summary'")


def with_raters_in_memory(model: pm.Model, plan: Draws) -> Draws:
    """Return a plan of fewer draws, of more sweeps each, where those of each rater take more than `OF_RATERS` bytes.

    A warning says so. Chains make about as many sweeps as draws were planned; there are no log densities, and no pilot run,
    which would hold all quantities in double precision.
    """
    asked = Costs(model, replace(plan, thin=1)).of_run("gibbs")
    if asked.memory <= OF_RATERS:
        return plan
    cost = Costs(model, replace(plan, thin=1, densities=False)).of_run("gibbs")
    if "rater" not in (model.named_vars_to_dims.get(cost.largest) or ()):
        return plan
    draws = min(max(int(plan.draws * OF_RATERS / cost.memory), 1), plan.draws)
    thin = (1 if plan.thin == "pilot" else plan.thin) * (plan.draws // draws)
    warn_user(_fewer_draws(asked, plan, draws, thin), CostWarning)
    return replace(plan, draws=draws, thin=thin, densities=False)


def _fewer_draws(cost: "Cost", plan: Draws, draws: int, thin: int) -> str:
    """Return the sentence that says that fewer draws are made, and how to have all."""
    return (
        f"{_in_words(cost, plan)}: each chain keeps {draws:,} draws in place of {plan.draws:,}, one of {thin} sweeps, "
        "without log likelihoods, in about 4 GB. keep='all' (--keep all) keeps all draws that were asked for"
    )


def kept_by_size(keep: Keep | None, model: pm.Model, plan: Draws, most: float) -> Kept:
    """Return what is kept: as asked for, or every so many draws if all take more than `most` bytes, which a warning says.

    Everything is kept of a model without variables of items.
    """
    of_items = _sizes_of_items(model)
    whole = float(plan.chains * plan.draws * np.dtype(plan.dtype).itemsize * sum(of_items.values()))
    if not of_items or keep == "all" or (keep is None and whole <= most):
        return ALL
    if keep == "summary":
        return Kept("summary")
    thinned = Kept("thinned", thinning_step(model, plan))
    if keep is None:
        text = _switched(whole, most, plan, thinned.step)
        warn_user(text, CostWarning)
    return thinned


def thinning_step(model: pm.Model, plan: Draws) -> int:
    """Return every how many draws one is kept: 1,000 of all chains, or as few as `LARGE` bytes hold, about 100."""
    of_items = _sizes_of_items(model)
    numbers = sum(of_items.values())
    if plan.densities:
        numbers += sum(size for name, size in of_items.items() if name in {rv.name for rv in model.free_RVs})
        numbers += sum(int(np.prod(rv.shape.eval()[:1])) for rv in model.observed_RVs)
    most = LARGE / max(numbers * np.dtype(plan.dtype).itemsize, 1)
    wanted = math.ceil(min(max(most, LEAST), MOST) / plan.chains)
    return max(1, math.ceil(plan.draws / wanted))


def _sizes_of_items(model: pm.Model) -> dict[str, int]:
    """Numbers in one draw of each variable of items."""
    dims, sizes = model.named_vars_to_dims, sizes_of_draw(model)
    return {name: size for name, size in sizes.items() if set(dims.get(name) or ()) & {*OF_ITEMS}}


def _switched(whole: float, most: float, plan: Draws, step: int) -> str:
    """Return the sentence that says what is kept by default."""
    return (
        f"all draws of the items take {whole / 1e9:.1f} GB, more than {most / 1e9:.1f} GB: means, quantiles, certainties, "
        f"R-hat and ESS of each item are computed of all {plan.draws:,} draws of each chain, and {plan.draws // step:,} of "
        "them are kept (keep='thinned'). keep='all' (--keep all) keeps all, keep='summary' none of the items"
    )


# --- Blocks of items ---


def blocks_of(model: pm.Model, groups: Mapping[str, xr.Dataset]) -> ItemBlocks:
    """Return the draws of a sampler that makes them in one piece, as blocks of items."""
    posterior = groups["posterior"]
    of_items = [str(n) for n, v in posterior.data_vars.items() if set(v.dims) & {*OF_ITEMS}]
    shared = {**groups, "posterior": posterior.drop_vars(of_items)}
    starts = {}
    if "item" in model.coords:
        starts["item"] = np.arange(len(model.coords["item"] or ()) + 1)
        if "candidate_item" in model.named_vars:
            starts["candidate"] = np.searchsorted(model["candidate_item"].get_value(), starts["item"])

    def of(items: slice, kept: slice) -> dict[str, dict[str, xr.Variable]]:
        del kept  # log densities are among what is shared
        places = {dim: slice(*own[[items.start, items.stop]].tolist()) for dim, own in starts.items()}
        own = {name: posterior[name].variable.isel(places, missing_dims="ignore") for name in of_items}
        return {"posterior": own}

    return ItemBlocks(shared, starts, of)


Numbered = list[tuple[int, int, int]]  # number, first item and end of each block


def item_blocks(model: pm.Model, n_samples: int, starts: Mapping[str, np.ndarray]) -> Numbered:
    """Return the blocks in which evaluation reads the items, to which its random numbers belong; `starts` as in `ItemBlocks`."""
    dims = model.named_vars_to_dims
    drawn = [str(rv.name) for rv in (*model.free_RVs, *model.deterministics)]
    of_items = [name for name in drawn if set(dims.get(name) or ()) & {*OF_ITEMS}]
    cells = np.ones(len(starts["item"]) - 1, np.int64)
    for name in ["plausibility"] if "plausibility" in of_items else of_items:
        own = [str(dim) for dim in dims[name]]
        inner = [len(model.coords.get(dim) or (0,)) for dim in own if dim not in OF_ITEMS]
        of_item = next(dim for dim in OF_ITEMS if dim in own)
        cells = np.maximum(cells, np.diff(starts[of_item]) * math.prod(inner))
    edges = block_edges(cells, n_samples)
    return [(number, *ends) for number, ends in enumerate(pairwise(edges))]


class KeptItems:
    """Summaries and kept draws of the items of a run, filled block by block."""

    def __init__(self, model: pm.Model, plan: Draws, kept: Kept, starts: Mapping[str, np.ndarray]) -> None:
        self._model, self._plan, self._kept, self._starts = model, plan, kept, starts
        self._names = CodeNames.of(model)
        self._arrays: dict[str, dict[str, xr.Variable]] = {}  # group -> name -> whole variable
        self._worst: dict[str, dict[str, np.ndarray]] = {}  # quantity -> statistic -> (item,)
        self._certainties: ItemCertainties | None = None

    def add(self, number: int, items: slice, groups: dict[str, dict[str, xr.Variable]]) -> None:
        """Summarise the draws of a block of items, and keep some of them."""
        for name, draws in groups["posterior"].items():
            self._summarise(name, items, draws)
            if name == "plausibility" and self._certainties is not None:
                self._certainties.add(number, items, draws.to_numpy())
            if self._kept.keep == "thinned":
                kept = draws.isel(draw=self._kept.draws(draws.sizes["draw"]))
                self._write("posterior", name, items, kept)
        for group in DENSITIES:
            for name, draws in groups.get(group, {}).items():
                self._write(group, name, items, draws)

    def begin_certainties(self, model: pm.Model, plausibility: xr.Variable) -> None:
        """Prepare to count the most plausible labels, given one draw of all items."""
        posterior = xr.Dataset({"plausibility": plausibility})
        tree = xr.DataTree.from_dict({"posterior": posterior} | constant_groups(model))
        tree.attrs["seed"] = self._plan.seed
        if self._names is not None:
            labelled = label(tree, self._names)
            known = self._names.categories
            assert known is not None  # of a model with plausibilities
            self._certainties = ItemCertainties.of(labelled, self._plan.chains * self._plan.draws, known)

    def _summarise(self, name: str, items: slice, draws: xr.Variable) -> None:
        """Fill the statistics of a block of items of a variable, and the worst of each item."""
        dim = next(d for d in OF_ITEMS if d in draws.dims)
        ordered = draws.transpose(*SAMPLE, dim, ...)
        matrix = np.ascontiguousarray(ordered.to_numpy().reshape(*ordered.shape[:2], -1))
        if matrix.dtype not in (np.float32, np.float64):
            matrix = matrix.astype(np.float64)
        found = mixing_of(matrix, self._plan.cores, np.array([*QUANTILES.values()]), few=False)
        rows = np.concatenate([found[4:], found[:4]])
        shape = (len(STATISTICS), *ordered.shape[2:])
        summary = xr.Variable(("statistic", *ordered.dims[2:]), rows.reshape(shape))
        self._write(SUMMARISED, name, items, summary)
        start = self._starts[dim][items.start : items.stop + 1]
        inner = math.prod(ordered.shape[3:])
        worst = worst_by_item(judged(matrix, found, R_HAT, ESS), (start[:-1] - start[0]) * inner)
        places = self._worst.setdefault(name, {})
        for statistic, values in worst.items():
            if statistic not in places:
                places[statistic] = np.empty(len(self._starts["item"]) - 1, values.dtype)
            places[statistic][items] = values

    def _write(self, group: str, name: str, items: slice, block: xr.Variable) -> None:
        """Write the part of some items of a variable of a group, whose room is made with the first."""
        dim = next(d for d in map(str, block.dims) if d in self._starts)
        start = self._starts[dim]
        arrays = self._arrays.setdefault(group, {})
        if name not in arrays:
            sizes = {**block.sizes, dim: int(start[-1])}
            arrays[name] = xr.Variable(block.dims, np.empty([*sizes.values()], block.dtype))
        own = {dim: slice(*start[[items.start, items.stop]].tolist())}
        arrays[name][own] = block

    def groups(self, shared: Mapping[str, xr.Dataset], attrs: Mapping[str, Any]) -> dict[str, xr.Dataset]:
        """Return the groups of the tree; `shared` are those of what items share, `attrs` those of the tree."""
        kept = self._kept.draws(self._plan.draws)
        own = {
            group: self._dataset(group, arrays)
            for group, arrays in self._arrays.items()
            if group not in DENSITIES or self._kept.keep == "thinned"
        }
        of_all = shared.get("posterior", xr.Dataset())
        groups: dict[str, xr.Dataset] = {}
        if self._kept.keep == "thinned":
            groups["posterior"] = _renumbered(of_all.isel(draw=kept, missing_dims="ignore")).merge(
                own.get("posterior", xr.Dataset())
            )
            if of_all.data_vars and self._arrays:
                groups[SHARED] = of_all
            for group in DENSITIES:
                parts = [own[group]] if group in own else []
                if group in shared:
                    parts.insert(0, _renumbered(shared[group].isel(draw=kept, missing_dims="ignore")))
                if parts:
                    groups[group] = xr.merge(parts)
        elif of_all.data_vars:
            groups["posterior"] = of_all
        if SUMMARISED in own:
            groups[SUMMARISED] = own[SUMMARISED].assign_coords(statistic=[*STATISTICS])
            if self._certainties is not None:
                groups[SUMMARISED] = self._certainties.added_to(groups[SUMMARISED])
        stats = {"sample_stats": shared["sample_stats"]} if "sample_stats" in shared else {}
        groups[DIAGNOSIS] = by_blocks_of_items(
            self._worst,
            np.asarray(self._model.coords.get("item") or ()),
            of_all,
            stats,
            {
                "chains": self._plan.chains,
                "draws": self._plan.draws,
                "exact": int(attrs.get("method") == "exact"),
            },
            (R_HAT, ESS),
        )
        if stats:
            groups["sample_stats"] = _thinned_stats(shared["sample_stats"], self._kept)
        return groups

    def _dataset(self, group: str, arrays: Mapping[str, xr.Variable]) -> xr.Dataset:
        """Return a group with the dims in the order of the model, and its coordinates."""
        leading = ("statistic",) if group == SUMMARISED else SAMPLE
        variables = {}
        for name, variable in arrays.items():
            order = [d for d in self._model.named_vars_to_dims.get(name) or () if d in variable.dims]
            variables[name] = variable.transpose(*leading, *order, ...)
        lengths = {str(dim): n for own in variables.values() for dim, n in own.sizes.items()}
        coords = {
            d: np.asarray(self._model.coords[d]) for d in lengths if self._model.coords.get(d) is not None
        }
        coords |= {d: np.arange(lengths[d]) for d in SAMPLE if d in lengths}
        return xr.Dataset(variables, coords)


def _renumbered(group: xr.Dataset) -> xr.Dataset:
    """Count the draws of a group from 0."""
    return group.assign_coords(draw=np.arange(group.sizes["draw"])) if "draw" in group.dims else group


def _thinned_stats(stats: xr.Dataset, kept: Kept) -> xr.Dataset:
    """Return statistics of the kept draws, if there are kept ones; divergent if any since the one before was."""
    if kept.keep != "thinned" or "draw" not in stats.dims or kept.step == 1:
        return stats
    n = stats.sizes["draw"]
    own = stats.isel(draw=kept.draws(n))
    if "diverging" in stats:
        whole = stats["diverging"].isel(draw=slice(0, n // kept.step * kept.step))
        own["diverging"] = own["diverging"].copy(data=whole.coarsen(draw=kept.step).max().astype(bool))
    return _renumbered(own)


def kept_groups(
    model: pm.Model,
    plan: Draws,
    kept: Kept,
    blocks: ItemBlocks,
    attrs: Mapping[str, Any],
    advance: Callable[[int], None] = lambda items: None,
    numbered: Numbered | None = None,
) -> dict[str, xr.Dataset]:
    """Return the groups of a tree that keeps a part of the draws; `advance` is told of the items that are finished.

    `numbered` are the blocks of items and their numbers, by default those of evaluation (`item_blocks`).
    """
    found = KeptItems(model, plan, kept, blocks.starts)
    if "item" in blocks.starts and len(blocks.starts["item"]) > 1:
        one = _one_draw_of_plausibility(model, blocks.starts)
        if one is not None:
            found.begin_certainties(model, one)
        for number, first, end in numbered or item_blocks(model, plan.chains * plan.draws, blocks.starts):
            items = slice(first, end)
            found.add(number, items, blocks.of(items, kept.draws(plan.draws)))
            advance(end - first)
    return found.groups(blocks.shared, attrs)


def _one_draw_of_plausibility(model: pm.Model, starts: Mapping[str, np.ndarray]) -> xr.Variable | None:
    """Return the shape of a draw of the plausibility of all items, without memory; None if the model has none."""
    dims = [str(dim) for dim in model.named_vars_to_dims.get("plausibility") or ()]
    if not set(dims) & {*OF_ITEMS} or not set(dims) <= {*OF_ITEMS, "category"}:
        return None
    sizes = [int(starts[d][-1]) if d in starts else len(model.coords[d] or ()) for d in dims]
    return xr.Variable((*SAMPLE, *dims), np.broadcast_to(0.5, (1, 1, *sizes)))


# --- Memory of a run, estimated before its first draw: a warning if large, an error if the machine lacks it ---

SAID_BYTES = 2e9  # above this the estimate is said
SMALL = 10_000_000  # numbers in all draws, or in the pilot run, of a run that nothing is estimated of
DIAGNOSED_AT_ONCE = 10 * 8  # bytes of temporary arrays for each draw of a quantity
IN_BLOCKS = {"item", "candidate", "annotation"}  # dims of what can be drawn block by block
ALLOWED = (
    "RATERZOO_MEMORY_GB"  # environment variable: memory to use in place of what the machine has available
)


@dataclass(frozen=True)
class Cost:
    """Estimate of what a run takes besides what the process has already.

    Parameters
    ----------
    memory : float
        Peak, in bytes.
    numbers : int
        Numbers in one draw.
    largest : str
        Variable with most of them.
    """

    memory: float
    numbers: int
    largest: str


class Costs:
    """Estimates of one run; says at most once that it is large."""

    def __init__(
        self, model: pm.Model, plan: Draws, in_store: bool = False, kept_every: int | None = None
    ) -> None:
        self.plan: Draws = plan
        self.skipped: bool = False  # whether nothing is estimated
        self._kept_every = kept_every  # of the draws of items; None: all are kept
        self._model, self._in_store = model, in_store
        self._sizes, self._said = sizes_of_draw(model), False

    def in_double_precision(self) -> "Costs":
        """Return the estimates of the same run with draws in double precision: what was said is not said again."""
        self.plan = replace(self.plan, dtype="float64")
        return self

    def check_run(self, method: str, *, in_blocks: bool = True) -> None:
        """Check a run of the model's own sampler; `in_blocks`: it can draw items block by block."""
        if not self.skipped and not self._is_small(1):
            self._check(self.of_run(method, in_blocks=in_blocks))

    def check_nuts(self) -> None:
        """Check a run of NUTS."""
        every = nuts_thinning(self._model, self.plan)
        if not self._is_small(every):  # the draws as nutpie or PyMC hold them, and as arrays
            memory = 2 * 8 * self.plan.chains * self.plan.draws * every * self._numbers
            self._check(Cost(memory, self._numbers, self._largest))

    def of_run(self, method: str, *, in_blocks: bool = True) -> Cost:
        """Estimate a run of the model's own sampler."""
        plan, in_blocks = self.plan, in_blocks and self._kept_every is not None
        sizes = self._bytes_of_draw(method, in_blocks)
        kept, whole, largest = plan.chains * plan.draws, sum(sizes.values()), max(sizes.values())
        if self._in_store:
            memory = _memory_with_store(plan, sizes, diagnosed=method != "exact")
        else:
            # the draws, and temporary arrays of the largest variable: log prior densities in double precision, or the diagnosis
            temporary = 0.5 if method != "gibbs" or not plan.densities else 1.5 if "confusion" in sizes else 3
            memory = kept * (whole + largest * temporary)
            if (diagnosed := kept * max(self._sizes.values())) <= FEW_DRAWS:  # of all quantities at once
                memory = max(memory, kept * whole + DIAGNOSED_AT_ONCE * diagnosed)
        if method == "gibbs" and plan.thin == "pilot" and not in_blocks:
            # two copies in double precision, and the ranks of its diagnosis
            memory = max(memory, PILOT_CHAINS * PILOT_DRAWS * 2.5 * 8 * self._numbers)
        return Cost(memory, self._numbers, self._largest)

    def _bytes_of_draw(self, method: str, in_blocks: bool) -> dict[str, float]:
        """Bytes of each variable and of the log densities in one draw of one chain."""
        number = 8 if method == "hmc" else np.dtype(self.plan.dtype).itemsize
        sizes = {name: float(number * size) for name, size in self._sizes.items()}
        if self.plan.densities:
            sizes |= zip(DENSITIES, (number * n for n in _numbers_of_densities(self._model)), strict=True)
        if in_blocks:  # of items only the kept draws are in memory, and their summaries
            dims = self._model.named_vars_to_dims
            of_items = {n for n in sizes if n in DENSITIES or IN_BLOCKS & {*(dims.get(n) or ())}}
            sizes |= {n: sizes[n] / (self._kept_every or 1) for n in of_items}
        return sizes

    @property
    def _numbers(self) -> int:
        return sum(self._sizes.values())

    @property
    def _largest(self) -> str:
        return max(self._sizes, key=lambda name: self._sizes[name])

    def _is_small(self, every: int) -> bool:
        """Whether no draw, thinned or of a pilot run, is many enough to estimate anything."""
        plan = self.plan
        draws = max(plan.chains * plan.draws * every, PILOT_CHAINS * PILOT_DRAWS * (plan.thin == "pilot"))
        return self._numbers * draws < SMALL

    def _check(self, cost: Cost) -> None:
        """Raise ValueError if the machine lacks the memory; warn once (CostWarning) if the run is large."""
        if cost.memory > (allowed := allowed_memory()):
            raise ValueError(
                f"{_in_words(cost, self.plan)}, and {allowed / 1e9:.1f} GB are available. {self._remedies()}; or, to draw all "
                f"the same, set the environment variable {ALLOWED} to the gigabytes that may be used"
            )
        if not self._said and cost.memory > SAID_BYTES:
            self._said = True
            text = f"{_in_words(cost, self.plan)}. {self._remedies()}"
            warn_user(text, CostWarning)

    def _remedies(self) -> str:
        """Return what makes a run smaller, in Python and on the command line."""
        found = ["fewer draws= (--draws) or chains= (--chains)"]
        if not self._in_store:
            found.append("a store= (-o NAME.zarr), which keeps draws on disk")
        if "confusion" in self._sizes:
            found.append("rare categories pooled into one")
        elif "quality" in self._sizes:
            found.append("a point estimate (inference.quite, inference.bradley_terry_mle)")
        if self.plan.densities:
            found.append("log_likelihood=False (in Python)")
        return f"Less: {', '.join(found[:-1])}, or {found[-1]}"


def _in_words(cost: Cost, plan: Draws) -> str:
    """Return an estimate as text."""
    return (
        f"{plan.chains} x {plan.draws:,} draws of {cost.numbers:,} numbers ({cost.largest} has most) take about "
        f"{max(cost.memory / 1e9, 0.1):.1f} GB of memory, estimated before the first draw"
    )


def sizes_of_draw(model: pm.Model) -> dict[str, int]:
    """Numbers in one draw of each free variable and deterministic."""
    variables = (*model.free_RVs, *model.deterministics)
    return {str(rv.name): math.prod(_shape(model, rv)) for rv in variables} or {"": 0}


def _shape(model: pm.Model, rv: Any) -> list[int]:
    """Lengths of the dims of a variable."""
    lengths = {dim: len(names) for dim, names in model.coords.items() if names is not None}
    dims = model.named_vars_to_dims.get(str(rv.name)) or (None,) * rv.type.ndim
    return [lengths.get(str(d), n) or 1 for d, n in zip(dims, rv.type.shape, strict=True)]


def _numbers_of_densities(model: pm.Model) -> tuple[int, int]:
    """Numbers in one draw of the log likelihood, by annotation or item, and of the log prior."""
    likelihood, prior = 0, 0
    for rv in model.observed_RVs:
        if rv.owner.op.ndim_supp == rv.type.ndim == 1:  # annotations with one joint law: by item
            likelihood += len(model.coords.get("item") or ())
        else:
            likelihood += math.prod(_shape(model, rv)[:1])
    for rv in model.free_RVs:
        prior += math.prod(_shape(model, rv)[: rv.type.ndim - rv.owner.op.ndim_supp])
    return likelihood, prior


def _memory_with_store(plan: Draws, sizes: dict[str, float], *, diagnosed: bool) -> float:
    """Bytes of a run that writes to a store, given those of each variable in one draw of one chain."""
    draw = plan.chains * sum(sizes.values())
    block = draw * draws_per_block(draw, plan.draws)
    largest = max(size for name, size in sizes.items() if name not in DENSITIES)
    # what `diagnose` reads, and the pieces that it is read from
    read = 2 * plan.chains * plan.draws * largest
    return max(4 * block, read if diagnosed else 0.0)  # a block, and its densities in double precision


def allowed_memory() -> float:
    """Bytes of memory that a run may take: the user's number, or what the machine and its limits leave; infinite if unknown."""
    if asked := os.environ.get(ALLOWED):
        try:
            return 1e9 * float(asked)
        except ValueError:
            raise ValueError(f"{ALLOWED}={asked} is not a number of gigabytes") from None
    return available_memory()
