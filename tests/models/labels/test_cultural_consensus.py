"""Cultural consensus: the law against a sum over joint truths, the simulator, and errors."""

from itertools import product

import numpy as np
import pymc as pm
import pytest
from raterzoo import models

TABLE = {
    "item": [1, 1, 1, 2, 2, 3],
    "rater": list("abcabc"),
    "label": list("xyzzzx"),
    "gold": ["x"] * 3 + [""] * 3,
}


def log_p_of_items(labels, truth, values):
    """Log p of the answers of each item, by a sum over joint truths."""
    found = []
    for i in range(len(labels.items)):
        p = 0.0
        for cell, weight in zip(truth, values["joint_prevalence"], strict=True):
            if labels.gold[i] >= 0 and cell[0] != labels.gold[i]:
                continue
            for a in np.flatnonzero(labels.annotation_item == i):
                k = labels.annotation_rater[a]
                right = cell[values["membership"][k]] == labels.label_code[a]
                q = values["ability"][k]
                weight = weight * (q if right else (1 - q) / 2)
            p += weight
        found.append(np.log(p))
    return np.array(found)


@pytest.mark.parametrize("populations", [2, 3])
def test_law_is_a_sum_over_joint_truths(populations):
    labels = models.Labels.from_table(TABLE, gold="gold")
    model = models.cultural_consensus(labels, populations=populations)
    truth = [*product(range(3), repeat=populations)]
    values = dict(
        zip((rv.name for rv in model.free_RVs), pm.draw(model.free_RVs, random_seed=2), strict=True)
    )
    (observed,) = model.observed_RVs
    outputs = [
        pm.logp(observed, model.rvs_to_values[observed].data),
        *(model[name] for name in ("contested", "plausibility", "confusion")),
    ]
    options = {
        "inputs": model.free_RVs,
        "point_fn": False,
        "mode": "FAST_COMPILE",
        "on_unused_input": "ignore",
    }
    found = model.compile_fn(outputs, **options)(*values.values())
    expected = log_p_of_items(labels, truth, values)
    np.testing.assert_allclose(found[0], expected, rtol=1e-10)
    wrong = log_p_of_items(labels, truth, values | {"membership": (values["membership"] + 1) % populations})
    assert np.abs(wrong - expected).max() > 1e-3
    np.testing.assert_allclose(found[2].sum(axis=1), 1)
    np.testing.assert_allclose(found[2][0], [1, 0, 0], atol=1e-12)
    np.testing.assert_allclose(found[3].sum(axis=2), 1)
    q = values["ability"]
    of_first = values["membership"] == 0
    np.testing.assert_allclose(found[3][of_first][:, 0, 0], q[of_first])
    assert ((found[1] >= 0) & (found[1] <= 1)).all()


def test_prior_of_the_overlap_is_beta():
    model = models.cultural_consensus(models.Labels.from_table(TABLE), overlap_concentration=(3.0, 2.0))
    joint = pm.draw(model["joint_prevalence"], 20_000, random_seed=1).reshape(-1, 3, 3)
    overlap = np.trace(joint, axis1=1, axis2=2)
    assert abs(overlap.mean() - 0.6) < 5 * np.sqrt(0.04 / 20_000)
    assert abs(overlap.var() - 0.04) < 0.002


@pytest.mark.parametrize("populations", [1, 2.5, True, 7])
def test_numbers_of_populations_that_are_refused(populations, golden):
    with golden.raises(models.DataError):
        models.cultural_consensus(models.Labels.from_table(TABLE), populations=populations)


def test_other_bad_input(golden):
    alone = {
        name: [v for v, r in zip(own, TABLE["rater"], strict=True) if r == "a"] for name, own in TABLE.items()
    }
    one = models.Labels.from_table(alone | {"label": ["x", "z"]})
    many = models.Labels.from_table(TABLE)
    for labels, prior in (
        (one, {}),
        (many, {"overlap_concentration": (1.0, 0.0)}),
        (many, {"share_concentration": -1.0}),
    ):
        with golden.raises(ValueError):
            models.cultural_consensus(labels, **prior)


def test_simulated_first_population_has_most_raters():
    for seed in range(5):
        simulated = models.simulators.labels(
            model="cultural_consensus", raters=7, categories=3, random_seed=seed
        )
        truth = simulated.truth
        assert truth["membership"].sum() <= 3
        np.testing.assert_array_equal(truth["true_category"], truth["true_categories"][:, 0])
        np.testing.assert_allclose(truth["prevalence"], truth["joint_prevalence"].reshape(3, 3).sum(axis=1))
