"""Models of labels with features of the items: law, data, coordinates of the sampler, and what refuses them."""

import warnings

import numpy as np
import pymc as pm
import pytensor
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.models import DataError
from raterzoo.models._catalog import RECIPES
from raterzoo.models._item_features import FeatureDirections

from tests.support.monte_carlo import seed_of
from tests.support.runs import route_of

BUILDERS = {
    "dawid_skene": {},
    "one_coin": {},
    "mace": {},
    "hierarchical_dawid_skene": {},
    "shared_guess": {"groups": "kind"},
}
ITEMS, CATEGORIES = 6, 3


def few_labels():
    """Ragged labels: gold, an answer given twice, and two items without answers, one of them gold."""
    table = {
        "item": ["a", "a", "b", "c", "c", "d", "e", "f"],
        "rater": ["r", "s", "r", "s", "t", "t", "t", "t"],
        "label": ["x", "y", "x", "z", "z", "y", "x", "x"],
        "count": [1, 2, 1, 1, 1, 1, 0, 0],
        "gold": [None, None, "z", None, None, None, None, "x"],
        "kind": ["person", "judge", "person", "judge", "judge", "judge", "judge", "judge"],
    }
    return models.Labels.from_table(table, count="count", gold="gold", rater_attributes=["kind"])


def few_features(labels, columns=2):
    rng = np.random.default_rng(seed_of("few features"))
    raw = 5 + 3 * rng.normal(size=(len(labels.items), columns))
    return xr.DataArray(raw, {"item": labels.items}, dims=("item", "feature"))


@pytest.fixture(scope="module")
def labels():
    return few_labels()


@pytest.fixture(scope="module", params=BUILDERS)
def model(request, labels):
    with warnings.catch_warnings(action="ignore"):
        return getattr(models, request.param)(
            labels, features=few_features(labels), **BUILDERS[request.param]
        )


