"""Votes of six simulated raters, one of them called a model, on eight items, one of them with a malicious name."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import models

from tests.support.command_line import read, run, write

EVIL = "<script>alert(1)</script>"
QUICK = ("--draws", 300, "--seed", 3)


@pytest.fixture(scope="module")
def votes(tmp_path_factory):
    simulated = models.simulators.comparisons(
        items=8, raters=6, degree=7, alpha=1, tie=1.0, random_seed=11
    ).data
    table = simulated.to_table()
    names = np.array([f"item {i}" for i in range(7)] + [EVIL])
    table |= {side: names[table[side]] for side in ("left", "right")}
    table["rater"] = np.array([f"rater {k}" for k in range(6)])[table["rater"]]
    table["kind"] = np.where(table["rater"] == "rater 0", "model", "person")
    return write(tmp_path_factory.mktemp("votes") / "votes.csv", table)


@pytest.fixture(scope="module")
def pairs(votes):
    return models.Comparisons.from_table({n: [r[n] for r in read(votes)] for n in read(votes)[0]})


@pytest.fixture(scope="module")
def tree(votes, tmp_path_factory):
    path = tmp_path_factory.mktemp("posterior") / "posterior.nc"
    result = run("fit", votes, "--kind", "comparisons", "-o", path, *QUICK)
    assert result.exit_code == 0 and "converged" in result.output, result.output
    return xr.open_datatree(path, engine="h5netcdf")
