"""EBCC: its law against enumeration, with gold items and a repeat; its simulator, arguments and sorted subtypes."""

from itertools import product

import numpy as np
import pymc as pm
import pytensor
import pytest
from raterzoo import models
from raterzoo.inference.labels import ebcc
from raterzoo.models.labels.item_effects import check_size
from scipy.special import gammaln
from xarray import Dataset

from tests.support.label_designs import favoured, tiny_labels
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

LABELS = tiny_labels()
MODEL = models.ebcc(LABELS, subtypes=2, prevalence_concentration=[1.0, 2.0], subtype_concentration=0.7)


def parameters():
    rng = np.random.default_rng(seed_of("ebcc"))
    return rng.dirichlet(np.ones(2)), rng.dirichlet(np.ones(2), 2), rng.dirichlet(np.ones(2), (3, 2, 2))


def joint(labels, prevalence, weight, confusion):
    """Return p(answers, category, subtype) of every item, one after the other."""
    found = np.zeros((len(labels.items), *weight.shape))
    for i, j, m in product(*map(range, found.shape)):
        if labels.gold[i] in (-1, j):
            own = labels.annotation_item == i
            p = confusion[labels.annotation_rater[own], j, m, labels.label_code[own]]
            found[i, j, m] = prevalence[j] * weight[j, m] * np.prod(p ** labels.count[own])
    return found


@pytest.mark.slow
def test_law_is_the_sum_over_categories_and_subtypes():
    prevalence, weight, confusion = parameters()
    exact = joint(LABELS, prevalence, weight, confusion)
    (log_p,) = MODEL.logp(vars=MODEL.observed_RVs, sum=False)
    names = ("prevalence", "subtype_weight", "subtype_confusion")
    wanted = [log_p, MODEL["plausibility"], MODEL["confusion"]]
    wanted = MODEL.replace_rvs_by_values(wanted)
    inputs = [MODEL.rvs_to_values[MODEL[name]] for name in names]
    values = [MODEL.rvs_to_transforms[MODEL[name]].forward(x).eval(mode="FAST_COMPILE") for name, x in
              zip(names, (prevalence, weight, confusion), strict=True)]  # fmt: skip
    found = pytensor.function(inputs, wanted, mode="FAST_COMPILE", on_unused_input="ignore")(*values)
    np.testing.assert_allclose(found[0], np.log(exact.sum(axis=(1, 2))), rtol=1e-12)
    np.testing.assert_allclose(found[1], exact.sum(axis=2) / exact.sum(axis=(1, 2))[:, None], rtol=1e-12)
    average = sum(weight[:, m, None] * confusion[:, :, m] for m in range(2))
    np.testing.assert_allclose(found[2], average, rtol=1e-12)
    assert MODEL["confusion"].eval(mode="FAST_COMPILE").shape == (3, 2, 2)


def test_priors_are_those_asked_for():
    point = dict(zip(("prevalence", "subtype_weight", "subtype_confusion"), parameters(), strict=True))

    def log_dirichlet(x, alpha):
        alpha = np.broadcast_to(alpha, x.shape)
        return (gammaln(alpha.sum(-1)) - gammaln(alpha).sum(-1) + ((alpha - 1) * np.log(x)).sum(-1)).sum()

    expected = {
        "prevalence": log_dirichlet(point["prevalence"], np.array([1.0, 2.0])),
        "subtype_weight": log_dirichlet(point["subtype_weight"], 0.7),
        "subtype_confusion": log_dirichlet(point["subtype_confusion"], favoured(2)[:, None]),
    }
    for name, value in expected.items():
        found = pm.logp(MODEL[name], point[name]).sum().eval(mode="FAST_COMPILE")
        assert found == pytest.approx(value, rel=1e-12), name


def replicates(model, draws, seed):
    with model:
        tree = pm.sample_prior_predictive(draws, var_names=["observed_label"], random_seed=seed)
    return tree["prior_predictive"]["observed_label"].to_numpy()[0]


def check_pairs_of_answers(drawn, law):
    """Two raters' answers to one item: dependent given the category, by the subtypes."""
    z = []
    for labels in product(range(2), repeat=2):
        p = law[labels]
        z.append(((drawn == labels).all(axis=1).mean() - p) / np.sqrt(p * (1 - p) / len(drawn)))
    assert np.abs(z).max() < bonferroni_threshold(len(z))


