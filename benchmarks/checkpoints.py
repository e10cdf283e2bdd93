"""What a crash-safe store costs beside a run in memory: `python benchmarks/checkpoints.py`, data as of dermatology.py.

Prints CPU and wall seconds of both, after compilation, and asserts that they drew the same bits.
"""

import tempfile
import warnings
from functools import partial
from pathlib import Path

import numpy as np
from raterzoo import inference, models

from tests.support.dermatology import QUIET, measured, read


def main(draws: int = 1000) -> None:
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    model = models.plackett_luce(read(), reliability=3)
    inference.sample(model, draws=2, tune=1, thin=1, **QUIET)  # compiles
    with tempfile.TemporaryDirectory() as folder:
        store = Path(folder) / "run.zarr"
        sample = partial(inference.sample, model, draws=draws, **QUIET)
        stored = measured(f"{draws} draws of 4 chains, to a store", lambda: sample(store=store))
        memory = measured(f"{draws} draws of 4 chains, in memory", sample)
        for group in ("posterior", "log_likelihood", "log_prior"):
            for name, array in memory[group].data_vars.items():
                same = np.array_equal(array, stored[group][name], equal_nan=True)
                assert same, f"{group}/{name} differs"
        size = sum(file.stat().st_size for file in store.rglob("*") if file.is_file())
        print(f"the store has {size / 2**20:,.0f} MiB")


if __name__ == "__main__":
    main()
