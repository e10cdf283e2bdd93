"""Coverage of rectified estimates: `python -m benchmarks.rectified [simulations]` prints the table of docs/rectified.md."""

import sys
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import xarray as xr
from raterzoo import evaluation
from scipy.stats import binom

ITEMS, PEOPLE, DRAWS = 1000, 200, 400
ACCURACY, GOOD_JUDGE = 0.8, 0.9  # probabilities that the classifier and the judge are right
PERSON, VOTES = 0.8, 3  # people who may err, and how many of them label an item
GRID = np.linspace(0.0005, 0.9995, 500)


class Study(NamedTuple):
    """Simulated items: whether the classifier is right, truly and by the judge, and the items with people."""

    right: np.ndarray  # (item,)
    judged: np.ndarray  # (item,)
    chosen: np.ndarray  # (n,), positions
    accuracy: float  # in the population
    options: dict[str, np.ndarray] = {}  # noqa: RUF012 (never changed)
    certain: bool = True  # whether people make no errors


def by_a_judge(rng: np.random.Generator, right: np.ndarray, skill: float = GOOD_JUDGE) -> np.ndarray:
    """Scores by a judge whose errors are independent of everything."""
    return right ^ (rng.random(len(right)) > skill)


def simple(rng: np.random.Generator, n: int = PEOPLE, accuracy: float = ACCURACY) -> Study:
    """Simple random sample."""
    right = rng.random(ITEMS) < accuracy
    return Study(right, by_a_judge(rng, right), rng.choice(ITEMS, n, replace=False), accuracy)


def few(rng: np.random.Generator) -> Study:
    """Simple random sample of 30 items."""
    return simple(rng, 30)


def rare(rng: np.random.Generator) -> Study:
    """Simple random sample of 100 items, of a classifier that is seldom wrong."""
    return simple(rng, 100, 0.95)


