"""Checks of single raters: unequal skills are no alarm, and a rater who is off is one."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models

ITEMS, ANSWERS, RATERS, CATEGORIES, DRAWS = 300, 5, 50, 8, 100
LABELS, AGREEMENT = "labels of each rater", "agreement of each rater with the others"


def tree_of(seed, off=0, learnt=True):
    """Labels of raters of unequal skill, the first of whom always give one label, and a posterior that knows of no skills."""
    rng = np.random.default_rng(seed)
    truth, right = rng.integers(CATEGORIES, size=ITEMS), rng.choice([0.45, 0.95], RATERS)
    item = np.repeat(np.arange(ITEMS), ANSWERS)
    rater = np.concatenate([rng.choice(RATERS, ANSWERS, replace=False) for _ in range(ITEMS)])
    other = (truth[item] + rng.integers(1, CATEGORIES, len(item))) % CATEGORIES
    label = np.where(rng.random(len(item)) < right[rater], truth[item], other)
    label[rater < off] = 0
    counts = np.zeros((RATERS, CATEGORIES, CATEGORIES))
    np.add.at(counts, (rater, truth[item], label), 1)
    mean = counts.sum(axis=0) / counts.sum(axis=(0, 2))[:, None]
    confusion = rng.standard_gamma(counts + 20 * mean, (1, DRAWS, *counts.shape))
    labels = models.Labels.from_table({"item": item, "rater": rater, "label": label})
    sample = ("chain", "draw")
    variables = {
        "prevalence": ((*sample, "category"), np.full((1, DRAWS, CATEGORIES), 1 / CATEGORIES)),
        "confusion": (
            (*sample, "rater", "category", "answer"),
            confusion / confusion.sum(axis=-1, keepdims=True),
        ),
        "plausibility": ((*sample, "item", "category"), np.tile(np.eye(CATEGORIES)[truth], (1, DRAWS, 1, 1))),
    }
    if learnt:
        variables["population_skill"] = ((*sample, "population"), np.full((1, DRAWS, 1), 0.7))
    coords = {"rater": labels.raters, "category": labels.categories, "item": labels.items}
    constants = {
        "annotation_item": ("annotation", labels.annotation_item),
        "annotation_rater": ("annotation", labels.annotation_rater),
    }
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(variables, coords),
            "constant_data": xr.Dataset(constants),
            "observed_data": xr.Dataset({"observed_label": ("annotation", labels.label_code)}),
        }
    )


def failed(tree):
    found = evaluation.model_checks(tree, random_seed=1)
    return set(found["check"].to_numpy()[found["fails"].to_numpy()].tolist()), found


@pytest.mark.slow
def test_raters_of_unequal_skill_are_no_alarm():
    assert not any(failed(tree_of(seed))[0] for seed in range(2))
    # the wrong twin: replicates by matrices whose rows know nothing of each other
    assert AGREEMENT in failed(tree_of(0, learnt=False))[0]


@pytest.mark.slow
def test_a_rater_who_always_gives_one_label_is_found():
    for seed in range(2):
        names, found = failed(tree_of(seed, off=1))
        assert LABELS in names
        farthest = int(found["rater_label_adjusted"].to_numpy().argmin())
        assert found["rater_label"].to_numpy()[farthest] == "0, 0"
