"""Write the golden files of this version: `python tests/golden/write.py`.

Later versions must read them and get the same numbers. Those of a version that was released are never written again.
"""

import json
import shutil
import sys
import warnings
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

import raterzoo
from raterzoo import inference

from tests.support.command_line import run
from tests.support.golden_files import (
    GOLDEN,
    SOURCES,
    container_of,
    model_of,
    numbers_of,
    tables,
    write_table,
)
from tests.support.stores import write_posterior


def write_posteriors(folder):
    """Write every posterior as netCDF and as a zarr store, and what is to be read out of them."""
    expected, posteriors = {}, folder / "posteriors"
    for name, source in SOURCES.items():
        tree = inference.sample(
            model_of(name, container_of(folder, source)),
            draws=10, chains=2, cores=1, random_seed=7, progressbar=False,
        )  # fmt: skip
        tree.attrs.pop("seconds")
        expected[name] = numbers_of(name, tree)
        write_posterior(tree, posteriors / f"{name}.nc")
        write_posterior(tree, posteriors / f"{name}.zarr")
    (folder / "numbers.json").write_text(json.dumps(expected, indent=1) + "\n")


def write_report(folder):
    """Write what a report says, and the posterior it says it of."""
    report = folder / "report"
    result = run(
        "report", folder / "labels.csv", "--kind", "labels", "--draws", 50, "--chains", 2, "--out", report
    )  # fmt: skip
    assert result.exit_code == 0, (result.output, result.exception)
    shutil.move(report / "report.json", folder / "report.json")
    shutil.move(report / "posterior.nc", folder / "posteriors" / "report.nc")
    shutil.rmtree(report)


if __name__ == "__main__":
    folder = GOLDEN / raterzoo.__version__
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    warnings.simplefilter("ignore")  # so few draws have not converged
    for source, table in tables().items():
        write_table(folder / f"{source}.csv", table)
    write_posteriors(folder)
    write_report(folder)
    shutil.make_archive(str(folder / "posteriors"), "xztar", folder / "posteriors")
    shutil.rmtree(folder / "posteriors")
    print(sum(path.stat().st_size for path in folder.iterdir()), "bytes in", folder)
