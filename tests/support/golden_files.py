"""Golden files: what each of them is, and the numbers that any later version must get out of it."""

import csv
from pathlib import Path

import numpy as np
from raterzoo import evaluation, models, papers
from raterzoo.models.data import read_table

__all__ = ["GOLDEN", "VERSIONS", "container_of", "model_of", "numbers_of", "tables"]

GOLDEN = Path(__file__).parents[1] / "golden"
VERSIONS = sorted(path.name for path in GOLDEN.iterdir() if path.is_dir() and path.name[0].isdigit())

# posterior -> the table it was fitted to
SOURCES = {
    "plackett_luce": "rankings",
    "plackett_luce_all": "rankings",
    "dirichlet": "labels",
    "dawid_skene": "labels",
    "bradley_terry": "votes",
    "normal_scores": "scores",
    "hierarchical_scores": "scores",
}


def tables():
    """Return a small table of every kind, as columns; texts that are awkward in files among the ids."""
    rng = np.random.default_rng(2)
    item, rater = (a.ravel() for a in np.mgrid[:4, :3])
    order = [rng.permutation(["flu", "cold", "Grippe <ü>", "a, b"])[:2] for _ in item]
    label = np.where(rng.random(12) < 0.7, item % 2, rng.integers(0, 2, 12))
    pairs = np.array([(0, 1), (1, 2), (2, 3), (3, 0), (0, 2), (1, 3)] * 3).T
    named, raters = np.array(["i 0", "i 1", "<b>", "4"]), np.array(["r a", "r b", "r, c"])
    return {
        "rankings": {
            "item": named[np.repeat(item, 2)],
            "rater": raters[np.repeat(rater, 2)],
            "category": np.concatenate(order),
            "rank": np.tile([1, 2, 1, 1], 6),
        },
        "labels": {
            "item": named[item],
            "rater": raters[rater],
            "label": np.array(["no", "yes"])[label],
            "gold": np.where(item == 1, "yes", ""),
        },
        "votes": {
            "rater": np.repeat(raters, 6),
            "left": named[pairs[0]],
            "right": named[pairs[1]],
            "winner": rng.choice(["left", "right", "tie"], 18),
        },
        "scores": {"item": named[item], "rater": raters[rater], "score": np.round(rng.normal(item, 1), 2)},
    }


def container_of(folder, source):
    """Read a table of a folder of golden files."""
    table = read_table(folder / f"{source}.csv")
    if source == "rankings":
        return models.PartialRankings.from_table(table)
    if source == "votes":
        return models.Comparisons.from_table(table, rater="rater")
    if source == "scores":
        return models.Scores.from_table(table)
    return models.Labels.from_table(table, gold="gold")


def model_of(name, data):
    """Return the model of a golden posterior."""
    if name.startswith("plackett_luce"):
        candidates = "all" if name.endswith("_all") else "ranked"
        return models.plackett_luce(data, concentration=1.0, candidates=candidates)
    if name == "dirichlet":
        return models.dirichlet(models.Labels.from_table(_without_gold(data)))
    return getattr(models, name)(data)


def numbers_of(name, tree):
    """Return means of all variables, by group and name, and answers of evaluation."""
    found = {
        f"{group}/{variable}": float(np.asarray(values, np.float64).mean())
        for group in ("posterior", "log_likelihood", "log_prior")
        if group in tree.children
        for variable, values in tree[group].data_vars.items()
    }
    source = SOURCES[name]
    if source in ("rankings", "labels"):
        certainty = evaluation.annotation_certainty(tree)
        found |= {f"certainty of {i}": float(certainty.sel(item=i)) for i in certainty["item"].values}
        best = {"rankings": "flu", "labels": "yes"}[source]
        table = {
            "item": certainty["item"].values,
            "category": [best] * certainty.size,
            "rank": [1] * certainty.size,
        }
        predictions = evaluation.predictions_from_table(table, item="item", category="category", rank="rank")
        metric = evaluation.top_k_accuracy(1)
        accuracy = evaluation.uncertainty_adjusted(metric, tree, predictions, random_seed=3)
        found["accuracy"] = float(accuracy.mean())
    elif source == "scores":
        above = papers.threshold_probability(tree, 1.0)
        found |= {f"{i} is above 1": float(above.sel(item=i)) for i in above["item"].values}
    else:
        quality = tree["posterior"]["quality"].mean(("chain", "draw"))
        found |= {f"quality of {i}": float(quality.sel(item=i)) for i in quality["item"].values}
    return found


def write_table(path, table):
    """Write columns as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))


def _without_gold(labels):
    return {name: column for name, column in labels.to_table().items() if name != "gold"}
