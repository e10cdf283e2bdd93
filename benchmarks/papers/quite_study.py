"""Estimators of comparisons against the bound, over N and alpha: `python -m benchmarks.papers.quite_study` adds to its record.

Simulated as in section 6 of Nordio, Tarable and Leonardi (2023). Misranked: the share of all pairs in the wrong order. Error: the
centred squared error with the best scale, over the centred bound. Cells that the record has in full are not run again.
"""

import argparse
import json
import os
import time
import warnings
from contextlib import suppress
from itertools import product
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import xarray as xr
from raterzoo import inference, models, papers

from benchmarks.quite import BTL, THURSTONE, Cell, simulated

RECORD = Path(__file__).with_name("quite_study.json")
METHODS = ("QUITE", "joint ML", "AG as printed", "posterior mean")
ITEMS, ALPHAS = (40, 100, 200, 400), (0.1, 0.2, 0.5, 1.0)
SLOW = {(BTL, 400, 0.5), (BTL, 400, 1.0), (THURSTONE, 200, 1.0), *product([THURSTONE], [400], ALPHAS[1:])}
"""Cells with 24 data sets of the alternating gradient, which takes about a second of CPU time each; the others have 200."""
SLOWEST = SLOW - {(THURSTONE, 200, 1.0)}
"""Cells with 24 data sets of every method: 200 would take two to eight CPU minutes in each."""
POSTERIORS = {40: 20, 100: 6, 200: 0, 400: 0}
"""Data sets of which the posterior mean is computed, by number of items."""


def compared(cell: Cell, seed: int) -> dict[str, tuple[float, float]]:
    """Return the share of misranked pairs, and the centred error over the bound, of each method on one data set."""
    drawn = simulated(cell, seed)
    data, coords = drawn.data, {"item": drawn.data.items}
    truth = xr.DataArray(drawn.truth["quality"], coords, ("item",))
    bound = float(papers.bayesian_cramer_rao_bound(data, link=cell.link)["centred"])
    found = {"QUITE": inference.quite(data, link=cell.link)}
    if seed < 24 or (cell.link, cell.items, cell.alpha) not in SLOW:
        found["AG as printed"] = papers.alternating_gradient(data, link=cell.link, random_seed=seed)
    with suppress(models.DataError):  # an item that won or lost all its votes: no maximum
        found["joint ML"] = papers.joint_mle(data, link=cell.link)
    if seed < POSTERIORS[cell.items]:
        model = getattr(models, cell.link)(data, reliability_range=(1, 20))
        run = {"chains": 2, "cores": 1, "progressbar": False, "log_likelihood": False, "random_seed": seed}
        tree = inference.sample(model, draws=250, **run)
        found["posterior mean"] = tree["posterior"].to_dataset().mean(("chain", "draw"))
    return {
        name: (
            float(1 - papers.quality_concordance(estimate, truth)) / 2,
            float(papers.mean_squared_error(estimate, truth, scale="oracle")) / bound,
        )
        for name, estimate in found.items()
    }


def summary(found: list[dict[str, tuple[float, float]]]) -> dict[str, dict[str, float]]:
    """Return number of data sets, means and standard errors of each method."""
    result = {}
    for name in METHODS:
        values = np.array([own[name] for own in found if name in own])
        if len(values) > 1:
            mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
            pairs = zip(("misranked", "error"), mean, error, strict=True)
            result[name] = {"data sets": len(values)} | {
                key: float(f"{value:.4g}")
                for what, m, e in pairs
                for key, value in ((what, m), (f"{what} se", e))
            }
    return result


def main() -> None:
    """Run the cells that are not recorded, cheapest first, until the CPU time is spent."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--minutes", type=float, default=25, help="CPU minutes")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    record = json.loads(RECORD.read_text()) if RECORD.exists() else {}
    for items, link, alpha in product(ITEMS, (BTL, THURSTONE), ALPHAS):
        data_sets = 24 if (link, items, alpha) in SLOWEST else 200
        name = f"{link} N={items} alpha={alpha:g}"
        before = record.get(name, {}).get("QUITE", {}).get("data sets", 0)
        if before >= data_sets:
            continue
        found: list[dict[str, tuple[float, float]]] = []
        while len(found) < data_sets and time.process_time() < 60 * options.minutes:
            found.append(compared(Cell("study", link, items, alpha), len(found)))
        if len(found) > max(before, 1):
            record[name] = summary(found)
            RECORD.write_text(json.dumps(record, indent=1) + "\n")
            print(name, f"{time.process_time():.0f} CPU s", flush=True)


if __name__ == "__main__":
    main()
