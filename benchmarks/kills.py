"""Runs that are killed and resumed: `python -m benchmarks.kills --help`.

Every sampler that writes to a store is killed by SIGKILL in every phase of its run:

    start       the process begins, data and model are built
    compiling   the sampler is set up
    warm-up     it runs, and no kept draw is in the store
    drawing     blocks of draws are in the store
    finishing   all draws are there, densities and attributes are written

Each kill comes a random time after its phase has begun, up to the length of that phase in the run without a kill (of all kills
that hit no process, since it had ended, the time is halved and the run repeated). Then the run is resumed, or begun again where
there is no store yet, and all arrays of all groups are compared with those of the run without. Of NUTS, which keeps complete
chains and draws the others anew, shapes and types are. Runs are in processes that are forked from this one, which has compiled
the samplers of the package.
"""

import argparse
import os
import random
import select
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import xarray as xr
from raterzoo import inference, models
from raterzoo.inference import checkpoints, methods
from raterzoo.inference.nuts import stored_runs
from raterzoo.inference.scale import scatter, sharded_gibbs
from raterzoo.inference.storage.store import DrawStore

from .same_draws import model_of

PHASES = ("start", "compiling", "warm-up", "drawing", "finishing")
QUIET = {"random_seed": 5, "progressbar": False}
LONGEST = 240.0  # seconds of a run


class Run(NamedTuple):
    """A run that can be killed: how it begins or goes on, and the kills in each phase."""

    go: Callable[[Path], None]
    kills: tuple[int, ...]  # in the order of `PHASES`


def labels() -> models.Labels:
    return models.simulators.labels(items=30, raters=5, categories=3, random_seed=1).data


def rankings() -> models.PartialRankings:
    return models.simulators.rankings(items=6, raters=3, categories=6, block_sizes=(1, 2), random_seed=1).data


def votes() -> models.Comparisons:
    return models.simulators.comparisons(items=8, raters=4, degree=4, tie=1.0, random_seed=1).data


def scores() -> models.Scores:
    return models.simulators.scores(items=8, raters=4, random_seed=1).data


def sampled(build: Callable[[], Any], store: Path, **options: Any) -> None:
    """Begin a run of `sample`, or go on with it, by the model in the store as `fit --resume` does."""
    if store.exists():
        inference.resume(store, cores=options.get("cores"), progressbar=False)
    else:
        inference.sample(build(), store=store, **QUIET, **options)


def scattered(store: Path, dask: bool = False) -> None:
    options = {"store": store, "shard": 1, "draws": 400, "chains": 2, **QUIET}
    if not dask:
        inference.scatter(models.plackett_luce, rankings(), 2, **options)
        return
    from distributed import Client, LocalCluster

    own = {"n_workers": 1, "threads_per_worker": 1, "processes": False, "dashboard_address": None}
    with LocalCluster(**own, silence_logs=50) as cluster, Client(cluster) as client:
        inference.scatter(models.plackett_luce, rankings(), client, **options)


def sharded(store: Path) -> None:
    options = {"draws": 40, "tune": 20, "chains": 2, **QUIET}
    inference.dawid_skene_gibbs(labels(), store=store, executor=1, shards=2, **options)


OWN = {
    "Gibbs, labels": lambda: models.dawid_skene(labels()),
    "Gibbs, rankings": lambda: models.plackett_luce(rankings(), reliability=2),
    "Gibbs, scores": lambda: models.hierarchical_scores(scores()),
    "Gibbs, item states": lambda: models.item_states(labels(), states=2),
    "HMC, comparisons": lambda: models.bradley_terry(votes()),
    "exact, scores": lambda: models.normal_scores(scores()),
    "Gibbs, counts with predictions": lambda: model_of("dirichlet:prior_predictions"),
    "Gibbs, rankings with predictions": lambda: model_of("plackett_luce:prior_predictions"),
}
LONG = {"draws": 400, "chains": 2, "thin": 40, "cores": 1}
NUTS = {"method": "nuts", "draws": 200, "tune": 150, "chains": 2, "thin": 1, "log_likelihood": False}


def one_coin() -> Any:
    return models.one_coin(labels())


OPTIONAL = {
    "features": partial(model_of, "dawid_skene:features"),
    "vote covariates": partial(model_of, "bradley_terry:vote_covariates"),
}  # of models that NUTS alone draws


