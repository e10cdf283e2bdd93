"""False alarms, power and cost of `evaluation.model_checks`. `python -m benchmarks.model_checks labels [--studies 400]`.

`python -m benchmarks.model_checks cost` prints CPU seconds of fits by Dawid-Skene and by default, and of their checks, and the
memory of the checks of five million answers.

For each design of a kind of annotation: in how many simulated studies the verdict is that the model does not fit, and how
often each check fails. Posteriors are short chains of the model that is checked.

Labels: 500 items and 8 raters who answer all of them, checked after Dawid-Skene. "independent": matrices of its simulator, of
raters who are right in .6 on average. Else all are right in .8, and five raters copy .3 of their answers: a guess of theirs,
right in .8 ("guess"), or the answers of the first of them ("copies"). "known": the checks know the group.
With two categories of even prevalence a likelihood-ratio test at level .05 finds a guess in .98 of such studies if the group
is known (noncentrality 13.8), by the score of its pairs in .97. If any of the 247 sets of raters may be the group, the mean
likelihood ratio of the sets, the most powerful test on average over them, finds it by these scores in .84, and if the group is
known to have five raters in .85: a power of .9 needs the group, or more items. The main check has .8 of the level: .95 and .80.

The other kinds have 8 raters, three of one kind and five of the other. Scores: 200 items, hierarchical; "shared": the five share
an error of each item, .3 of the variance of theirs. Comparisons: 15 items and 150 votes of each rater, Bradley-Terry; "shared":
the five share a taste, whose standard deviation is .7 of that of the qualities. Rankings: 150 items and two places, ties or one
place, Plackett-Luce; "shared": each ranking of four of five raters copies in .3 the first places of the fifth. "sharper": the
posterior has reliability 3.
"""

import argparse
import collections
import os
import resource
import sys
import time
import warnings
from collections.abc import Callable
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

ITEMS, RATERS, COPIERS, COPIED, RIGHT = 500, 8, 5, 0.3, 0.8
CHAINS = {"draws": 100, "tune": 50, "chains": 2, "cores": 1, "progressbar": False, "log_likelihood": False}


def labels_study(design: str, categories: int, seed: int) -> dict[str, Any]:
    """Return a posterior of Dawid-Skene given labels by raters who are independent, or who copy.

    It is checked twice: with the group unknown, and with the ``kind`` of each rater.
    """
    from raterzoo import inference, models

    rng = np.random.default_rng([seed, categories])
    shape = {"items": ITEMS, "raters": RATERS, "answers": RATERS, "categories": categories}
    made = models.simulators.labels(**shape, prevalence_concentration=5.0, random_seed=rng)
    table, label = made.data.to_table(), made.data.categories[made.data.label_code]
    if design != "independent":
        item, rater = made.data.annotation_item, made.data.annotation_rater
        truth = made.truth["true_category"]

        def answers(of: np.ndarray) -> np.ndarray:
            other = (of + rng.integers(1, categories, len(of))) % categories
            return np.where(rng.random(len(of)) < RIGHT, of, other)

        code, guess = answers(truth[item]), answers(truth)
        if design == "copies":
            guess[item[rater == 0]] = code[rater == 0]
        copied = (rater < COPIERS) & (rng.random(len(code)) < COPIED)
        label = made.data.categories[np.where(copied, guess[item], code)]
    columns = {name: np.asarray(table[name]) for name in ("item", "rater")}
    columns["kind"] = np.where(made.data.annotation_rater < COPIERS, "model", "person")
    data = models.Labels.from_table({**columns, "label": label}, rater_attributes=["kind"])
    tree = inference.sample(models.dawid_skene(data), random_seed=seed, thin=3, **CHAINS)
    unknown = tree.copy()
    unknown["constant_data"] = tree["constant_data"].to_dataset().drop_vars("rater_kind")
    return {"": unknown, ", known": tree}


KIND = np.array(["person"] * (RATERS - COPIERS) + ["model"] * COPIERS)


def replicated(model: Any, seed: int) -> Any:
    """Return a posterior with replicates."""
    from raterzoo import inference

    options = {**CHAINS, "tune": 200}
    return inference.predict(inference.sample(model, random_seed=seed, **options), model, progressbar=False)


