"""Cost of metrics under uncertainty: `python benchmarks/evaluation.py`; simulated data without RATERZOO_DATA.

Prints CPU and wall seconds and peak memory beside their limits. What is measured for memory runs in a process of its own, on a
posterior that is opened lazily from disk.
"""

import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import numpy as np
import xarray as xr
from raterzoo import evaluation, inference, models
from scipy.stats import kendalltau, rankdata
from sklearn.metrics import f1_score, log_loss, matthews_corrcoef, ndcg_score, roc_auc_score

sys.path.insert(0, str(Path(__file__).parent))
from dermatology import measured, read

QUIET = {"random_seed": 1, "progressbar": False}
CLASSIFIERS = list("ABCD")
OF_THE_LIMIT = [
    *(evaluation.top_k_accuracy(k) for k in (1, 3)),
    *(evaluation.set_accuracy(k) for k in (2, 3)),
    *(evaluation.overlap(k) for k in (2, 3)),
    evaluation.average_overlap(3),
    evaluation.kendall_tau(),
    evaluation.spearman_footrule(),
]
FURTHER = [
    *(evaluation.kendall_tau(3), evaluation.spearman_footrule(3), evaluation.ndcg()),
    *(evaluation.rank_biased_overlap(), evaluation.cross_entropy(), evaluation.brier_score()),
    *(evaluation.f1(), evaluation.cohen_kappa(), evaluation.roc_auc(), evaluation.calibration_error()),
]


def peak() -> float:
    """Peak memory of this process alone in GB; that of getrusage is the parent's where it was larger."""
    status = Path("/proc/self/status").read_text()
    return float(status.split("VmHWM:")[1].split()[0]) / 1e6


def apart[Result](function: Callable[..., Result], *arguments: Any) -> Result:
    """Call a function in a process of its own."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as process:
        return process.submit(function, *arguments).result()


def posterior(folder: Path) -> list[Path]:
    """Fit the dermatology set; write 4,000 draws, and the same twice."""
    tree = inference.sample(models.plackett_luce(read(), reliability=3), **QUIET)
    draws = tree["posterior"].to_dataset()[["plausibility"]]
    constant = tree["constant_data"].to_dataset()
    paths = []
    for n in (1, 2):
        path = folder / f"{4000 * n}.nc"
        groups = {"posterior": xr.concat([draws] * n, "draw"), "constant_data": constant}
        xr.DataTree.from_dict(groups).to_netcdf(path, engine="h5netcdf")
        paths.append(path)
    return paths


def probabilities(items: np.ndarray, categories: np.ndarray, classifiers: list[str]) -> xr.DataArray:
    shape = (len(classifiers), len(items), len(categories))
    values = np.random.default_rng(1).dirichlet(np.full(shape[-1], 0.1), shape[:2]) + 1e-9
    return xr.DataArray(
        values / values.sum(axis=-1, keepdims=True),
        {"classifier": classifiers, "item": items, "category": categories},
        ("classifier", "item", "category"),
    )


def flat(path: Path, metrics: list[evaluation.Metric], what: str = "", limit: str = "") -> float:
    """Score four classifiers with each metric; returns the peak memory."""
    with xr.open_datatree(path, engine="h5netcdf") as tree:
        items = tree["posterior"]["item"].to_numpy()
        categories = tree["constant_data"]["category_name"].to_numpy()
        guesses = probabilities(
            items[np.sort(np.unique(items, return_index=True)[1])], categories, CLASSIFIERS
        )

        def score(metric: evaluation.Metric) -> xr.DataArray:
            return evaluation.uncertainty_adjusted(metric, tree, guesses, **QUIET)

        if not what:
            for metric in metrics:
                measured(f"{metric.name}, four classifiers", lambda metric=metric: score(metric))
        else:
            measured(what, lambda: [score(metric) for metric in metrics], limit)
    return peak()


def dense(n_items: int, n_categories: int, draws: tuple[int, int]) -> tuple[xr.DataArray, xr.DataArray]:
    """Return plausibilities and the probabilities of one classifier."""
    rng = np.random.default_rng(2)
    coords = {"item": np.arange(n_items), "category": [f"label {c}" for c in range(n_categories)]}
    worth = rng.dirichlet(np.full(n_categories, 0.5), n_items).astype(np.float32)
    values = rng.standard_exponential((*draws, n_items, n_categories), dtype=np.float32)
    values *= worth
    values /= values.sum(axis=-1, keepdims=True)
    tree = xr.DataArray(
        values, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"}
    )
    guesses = probabilities(*(np.asarray(c) for c in coords.values()), ["A"])
    return tree, guesses.isel(classifier=0, drop=True)


def callables() -> None:
    """scikit-learn's functions, called with 10,000 items at each of 4,000 draws."""
    tree, guesses = dense(10_000, 10, (4, 1000))
    for function, arguments in ((f1_score, {"average": "macro", "zero_division": 0}), (log_loss, {})):
        measured(
            f"scikit-learn's {function.__name__}, 10,000 x 10 x 4,000",
            lambda f=function, a=arguments: evaluation.uncertainty_adjusted(f, tree, guesses, **QUIET, **a),
            "limit 60 s wall together",
        )
    for metric in (evaluation.f1(), evaluation.cross_entropy(), evaluation.kendall_tau()):
        measured(
            f"our {metric.name}, 10,000 x 10 x 4,000",
            lambda m=metric: evaluation.uncertainty_adjusted(m, tree, guesses, **QUIET),
        )