def runs() -> dict[str, Run]:
    """Return all runs that are killed."""
    found = {name: Run(partial(sampled, build, **LONG), (1, 1, 1, 4, 1)) for name, build in OWN.items()}
    for name, options in {
        "NUTS of PyMC": {"nuts_sampler": "pymc", "cores": 1},
        "NUTS of PyMC, two processes": {"nuts_sampler": "pymc", "cores": 2},
        "NUTS of nutpie": {"nuts_sampler": "nutpie", "cores": 1},
        "NUTS of nutpie, two threads": {"nuts_sampler": "nutpie", "cores": 2},
    }.items():
        found[name] = Run(partial(sampled, one_coin, **NUTS, **options), (2, 5, 0, 10, 3))
    for name, build in OPTIONAL.items():
        options = NUTS | {"nuts_sampler": "nutpie", "cores": 1}
        found[f"NUTS of nutpie, {name}"] = Run(partial(sampled, build, **options), (0, 1, 0, 3, 1))
    found["scatter, processes"] = Run(scattered, (0, 0, 0, 3, 0))
    found["scatter, dask"] = Run(partial(scattered, dask=True), (0, 0, 1, 2, 0))
    found["Gibbs in shards"] = Run(sharded, (0, 0, 0, 3, 0))
    return found


# --- Phases: what a run calls when one begins ---


def tell_phases(tell: Callable[[str], None]) -> None:
    """Let the functions of this process tell when a phase begins."""

    def at(owner: Any, name: str, before: str | None = None, after: str | None = None) -> None:
        function = getattr(owner, name)

        def telling(*arguments: Any, **options: Any) -> Any:
            if before:
                tell(before)
            result = function(*arguments, **options)
            if after:
                tell(after)
            return result

        setattr(owner, name, telling)

    at(checkpoints, "begin_run", before="compiling", after="warm-up")
    at(checkpoints, "_draw_rest", before="drawing")
    at(stored_runs, "_draw", before="compiling")
    at(DrawStore, "allocate", after="warm-up")
    at(stored_runs._Writer, "write", after="drawing")
    at(DrawStore, "replace", before="finishing")
    at(scatter, "route_of", before="compiling", after="warm-up")
    at(scatter.ShardWriter, "add", after="drawing")
    at(sharded_gibbs, "_draw", before="drawing")
    at(DrawStore, "finish", before="finishing")


def forked(work: Callable[[], None], pipe: int | None = None) -> int:
    """Start work in a forked process; its exit code is 0 if there was no error."""
    pid = os.fork()
    if pid:
        return pid
    code = 1
    try:
        warnings.simplefilter("ignore")
        last = [""]

        def tell(phase: str) -> None:
            later = not last[0] or PHASES.index(phase) > PHASES.index(last[0])
            if pipe is not None and later:
                last[0] = phase
                os.write(pipe, f"{phase}\n".encode())

        tell_phases(tell)
        tell("start")
        work()
        code = 0
    except BaseException:
        import traceback

        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(code)


def told(reading: int, until: float) -> str:
    """Wait for the next phase of a process; empty if it has ended, or at a time."""
    text = b""
    while not text.endswith(b"\n"):
        ready, _, _ = select.select([reading], [], [], max(until - time.monotonic(), 0))
        more = os.read(reading, 1) if ready else b""
        if not more:
            return ""
        text += more
    return text.decode().strip()


def run_until(go: Callable[[], None], phase: str | None, wait: float = 0.0) -> tuple[bool, dict[str, float]]:
    """Run in a process and kill it some time after a phase began; return whether it was killed, and when phases began."""
    reading, writing = os.pipe()
    began, pid = {}, forked(go, writing)
    os.close(writing)
    until = time.monotonic() + LONGEST
    while now := told(reading, until):
        began[now] = time.monotonic()
        if now == phase:
            select.select([], [], [], wait)
            os.kill(pid, signal.SIGKILL)
            break
    os.close(reading)
    _, status = os.waitpid(pid, 0)
    began["end"] = time.monotonic()
    killed = os.WIFSIGNALED(status)
    assert killed or os.waitstatus_to_exitcode(status) == 0, "a run failed by itself"
    return killed, began


