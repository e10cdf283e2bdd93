"""Simulate the tables of this folder, all but patients.csv: `python -m examples`."""

import csv
from pathlib import Path

import numpy as np
from raterzoo.models import simulators

FOLDER = Path(__file__).parent
URGENCY = np.array(["low", "middle", "high"])
RISK = np.array(["low", "medium", "high"])
TREES = np.array("alder ash beech birch cedar elm fir larch maple oak pine willow".split())


def labels():
    """Simulate answers in order, and two classifiers that see the items with little and with much noise."""
    simulated = simulators.labels(model="ordinal", items=150, raters=8, answers=6, random_seed=4)
    table, truth = simulated.data.to_table(), simulated.truth
    item, rater = numbered("ticket", table["item"]), numbered("rater", table["rater"])
    kind = np.where(table["rater"] < 6, "person", "model")
    write("answers.csv", item=item, rater=rater, kind=kind, label=URGENCY[table["label"]])
    rng = np.random.default_rng(1)
    sd = np.array([[1.2], [2.0]])
    seen = (truth["location"] + sd * rng.normal(size=(2, 150))) / (
        1 + sd**2
    )  # the mean of the location given it
    scale = np.hypot(truth["scale"], np.sqrt(3) / np.pi * sd / np.hypot(1, sd))
    above = 1 / (1 + np.exp((truth["threshold"] - seen[..., None]) / scale[..., None]))
    score = -np.diff(above, axis=2, prepend=1, append=0).round(3)
    score[..., 1] = (1 - score[..., 0] - score[..., 2]).round(3)  # they sum to one, rounded too
    classifier, case, category = (index.ravel() for index in np.indices(score.shape))
    write(
        "answers-predicted.csv",
        item=numbered("ticket", case),
        classifier=np.array(["A", "B"])[classifier],
        category=URGENCY[category],
        score=score.ravel().round(3),
    )


def rankings():
    """Simulate differential diagnoses, the risks of the conditions, and the top three of two classifiers."""
    simulated = simulators.differential_diagnoses(items=100, categories=30, random_seed=2)
    table = simulated.data.to_table()
    item, condition = numbered("case", table["item"]), numbered("condition", np.arange(30))
    write(
        "diagnoses.csv",
        item=item,
        rater=numbered("reader", table["rater"]),
        category=condition[table["category"]],
        rank=table["rank"],
    )
    value = np.random.default_rng(1).choice(3, 30, p=[0.5, 0.3, 0.2])
    write("risk.csv", category=condition, group=RISK[value], value=value)
    rng = np.random.default_rng(2)
    noise = rng.gumbel(size=(2, 100, 30)) * np.array([0.5, 2.0])[:, None, None]
    top = np.argsort(-(simulated.truth["log_worth"] + noise), axis=2)[:, :, :3]
    classifier, case, place = (index.ravel() for index in np.indices(top.shape))
    write(
        "diagnoses-predicted.csv",
        item=numbered("case", case),
        classifier=np.array(["A", "B"])[classifier],
        category=condition[top.ravel()],
        rank=place + 1,
    )


def comparisons():
    """Simulate votes on pairs by unequal raters, ties included."""
    simulated = simulators.comparisons(
        items=12, raters=20, degree=11, alpha=0.5, tie=0.7, quality_range=(0.0, 0.4), random_seed=3
    )
    table = simulated.data.to_table()
    names = {side: TREES[table[side]] for side in ("left", "right")}
    write("votes.csv", rater=numbered("rater", table["rater"]), **names, winner=table["winner"])


def scores():
    """Simulate grades from 0 to 10 by unequal raters, and two predictions of a grade above 5."""
    simulated = simulators.scores(
        items=80, raters=10, answers=5, center=5.5, spread=1.5, bounds=(0, 10), step=0.5, random_seed=5
    )
    table = simulated.data.to_table()
    item, rater = numbered("essay", table["item"]), numbered("rater", table["rater"])
    write("scores.csv", item=item, rater=rater, score=table["score"])
    rng = np.random.default_rng(3)
    seen = simulated.truth["location"] + rng.normal(size=(2, 80)) * np.array([[0.5], [1.5]])
    classifier, case = (index.ravel() for index in np.indices(seen.shape))
    write(
        "scores-predicted.csv",
        item=numbered("essay", case),
        classifier=np.array(["A", "B"])[classifier],
        probability=(1 / (1 + np.exp(-2 * (seen.ravel() - 5)))).round(4),
    )


def numbered(word, codes):
    """Return names such as "case 01" for codes from 0."""
    width = len(str(codes.max() + 1))
    return np.array([f"{word} {code + 1:0{width}}" for code in codes.tolist()])


def write(name, **columns):
    """Write columns as a table of this folder."""
    with (FOLDER / name).open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(columns)
        writer.writerows(zip(*(column.tolist() for column in columns.values()), strict=True))


if __name__ == "__main__":
    for simulate in (labels, rankings, comparisons, scores):
        simulate()