def footrule(p: np.ndarray, q: np.ndarray) -> float:
    n = len(p)
    return abs(rankdata(-p) - rankdata(-q)).sum() / (n**2 // 2)


def against_loops(only: tuple[str, ...] = ()) -> dict[str, float]:
    """The obvious loop over draws, and over items where the metric is of one: 2,000 items, 10 categories, 4,000 draws.

    The loop, which runs on one core, is timed on a few draws. Returns how many times more CPU it takes, by metric; `only` are
    the metrics to compare, by default all.
    """
    tree, guesses = dense(2_000, 10, (4, 1000))
    p, q = tree.to_numpy().reshape(4_000, 2_000, 10), guesses.to_numpy()
    names = tree["category"].to_numpy()
    best = names[q.argmax(-1)]
    third = np.sort(q, axis=-1)[:, [-3]]
    among = [set(names[row].tolist()) for row in q >= third]

    def by_item(function: Callable[..., float]) -> Callable[[np.ndarray], float]:
        return lambda draw: float(np.mean([function(a, b) for a, b in zip(draw, q, strict=True)]))

    def area(draw: np.ndarray) -> float:
        truth = draw.argmax(-1)
        return float(np.mean([roc_auc_score(truth == k, q[:, k]) for k in np.unique(truth)]))

    loops: list[tuple[evaluation.Metric, Callable[[np.ndarray], float]]] = [
        (
            evaluation.top_k_accuracy(3),
            lambda draw: float(np.mean([names[a.argmax()] in s for a, s in zip(draw, among, strict=True)])),
        ),
        (
            evaluation.f1(),
            lambda draw: f1_score(
                names[draw.argmax(-1)], best, labels=names, average="macro", zero_division=0
            ),
        ),
        (evaluation.matthews_correlation(), lambda draw: matthews_corrcoef(names[draw.argmax(-1)], best)),
        (evaluation.cross_entropy(), by_item(lambda a, b: -float(a @ np.log(b)))),
        (evaluation.roc_auc(), area),
        (evaluation.kendall_tau(), by_item(lambda a, b: kendalltau(a, b)[0])),
        (evaluation.spearman_footrule(), by_item(footrule)),
        (evaluation.ndcg(), by_item(lambda a, b: ndcg_score(a[None], b[None]))),
    ]
    ratios = {}
    for metric, loop in loops:
        if only and metric.name not in only:
            continue
        times, cpu = [], []
        for _ in range(3):
            start, before = time.perf_counter(), time.process_time()
            ours = evaluation.uncertainty_adjusted(metric, tree, guesses, **QUIET)
            times.append(time.perf_counter() - start)
            cpu.append(time.process_time() - before)
        some = p[:8]
        start, before = time.perf_counter(), time.process_time()
        slow = [loop(draw) for draw in some]
        slow_cpu = (time.process_time() - before) * len(p) / len(some)
        slow_wall = (time.perf_counter() - start) * len(p) / len(some)
        np.testing.assert_allclose(ours.to_numpy().ravel()[: len(some)], slow, rtol=1e-5, atol=1e-6)
        print(
            f"{metric.name + ' against a loop':58s} cpu {min(cpu):8.3f} s   wall {min(times):8.3f} s   "
            f"loop {slow_cpu:8.2f} CPU s   {slow_cpu / min(cpu):7.0f} times by CPU, "
            f"{slow_wall / min(times):.0f} by wall, limit 50"
        )
        ratios[metric.name] = slow_cpu / min(cpu)
    return ratios


if __name__ == "__main__":
    against_loops()
    with tempfile.TemporaryDirectory() as directory:
        first, twice = apart(posterior, Path(directory))
        apart(flat, first, [*OF_THE_LIMIT, *FURTHER])
        nine = "accuracies, overlaps, Kendall, footrule, four classifiers"
        memory = apart(flat, first, OF_THE_LIMIT, nine, "limit 60 CPU s")
        print(f"{'peak memory, 4,000 draws, opened lazily':58s} {memory:.2f} GB   limit 2 GB")
        memory = apart(flat, twice, OF_THE_LIMIT, f"{nine}, 8,000 draws")
        print(f"{'peak memory, 8,000 draws':58s} {memory:.2f} GB   limit that of 4,000")
    apart(callables)
