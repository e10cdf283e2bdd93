"""Memory and time of a run, estimated before its first draw: a warning if large, an error if the machine lacks the memory."""

import math
import os
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from time import process_time
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr

from .._messages import OUR_FILES
from .kernels.convergence import FEW_DRAWS, measure_mixing, normal_scores_of_ranks
from .methods import Route, begin_run, nuts_thinning
from .runs.available_memory import available_memory
from .runs.compiled_models import compilation_of_densities
from .runs.run import PILOT_CHAINS, PILOT_DRAWS, Draws, Run, Tuning
from .storage.store import draws_per_block

SAID_BYTES, SAID_SECONDS = 2e9, 300.0  # above these the estimate is said
SMALL = 10_000_000  # numbers in all draws, or in the pilot run, of a run that nothing is estimated of
TRIAL_SECONDS, MOST_TRIAL_DRAWS = 0.025, 256  # of a trial: one of them, or one draw if that takes longer
TRIAL_THINNING = 5
DIAGNOSED_AT_ONCE = 10 * 8  # bytes of temporary arrays for each draw of a quantity
TRIAL_SIZE = 2**18  # draws of all quantities whose diagnosis is timed
LARGE_GRADIENT = 4 * SMALL  # numbers in all draws of NUTS from which its gradient is compiled and timed
STEPS_OF_NUTS = 15  # gradients of a draw: a trajectory of four doublings
OTHER_GROUPS = (
    "log_likelihood ",
    "log_prior ",
    "sample_stats ",
)  # before names of variables that are not of the posterior
ALLOWED = (
    "RATERZOO_MEMORY_GB"  # environment variable: memory to use in place of what the machine has available
)


class CostWarning(UserWarning):
    """A run takes more than 2 GB of memory or five minutes, by an estimate before its first draw.

    Examples
    --------
    >>> import warnings
    >>> from raterzoo import inference, models
    >>> simulated = models.simulators.labels(items=20, raters=3, random_seed=1)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", inference.CostWarning)  # raise rather than begin a long run
    ...     tree = inference.sample(models.dawid_skene(simulated.data), random_seed=1, progressbar=False)
    """


