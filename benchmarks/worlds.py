"""Checks in worlds of known truth: `python -m benchmarks.worlds [--world NAME] [--studies 12] [--level]`.

Each world is simulated, fitted by default and checked: mean certainty, share right, and in how many studies a check fails, the
one that names the cause among them. `--level`: false alarms and claims with independent raters, by categories and answers
a rater.
"""

import argparse
import collections
import sys
import time
import warnings
from typing import Any, NamedTuple

import numpy as np


class World(NamedTuple):
    """A simulated study."""

    table: dict[str, np.ndarray]  # item, rater, label, and perhaps kind and gold
    truth: np.ndarray
    cause: str = ""  # start of the check that must fail; "" if the law holds


def assigned(
    rng: np.random.Generator, items: int, raters: int, answers: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return item and rater of each answer."""
    who = np.stack([rng.choice(raters, answers, replace=False) for _ in range(items)])
    return np.repeat(np.arange(items), answers), who.ravel()


def told(rng: np.random.Generator, truth: np.ndarray, right: np.ndarray, n: int) -> np.ndarray:
    """Return answers that are right with given probabilities, else any other."""
    return np.where(rng.random(len(truth)) < right, truth, (truth + rng.integers(1, n, len(truth))) % n)


def independent(rng: np.random.Generator, n: int = 2, each: int = 10, items: int = 300) -> World:
    """Raters right with probability Beta(6, 2), with a number of answers each."""
    total = items * 5
    raters = max(total // each, 5)
    slots = np.concatenate([rng.permutation(raters) for _ in range(total // raters + 1)])[:total]
    item, truth, right = np.repeat(np.arange(items), 5), rng.integers(0, n, items), rng.beta(6, 2, raters)
    label = told(rng, truth[item], right[slots], n)
    return World({"item": item, "rater": slots, "label": np.array(list("abcdefghij"))[label]}, truth)


def copying_pair(rng: np.random.Generator) -> World:
    """Two of 30 raters share the source of most of their answers."""
    item, rater = assigned(rng, 400, 30, 5)
    first = np.flatnonzero(rng.random(400) < 0.5)
    for i in first:  # both answer half of the items
        rater[i * 5 : i * 5 + 2] = 0, 1
        rater[i * 5 + 2 : i * 5 + 5] = 2 + rng.choice(28, 3, replace=False)
    truth, right = rng.integers(0, 4, 400), np.r_[0.6, 0.6, rng.beta(14, 6, 28)]
    label = told(rng, truth[item], right[rater], 4)
    guess = told(rng, truth, np.full(400, 0.55), 4)
    copied = (rater < 2) & (rng.random(len(item)) < 0.85)
    label = np.where(copied, guess[item], label)
    return World(
        {"item": item, "rater": rater, "label": np.array(list("abcd"))[label]}, truth, "log likelihood ratio"
    )


def ordered(rng: np.random.Generator) -> World:
    """Grades 1 to 5, errors near the truth."""
    item, rater = assigned(rng, 300, 8, 4)
    at = rng.normal(0, 1.2, 300)
    cuts = np.array([-1.5, -0.5, 0.5, 1.5])
    truth = np.searchsorted(cuts, at)
    label = np.searchsorted(cuts, at[item] + rng.normal(0, 0.3, 8)[rater] + rng.normal(0, 0.7, len(item)))
    return World({"item": item, "rater": rater, "label": label + 1}, truth, "share of disagreements")


def numbers(rng: np.random.Generator) -> World:
    """Categories 1 to 5 whose errors do not follow their order."""
    world = independent(rng, 5, 50)
    return world._replace(
        table={**world.table, "label": np.searchsorted(list("abcde"), world.table["label"]) + 1}
    )


def assisted(rng: np.random.Generator, kept: float = 0.5) -> World:
    """Raters saw classifier A (.73 right) and keep its prediction in some; classifier B is .8 right."""
    item, rater = assigned(rng, 200, 8, 4)
    truth, right = rng.integers(0, 3, 200), rng.uniform(0.7, 0.9, 8)
    a, b = (told(rng, truth, np.full(200, p), 3) for p in (0.73, 0.8))
    label = np.where(rng.random(len(item)) < kept, a[item], told(rng, truth[item], right[rater], 3))
    names = np.array([f"r{k}" for k in range(8)])[rater]
    table = {
        "item": np.r_[item, np.arange(200), np.arange(200)],
        "rater": np.r_[names, ["A"] * 200, ["B"] * 200],
        "label": np.array(list("abc"))[np.r_[label, a, b]],
        "kind": np.r_[["person"] * len(item), ["classifier"] * 400],
    }
    return World(table, truth, "residual correlation of raters with the classifier A" if kept else "")


def repeated(rng: np.random.Generator) -> World:
    """Each item in five copies under other ids, answered by the same raters."""
    n = 3
    _, rater = assigned(rng, 60, 8, 4)
    truth, right = rng.integers(0, n, 60), rng.beta(6, 2, 8)
    label = told(rng, np.repeat(truth, 4), right[rater], n)
    item = np.repeat(np.arange(300), 4)
    table = {"item": item, "rater": np.tile(rater, 5), "label": np.array(list("abc"))[np.tile(label, 5)]}
    return World(table, np.tile(truth, 5), "share of items that repeat")


def easy_gold(rng: np.random.Generator) -> World:
    """A third of the items are easy, and gold is of those alone."""
    item, rater = assigned(rng, 300, 8, 4)
    truth, easy, right = rng.integers(0, 3, 300), rng.random(300) < 1 / 3, rng.beta(8, 4, 8)
    label = told(rng, truth[item], np.where(easy[item], 0.95, right[rater]), 3)
    names = np.array(list("abc"))
    gold = np.where(easy & (rng.random(300) < 0.6), names[truth], "")[item]
    return World(
        {"item": item, "rater": rater, "label": names[label], "gold": gold}, truth, "agreement on gold"
    )


def random_gold(rng: np.random.Generator) -> World:
    """As easy gold, without easy items."""
    item, rater = assigned(rng, 300, 8, 4)
    truth, right, names = rng.integers(0, 3, 300), rng.beta(8, 4, 8), np.array(list("abc"))
    label = told(rng, truth[item], right[rater], 3)
    gold = np.where(rng.random(300) < 0.2, names[truth], "")[item]
    return World({"item": item, "rater": rater, "label": names[label], "gold": gold}, truth)


def in_time(rng: np.random.Generator, rule: str) -> World:
    """Raters repeat the first answer to an item, or give one label in the second half of their queue, each in half."""
    item, rater = assigned(rng, 300, 10, 5)
    truth, right, n = rng.integers(0, 3, 300), rng.beta(8, 4, 10), len(item)
    time = rng.permutation(n)
    label = told(rng, truth[item], right[rater], 3)
    if rule == "first":
        begins = np.lexsort((time, item))[::5]  # the first answer to each item
        label = np.where(rng.random(n) < 0.5, label[begins][item], label)
    elif rule == "late":
        late = time > n / 2
        label = np.where(late & (rng.random(n) < 0.5), (rater % 3), label)
    table = {"item": item, "rater": rater, "label": np.array(list("abc"))[label], "order": time + 1}
    cause = {"first": "agreement with the first", "late": "log likelihood ratio of one label"}
    return World(table, truth, cause.get(rule, ""))


def hard_in_time(rng: np.random.Generator) -> World:
    """Hard items for all, in a known order that says nothing; the share of errors is not that of independent raters."""
    item, rater = assigned(rng, 300, 10, 5)
    truth, right = rng.integers(0, 3, 300), rng.choice([0.45, 0.95], 300)
    label = told(rng, truth[item], right[item], 3)
    table = {"item": item, "rater": rater, "label": np.array(list("abc"))[label]}
    return World(table | {"order": rng.permutation(len(item)) + 1}, truth, "")


WORLDS = {
    "independent": independent,
    "independent, 3 answers each": lambda rng: independent(rng, each=3),
    "copying pair": copying_pair,
    "ordered": ordered,
    "numbers without order": numbers,
    "assisted": assisted,
    "not assisted": lambda rng: assisted(rng, 0.0),
    "items in copies": repeated,
    "first answers repeated": lambda rng: in_time(rng, "first"),
    "default late in the queue": lambda rng: in_time(rng, "late"),
    "order that says nothing": lambda rng: in_time(rng, ""),
    "hard items, with their order": hard_in_time,
    "gold of easy items": easy_gold,
    "gold at random": random_gold,
}


def labels_of(world: World) -> Any:
    """Return the answers of a world."""
    from raterzoo import models

    columns = {name: name for name in ("gold", "order") if name in world.table}
    kinds = ["kind"] if "kind" in world.table else []
    table = {name: np.asarray(values).astype(str) for name, values in world.table.items()}
    return models.Labels.from_table(table, **columns, rater_attributes=kinds)


def failed_checks(tree: Any, seed: int) -> list[str]:
    """Return the names of the checks that fail."""
    from raterzoo import evaluation

    found = evaluation.model_checks(tree, random_seed=seed)
    return found["check"].to_numpy()[found["fails"].to_numpy()].astype(str).tolist()


def truths_of(labels: Any, world: World) -> np.ndarray:
    """Return the true category of each item, in the order of the labels."""
    names = np.unique(np.asarray(world.table["label"]).astype(str))
    return names[world.truth[labels.items.astype(int)]]


class Found(NamedTuple):
    """Claims of the default in a world, beside the truth."""

    claimed: float
    right: float
    failed: list[str]  # checks


def found_in(world: World, seed: int, draws: int = 100) -> Found:
    """Fit a world by default, and check it."""
    from raterzoo import evaluation, inference, models

    labels = labels_of(world)
    model = models.correlated_votes(labels)
    options = {"chains": 2, "cores": 1, "random_seed": seed, "progressbar": False}
    tree = inference.sample(model, draws=draws, **options)
    own = evaluation.truth_certainty(tree)
    right = own["label"].to_numpy().astype(str) == truths_of(labels, world)
    return Found(float(own["certainty"].mean()), float(right.mean()), failed_checks(tree, seed))


def level(studies: int, categories: list[int], each: list[int]) -> None:
    """Print the share of studies with independent raters in which a check fails, and their claims."""
    for n in categories:
        for answers in each:
            began = time.process_time()
            worlds = (
                independent(np.random.default_rng([seed, n, answers]), n, answers) for seed in range(studies)
            )
            found = [found_in(world, seed, 60) for seed, world in enumerate(worlds)]
            failed = collections.Counter(name for own in found for name in own.failed)
            claimed, right = np.mean([own[:2] for own in found], axis=0)
            seconds = (time.process_time() - began) / studies
            print(
                f"{n} categories, {answers} answers a rater: {sum(bool(own.failed) for own in found)} of {studies} fail; "
                f"{dict(failed)}; claimed {claimed:.3f}, right {right:.3f}; {seconds:.1f} s",
                flush=True,
            )


def of_world(name: str, studies: int) -> None:
    """Print what the default says in a world, and what is true."""
    worlds = [WORLDS[name](np.random.default_rng([seed, 1])) for seed in range(studies)]
    found = [found_in(world, seed) for seed, world in enumerate(worlds)]
    failed = collections.Counter(own for each in found for own in each.failed)
    causes = sum(
        any(own.startswith(world.cause or " ") for own in each.failed)
        for world, each in zip(worlds, found, strict=True)
    )
    claimed, right = np.mean([own[:2] for own in found], axis=0)
    print(
        f"{name}: claimed {claimed:.3f}, right {right:.3f}; "
        f"the check of the cause fails in {causes} of {studies}; {dict(failed)}",
        flush=True,
    )


def main(arguments: list[str]) -> None:
    """Print the table of worlds, or the level of the checks."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--world", action="append", choices=[*WORLDS])
    parser.add_argument("--studies", type=int, default=12)
    parser.add_argument("--level", action="store_true")
    parser.add_argument("--categories", type=int, nargs="+", default=[2, 5, 10])
    parser.add_argument("--each", type=int, nargs="+", default=[1, 2, 3, 5, 10, 20, 50])
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if chosen.level:
        level(chosen.studies, chosen.categories, chosen.each)
        return
    for name in chosen.world or WORLDS:
        of_world(name, chosen.studies)


if __name__ == "__main__":
    main(sys.argv[1:])
