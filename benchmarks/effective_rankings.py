"""Certainties of dermatologists whose rankings count by their effective number.

`RATERZOO_DATA=... python -m benchmarks.effective_rankings`.
Cases of Stutz et al. (2025), drawn at random: how certain the most plausible condition and the three most plausible ones are, by
`plackett_luce` at reliabilities 1 and 3, and where the rankings of a case count by their effective number. Powers below one are
drawn by NUTS.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np
import pandas as pd
from raterzoo import evaluation, inference, models

RELIABILITIES, CORRELATIONS = (1, 3), (0.1, 0.35, 0.6)


def cases(number: int) -> models.PartialRankings:
    """Return so many cases."""
    table = pd.read_csv(Path(os.environ["RATERZOO_DATA"]) / "dermatology_ddx_long.csv")
    table = table.assign(rank=table["block"] + 1)
    rankings = models.PartialRankings.from_table(table, item="case", rater="reader", category="condition")
    chosen = np.random.default_rng(1).permutation(len(rankings.items))[:number]
    return rankings.select(items=rankings.items[np.sort(chosen)])


def main(arguments: list[str]) -> None:
    """Print a row for each way of counting."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--cases", type=int, default=100)
    rankings = cases(parser.parse_args(arguments).cases)
    number = np.bincount(rankings.annotation_item)
    print(f"{len(rankings.items)} cases, {number.mean():.1f} rankings each\n")
    print(
        "| rankings count as | reliability of each | the first | the three first | over .95 sure of the first | R-hat |"
    )
    print("| --- | --- | --- | --- | --- | --- |")
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    ways = [(f"{r:g} each", {"reliability": r}) for r in RELIABILITIES]
    ways += [
        (f"effective, rho = {rho:g}", {"reliability": "effective", "vote_correlation": rho})
        for rho in CORRELATIONS
    ]
    for name, options in ways:
        model = models.plackett_luce(rankings, **options)
        begun = time.process_time()
        chains = {"draws": 400, "tune": 400, "chains": 2, "cores": 1, "log_likelihood": False}
        tree = inference.sample(model, random_seed=1, progressbar=False, **chains)
        seconds = time.process_time() - begun
        first, third = (evaluation.annotation_certainty(tree, top=k).to_numpy() for k in (1, 3))
        power = np.atleast_1d(model["reliability"].get_value()).mean()
        r_hat = float(inference.diagnose(tree)["r_hat"].max())
        figures = f"{power:.2f} | {first.mean():.3f} | {third.mean():.3f} | {(first > 0.95).mean():.2f} | {r_hat:.3f}"
        print(f"| {name} | {figures} |", flush=True)
        print(f"{tree.attrs['method']}, {seconds:.0f} CPU s", file=sys.stderr, flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
