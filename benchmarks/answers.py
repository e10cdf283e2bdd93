"""Answers that are more than a category: laws that read them beside the flat treatment of the same answers.

    python -m benchmarks.answers no_answer --studies 20

A study is drawn, fitted in each way, and judged against its truth. Rows: share right, log loss, claim less share right, and their
95 % intervals over the studies; differences are paired by study.
"""

import argparse
import json
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from raterzoo import inference, models

UNSURE = "unsure"
Row = dict[str, float]


# --- 1. Answers that are no truth ---


def study_of_unsure(
    rng: np.random.Generator, why: str, items: int = 500
) -> tuple[np.ndarray, dict[str, Any]]:
    """Return truth and table of 12 raters, five an item, who are unsure of hard items, or of one category, or at random."""
    truth = rng.choice(3, items, p=[0.5, 0.35, 0.15])
    hard, ability = rng.beta(2, 2, items), rng.normal(1.6, 0.6, 12)
    rows = []
    for i in range(items):
        for k in rng.choice(12, 5, replace=False):
            q = 1 / (1 + np.exp(-(ability[k] + 1.5 - 4 * hard[i])))
            unsure = {"difficulty": 0.63 * (1 - q), "truth": [0.05, 0.05, 0.5][truth[i]], "chance": 0.15}[why]
            if rng.random() < unsure:
                said = UNSURE
            else:
                said = str(truth[i] if rng.random() < q + (1 - q) / 3 else rng.integers(3))
            rows.append((i, int(k), said))
    return truth, dict(zip(("item", "rater", "label"), zip(*rows, strict=True), strict=True))


def judged(tree: Any, truth: np.ndarray) -> Row:
    """Return the figures of a posterior against the truth of its items, named 0 to 2."""
    mean = tree["posterior"]["plausibility"].mean(("chain", "draw"))
    named = mean["category"].to_numpy().astype(str)
    p = np.zeros((len(truth), 4))
    for place, name in enumerate(named):
        p[mean["item"].to_numpy(), 3 if name == UNSURE else int(name)] = mean.to_numpy()[:, place]
    best = p.argmax(axis=1)
    right = best == truth
    found = {
        "right": right.mean(),
        "log loss": -np.log(np.maximum(p[np.arange(len(truth)), truth], 1e-6)).mean(),
        "claim - right": p.max(axis=1).mean() - right.mean(),
        "no truths": float((best == 3).sum()),
    }
    prevalence = tree["posterior"]["prevalence"].to_numpy().reshape(-1, len(named))
    inside = [
        lower <= share <= upper
        for share, lower, upper in zip(
            [0.5, 0.35, 0.15], *np.quantile(prevalence[:, :3], [0.05, 0.95], axis=0), strict=True
        )
    ]
    return found | {"prevalence covers": float(np.mean(inside))}


def no_answer(why: str, seed: int, draws: int) -> dict[str, Row]:
    """Return the figures of one study in each treatment."""
    truth, table = study_of_unsure(np.random.default_rng([44, seed]), why)
    with_word = models.Labels.from_table(table)
    apart = models.Labels.from_table(table, no_answer=UNSURE)
    ways = {
        "category": models.dawid_skene(with_word),
        "dropped": models.dawid_skene(apart, no_answer="ignored"),
        "rectangular": models.dawid_skene(apart),
    }
    found = {}
    for way, model in ways.items():
        begun = time.process_time()
        tree = inference.sample(model, draws=draws, random_seed=seed, cores=1, progressbar=False)
        found[way] = judged(tree, truth) | {"CPU s": time.process_time() - begun}
    return found


WORLDS: dict[str, tuple[tuple[str, ...], Callable[[str, int, int], dict[str, Row]], str]] = {
    "no_answer": (("truth", "difficulty", "chance"), no_answer, "dropped")
}


def interval(values: np.ndarray) -> str:
    """Return mean and 95 % interval of the mean."""
    half = 1.96 * values.std(ddof=1) / np.sqrt(len(values))
    return f"{values.mean():8.4f} +- {half:.4f}"


def main() -> None:
    """Run the studies of a section, and print figures and paired differences from the flat treatment."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("section", choices=WORLDS)
    parser.add_argument("--studies", type=int, default=20)
    parser.add_argument("--draws", type=int, default=500)
    parser.add_argument("--json", help="file for the figures of every study")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    worlds, run, flat = WORLDS[options.section]
    every = {}
    for world in worlds:
        every[world] = studies = [run(world, seed, options.draws) for seed in range(options.studies)]
        for way in studies[0]:
            for name in studies[0][way]:
                own = np.array([study[way][name] for study in studies])
                than = own - np.array([study[flat].get(name, np.nan) for study in studies])
                print(
                    f"{world:12} {way:12} {name:18} {interval(own)}   less {flat}: {interval(than)}",
                    flush=True,
                )
    if options.json:
        with open(options.json, "w") as file:
            json.dump(every, file)


if __name__ == "__main__":
    main()