def lengths_of(began: dict[str, float]) -> dict[str, float]:
    """Return the seconds of each phase."""
    times = list(began.items())
    return {name: later - first for (name, first), (_, later) in pairwise(times)}


def differences(one: Path, other: Path, of_bits: bool) -> list[str]:
    """Return arrays of two stores that differ in a bit, or in their shape or type."""
    first, second = (xr.open_datatree(path, engine="zarr", consolidated=False) for path in (one, other))
    assert {*first.children} == {*second.children}
    wrong = []
    for name in first.children:
        assert {*first[name].variables} == {*second[name].variables}
        for variable in first[name].variables:
            a, b = (tree[name].to_dataset()[variable].to_numpy() for tree in (first, second))
            same = a.dtype == b.dtype and a.shape == b.shape
            bits = (a.tolist() == b.tolist()) if a.dtype == object else (a.tobytes() == b.tobytes())
            if not (same and (bits or not of_bits)):
                wrong.append(f"{name}/{variable}")
    return wrong


def compared(one: Path, other: Path, bits: bool = True) -> None:
    """Raise unless two stores hold the same bits, or arrays alike."""
    assert not (wrong := differences(one, other, bits)), wrong


def kill(name: str, run: Run, rng: random.Random, folder: Path, share: float) -> Counter[tuple[str, str]]:
    """Kill a run in every phase, and resume it; return what happened, by phase."""
    whole, counts = folder / "whole.zarr", Counter()
    started = time.monotonic()
    _, began = run_until(partial(run.go, whole), None)
    lengths = lengths_of(began)
    print(f"{name}: {', '.join(f'{p} {s:.1f} s' for p, s in lengths.items())}", flush=True)
    for phase, wanted in zip(PHASES, run.kills, strict=True):
        for _ in range(round(wanted * share) or min(wanted, 1)):
            store, wait = folder / "run.zarr", rng.uniform(0, lengths.get(phase, 0.0))
            killed = False
            while not killed:
                shutil.rmtree(store, ignore_errors=True)
                shutil.rmtree(f"{store}.journal", ignore_errors=True)
                killed, _ = run_until(partial(run.go, store), phase, wait)
                wait /= 2
            left = "a store" if store.exists() else "no store"
            run_until(partial(run.go, store), None)
            _, status = os.waitpid(forked(partial(compared, whole, store, "NUTS" not in name)), 0)
            same = os.waitstatus_to_exitcode(status) == 0
            verdict = ("complete" if "NUTS" in name else "same bits") if same else "OTHER DRAWS"
            counts[phase, f"{left}, {verdict}"] += 1
            print(f"    {phase}, {left}, {verdict}", flush=True)
    print(f"    {time.monotonic() - started:.0f} s wall; " + told_of(counts), flush=True)
    return counts


def told_of(counts: Counter[tuple[str, str]]) -> str:
    return "; ".join(f"{phase}: {n} ({left})" for (phase, left), n in counts.items())


def warm_up(chosen: dict[str, Run]) -> None:
    """Compile in this process what the forked ones use; no threads are left that they would miss."""
    plan = checkpoints.Draws(1, 1, 1, 1, 1, False, 1, "float32", True)
    for name in OWN.keys() & chosen.keys():
        methods.begin_run(OWN[name](), plan).advance(1)


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.kills",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--only", default="", help="runs whose name contains this, such as NUTS")
    parser.add_argument("--share", type=float, default=1.0, help="of the kills of each phase; at least one")
    parser.add_argument("--seed", type=int, default=1, help="of the times of the kills")
    asked = parser.parse_args()
    chosen = {name: run for name, run in runs().items() if asked.only in name}
    warnings.simplefilter("ignore")
    stored_runs.SECONDS = 0.1  # runs are short
    warm_up(chosen)
    total: Counter[tuple[str, str]] = Counter()
    for name, run in chosen.items():
        with tempfile.TemporaryDirectory() as folder:
            rng = random.Random(f"{asked.seed} {name}")
            total += kill(name, run, rng, Path(folder), asked.share)
    cpu = sum(os.times()[:4])
    print(f"{sum(total.values())} kills, {cpu:.0f} CPU s; {told_of(total)}")
    assert not any("OTHER" in left for _, left in total)


if __name__ == "__main__":
    main()
