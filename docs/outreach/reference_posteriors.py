"""Reference posteriors in the layout of posteriordb: `python -m docs.outreach.reference_posteriors`.

NUTS draws ten chains from the models in PyMC, of which every tenth draw is kept. Nothing is written unless these meet the
criteria of that project (its doc/REFERENCE_POSTERIOR_DEFINITION.md). The same versions give the same draws.
"""

import json
import runpy
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

import arviz as az
import numpy as np
import pymc as pm
import xarray as xr

HOME = Path(__file__).parent / "posterior_database"
ADDED = {"added_by": "the raterzoo developers", "added_date": "2026-11-28"}
SETTINGS = {"chains": 10, "iter": 11000, "warmup": 1000, "thin": 10, "seed": 4711}
ACCEPT = 0.9
POSTERIORS = {  # data -> model, variables with their shape
    "simulated_labels": ("dawid_skene", {"pi": (2,), "theta": (5, 2, 2)}),
    "simulated_tree_votes": ("bradley_terry_davidson", {"quality": (12,), "sigma": (), "nu": ()}),
}
DIGITS = 7


def write_zip(path: Path, content: Any) -> None:
    """Write JSON as the one member of a zip archive, whose bytes do not depend on when it is written."""
    member = ZipInfo(path.with_suffix("").name, (2026, 11, 28, 0, 0, 0))
    with ZipFile(path, "w", ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr(member, json.dumps(content), ZIP_DEFLATED, 9)


def write_json(path: Path, content: Any) -> None:
    """Write readable JSON."""
    path.write_text(json.dumps(content, indent=2) + "\n")


def names_of(variables: dict[str, tuple[int, ...]]) -> dict[str, tuple[str, tuple[int, ...]]]:
    """Return the names of scalars, such as theta[1,2,1], with the variable and the place of each."""
    found = {}
    for name, shape in variables.items():
        for place in np.ndindex(shape):
            label = f"{name}[{','.join(str(k + 1) for k in place)}]" if place else name
            found[label] = name, place
    return found


def drawn(model: str, data: dict[str, Any]) -> xr.DataTree:
    """Return the thinned tree of the model in PyMC, drawn by NUTS."""
    build = runpy.run_path(str(HOME / "models" / "pymc" / f"{model}.py"))["model"]
    tree = pm.sample(
        model=build(data), draws=SETTINGS["iter"] - SETTINGS["warmup"], tune=SETTINGS["warmup"],
        chains=SETTINGS["chains"], cores=1, random_seed=SETTINGS["seed"], nuts_sampler="nutpie", target_accept=ACCEPT,
        progressbar=False, compute_convergence_checks=False,
    )  # fmt: skip
    return tree.isel(draw=slice(None, None, SETTINGS["thin"]))


def diagnosed(draws: list[dict[str, list[float]]]) -> dict[str, list[float]]:
    """Return ESS and R-hat of each scalar, from the draws as they are written."""
    arrays = {name: (("chain", "draw"), [chain[name] for chain in draws]) for name in draws[0]}
    posterior = xr.Dataset(arrays)
    return {
        "effective_sample_size_bulk": _listed(az.ess(posterior, method="bulk")),
        "effective_sample_size_tail": _listed(az.ess(posterior, method="tail")),
        "r_hat": _listed(az.rhat(posterior)),
    }


def _listed(values: xr.Dataset) -> list[float]:
    """Return the numbers of scalars in their order."""
    return [float(value) for value in values.data_vars.values()]


def checks(diagnostics: dict[str, Any]) -> dict[str, bool]:
    """Return the criteria of a reference posterior, and whether they are met."""
    n = diagnostics["ndraws"]
    reach = 4 * np.sqrt(7 * n)  # of the ESS of independent draws
    sizes = [*diagnostics["effective_sample_size_bulk"], *diagnostics["effective_sample_size_tail"]]
    return {
        "ndraws_is_10k": n == 10_000,
        "nchains_is_gte_4": diagnostics["nchains"] >= 4,
        "ess_within_bounds": all(abs(size - n) <= reach for size in sizes),
        "r_hat_below_1_01": all(value < 1.01 for value in diagnostics["r_hat"]),
        "efmi_above_0_2": all(v > 0.2 for v in diagnostics["expected_fraction_of_missing_information"]),
    }


def write(data_name: str) -> None:
    """Write data, posterior and reference draws of one posterior; SystemExit if a criterion is not met."""
    model, variables = POSTERIORS[data_name]
    name = f"{data_name}-{model}"
    data = runpy.run_path(str(HOME / "data" / "data-raw" / data_name / f"{data_name}.py"))["values"]()
    tree = drawn(model, data)
    found = {variable: tree["posterior"][variable].to_numpy() for variable in variables}
    scalars = names_of(variables)
    draws = [
        {
            label: [float(f"{x:.{DIGITS}g}") for x in found[variable][(chain, slice(None), *place)].ravel()]
            for label, (variable, place) in scalars.items()
        }
        for chain in range(SETTINGS["chains"])
    ]
    statistics = tree["sample_stats"]
    diagnostics = {
        "diagnostic_information": {"names": list(scalars)},
        "ndraws": sum(len(next(iter(chain.values()))) for chain in draws),
        "nchains": len(draws),
        **diagnosed(draws),
        "divergent_transitions": statistics["diverging"].sum("draw").to_numpy().astype(int).tolist(),
        "expected_fraction_of_missing_information": az.bfmi(tree)["energy"].to_numpy().tolist(),
    }
    made = checks(diagnostics)
    if not all(made.values()) or any(diagnostics["divergent_transitions"]):
        sys.exit(f"{name}: {made}, of {diagnostics}")
    arguments = SETTINGS | {"control": {"adapt_delta": ACCEPT}}
    information = {
        "name": name,
        "inference": {"method": "pymc_sampling", "method_arguments": arguments},
        "diagnostics": diagnostics,
        "checks_made": made,
        "comments": None,
        **ADDED,
        "versions": {f"{own}_version": version(own) for own in ("pymc", "nutpie", "pytensor", "raterzoo")}
        | {"python_version": sys.version.split()[0]},
    }
    reference = HOME / "reference_posteriors" / "draws"
    write_zip(HOME / "data" / "data" / f"{data_name}.json.zip", data)
    write_zip(reference / "draws" / f"{name}.json.zip", draws)
    write_json(reference / "info" / f"{name}.info.json", information)
    dimensions = {variable: int(np.prod(shape)) for variable, shape in variables.items()}
    entry = {"name": name, "keywords": ["annotation", "simulated"], "model_name": model}
    entry |= {"reference_posterior_name": name, "data_name": data_name, "dimensions": dimensions, **ADDED}
    write_json(HOME / "posteriors" / f"{name}.json", entry)


if __name__ == "__main__":
    for one in sys.argv[1:] or POSTERIORS:
        write(one)