def half(rng: np.random.Generator) -> Study:
    """Simple random sample of every other item."""
    return simple(rng, ITEMS // 2)


def stratified(rng: np.random.Generator) -> Study:
    """Four strata of unequal size and accuracy, 50 items of each given to people."""
    share, accuracy = np.array([0.5, 0.25, 0.15, 0.1]), np.array([0.9, 0.8, 0.7, 0.5])
    stratum = np.repeat(np.arange(4), np.rint(share * ITEMS).astype(int))
    right = rng.random(ITEMS) < accuracy[stratum]
    chosen = [rng.choice(np.flatnonzero(stratum == s), 50, replace=False) for s in range(4)]
    judged = by_a_judge(rng, right)
    return Study(right, judged, np.concatenate(chosen), float(share @ accuracy), {"strata": stratum})


def clustered(rng: np.random.Generator) -> Study:
    """Clusters of five items that share an accuracy, 60 of 200 given to people whole."""
    cluster = np.repeat(np.arange(ITEMS // 5), 5)
    accuracy = rng.beta(4 * ACCURACY, 4 * (1 - ACCURACY), ITEMS // 5)
    right = rng.random(ITEMS) < accuracy[cluster]
    chosen = rng.choice(ITEMS // 5, 60, replace=False)
    judged = by_a_judge(rng, right)
    return Study(right, judged, np.flatnonzero(np.isin(cluster, chosen)), ACCURACY, {"clusters": cluster})


def unequal(rng: np.random.Generator) -> Study:
    """Hard items are given to people with a probability of up to six times that of easy ones, independently."""
    difficulty = rng.random(ITEMS)
    right = rng.random(ITEMS) < 0.95 - 0.3 * difficulty
    probability = 0.06 + 0.3 * difficulty
    chosen = np.flatnonzero(rng.random(ITEMS) < probability)
    return Study(right, by_a_judge(rng, right), chosen, ACCURACY, {"sampling": probability})


def useless(rng: np.random.Generator) -> Study:
    """A judge who guesses."""
    right = rng.random(ITEMS) < ACCURACY
    return Study(right, by_a_judge(rng, right, 0.5), rng.choice(ITEMS, PEOPLE, replace=False), ACCURACY)


def lenient(rng: np.random.Generator) -> Study:
    """A judge who believes most errors of the classifier."""
    right = rng.random(ITEMS) < ACCURACY
    judged = rng.random(ITEMS) < np.where(right, 0.98, 0.6)
    return Study(right, judged, rng.choice(ITEMS, PEOPLE, replace=False), ACCURACY)


def unsure(rng: np.random.Generator) -> Study:
    """Three people who are right with probability .8, and a posterior that has seen the predictions."""
    return simple(rng)._replace(certain=False)


DESIGNS: dict[str, Callable[[np.random.Generator], Study]] = {
    "simple random sample": simple,
    "the same, 30 items with people": few,
    "the same, 100 items, five of them wrong": rare,
    "the same, half of the items": half,
    "four strata": stratified,
    "clusters of five": clustered,
    "unequal known probabilities": unequal,
    "judge who guesses": useless,
    "lenient judge": lenient,
    "three unsure people an item": unsure,
}


def posterior_of(study: Study, rng: np.random.Generator) -> np.ndarray:
    """Draws (draw, n) of the probability that the classifier is right, given the answers of people."""
    right = study.right[study.chosen]
    if study.certain:
        return np.broadcast_to(right.astype(float), (DRAWS, len(right)))
    said = right[:, None] ^ (rng.random((len(right), VOTES)) > PERSON)
    odds = np.where(said, PERSON / (1 - PERSON), (1 - PERSON) / PERSON).prod(axis=1)
    log_p = np.log(GRID[:, None] * odds + 1 - GRID[:, None]).sum(axis=1)
    weight = np.exp(log_p - log_p.max())
    accuracy = rng.choice(GRID, DRAWS, p=weight / weight.sum())[:, None]
    return accuracy * odds / (accuracy * odds + 1 - accuracy)


def estimate(study: Study, rng: np.random.Generator) -> xr.Dataset:
    """Rectify the accuracy of a study."""
    probability = posterior_of(study, rng)
    items = np.arange(len(study.right))
    coords = {"item": items[study.chosen], "category": ["wrong", "right"]}
    values = np.stack([1 - probability, probability], axis=-1)[None]
    tree = xr.DataArray(values, coords, ("chain", "draw", "item", "category"), attrs={"truth": "category"})

    def labels(right: np.ndarray) -> xr.DataArray:
        return xr.DataArray(np.where(right, "right", "wrong")[:, None], {"item": items}, ("item", "position"))

    of_items = {name: xr.DataArray(values, {"item": items}) for name, values in study.options.items()}
    claims = labels(np.ones(len(items), bool))
    accuracy = evaluation.top_k_accuracy(1)
    return evaluation.rectified(accuracy, tree, claims, labels(study.judged), random_seed=rng, **of_items)


def coverage(design: Callable[[np.random.Generator], Study], simulations: int, seed: int) -> xr.Dataset:
    """Simulate a design: whether the intervals hold the accuracy, their widths, and the gain."""
    rng = np.random.default_rng(seed)
    found: list[xr.Dataset] = []
    for _ in range(simulations):
        study = design(rng)
        result = estimate(study, rng)
        lower, upper = (result["interval"].sel(bound=bound, drop=True) for bound in ("lower", "upper"))
        holds = (lower <= study.accuracy) & (study.accuracy <= upper)
        bias, noted = result["mean"] - study.accuracy, result["note"] != ""
        values = {
            "holds": holds,
            "width": upper - lower,
            "bias": bias,
            "gain": result["gain"],
            "noted": noted,
        }
        found.append(xr.Dataset(values))
    return xr.concat(found, "simulation")


def main(simulations: int) -> None:
    """Print the table of coverage."""
    low, high = binom.ppf([0.005, 0.995], simulations, 0.9) / simulations
    print(
        f"90 % intervals, {simulations} simulations each; 99 % of correct ones are in {low:.3f} to {high:.3f}"
    )
    print(
        "| design | rectified | people alone | judge alone | bias, rectified | width, rectified / people | gain | noted |"
    )
    print("|---|---|---|---|---|---|---|---|")
    for seed, (name, design) in enumerate(DESIGNS.items()):
        found = coverage(design, simulations, seed).mean("simulation")
        holds = [f"{float(found['holds'].sel(estimate=e)):.3f}" for e in ("rectified", "people", "judge")]
        rectified, people = (found.sel(estimate=estimate) for estimate in ("rectified", "people"))
        rest = [
            f"{float(rectified['bias']):+.4f}",
            f"{float(rectified['width'] / people['width']):.2f}",
            *(f"{float(found[name]):.2f}" for name in ("gain", "noted")),
        ]
        print(f"| {name} | {' | '.join([*holds, *rest])} |", flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 500)
