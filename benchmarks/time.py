"""Judges that change, answers that arrive: `python -m benchmarks.time CELL [studies]`; cells by `CELLS`."""

import sys
import time
import warnings
from collections.abc import Callable
from itertools import product

import numpy as np
from raterzoo import evaluation, inference, models

QUIET = {"random_seed": 1, "progressbar": False}


# --- Did the judge change? ---


def confused(
    rng: np.random.Generator, confusion: np.ndarray, truth: np.ndarray, u: np.ndarray | None = None
) -> np.ndarray:
    """Labels by a confusion matrix; `u` are uniform numbers, (item,)."""
    u = rng.random(len(truth)) if u is None else u
    return (u[:, None] > confusion[truth].cumsum(axis=1)).sum(axis=1).clip(0, len(confusion) - 1)


def judge_study(
    seed: list[int], change: float, dependent: float, common: str, categories: int = 2
) -> tuple[bool, ...]:
    """Simulate two runs of 300 items, and 100 that both versions and three people label.

    `common` says from which run these are. Returns whether intervals cover the parts of judge and items, and whether the judge
    seems to have changed.
    """
    rng = np.random.default_rng(seed)
    shares = rng.dirichlet(np.full(categories, 5.0), 2)
    old = 0.8 * np.eye(categories) + 0.2 * rng.dirichlet(np.ones(categories), categories)
    new = (1 - change) * old + change * rng.dirichlet(np.ones(categories), categories)
    person = 0.75 * np.eye(categories) + 0.25 / categories
    rows: dict[str, list[tuple[str, str, int]]] = {"old": [], "new": []}

    def add(name: str, n: int, share: np.ndarray, versions: str, people: int) -> None:
        truth, u = rng.choice(categories, n, p=share), rng.random(n)
        for version in versions.split():
            own = np.where(rng.random(n) < dependent, u, rng.random(n))
            labels = confused(rng, old if version == "old" else new, truth, own)
            rows[version] += [(f"{name}{i}", "judge", int(label)) for i, label in enumerate(labels)]
        for k in range(people):
            rows["old"] += [
                (f"{name}{i}", f"p{k}", int(label)) for i, label in enumerate(confused(rng, person, truth))
            ]

    add("common ", 100, shares[0] if common == "old" else shares.mean(axis=0), "old new", 3)
    add("old ", 300, shares[0], "old", 0)
    add("new ", 300, shares[1], "new", 0)
    runs = [
        models.Labels.from_table(
            dict(zip(("item", "rater", "label"), zip(*own, strict=True), strict=True)),
            categories=range(categories),
        )
        for own in rows.values()
    ]
    tree = inference.sample(
        models.correlated_votes(models.two_runs(*runs, ["judge"])), draws=300, chains=2, **QUIET
    )
    found = evaluation.judge_change(tree, dict(zip(range(categories), np.eye(categories)[0], strict=True)))
    true = {
        "by_judge": (shares.mean(axis=0) @ (new - old))[0],
        "by_items": ((shares[1] - shares[0]) @ (old + new))[0] / 2,
    }
    ends = {name: found[name].quantile([0.05, 0.95]).to_numpy() for name in true}
    covered = [bool(ends[name][0] <= value <= ends[name][1]) for name, value in true.items()]
    return (*covered, bool(found["changed"].item()))


def judge(studies: int) -> None:
    """Coverage of the parts of a drift, and how often a judge seems to have changed."""
    print("change  dependent  common  covered: judge  items  changed  CPU s")
    for change, dependent, common in product((0.0, 0.3), (0.0, 0.8), ("old", "both")):
        begun = time.process_time()
        found = [
            judge_study([k, int(10 * change), int(10 * dependent)], change, dependent, common)
            for k in range(studies)
        ]
        cost = (time.process_time() - begun) / studies
        print(
            f"{change:6} {dependent:9} {common:>7}",
            *np.mean(found, axis=0).round(3),
            round(cost, 2),
            flush=True,
        )


CELLS: dict[str, Callable[[int], None]] = {"judge": judge}


if __name__ == "__main__":
    warnings.simplefilter("ignore")  # of short runs
    CELLS[sys.argv[1]](int(sys.argv[2]) if len(sys.argv) > 2 else 20)