@dataclass(frozen=True)
class Cost:
    """Estimate of what a run takes besides what the process has already.

    Parameters
    ----------
    memory : float
        Peak, in bytes.
    seconds : float
        Duration if the machine does nothing else; NaN if not estimated.
    numbers : int
        Numbers in one draw.
    largest : str
        Variable with most of them.
    """

    memory: float
    seconds: float
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
        self._trial: tuple[float, float, xr.Dataset, bool] | None = None

    def in_double_precision(self) -> "Costs":
        """Return the estimates of the same run with draws in double precision: what was tried and said is not again."""
        self.plan = replace(self.plan, dtype="float64")
        return self

    def check_run(self, route: Route, tuning: Tuning | None = None) -> None:
        """Check a run of the model's own sampler, before or after its pilot run has found `tuning`."""
        if self.skipped or self._is_small(1) or (route.method == "hmc" and tuning is None):
            return  # the start of HMC is most of what a trial of it would be
        self._check(self.of_run(route, tuning))

    def check_nuts(self) -> None:
        """Check a run of NUTS."""
        every = nuts_thinning(self._model, self.plan)
        if not self._is_small(every):
            self._refuse(self.of_nuts(every, timed=False))  # before anything is compiled
            self._check(self.of_nuts(every))

    def of_run(self, route: Route, tuning: Tuning | None = None) -> Cost:
        """Estimate a run of the model's own sampler by a trial of a few sweeps of one chain."""
        plan, cpus = self.plan, _cpus(self.plan)
        if self._trial is None:
            self._trial = _trial(self._model, plan, route, tuning)
        sweep, density, drawn, by_items = self._trial
        in_blocks = by_items and self._kept_every is not None
        sizes = {
            str(n): v.size / v.sizes["draw"] * _bytes_of_number(v.dtype, plan.dtype)
            for n, v in drawn.data_vars.items()
            if "draw" in v.dims
        }
        if in_blocks:  # of items only the kept draws are in memory, and their summaries
            of_items = [
                str(n) for n, v in drawn.data_vars.items() if {*v.dims} & {"item", "candidate", "annotation"}
            ]
            sizes |= {n: sizes[n] / (self._kept_every or 1) for n in of_items if n in sizes}
        kept, largest = plan.chains * plan.draws, max(sizes, key=lambda name: sizes[name])
        thin = float(np.mean(tuning["thinning"])) if tuning and "thinning" in tuning else 1.0
        at_once = min(plan.chains, cpus)
        sweeps = plan.chains * ((plan.tune or 200) + plan.draws * thin)
        seconds = (sweeps * sweep + kept * density) / at_once
        seconds += _diagnosis_seconds(plan.chains, plan.draws, self._numbers) / cpus
        if self._in_store:
            memory = _memory_with_store(plan, sizes, diagnosed=route.method != "exact")
        else:
            # the draws, and temporary arrays of the largest variable: log prior densities in double precision, or the diagnosis
            memory = kept * (sum(sizes.values()) + sizes[largest] * (3 if route.method == "gibbs" else 0.5))
            if (diagnosed := kept * max(self._sizes.values())) <= FEW_DRAWS:  # of all quantities at once
                memory = max(memory, kept * sum(sizes.values()) + DIAGNOSED_AT_ONCE * diagnosed)
        if route.method == "gibbs" and plan.thin == "pilot" and tuning is None:
            # two copies in double precision, and the ranks of its diagnosis
            held = 0 if in_blocks else self._numbers
            memory = max(memory, PILOT_CHAINS * PILOT_DRAWS * 2.5 * 8 * held)
            pilot = PILOT_CHAINS * ((plan.tune or 200) + PILOT_DRAWS) * sweep / min(PILOT_CHAINS, cpus)
            seconds += pilot + _diagnosis_seconds(PILOT_CHAINS, PILOT_DRAWS, self._numbers) / cpus
        return Cost(memory, seconds, self._numbers, largest)

    def of_nuts(self, every: int, *, timed: bool = True) -> Cost:
        """Estimate a run of NUTS: memory by its numbers, seconds by its gradient where there are many of them."""
        plan, kept = self.plan, self.plan.chains * self.plan.draws * every
        seconds = math.nan
        if timed and self._numbers * kept >= LARGE_GRADIENT:
            draws = plan.chains * (1000 if plan.tune is None else plan.tune) + kept
            seconds = draws * STEPS_OF_NUTS * _gradient_seconds(self._model) / min(plan.chains, _cpus(plan))
        # the draws as nutpie or PyMC hold them, and as arrays
        memory = 2 * 8 * kept * self._numbers
        return Cost(memory, seconds, self._numbers, max(self._sizes, key=lambda name: self._sizes[name]))

    @property
    def _numbers(self) -> int:
        return sum(self._sizes.values())

    def _is_small(self, every: int) -> bool:
        """Whether no draw, thinned or of a pilot run, is many enough to estimate anything."""
        plan = self.plan
        draws = max(plan.chains * plan.draws * every, PILOT_CHAINS * PILOT_DRAWS * (plan.thin == "pilot"))
        return self._numbers * draws < SMALL

    def _check(self, cost: Cost) -> None:
        """Raise ValueError if the machine lacks the memory; warn once (CostWarning) if the run is large."""
        self._refuse(cost)
        if not self._said and (cost.memory > SAID_BYTES or cost.seconds > SAID_SECONDS):
            self._said = True
            text = f"{_in_words(cost, self.plan)}. {self._remedies()}"
            warnings.warn(text, CostWarning, skip_file_prefixes=OUR_FILES)

    def _refuse(self, cost: Cost) -> None:
        """Raise ValueError if the machine lacks the memory."""
        allowed = allowed_memory()
        if cost.memory > allowed:
            raise ValueError(
                f"{_in_words(cost, self.plan)}, and {allowed / 1e9:.1f} GB are available. {self._remedies()}; or, to draw all "
                f"the same, set the environment variable {ALLOWED} to the gigabytes that may be used"
            )

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
    needs = f"about {max(cost.memory / 1e9, 0.1):.1f} GB of memory"
    if not math.isnan(cost.seconds):
        needs += f" and {_duration(cost.seconds)}"
    return (
        f"{plan.chains} x {plan.draws:,} draws of {cost.numbers:,} numbers ({cost.largest} has most) take {needs}, estimated "
        "before the first draw"
    )


