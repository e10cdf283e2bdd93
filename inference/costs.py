"""Memory of a run, estimated before its first draw: a warning if large, an error if the machine lacks it."""

import math
import os
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pymc as pm

from .._messages import OUR_FILES
from .kernels.convergence import FEW_DRAWS
from .nuts.drawing import nuts_thinning
from .runs.available_memory import available_memory
from .runs.run import PILOT_CHAINS, PILOT_DRAWS, Draws
from .storage.store import draws_per_block

SAID_BYTES = 2e9  # above this the estimate is said
SMALL = 10_000_000  # numbers in all draws, or in the pilot run, of a run that nothing is estimated of
DIAGNOSED_AT_ONCE = 10 * 8  # bytes of temporary arrays for each draw of a quantity
DENSITIES = ("log_likelihood", "log_prior")
OF_ITEMS = {"item", "candidate", "annotation"}  # dims of what can be drawn block by block
ALLOWED = (
    "RATERZOO_MEMORY_GB"  # environment variable: memory to use in place of what the machine has available
)


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
            memory = kept * (whole + largest * (3 if method == "gibbs" else 0.5))
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
            of_items = {n for n in sizes if n in DENSITIES or OF_ITEMS & {*(dims.get(n) or ())}}
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
            warnings.warn(text, CostWarning, skip_file_prefixes=OUR_FILES)

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
    read = (
        2 * plan.chains * plan.draws * largest
    )  # what `diagnose` reads, and the pieces that it is read from
    return max(4 * block, read if diagnosed else 0.0)  # a block, and its densities in double precision


def allowed_memory() -> float:
    """Bytes of memory that a run may take: the user's number, or what the machine and its limits leave; infinite if unknown."""
    if asked := os.environ.get(ALLOWED):
        try:
            return 1e9 * float(asked)
        except ValueError:
            raise ValueError(f"{ALLOWED}={asked} is not a number of gigabytes") from None
    return available_memory()
