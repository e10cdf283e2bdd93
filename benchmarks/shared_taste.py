"""Groups of raters who share a taste: intervals of qualities. `python -m benchmarks.shared_taste [simulated|llmfao]`.

Simulated: people and two kinds of judges vote on 40 items; the judges of a kind share a taste, or none. Printed are, over
repetitions, the share of 90 % intervals of the qualities that hold the truth, and their mean width, by the votes of people alone,
by all votes of raters who are taken as independent, and by all votes with `groups="kind", independent="person"`. LLMFAO (with
``RATERZOO_DATA``): the same three, of the leaderboard of 59 language models by 124 people and two models that judge.
"""

import argparse
import os
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["fits"]

PROB = 0.9
SHARED: dict[str, Any] = {"groups": "kind", "independent": ("person",)}
RELIABILITY = 3.0  # of all simulated raters; qualities are from 0 to 1


def fits(votes: Any, **options: Any) -> dict[str, tuple[Any, float]]:
    """Return posteriors of the votes of people, of all as independent, and of all with shared tastes, and their CPU seconds."""
    from raterzoo import inference, models

    drawing = {key: options.pop(key) for key in ("draws", "chains") if key in options}
    table = {name: np.asarray(column) for name, column in votes.to_table().items()}
    people = table["kind"] == "person"
    of_people = models.Comparisons.from_table(
        {name: column[people] for name, column in table.items()}, items=votes.items, rater_attributes=["kind"]
    )
    found = {}
    for name, data, own in (("people", of_people, {}), ("independent", votes, {}), ("shared", votes, SHARED)):
        began = time.process_time()
        model = models.bradley_terry(data, **options, **own)
        tree = inference.sample(model, random_seed=1, progressbar=False, log_likelihood=False, **drawing)
        found[name] = (tree, time.process_time() - began)
    return found


def simulations(repetitions: int) -> None:
    """Print coverage and width of intervals, with a taste that is shared and without."""
    from raterzoo import models

    for taste in (0.3, 0.1, 1e-9):
        rows: dict[str, list[tuple[float, float]]] = {}
        for seed in range(repetitions):
            drawn = models.simulators.comparisons(
                items=40,
                raters=30,
                reliability_range=(RELIABILITY, RELIABILITY),
                taste=taste,
                random_seed=seed,
            )
            quality = drawn.truth["quality"]
            truth = RELIABILITY * (quality - quality.mean())
            options = {"reliability": "shared", "draws": 500, "chains": 2}
            for name, (tree, _) in fits(drawn.data, **options).items():
                low, high = intervals(tree)
                held = ((low < truth) & (truth < high)).mean()
                rows.setdefault(name, []).append((held, (high - low).mean()))
        for name, own in rows.items():
            held, width = np.mean(own, axis=0)
            print(
                f"taste {RELIABILITY * taste:.1f}, {name}: {held:.3f} of the 90 % intervals hold, width {width:.2f}",
                flush=True,
            )


def intervals(tree: Any) -> tuple[np.ndarray, np.ndarray]:
    """Return lower and upper ends (item,) of the central intervals of the qualities."""
    low, high = (
        tree["posterior"]["quality"].quantile([(1 - PROB) / 2, (1 + PROB) / 2], ("chain", "draw")).to_numpy()
    )
    return low, high


def llmfao() -> None:
    """Print widths of the intervals of qualities and ranks of the leaderboard, and the tastes of the judges."""
    import pandas as pd
    from raterzoo import evaluation, inference, models

    folder = Path(os.environ["RATERZOO_DATA"])
    people = pd.read_csv(folder / "llmfao_crowd_comparisons.csv").rename(columns={"worker": "rater"})
    judges = [
        pd.read_csv(folder / f"llmfao_{judge}_comparisons.csv").assign(rater=judge, kind="model")
        for judge in ("gpt3", "gpt4")
    ]
    table = pd.concat([people.assign(kind="person"), *judges]).astype({"rater": str})
    votes = models.Comparisons.from_table(table, rater_attributes=["kind"])
    found = fits(votes)
    for name, (tree, seconds) in found.items():
        low, high = intervals(tree)
        ranks = evaluation.rank_intervals(tree, PROB)
        places = float((ranks["upper"] - ranks["lower"]).mean())
        print(
            f"{name}: width of a quality {(high - low).mean():.2f}, of a rank {places:.1f}; "
            f"{seconds:.0f} CPU s, {inference.diagnose(tree).attrs['verdict']}",
            flush=True,
        )
    low, high = intervals(found["shared"][0])
    outside = {
        name: float(((mean < low) | (mean > high)).mean())
        for name in ("people", "independent")
        for mean in [found[name][0]["posterior"]["quality"].mean(("chain", "draw")).to_numpy()]
    }
    scale = found["shared"][0]["posterior"]["taste_scale"].quantile([0.05, 0.5, 0.95]).to_numpy()
    print(f"means outside the intervals of shared: {outside}; taste_scale {np.round(scale, 2)}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.shared_taste", description=__doc__)
    parser.add_argument("what", choices=("simulated", "llmfao"), nargs="?", default="simulated")
    parser.add_argument("--repetitions", type=int, default=8)
    asked = parser.parse_args()
    warnings.simplefilter("ignore")
    llmfao() if asked.what == "llmfao" else simulations(asked.repetitions)
    sys.exit(0)
