"""NUTS starts with raters who are right."""

import numpy as np
import pymc as pm
import pytest
from pymc.initial_point import make_initial_point_fn
from raterzoo import inference, models
from raterzoo.inference.runs import compiled_models as runs_starts
from raterzoo.inference.runs.compiled_models import compilation_of_nuts
from scipy.special import expit


def labels_of(seed=4, **changed):
    asked = {"items": 200, "raters": 3, "categories": 2, "features": 5, "random_seed": seed}
    return models.simulators.labels(**asked | changed)


def test_rows_start_where_raters_are_right():
    data = labels_of(categories=3).data
    start = runs_starts.likely_right(models.dawid_skene(data))["confusion"]
    np.testing.assert_allclose(start, np.broadcast_to(0.05 + 0.85 * np.eye(3), (3, 3, 3)))
    sure = np.where(np.eye(3), 98.0, 1.0)  # more than the start
    start = runs_starts.likely_right(models.dawid_skene(data, confusion_concentration=sure))["confusion"]
    np.testing.assert_allclose(start[0], sure / 100)
    against = np.array([[1.0, 3.0, 1.0], [1.0, 3.0, 1.0], [2.0, 2.0, 2.0]])
    start = runs_starts.likely_right(models.dawid_skene(data, confusion_concentration=against))["confusion"]
    np.testing.assert_allclose(start[1], [[0.2, 0.6, 0.2], [0.05, 0.9, 0.05], [1 / 3] * 3])


def test_abilities_start_where_raters_are_right():
    data = labels_of(categories=3).data
    assert runs_starts.likely_right(models.one_coin(data))["ability"].tolist() == [runs_starts.RIGHT] * 3
    for concentration, expected in {(1, 3): 0.25, (1, 1): runs_starts.RIGHT, (97, 3): 0.97}.items():
        start = runs_starts.likely_right(models.one_coin(data, ability_concentration=concentration))[
            "ability"
        ]
        np.testing.assert_allclose(start, [expected] * 3)
    assert runs_starts.likely_right(models.class_conditional(data))["ability"].shape == (3, 3)


def test_random_priors_and_other_models_have_the_start_of_pymc():
    data = labels_of().data
    with pm.Model() as outer:
        own = pm.Gamma("own", 2.0, 1.0)
        models.dawid_skene(data, confusion_concentration=own)
    assert runs_starts.likely_right(outer) == {}
    assert runs_starts.likely_right(models.mace(data)) == {}
    model = models.dawid_skene(data)
    asked = {"nuts_sampler": "pymc", "initvals": {"prevalence": [0.5, 0.5]}}
    assert "initvals" not in compilation_of_nuts(model, asked)  # of the user
    assert "confusion" in compilation_of_nuts(model, {"nuts_sampler": "pymc"})["initvals"]


def test_models_of_others_have_the_start_of_pymc():
    coords = {"rater": ["Ann", "Bob"], "category": ["a", "b", "c"], "answer": ["a", "b", "c", "unsure"]}
    with pm.Model(coords=coords) as model:
        pm.Dirichlet("confusion", np.ones(4), dims=("rater", "category", "answer"))
    assert runs_starts.likely_right(model) == {}
    with pm.Model(coords={"rater": ["Ann", "Bob"]}) as model:
        pm.Beta("ability", 2, 1, dims="rater")
    assert runs_starts.likely_right(model) == {}


def jittered_starts(model, starts):
    """Return 200 starts of the matrices of two categories, as samplers jitter them (start, rater, category, answer)."""
    point = make_initial_point_fn(model=model, overrides=starts, jitter_rvs=set(model.free_RVs))
    name = next(name for name in point(0) if name.startswith("confusion"))
    half = np.array([point(seed)[name][..., 0] for seed in range(200)])  # of the difference of log odds
    return expit(2 * np.stack([half, -half], axis=-1))


def test_no_jittered_start_has_categories_exchanged():
    model = models.dawid_skene(labels_of().data)
    right = np.diagonal(jittered_starts(model, runs_starts.likely_right(model)), axis1=2, axis2=3)
    assert right.min() > 0.5
    from_means = np.diagonal(jittered_starts(model, {}), axis1=2, axis2=3)
    assert np.mean((from_means < 0.5).mean(axis=(1, 2)) > 0.5) > 0.05  # most rows exchanged


@pytest.mark.long  # no start from which one could end there: the test above
def test_no_chain_ends_with_categories_exchanged():
    """Chains of three raters; from the mean of the prior some end with two categories exchanged."""
    drawn = labels_of()
    model = models.dawid_skene(drawn.data, features=drawn.features)
    options = {"draws": 100, "tune": 200, "chains": 8, "cores": 2, "random_seed": 4, "progressbar": False}
    with pytest.warns(inference.ConvergenceWarning):  # so few draws
        tree = inference.sample(model, log_likelihood=False, **options)
    label = tree["posterior"]["plausibility"].mean("draw").argmax("category")
    right = (label == drawn.truth["true_category"]).mean("item")
    assert float(right.min()) > 0.7