def _duration(seconds: float) -> str:
    """Return a duration in seconds, minutes or hours, as text."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} minutes" if seconds < 5400 else f"{seconds / 3600:.1f} hours"


def sizes_of_draw(model: pm.Model) -> dict[str, int]:
    """Numbers in one draw of each free variable and deterministic."""
    lengths = {dim: len(names) for dim, names in model.coords.items() if names is not None}
    found = {}
    for rv in (*model.free_RVs, *model.deterministics):
        dims = model.named_vars_to_dims.get(str(rv.name)) or (None,) * rv.type.ndim
        known = [lengths.get(str(d), n) or 1 for d, n in zip(dims, rv.type.shape, strict=True)]
        found[str(rv.name)] = math.prod(known)
    return found or {"": 0}


def _bytes_of_number(tried: np.dtype, dtype: str) -> int:
    """Bytes of a number of the draws: of its type in a trial, or of the precision asked for if that is higher."""
    return (np.result_type(tried, dtype) if tried.kind == "f" else tried).itemsize


def _memory_with_store(plan: Draws, sizes: dict[str, float], *, diagnosed: bool) -> float:
    """Bytes of a run that writes to a store, given those of each variable in one draw of one chain."""
    draw = plan.chains * sum(sizes.values())
    block = draw * draws_per_block(draw, plan.draws)
    kept, own = (
        plan.chains * plan.draws,
        [n for name, n in sizes.items() if not name.startswith(OTHER_GROUPS)],
    )
    read = 2 * kept * max(own)  # the variable that `diagnose` reads, and the pieces that it is read from
    return max(4 * block, read if diagnosed else 0.0)  # a block, and its densities in double precision


def _trial(
    model: pm.Model, plan: Draws, route: Route, tuning: Tuning | None
) -> tuple[float, float, xr.Dataset, bool]:
    """Return CPU seconds of a sweep of one chain, and of a draw besides; a few draws of all groups; whether in blocks."""
    few, in_blocks = replace(plan, chains=1, cores=1, tune=0, progressbar=False), []

    def seconds(thin: int) -> tuple[float, dict[str, xr.Dataset]]:
        found = None  # HMC keeps its centre, and has its thinning there
        if tuning is not None and route.method == "hmc":
            found = {**tuning, "thinning": np.array(thin)}
        run = begin_run(model, replace(few, thin=thin), found, route)
        in_blocks.append(run.by_items is not None)
        return _seconds_of_draw(run)

    (once, groups), (often, _) = seconds(1), seconds(TRIAL_THINNING)
    sweep = max(0.0, often - once) / (TRIAL_THINNING - 1)
    arrays = {
        str(name) if group == "posterior" else f"{group} {name}": values.variable
        for group, own in groups.items()
        for name, values in own.data_vars.items()
    }
    return sweep, max(0.0, once - sweep), xr.Dataset(arrays), in_blocks[0]


def _seconds_of_draw(run: Run) -> tuple[float, dict[str, xr.Dataset]]:
    """Return CPU seconds of one more draw of a run, once it is compiled, and the last draws."""
    run.advance(1)
    draws, before = 1, math.inf
    while True:
        taken, groups = _timed(run.advance, draws)
        if taken > TRIAL_SECONDS:
            taken = min(taken, _timed(run.advance, draws)[0])  # the first may have paused to collect garbage
        if taken > TRIAL_SECONDS or draws >= MOST_TRIAL_DRAWS:
            # what a call takes whatever the number of draws cancels
            return (taken / draws if before > taken else (taken - before) / (draws / 2)), groups
        draws, before = 2 * draws, taken


@cache  # asked before and after the pilot run
def _diagnosis_seconds(chains: int, draws: int, numbers: int) -> float:
    """CPU seconds of the diagnosis of all numbers, by that of a few."""
    few = min(numbers, max(1, TRIAL_SIZE // (chains * draws)))
    sample = np.random.default_rng(0).standard_normal((chains, draws, few), np.float32)
    scores = normal_scores_of_ranks(chains, draws, sample.dtype)
    measure_mixing(sample, scores, 0, 1)  # compiles
    taken = min(_timed(measure_mixing, sample, scores, 0, few)[0] for _ in range(2))
    return taken * numbers / few


def _gradient_seconds(model: pm.Model) -> float:
    """CPU seconds of the log density and its gradient at the initial point."""
    function = model.logp_dlogp_function(ravel_inputs=True, **compilation_of_densities())
    function.set_extra_values({})
    point = np.concatenate([np.ravel(v) for v in model.initial_point().values()])
    call: Callable[[np.ndarray], Any] = function
    call(point)
    begun, taken = process_time(), []
    while len(taken) < 3 or process_time() - begun < TRIAL_SECONDS:
        taken.append(_timed(call, point)[0])
    return min(taken)


def _timed[**P, R](call: Callable[P, R], *args: P.args, **kwargs: P.kwargs) -> tuple[float, R]:
    """Return the CPU seconds of a call, and what it returns."""
    begun = process_time()
    found = call(*args, **kwargs)
    return process_time() - begun, found


def _cpus(plan: Draws) -> int:
    """Cores that a run uses."""
    return min(plan.cores or math.inf, os.cpu_count() or 1)  # type: ignore[return-value]


def allowed_memory() -> float:
    """Bytes of memory that a run may take: the user's number, or what the machine and its limits leave; infinite if unknown."""
    if asked := os.environ.get(ALLOWED):
        try:
            return 1e9 * float(asked)
        except ValueError:
            raise ValueError(f"{ALLOWED}={asked} is not a number of gigabytes") from None
    return available_memory()
