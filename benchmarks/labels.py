"""Cost of label models: `python benchmarks/labels.py`; beside crowd-kit where it is installed.

`uv run --with crowd-kit python benchmarks/labels.py` runs both in one process.
"""

import resource
import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np
import pandas as pd
import pymc as pm
from raterzoo import inference, models
from raterzoo.inference.kernels.convergence import mixing_of
from raterzoo.inference.labels.em_search import EmRun, Rule, patterns_of
from raterzoo.inference.labels.gibbs import draw_labels_model
from raterzoo.inference.labels.recognition import constant_prior, read_labels
from raterzoo.inference.runs.run import ChainPlan
from raterzoo.inference.scale.confusion_em import ConfusionEm, Objective
from scipy.special import logsumexp

PEER = find_spec("crowdkit") is not None


def simulated(answers: int, raters: int, categories: int = 5, each: int = 5) -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n_items = answers // each
    truth, item = rng.integers(0, categories, n_items), np.repeat(np.arange(n_items), each)
    guess = rng.integers(0, categories, answers)
    label = np.where(rng.random(answers) < 0.6, truth[item], guess)
    return pd.DataFrame({"item": item, "rater": rng.integers(0, raters, answers), "label": label})


def timed(run: Callable[[], Any]) -> tuple[Any, float, float]:
    cpu, wall = time.process_time(), time.perf_counter()
    result = run()
    return result, time.process_time() - cpu, time.perf_counter() - wall


def confusion_em(labels: models.Labels, iterations: int) -> ConfusionEm:
    n = len(labels.categories)
    nothing = np.zeros(n), np.zeros((len(labels.raters) * n, n))
    return ConfusionEm(
        patterns_of(labels), Objective(nothing, nothing, True, False, Rule(iterations, -np.inf))
    )


def em(answers: int, raters: int, iterations: int, peer: bool) -> None:
    frame = simulated(answers, raters)
    labels, cpu, wall = timed(lambda: models.Labels.from_table(frame))
    print(f"{answers:,} answers: table to codes        cpu {cpu:7.2f} s   wall {wall:7.2f} s")
    confusion_em(labels, 1).from_vote()  # compiles
    model = confusion_em(labels, iterations)
    run, cpu, wall = timed(model.from_vote)
    print(
        f"{answers:,} answers: {iterations} EM iterations      cpu {cpu:7.3f} s   wall {wall:7.3f} s   "
        f"{1e3 * cpu / iterations:.3f} ms each, log-likelihood {run.log_likelihood:.4f}"
    )
    if peer and PEER:
        from crowdkit.aggregation import DawidSkene

        named = frame.rename(columns={"item": "task", "rater": "worker"})
        theirs = DawidSkene(n_iter=iterations, tol=-np.inf)
        _, their_cpu, their_wall = timed(lambda: theirs.fit(named))
        print(f"    crowd-kit, the same               cpu {their_cpu:7.3f} s   wall {their_wall:7.3f} s")
        print(f"    ratio {their_cpu / cpu:.0f} in CPU time, {their_wall / wall:.0f} in wall time")
        if answers > 1000:  # smaller data have empty cells, which crowd-kit fills
            compare(labels, run, model, (named, iterations))


def compare(labels: models.Labels, run: EmRun, model: ConfusionEm, peer: tuple) -> None:
    """Compare with crowd-kit: its probabilities after as many passes, and the likelihood of the estimate they are from."""
    from crowdkit.aggregation import DawidSkene

    named, iterations = peer
    theirs = DawidSkene(n_iter=iterations, tol=-np.inf).fit(named).probas_
    ours = model.plausibility(run.parameters)[model.row_of_item]
    apart = np.abs(theirs.loc[labels.items, labels.categories].to_numpy() - ours).max()
    before = DawidSkene(n_iter=iterations - 1, tol=-np.inf).fit(named)
    log_p = named.join(np.log(before.errors_), on=["worker", "label"])
    by_item = log_p.groupby("task", sort=False)[labels.categories.tolist()].sum()
    joint = by_item + np.log(before.priors_[labels.categories])
    log_likelihood = logsumexp(joint.to_numpy(), axis=1).sum()
    off = abs(run.log_likelihood / log_likelihood - 1)
    print(f"    log-likelihoods differ by {off:.0e} of themselves, probabilities by {apart:.0e}")
    assert off < 1e-9 and apart < 1e-7


