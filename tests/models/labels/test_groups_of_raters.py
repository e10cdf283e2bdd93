"""Raters of groups: who belongs where, and the law of the groups of hierarchical_dawid_skene."""

from dataclasses import replace
from functools import partial

import numpy as np
import pytensor
import pytest
from raterzoo import models
from raterzoo.models.data.raters import rater_groups
from scipy.special import softmax
from scipy.stats import dirichlet, halfnorm, norm

from tests.support.monte_carlo import assert_rejects_twin, seed_of

KINDS = {"r": "person", "s": "person", "t": "language model", "u": "person"}


def labels_of_kinds(name="kind"):
    """Sixteen answers of four raters, of whom one is alone in the group."""
    rng = np.random.default_rng(seed_of("kinds"))
    table = {
        "item": np.repeat(list("abcd"), 4),
        "rater": list("rstu") * 4,
        "label": rng.choice(["x", "y", "z"], 16),
    }
    kinds = [KINDS[k] for k in table["rater"]]
    return models.Labels.from_table(table | {name: kinds}, rater_attributes=[name], categories=list("xyz"))


LABELS = labels_of_kinds()


def test_groups_are_named_in_order_of_appearance():
    names, code = rater_groups(LABELS.raters, LABELS.rater_attributes, "kind")
    assert names.tolist() == ["person", "language model"] and code.tolist() == [0, 0, 1, 0]


@pytest.mark.parametrize(
    ("labels", "group"),
    [
        (LABELS, "knd"),
        (LABELS, 3),
        (LABELS, ["kind"]),
        (models.Labels.from_table({"item": list("aab"), "rater": list("rsr"), "label": list("xyx")}), "kind"),
        (replace(LABELS, rater_attributes={"kind": np.array(["p", "", "m", "p"])}), "kind"),
    ],
)  # fmt: skip
def test_wrong_groups_are_named(labels, group, golden):
    with golden.raises(models.DataError):
        models.hierarchical_dawid_skene(labels, group=group)


def test_wrong_spread_of_groups_is_named(golden):
    with golden.raises(ValueError):
        models.hierarchical_dawid_skene(LABELS, group="kind", group_spread=0)


@pytest.mark.parametrize(
    ("build", "name"),
    [
        (models.hierarchical_dawid_skene, "deviation"),
        (models.logistic_random_effects, "deviation"),
        (partial(models.ordinal, order=["x", "y", "z"]), "scale"),
    ],
)
def test_attributes_that_are_variables_are_refused(build, name, golden):
    labels = replace(LABELS, rater_attributes={name: np.arange(4)})
    with golden.raises(models.DataError):
        build(labels)


def test_without_groups_the_model_is_as_it_was():
    model = models.hierarchical_dawid_skene(LABELS)
    free = ["prevalence", "population_mean", "population_spread", "rater_deviation"]
    assert [rv.name for rv in model.free_RVs] == free
    assert "group_of_raters" not in model.coords


def log_p_by_hand(point, kinds, group_spread):
    """The log density of all variables, the true categories summed item by item."""
    p, zeta, omega, psi, delta, epsilon = (point[name] for name in NAMES)
    mean = zeta + psi * delta[kinds]
    confusion = softmax(mean + omega * epsilon, axis=-1)
    total = dirichlet.logpdf(p, np.ones(3)) + norm.logpdf(zeta, 2 * np.eye(3)).sum()
    total += halfnorm.logpdf(omega).sum() + halfnorm.logpdf(psi, scale=group_spread)
    total += norm.logpdf(delta).sum() + norm.logpdf(epsilon).sum()
    for item in range(4):
        own = LABELS.annotation_item == item
        law = confusion[LABELS.annotation_rater[own], :, LABELS.label_code[own]]
        total += np.log((p * law.prod(axis=0)).sum())
    return total, confusion, zeta + psi * delta


NAMES = ["prevalence", "population_mean", "population_spread", "group_spread", "group_deviation",
         "rater_deviation"]  # fmt: skip


def test_law_of_groups_is_that_written_by_hand():
    model = models.hierarchical_dawid_skene(LABELS, group="kind", group_spread=2.0)
    assert model.coords["group_of_raters"] == ("person", "language model")
    variables = [model[name] for name in NAMES]
    asked = [model.logp(jacobian=False), model["confusion"], model["group_mean"]]
    values = [model.rvs_to_values[v] for v in variables]
    asked = model.replace_rvs_by_values(asked)
    function = pytensor.function(values, asked, mode="FAST_COMPILE", on_unused_input="ignore")
    point = model.initial_point(random_seed=1)
    rng = np.random.default_rng(seed_of("law of groups"))
    point = {value.name: rng.normal(0, 0.7, np.shape(point[value.name])) for value in values}
    drawn = {
        v.name: (t.backward(x, *v.owner.inputs).eval(mode="FAST_COMPILE") if t else x)
        for v, x in zip(variables, point.values(), strict=True)
        for t in [model.rvs_to_transforms[v]]
    }
    found = function(*point.values())

    def check(kinds):
        expected = log_p_by_hand(drawn, kinds, 2.0)
        for own, hand in zip(found, expected, strict=True):
            np.testing.assert_allclose(own, hand, rtol=1e-10)

    check([0, 0, 1, 0])
    assert_rejects_twin(check, [0, 1, 0, 0])


@pytest.mark.parametrize("name", ["kind", "group"])
def test_groups_may_have_the_name_of_their_dim_to_be(name):
    model = models.hierarchical_dawid_skene(labels_of_kinds(name), group=name)
    assert model.named_vars_to_dims["group_mean"][0] == "group_of_raters"
    assert model.coords[f"rater_{name}"] == ("person", "person", "language model", "person")
