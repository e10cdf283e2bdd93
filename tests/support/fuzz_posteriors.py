"""Files of posteriors spoilt, and commands that read spoilt files: each says what it found, or what is wrong, in one line."""

import functools
import importlib
import json
import shutil
import tempfile
from pathlib import Path

import numpy as np
import xarray as xr

from tests.support.command_line import run
from tests.support.fuzz_doors import Finding, legible
from tests.support.fuzz_mutations import spoil_bytes

for _module in ("commands", "equivalence", "evaluating"):  # before the clock of a door runs
    importlib.import_module(f"raterzoo.cli.{_module}")

__all__ = [
    "HOSTILE",
    "POSTERIORS",
    "command",
    "posterior",
    "spoil_json",
    "spoil_posterior",
    "write_posterior_to",
]

ITEMS, CATEGORIES = ["i1", "i2", "i3", "i4"], ["acne", "cold", "flu"]
HOSTILE = (
    None, True, -1, 0, 1, 3, 2**31, 2**62, 10**15, 10**30, 1.5, "x", "NaN", "", [], {}, [1], [10**15], [4, 10**15], "float64",
    "int8", "object", "pickle", "string", "numcodecs.pickle", {"name": "numcodecs.pickle"}, {"name": "zstd"}, [[[[]]]],
    "../../..", "<b>",
)  # fmt: skip


@functools.cache
def posterior() -> xr.DataTree:
    """Return a small posterior of rankings or labels."""
    rng = np.random.default_rng(5)
    draws = rng.dirichlet(np.ones(3), (2, 50, 4)).astype(np.float32)
    coords = {"chain": [0, 1], "draw": np.arange(50), "item": ITEMS, "category": CATEGORIES}
    dims, said = ("chain", "draw", "item", "category"), {"truth": "distribution"}
    plausibility = xr.DataArray(draws, coords, dims, attrs=said)
    likelihood = plausibility.sum("category").drop_vars(["item"])
    tree = xr.DataTree.from_dict(
        {
            "posterior": plausibility.to_dataset(name="plausibility"),
            "log_likelihood": likelihood.to_dataset(name="observed_label"),
            "constant_data": xr.Dataset({"reliability": 1.0}),
        }
    )
    tree.attrs = {"model": "dirichlet", "method": "exact", "seed": 1, "seconds": 0.5, "versions": "{}"}
    return tree


@functools.cache
def _files(suffix: str) -> dict[str, bytes]:
    """Return the files of a posterior: one of netCDF, many of zarr."""
    with tempfile.TemporaryDirectory() as name:
        path = write_posterior_to(Path(name) / f"posterior{suffix}")
        files = [path] if path.is_file() else [p for p in sorted(path.rglob("*")) if p.is_file()]
        return {str(p.relative_to(path.parent)): p.read_bytes() for p in files}


def write_posterior_to(path: Path) -> Path:
    """Write the posterior."""
    if path.suffix == ".zarr":
        posterior().to_zarr(path, mode="w", consolidated=False)
    else:
        posterior().to_netcdf(path, engine="h5netcdf")
    return path


POSTERIORS = (".nc", ".zarr")


def spoil_posterior(suffix: str, rng, folder: Path) -> Path:
    """Write a posterior of which one file is spoilt."""
    files = dict(_files(suffix))
    name = rng.choice([*files])
    if name.endswith(".json") and rng.random() < 0.7:
        node = json.loads(files[name])
        for _ in range(rng.choice((1, 1, 2))):
            spoil_json(node, rng)
        files[name] = json.dumps(node).encode()
    elif suffix == ".zarr" and rng.random() < 0.1:
        del files[name]
    else:
        files[name] = spoil_bytes(files[name], rng, rng.choice([*files.values()]))
    root = folder / f"posterior{suffix}"
    shutil.rmtree(root, ignore_errors=True)
    for file, content in files.items():
        (folder / file).parent.mkdir(parents=True, exist_ok=True)
        (folder / file).write_bytes(content)
    return root


def spoil_json(node, rng) -> None:
    """Change something somewhere in a tree of objects and lists."""
    while node:
        key = rng.choice([*node]) if isinstance(node, dict) else rng.randrange(len(node))
        if not isinstance(node[key], dict | list) or rng.random() < 0.3:
            if rng.random() < 0.2:
                del node[key]
            else:
                node[key] = rng.choice(HOSTILE)
            return
        node = node[key]


def command(*arguments) -> None:
    """Run a command; it succeeds, or it exits with 2 and one short message."""
    result = run(*arguments)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, 2):
        raise Finding(f"exit code {result.exit_code}")
    if result.exit_code == 2 and len(result.output) > 4_000:
        raise Finding(f"a message of {len(result.output):,} characters")
    if not legible(result.output.replace("\n", "")):
        raise Finding(f"output that is not printable: {ascii(result.output)[:500]}")
    if "Traceback" in result.output:
        raise Finding("a traceback")