def gradient() -> None:
    model = models.dawid_skene(models.Labels.from_table(simulated(500_000, 1000)))
    function = model.logp_dlogp_function(ravel_inputs=True)
    function.set_extra_values({})
    point = np.zeros(sum(v.size for v in model.initial_point().values()))
    function(point)
    best = min(timed(lambda: function(point))[2] for _ in range(20))
    print(f"500,000 answers: logp + gradient in PyMC   {1e3 * best:7.2f} ms   limit 11 ms")


def smallest_ess(*draws: np.ndarray) -> float:
    flat = np.concatenate([d.reshape(*d.shape[:2], -1) for d in draws], axis=2)
    return float(np.nanmin(mixing_of(np.ascontiguousarray(flat), None)[1]))


def samplers(answers: int, raters: int, nuts: bool) -> None:
    model = models.dawid_skene(models.Labels.from_table(simulated(answers, raters)))
    read = read_labels(model)
    problem = (read.answers, constant_prior(model, read))
    for collapsed in (True, False):
        plan = ChainPlan(4, 2000, 200, 1, 1, "float64")
        draw_labels_model(*problem, ChainPlan(1, 1, 1, 1, 1, "float64"), collapsed)  # compiles
        draws, cpu, _ = timed(lambda plan=plan, on=collapsed: draw_labels_model(*problem, plan, on))
        rate = smallest_ess(draws.prevalence, draws.table) / cpu
        kind = "collapsed" if collapsed else "plain"
        print(f"{answers:,} answers: {kind} Gibbs   least ESS per CPU second {rate:10.0f}")
    if nuts:
        options = {"chains": 4, "cores": 1, "random_seed": 1, "progressbar": False}
        with model, warnings.catch_warnings(action="ignore"):
            pm.sample(10, tune=10, nuts_sampler="nutpie", **options)  # compiles
            tree, cpu, _ = timed(lambda: pm.sample(1000, tune=1000, nuts_sampler="nutpie", **options))
        posterior = tree["posterior"]
        drawn = (posterior[name].to_numpy() for name in ("prevalence", "confusion"))
        print(f"{answers:,} answers: nutpie   least ESS per CPU second {smallest_ess(*drawn) / cpu:10.1f}")


def populations(answers: int, raters: int, categories: int, sweeps: int, rounds: int = 5) -> None:
    """Compare the cost of collapsed sweeps by a population of raters with that by the fixed prior, in turns."""
    labels = models.Labels.from_table(simulated(answers, raters, categories))
    problems = []
    for prior in (None, "population"):
        model = models.dawid_skene(labels, confusion_concentration=prior)
        read = read_labels(model)
        problems.append((read.answers, constant_prior(model, read)))
        draw_labels_model(*problems[-1], ChainPlan(1, 1, 1, 1, 1, "float64"))  # compiles
    plan, times = ChainPlan(1, sweeps // 10, 20, 1, 1, "float64", 10), np.empty((rounds, 2))
    for own in times:
        for place, problem in enumerate(problems):
            own[place] = timed(lambda problem=problem: draw_labels_model(*problem, plan))[1]
    fixed, learnt = 1e3 * times.min(axis=0) / sweeps
    print(
        f"{answers:,} answers, {raters} raters, {categories} categories: a sweep {fixed:.3f} ms, "
        f"with a population {learnt:.3f} ms, ratio {learnt / fixed:.2f}   limit 1.3"
    )


if __name__ == "__main__":
    frame = simulated(5_000_000, 5000)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    inference.dawid_skene_em(models.Labels.from_table(frame), restarts=0, max_iterations=3)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    print(
        f"5,000,000 answers: table to estimate   {(peak - before) / 1e6:.2f} GB besides the table, {peak / 1e6:.2f} GB in all"
    )
    del frame
    em(315, 5, 1000, peer=True)
    em(500_000, 1000, 30, peer=True)
    em(5_000_000, 5000, 10, peer=False)
    gradient()
    samplers(315, 5, nuts=False)
    samplers(5000, 50, nuts=True)
    for categories in (2, 4):
        populations(5000, 50, categories, 5000)
        populations(50_000, 500, categories, 500)
    inference.dawid_skene_em(models.Labels.from_table(simulated(500, 5)), restarts=1, random_seed=1)
    print(f"peak memory {resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6:.2f} GB")