def values_of(model, outputs, point):
    """Evaluate expressions of the free variables at a point by name."""
    inputs = [model[name] for name in point]
    found = pytensor.function(inputs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")
    return found(*point.values())


def some_point(model, effect):
    rng = np.random.default_rng(seed_of("some point"))
    own = pm.draw(model.free_RVs, random_seed=rng, mode="FAST_COMPILE")
    point = dict(zip([rv.name for rv in model.free_RVs], own, strict=True))
    return point | {"feature_effect": effect}


def plausibility_by_hand(labels, values, confusion, prevalence, effect):
    """Prior times the probability of the answers, item by item."""
    odds = np.log(prevalence) + values @ effect
    joint = np.exp(odds) / np.exp(odds).sum(axis=1, keepdims=True)
    answers = (labels.annotation_item, labels.annotation_rater, labels.label_code, labels.count)
    for i, k, y, n in zip(*answers, strict=True):
        joint[i] *= confusion[k, :, y] ** n
    joint[labels.gold >= 0] = np.eye(CATEGORIES)[labels.gold[labels.gold >= 0]]
    return joint / joint.sum(axis=1, keepdims=True)


def test_plausibility_is_that_of_prior_and_answers(model, labels):
    effect = np.array([[1.0, -0.4, -0.6], [-2.0, 0.5, 1.5]])
    point = some_point(model, effect)
    outputs = [model[name] for name in ("plausibility", "confusion", "prevalence")]
    if model["prevalence"] in model.free_RVs:
        outputs[2] = outputs[2] * 1.0
    found, confusion, prevalence = values_of(model, outputs, point)
    features = few_features(labels).to_numpy()
    values = (features - features.mean(axis=0)) / features.std(axis=0)
    if (
        "guess" in point
    ):  # copies are enumerated in the tests of the law; here of the items that no copier repeats
        exact = plausibility_by_hand(labels, values, confusion, prevalence, effect)
        np.testing.assert_allclose(found[[1, 3, 4, 5]], exact[[1, 3, 4, 5]], atol=1e-12)
    else:
        exact = plausibility_by_hand(labels, values, confusion, prevalence, effect)
        np.testing.assert_allclose(found, exact, atol=1e-12)
    prior = np.exp(np.log(prevalence) + values[4] @ effect)
    np.testing.assert_allclose(found[4], prior / prior.sum(), atol=1e-12)  # without an answer


def test_without_effects_the_model_is_that_without_features(model, labels):
    name = RECIPES[model].builder
    with warnings.catch_warnings(action="ignore"):
        plain = getattr(models, name)(labels, **BUILDERS[name])
    point = some_point(model, np.zeros((2, CATEGORIES)))
    found = values_of(model, [model["plausibility"]], point)[0]
    own = {rv.name: point[rv.name] for rv in plain.free_RVs}
    np.testing.assert_allclose(found, values_of(plain, [plain["plausibility"]], own)[0], atol=1e-13)
    assert {rv.name for rv in model.free_RVs} - {*own} == {"feature_scale", "feature_effect"}
    assert not {name for name in plain.named_vars if name.startswith("feature")}


def test_columns_are_standardised_and_the_means_kept(model, labels):
    raw = few_features(labels).to_numpy()
    np.testing.assert_allclose(model["feature_mean"].get_value(), raw.mean(axis=0))
    np.testing.assert_allclose(model["feature_sd"].get_value(), raw.std(axis=0))
    restored = model["features"].get_value() * raw.std(axis=0) + raw.mean(axis=0)
    np.testing.assert_allclose(restored, raw)
    assert model.named_vars_to_dims["feature_effect"] == ("feature", "category")
    assert model.named_vars_to_dims["features"] == ("item", "feature")


def test_the_method_is_nuts_and_says_why(model, golden):
    route = route_of(model)
    assert route.begin is None and route.method == "nuts"
    golden.says(route.reason, "item (features")
    assert route.name == RECIPES[model].builder


def test_no_compiled_sampler_takes_them(labels, golden):
    model = models.dawid_skene(labels, features=few_features(labels))
    with golden.raises(ValueError):
        inference.sample(model, method="gibbs", draws=2, progressbar=False)


def test_features_of_every_item_are_asked_for(labels, golden):
    with golden.raises(DataError):
        models.one_coin(labels, features=few_features(labels)[:5])


# --- Coordinates of the effects ---


def coordinates(scale=0.7, columns=3, rng=None):
    rng = np.random.default_rng(seed_of("coordinates")) if rng is None else rng
    transform = FeatureDirections(rng.normal(size=(30, columns)), CATEGORIES)
    inputs = (None, None, pytensor.tensor.as_tensor_variable(np.array([scale])), None)
    return transform, inputs


def test_coordinates_go_and_come_back():
    transform, inputs = coordinates()
    z = np.random.default_rng(1).normal(size=(3, CATEGORIES - 1))
    effect = transform.backward(z, *inputs).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(effect.sum(axis=1), 0, atol=1e-14)
    np.testing.assert_allclose(transform.forward(effect, *inputs).eval(mode="FAST_COMPILE"), z, atol=1e-12)


def test_volume_of_the_coordinates():
    """In orthonormal coordinates of the rows that sum to zero the map is linear: its determinant by differences."""
    transform, inputs = coordinates()
    n = 3 * (CATEGORIES - 1)
    z = pytensor.tensor.matrix()
    map_ = pytensor.function([z], transform.backward(z, *inputs), mode="FAST_COMPILE")
    rows = [(map_(unit.reshape(3, -1)) @ transform._basis.T).ravel() for unit in np.eye(n)]
    found = transform.log_jac_det(z, *inputs).eval(mode="FAST_COMPILE")
    assert found == pytest.approx(np.log(abs(np.linalg.det(np.array(rows)))), rel=1e-12)


def test_density_in_the_coordinates_is_normal():
    """A prior alone: the log density of scale and coordinates, less that of the scale, is normal about zero."""
    rng = np.random.default_rng(seed_of("density"))
    transform, _ = coordinates(rng=rng)
    with pm.Model() as model:
        scale = pm.HalfNormal("scale")
        pm.ZeroSumNormal("w", scale, shape=(3, CATEGORIES), default_transform=transform)
    log_p = model.compile_logp(mode="FAST_COMPILE")
    s, z = 0.6, rng.normal(size=(3, CATEGORIES - 1))
    spread = (1 / s**2 + transform._information)[:, None] ** -0.5
    near = log_p({"scale_log__": np.log(s), "w_directions__": z})
    origin = log_p({"scale_log__": np.log(s), "w_directions__": 0 * z})
    assert near - origin == pytest.approx(-0.5 * ((z * spread / s) ** 2).sum(), rel=1e-10)
    other = log_p({"scale_log__": np.log(2 * s), "w_directions__": 0 * z})
    wide = (1 / (2 * s) ** 2 + transform._information)[:, None] ** -0.5
    gained = (CATEGORIES - 1) * (np.log(wide / (2 * s)) - np.log(spread / s)).sum()
    assert other - origin == pytest.approx(gained - 1.5 * s**2 + np.log(2), rel=1e-10)
