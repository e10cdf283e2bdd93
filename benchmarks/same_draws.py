"""Same seed, same draws, whatever was compiled before: `python -m benchmarks.same_draws [model ...]`.

Three processes draw from small posteriors of all named models (by default of the catalog's): one with empty caches of
compiled code; one with other empty caches, in the reverse order; one with what the second left. `--once` compiles once: the
second process takes the caches of the first, in the reverse order. Prints the arrays whose bits differ. A model with an
option is named `dawid_skene:features`, `plackett_luce:prior_predictions` or `bradley_terry:vote_covariates`.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import warnings
from hashlib import blake2b
from typing import Any

GROUPS = ("posterior", "log_likelihood", "log_prior", "sample_stats")
NOT_DRAWN = {"process_time_diff", "perf_counter_diff", "perf_counter_start"}  # clocks, by PyMC's own NUTS


def annotations(name: str) -> Any:
    """Return a few simulated annotations for a model."""
    from raterzoo import models

    kind = models.catalog[name].data
    simulate = models.simulators
    if kind == "rankings":
        return simulate.rankings(items=8, block_sizes=(1, 2), random_seed=1).data
    if kind == "comparisons":
        return simulate.comparisons(items=8, raters=4, degree=4, tie=1.0, random_seed=1).data
    if kind == "scores":
        return simulate.scores(items=8, raters=4, random_seed=1).data
    law = (
        name if name in ("shared_guess", "multi_label") else "dawid_skene"
    )  # with groups of raters, with tags
    n = 4 if name == "multi_label" else 3
    return simulate.labels(model=law, items=30, raters=5, categories=n, random_seed=1).data


def model_of(asked: str) -> Any:
    """Return a model, with the option behind the colon of its name if there is one."""
    import numpy as np
    import xarray as xr
    from raterzoo import models

    name, _, option = asked.partition(":")
    data, rng = annotations(name), np.random.default_rng(1)
    more: dict[str, Any] = {}
    if option == "features":
        item = {"item": data.items}
        more[option] = xr.DataArray(rng.normal(size=(len(data.items), 3)), item, dims=("item", "feature"))
    elif option == "prior_predictions":
        p = rng.dirichlet(np.ones(len(data.categories)), len(data.items))
        more[option] = xr.DataArray(
            p, {"item": data.items, "category": data.categories}, ("item", "category")
        )
    elif option == "vote_covariates":
        votes = data.to_table()
        columns = {
            column: np.asarray(votes[column]).tolist() for column in ("rater", "left", "right", "winner")
        }
        more[option] = columns | {"length": rng.normal(size=len(columns["left"]))}
    elif option:
        raise SystemExit(f"{asked!r} names no option: features, prior_predictions or vote_covariates")
    return getattr(models, name)(data, **more)


def digests(name: str, options: dict[str, Any]) -> dict[str, str]:
    """Return a digest of each array of numbers drawn from one model."""
    from raterzoo import inference

    model = model_of(name)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # so few draws have not converged
        tree = inference.sample(model, draws=50, chains=2, random_seed=1, progressbar=False, **options)
    found = {}
    for group in (g for g in GROUPS if g in tree.children):
        for variable, values in tree[group].data_vars.items():
            if values.dtype.kind in "biuf" and variable not in NOT_DRAWN:
                found[f"{group}/{variable}"] = blake2b(values.to_numpy().tobytes(), digest_size=8).hexdigest()
    return found


def drawn(names: list[str], caches: str, options: dict[str, Any]) -> dict[str, dict[str, str]]:
    """Return the digests of models drawn from one after the other by a fresh process with these caches."""
    flags = f"base_compiledir={caches}/pytensor"
    environment = os.environ | {"NUMBA_CACHE_DIR": f"{caches}/numba", "PYTENSOR_FLAGS": flags}
    command = [sys.executable, __file__, "--draw", json.dumps([names, options])]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return json.loads(run.stdout.splitlines()[-1])


def differing(
    names: list[str], caches: str, options: dict[str, Any], once: bool = False
) -> dict[str, list[str]]:
    """Return, for each model, the arrays that are not the same in all processes, whose caches come to lie in `caches`."""
    runs = [drawn(names, f"{caches}/one", options)]
    if once:
        runs += [drawn(names[::-1], f"{caches}/one", options)]
    else:
        runs += [drawn(order, f"{caches}/other", options) for order in (names[::-1], names)]
    if any(run[name].keys() != runs[0][name].keys() for run in runs for name in names):
        raise RuntimeError("the processes made different variables")
    return {
        name: [own for own, bits in runs[0][name].items() if any(run[name][own] != bits for run in runs)]
        for name in names
    }


def main() -> None:
    """Compare the draws, and print a line for each model."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.same_draws", description=__doc__)
    parser.add_argument("models", nargs="*", help="all of the catalog by default")
    parser.add_argument("--method", default="auto", help="as of inference.sample; with nuts, exact laws too")
    parser.add_argument("--nuts-sampler", help="pymc or nutpie; by default nutpie where it is installed")
    parser.add_argument("--once", action="store_true", help="compile once: cold against warm caches alone")
    parser.add_argument("--draw", help=argparse.SUPPRESS)  # a fresh process
    asked = parser.parse_args()
    if asked.draw:
        names, options = json.loads(asked.draw)
        print(json.dumps({name: digests(name, options) for name in names}))
        return
    from raterzoo import models

    options = {"method": asked.method} | ({"nuts_sampler": asked.nuts_sampler} if asked.nuts_sampler else {})
    options |= {"tune": 50} if asked.method == "nuts" else {}
    names = asked.models or [n for n, e in models.catalog.items() if asked.method in ("auto", *e.methods)]
    with tempfile.TemporaryDirectory() as caches:
        found = differing(names, caches, options, asked.once)
    for name in names:
        print(f"{name}: {', '.join(found[name]) or 'the same bits'}")
    if any(found.values()):
        sys.exit(1)


if __name__ == "__main__":
    main()