def scores_study(shared: float, seed: int) -> Any:
    """Return a posterior of hierarchical scores given scores of raters, of whom the last may share errors."""
    from raterzoo import models

    rng = np.random.default_rng(seed)
    item, rater = np.repeat(np.arange(200), RATERS), np.tile(np.arange(RATERS), 200)
    error = rng.standard_normal(200)[item] * (KIND == "model")[rater] * shared**0.5
    own = np.where((KIND == "model")[rater], (1 - shared) ** 0.5, 1) * rng.standard_normal(len(item))
    score = rng.standard_normal(200)[item] + 0.5 * rng.standard_normal(RATERS)[rater] + 0.6 * (error + own)
    table = {"item": item, "rater": rater, "score": score, "kind": KIND[rater]}
    return replicated(
        models.hierarchical_scores(models.Scores.from_table(table, rater_attributes=["kind"])), seed
    )


def comparisons_study(taste: float, seed: int) -> Any:
    """Return a posterior of Bradley-Terry qualities given votes of raters, of whom the last may share a taste."""
    from raterzoo import models

    rng = np.random.default_rng(seed)
    items, rater = 15, np.repeat(np.arange(RATERS), 150)
    left = rng.integers(0, items, len(rater))
    right = (left + rng.integers(1, items, len(rater))) % items
    quality, liked = rng.standard_normal(items), taste * rng.standard_normal(items)
    x = quality[left] - quality[right] + (KIND == "model")[rater] * (liked[left] - liked[right])
    winner = np.where(rng.random(len(x)) < 1 / (1 + np.exp(-x)), "left", "right")
    table = {"rater": rater, "left": left, "right": right, "winner": winner, "kind": KIND[rater]}
    pairs = models.Comparisons.from_table(table, rater_attributes=["kind"])
    return replicated(models.bradley_terry(pairs), seed)


def rankings_study(copied: float, reliability: int, seed: int) -> Any:
    """Return a posterior of Plackett-Luce worths given rankings of raters, of whom the last may copy."""
    from raterzoo import inference, models

    rng = np.random.default_rng(seed)
    made = models.simulators.rankings(
        items=150,
        raters=5,
        categories=8,
        block_sizes=((1, 1), (1,), (2,)),
        concentration=0.5,
        random_seed=rng,
    )
    table = made.data.to_table()
    columns = {name: np.asarray(table[name]) for name in ("item", "rater", "category", "rank")}
    if copied:
        _, item = np.unique(columns["item"], return_inverse=True)
        raters, rater = np.unique(columns["rater"], return_inverse=True)
        first = columns["rank"] == 1
        told = dict(zip(item[(rater == 0) & first], columns["category"][(rater == 0) & first], strict=True))
        copies = rng.random((item.max() + 1, len(raters))) < copied
        for row in np.flatnonzero(first & (rater > 0) & copies[item, rater]):
            same = (item == item[row]) & (rater == rater[row])
            if told[item[row]] not in columns["category"][same]:
                columns["category"][row] = told[item[row]]
    rankings = models.PartialRankings.from_table(columns, categories=made.data.categories)
    model = models.plackett_luce(rankings, concentration=0.5, reliability=reliability)
    return inference.sample(model, random_seed=seed, **CHAINS)


STUDIES: dict[str, dict[str, Callable[[int], Any]]] = {
    "labels": {
        f"{design}, {n} categories": lambda seed, design=design, n=n: labels_study(design, n, seed)
        for design in ("independent", "guess", "copies")
        for n in (2, 3, 4)
    },
    "scores": {
        name: lambda seed, shared=shared: {"": scores_study(shared, seed)}
        for name, shared in {"independent": 0.0, "shared": 0.3}.items()
    },
    "comparisons": {
        name: lambda seed, taste=taste: {"": comparisons_study(taste, seed)}
        for name, taste in {"independent": 0.0, "shared": 0.7}.items()
    },
    "rankings": {
        name: lambda seed, law=law: {"": rankings_study(*law, seed)}
        for name, law in {"independent": (0.0, 1), "shared": (0.3, 1), "sharper": (0.0, 3)}.items()
    },
}


REPEATS = 3  # of the checks, of which the least time is printed
SIZES = ((100, 5, 3, 3), (500, 8, 8, 3), (2000, 20, 5, 4), (10_000, 100, 5, 5))


