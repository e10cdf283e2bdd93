"""Cost of MACE and GLAD: `python benchmarks/raters.py`; it fails where a limit is missed.

Limits: 2 CPU seconds for an EM iteration or a gradient of 500,000 answers, and samplers that converge on 5,000 answers.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
from raterzoo import inference, models, papers

LIMIT = 2.0  # CPU seconds
EACH = 5  # answers to an item


def simulated(model: str, answers: int, raters: int, categories: int) -> models.Labels:
    """Answers by the law of a model, five to an item."""
    sizes = {"items": answers // EACH, "raters": raters, "categories": categories, "answers": EACH}
    return models.simulators.labels(model=model, **sizes, random_seed=1).data


def cpu_seconds(run: Callable[[], Any]) -> float:
    before = time.process_time()
    run()
    return time.process_time() - before


def check(what: str, seconds: float) -> None:
    print(f"{what:60s} {1e3 * seconds:9.1f} ms of CPU   limit {1e3 * LIMIT:.0f} ms")
    assert seconds <= LIMIT, what


def iterations(name: str, labels: models.Labels, **options: Any) -> None:
    """Time an iteration as the difference between long and short runs, which read the same answers."""
    estimate = getattr(papers, f"{name}_em")
    short, long = (
        min(cpu_seconds(lambda m=m: run_of(estimate, labels, m, options)) for _ in range(3)) for m in (2, 12)
    )
    check(f"{name}_em {options or ''}: an iteration", (long - short) / 10)


def run_of(estimate: Callable, labels: models.Labels, iterations: int, options: dict) -> None:
    with warnings.catch_warnings(action="ignore", category=inference.EstimateWarning):
        estimate(labels, restarts=0, max_iterations=iterations, tolerance=-1.0, **options)


def gradient(name: str, model: pm.Model) -> None:
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})
    point = np.zeros(sum(v.size for v in model.initial_point().values()))
    function(point)  # compiles
    check(f"{name}: logp and gradient", min(cpu_seconds(lambda: function(point)) for _ in range(5)))


def sampler(name: str, model: pm.Model, method: str) -> None:
    run: dict[str, Any] = {"method": method, "cores": 1, "random_seed": 1, "progressbar": False}
    if method == "gibbs":
        with warnings.catch_warnings():  # one draw has not converged
            warnings.simplefilter("ignore", inference.ConvergenceWarning)
            inference.sample(model, draws=1, tune=1, **run)  # compiles
    cpu, wall = time.process_time(), time.perf_counter()
    tree = inference.sample(model, **run)
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    said = inference.diagnose(tree).attrs["verdict"]
    print(f"{name} by {method}, 5,000 answers: {cpu:.1f} s of CPU, {wall:.1f} s; {said}")
    assert said.startswith("converged")


if __name__ == "__main__":
    of_mace, of_glad = (simulated(name, 500_000, 1000, 5) for name in ("mace", "glad"))
    iterations("mace", of_mace)
    iterations("mace", of_mace, variational=False)
    iterations("glad", of_glad)
    gradient("mace", models.mace(of_mace))
    gradient("glad", models.glad(of_glad))
    few = simulated("mace", 5000, 50, 3)
    sampler("mace", models.mace(few), "gibbs")
    sampler("mace", models.mace(few), "nuts")
    sampler("glad", models.glad(simulated("glad", 5000, 50, 3)), "nuts")