@pytest.mark.slow
def test_raters_err_together_within_a_category():
    labels = models.Labels.from_table(
        {"item": ["i", "i"], "rater": ["r", "s"], "label": ["x", "y"], "gold": ["x", "x"]}, gold="gold"
    )
    weight, confusion = np.array([[0.7, 0.3], [0.5, 0.5]]), np.empty((2, 2, 2, 2))
    confusion[:, :, 0], confusion[:, :, 1] = [[0.9, 0.1], [0.1, 0.9]], [[0.2, 0.8], [0.8, 0.2]]
    with pm.do(
        models.ebcc(labels, subtypes=2), {"subtype_weight": weight, "subtype_confusion": confusion}
    ) as fixed:
        drawn = replicates(fixed, 20_000, seed_of("pairs of answers"))
    of = confusion[:, 0]  # of true category x: (rater, subtype, answer)
    law = np.einsum("m,ma,mb->ab", weight[0], of[0], of[1])
    check_pairs_of_answers(drawn, law)
    average = np.einsum("m,rma->ra", weight[0], of)
    assert_rejects_twin(check_pairs_of_answers, drawn, np.outer(*average))  # independent raters


def test_subtypes_are_sorted_in_every_draw_and_what_they_share_is_not_changed():
    rng = np.random.default_rng(1)
    weight = rng.dirichlet(np.ones(3), (5, 2))  # (draw, category, subtype)
    table = rng.random((5, 4, 6))  # (draw, rater * label, state)
    given = ebcc.SubtypeDraws(np.zeros((5, 2)), weight, table, np.zeros(5), np.zeros(5))
    found = ebcc.sorted_subtypes(given)
    assert (np.diff(found.weight, axis=-1) <= 0).all()
    before = np.einsum("djm,drjm->drj", weight, table.reshape(5, 4, 2, 3))
    after = np.einsum("djm,drjm->drj", found.weight, found.table.reshape(5, 4, 2, 3))
    np.testing.assert_allclose(after, before, rtol=1e-12)

    dims = ("chain", "draw", "category", "subtype")
    own = table.reshape(5, 4, 2, 3)[None]
    posterior = Dataset(
        {
            "subtype_confusion": (("chain", "draw", "row", "category", "subtype"), own),
            "subtype_weight": (dims, weight[None]),
            "prevalence": (("chain", "draw", "category"), weight[None, :, :, 0]),
        },
        {"subtype": [0, 1, 2]},
    )
    sorted_by_name = ebcc.sort_subtypes({"posterior": posterior, "log_prior": posterior[["subtype_weight"]]})
    np.testing.assert_array_equal(sorted_by_name["posterior"]["subtype_weight"][0], found.weight)
    np.testing.assert_array_equal(
        sorted_by_name["posterior"]["subtype_confusion"][0], found.table.reshape(5, 4, 2, 3)
    )
    assert sorted_by_name["posterior"]["prevalence"].equals(posterior["prevalence"])
    assert sorted_by_name["posterior"]["subtype"].values.tolist() == [0, 1, 2]
    np.testing.assert_array_equal(sorted_by_name["log_prior"]["subtype_weight"][0], found.weight)


def test_simulated_answers_follow_the_law_of_the_subtypes():
    simulated = models.simulators.labels(
        model="ebcc", items=30_000, raters=2, answers=2, categories=2, random_seed=seed_of("simulated ebcc")
    )
    data, truth = simulated.data, simulated.truth
    own = truth["subtype_confusion"]
    told = own[
        data.annotation_rater,
        truth["true_category"][data.annotation_item],
        truth["subtype"][data.annotation_item],
        data.label_code,
    ]
    # the expected probability of an answer is the sum of squares of its law
    expected = (own**2).sum(axis=3)[
        data.annotation_rater,
        truth["true_category"][data.annotation_item],
        truth["subtype"][data.annotation_item],
    ]
    z = (told - expected).mean() / ((told - expected).std() / np.sqrt(len(told)))
    assert abs(z) < 4
    share = (
        np.bincount(truth["subtype"][truth["true_category"] == 1], minlength=3)
        / (truth["true_category"] == 1).sum()
    )
    assert np.abs(share - truth["subtype_weight"][1]).max() < 0.02


@pytest.mark.parametrize(
    "build",
    [
        lambda: models.ebcc(LABELS, subtypes=1),
        lambda: models.ebcc(LABELS, subtypes=2.5),
        lambda: models.ebcc(LABELS, subtypes=True),
        lambda: models.ebcc(LABELS, subtype_concentration=0),
        lambda: models.ebcc(LABELS, subtype_concentration=[1, 2, 3]),
        lambda: models.ebcc(LABELS, confusion_concentration=[1, 2, 3]),
        lambda: models.ebcc(models.Labels.from_counts({"item": [1], "x": [2], "y": [1]})),
        lambda: models.ebcc(LABELS, subtypes=10**7),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(build, golden):
    with golden.raises((ValueError, TypeError)):
        build()


def test_other_models_are_told_to_ask_for_fewer_nodes(golden):
    with golden.raises(ValueError):
        check_size(LABELS, 3, 10**7)