def of_cost() -> None:
    """Print CPU seconds of fits and of their checks, by the number of answers, and memory."""
    from raterzoo import evaluation, inference, models

    options = {"cores": 1, "random_seed": 1, "progressbar": False}
    for number, (items, raters, answers, categories) in enumerate((SIZES[0], *SIZES)):  # the first compiles
        shape = {"items": items, "raters": raters, "answers": answers, "categories": categories}
        labels = models.simulators.labels(random_seed=1, **shape).data
        for build in (models.dawid_skene, models.correlated_votes):
            began = time.process_time()
            tree = inference.sample(build(labels), **options)
            fit = time.process_time() - began
            checks = []
            for _ in range(REPEATS):
                began = time.process_time()
                evaluation.model_checks(tree)
                checks.append(time.process_time() - began)
            if number:
                print(
                    f"{items * answers:,} answers, {build.__name__}: fit {fit:.2f} CPU s, checks {min(checks):.3f}, "
                    f"a share of {min(checks) / fit:.3f}"
                )
    tree = many_answers()
    before, began = _peak(), time.process_time()
    evaluation.model_checks(tree)
    print(
        f"5,000,000 answers: checks {time.process_time() - began:.1f} CPU s, peak {before:.2f} GB before, {_peak():.2f} GB after"
    )


def _peak() -> float:
    """Return the largest memory of the process so far, in GB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6


def many_answers(items: int = 500_000, answers: int = 10, raters: int = 1000) -> Any:
    """Return a posterior, whose draws are all the truth, of two categories."""
    import xarray as xr

    rng = np.random.default_rng(1)
    item, rater = np.repeat(np.arange(items), answers), rng.integers(0, raters, items * answers)
    truth, right = rng.integers(0, 2, items), rng.beta(8, 2, raters)
    label = np.where(rng.random(len(item)) < right[rater], truth[item], 1 - truth[item])
    own = np.where(np.eye(2, dtype=bool), right[:, None, None], 1 - right[:, None, None])
    draws, sample = (2, 100), ("chain", "draw")
    posterior = xr.Dataset(
        {
            "confusion": (
                (*sample, "rater", "category", "answer"),
                np.broadcast_to(own, (*draws, raters, 2, 2)),
            ),
            "prevalence": ((*sample, "category"), np.full((*draws, 2), 0.5)),
            "plausibility": ((*sample, "item", "category"), np.broadcast_to(0.5, (*draws, items, 2))),
        },
        {"rater": np.arange(raters), "category": [0, 1], "item": np.arange(items)},
    )
    codes = {"annotation_item": ("annotation", item), "annotation_rater": ("annotation", rater)}
    groups = {"posterior": posterior, "constant_data": xr.Dataset(codes)}
    groups["observed_data"] = xr.Dataset({"observed_label": ("annotation", label)})
    tree = xr.DataTree.from_dict(groups)
    tree.attrs = {"model": "dawid_skene"}
    return tree


def main(arguments: list[str]) -> None:
    """Print the share of studies that do not fit, by design."""
    from raterzoo import evaluation

    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("kind", choices=[*STUDIES, "cost"])
    parser.add_argument("--design", help="only designs with this text in their name", default="")
    parser.add_argument("--studies", type=int, default=400)
    parser.add_argument("--first", type=int, default=1, help="seed of the first study")
    chosen = parser.parse_args(arguments)
    warnings.simplefilter("ignore")
    if chosen.kind == "cost":
        of_cost()
        return
    for name, study in STUDIES[chosen.kind].items():
        if chosen.design not in name:
            continue
        failed, checks = collections.Counter(), collections.defaultdict(collections.Counter)
        begun = time.process_time()
        for seed in range(chosen.first, chosen.first + chosen.studies):
            for which, tree in study(seed).items():
                found = evaluation.model_checks(tree)
                failed[which] += not found.attrs["fits"]
                checks[which].update(found["check"].to_numpy()[found["fails"].to_numpy()].tolist())
        seconds = (time.process_time() - begun) / chosen.studies
        for which, number in failed.items():
            by_check = "; ".join(f"{check} {n}" for check, n in checks[which].most_common())
            print(f"{name}{which}: {number} of {chosen.studies} do not fit. {by_check}")
        print(f"{seconds:.1f} CPU s for each study", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
