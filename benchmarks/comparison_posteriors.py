"""Cost and accuracy of posteriors of comparisons: `RATERZOO_DATA=... python benchmarks/comparison_posteriors.py`."""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import time
import warnings
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from raterzoo import inference, models, papers
from raterzoo.inference.comparisons.kernels.likelihood import pair_log_p
from raterzoo.inference.comparisons.recognition import read_comparisons

QUIET = {"progressbar": False, "log_likelihood": False}


def cpu(run):
    """Return the result, and CPU and wall seconds."""
    began, wall = time.process_time(), time.perf_counter()
    result = run()
    return result, time.process_time() - began, time.perf_counter() - wall


def mixing(tree: xr.DataTree) -> tuple[float, float]:
    """Return the least bulk ESS and the largest R-hat of qualities and reliabilities."""
    names = [name for name in ("quality", "reliability") if name in tree["posterior"]]
    ess, r_hat = az.ess(tree, var_names=names), az.rhat(tree, var_names=names)
    return min(float(ess[n].min()) for n in names), max(float(r_hat[n].max()) for n in names)


def full_posteriors() -> None:
    """Draw the posteriors of simulated comparisons, degree 20 and as many raters as items."""
    for link, n, alpha in (
        ("bradley_terry", 100, 0.5), ("thurstone", 100, 0.5), ("bradley_terry", 100, 0.1),
        ("bradley_terry", 200, 0.5), ("thurstone", 200, 0.5),
    ):  # fmt: skip
        drawn = models.simulators.comparisons(
            items=n, raters=n, degree=20, alpha=alpha, link=link, random_seed=1
        )
        model = getattr(models, link)(drawn.data)
        tree, seconds, wall = cpu(
            lambda model=model: inference.sample(model, draws=400, random_seed=1, **QUIET)
        )
        ess, r_hat = mixing(tree)
        print(
            f"{link} N = K = {n}, alpha {alpha}, {len(drawn.data):,} answers: {seconds:.1f} CPU s, {wall:.1f} s wall, "
            f"ESS >= {ess:.0f}, R-hat <= {r_hat:.3f}, {_per_answer(model):.1f} ns per answer for log p and gradient"
        )
        if (link, n, alpha) == ("bradley_terry", 100, 0.5):
            _by_nutpie(model, ess / seconds)


def _per_answer(model: pm.Model) -> float:
    """Return the nanoseconds of the likelihood and its gradient for each answer."""
    structure = read_comparisons(model)
    sizes = (structure.prior.n_items, structure.prior.n_raters)
    parameters = (np.linspace(-1, 1, sizes[0]), np.linspace(0.5, 2, sizes[1]), np.empty(0))
    sums = (np.empty(sizes[0]), np.empty(sizes[1]), np.empty(0))
    best = min(cpu(lambda: pair_log_p(structure.cells, parameters, (0.0, 1.0), sums))[1] for _ in range(30))
    return best / (structure.cells.wins.sum() + structure.cells.losses.sum()) * 1e9


def _by_nutpie(model: pm.Model, ours: float) -> None:
    """Draw the same posterior by NUTS, compiled beforehand by a short run."""
    options = {"nuts_sampler": "nutpie", "progressbar": False, "compute_convergence_checks": False}
    with model:
        pm.sample(draws=2, tune=2, chains=1, cores=1, **options)
        tree, seconds, _ = cpu(lambda: pm.sample(400, chains=4, cores=4, random_seed=1, **options))
    ess, r_hat = mixing(tree)
    print(
        f"    nutpie: {seconds:.1f} CPU s, ESS >= {ess:.0f}, R-hat <= {r_hat:.3f}; "
        f"{ours * seconds / ess:.0f} times fewer effective draws per CPU s"
    )


def votes_on_language_models() -> None:
    """Draw the posterior of 124 people and two judges, with ties."""
    folder = Path(os.environ["RATERZOO_DATA"])
    people = pd.read_csv(folder / "llmfao_crowd_comparisons.csv").rename(columns={"worker": "rater"})
    judges = [pd.read_csv(folder / f"llmfao_{j}_comparisons.csv").assign(rater=j) for j in ("gpt3", "gpt4")]
    table = pd.concat([people, *judges]).astype({"rater": str})
    pairs = models.Comparisons.from_table(table)
    for link in ("bradley_terry", "thurstone"):
        model = getattr(models, link)(pairs)
        tree, seconds, wall = cpu(lambda model=model: inference.sample(model, random_seed=1, **QUIET))
        ess, r_hat = mixing(tree)
        print(
            f"{link}, {pairs!r}: {seconds:.1f} CPU s, {wall:.1f} s wall, ESS >= {ess:.0f}, R-hat <= {r_hat:.3f}"
        )


def against_quite(repeats: int = 10) -> None:
    """Compare the posterior mean under the uniform priors with QUITE, by centred errors without an oracle scale."""
    for n in (40, 100):
        errors: dict[str, list[float]] = {"posterior mean": [], "QUITE": []}
        for seed in range(repeats):
            drawn = models.simulators.comparisons(items=n, raters=n, degree=20, alpha=0.5, random_seed=seed)
            model = models.bradley_terry(drawn.data, reliability_range=(1, 20))
            tree = inference.sample(model, draws=500, random_seed=seed, **QUIET)
            truth = xr.DataArray(drawn.truth["quality"], {"item": drawn.data.items}, "item")
            means = tree["posterior"]["quality"].mean(("chain", "draw"))
            for name, estimate in (
                ("posterior mean", means),
                ("QUITE", inference.quite(drawn.data)["quality"]),
            ):
                error = papers.mean_squared_error(estimate, truth, form="centred", scale="none")
                errors[name].append(float(error))
        ratio = np.mean(errors["QUITE"]) / np.mean(errors["posterior mean"])
        print(
            f"N = K = {n}, alpha .5: centred error of QUITE {ratio:.1f} times that of the posterior mean ({repeats} data sets)"
        )


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    small = models.simulators.comparisons(items=6, raters=4, degree=4, random_seed=1)
    for link in ("bradley_terry", "thurstone"):  # compile
        inference.sample(getattr(models, link)(small.data), draws=10, random_seed=1, **QUIET)
    full_posteriors()
    votes_on_language_models()
    against_quite()
