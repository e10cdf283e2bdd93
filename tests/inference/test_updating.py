"""Answers that arrive: weights and plausibilities against Bayes' rule, and against a refit."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models

from tests.support.monte_carlo import assert_rejects_twin

QUIET = {"random_seed": 1, "progressbar": False}
KINDS = np.array([[[0.9, 0.1], [0.2, 0.8]], [[0.6, 0.4], [0.5, 0.5]]])  # confusion of rater r in either draw
SHARES, BEFORE = np.array([[0.3, 0.7], [0.5, 0.5]]), np.array([[0.8, 0.2], [0.4, 0.6]])  # of item a


def two_draws(copies=500):
    """A posterior of two values, half of the draws each, of item a, which s answered, and raters r and s."""

    def repeated(values):
        return np.repeat(values[None], copies, axis=1).reshape(1, -1, *values.shape[1:])

    named = {"item": ["a"], "category": ["no", "yes"], "answer": ["no", "yes"], "rater": ["r", "s"]}
    posterior = xr.Dataset(
        {
            "prevalence": (("chain", "draw", "category"), repeated(SHARES)),
            "confusion": (
                ("chain", "draw", "rater", "category", "answer"),
                repeated(np.stack([KINDS, KINDS], axis=1)),
            ),
            "plausibility": (
                ("chain", "draw", "item", "category"),
                repeated(BEFORE[:, None]),
                {"truth": "category"},
            ),
        },
        named,
    )
    codes = {name: ("annotation", [code]) for name, code in (("annotation_item", 0), ("annotation_rater", 1))}
    observed = xr.Dataset({"observed_label": ("annotation", [0])})
    groups = {"posterior": posterior, "constant_data": xr.Dataset(codes), "observed_data": observed}
    return xr.DataTree.from_dict(groups)


def answers(*rows):
    columns = dict(zip(("item", "rater", "label"), zip(*rows, strict=True), strict=True))
    return models.Labels.from_table(columns, categories=["no", "yes"])


@pytest.mark.parametrize("items", ["all", "answered"])
def test_weights_and_plausibilities_are_those_of_bayes(items):
    tree = two_draws()
    found = inference.update(
        tree, answers(("a", "r", "yes"), ("b", "s", "no"), ("b", "r", "no")), items=items
    )
    joint = BEFORE * KINDS[:, :, 1], SHARES * KINDS[:, :, 0] ** 2
    weight = np.prod([own.sum(axis=1) for own in joint], axis=0)
    first = found["posterior"]["prevalence"][0, :, 0].to_numpy() == SHARES[0, 0]

    def check(share):
        assert share == pytest.approx(weight[0] / weight.sum(), abs=0.0015)

    check(first.mean())
    assert_rejects_twin(check, 0.5)  # plausibilities alone, draws as they were
    for item, own in zip(("a", "b"), joint, strict=True):
        exact = own / own.sum(axis=1, keepdims=True)
        values = found["posterior"]["plausibility"].sel(item=item)[0].to_numpy()
        np.testing.assert_allclose(values, np.where(first[:, None], exact[0], exact[1]))
    assert len(found["observed_data"]["observed_label"]) == 4 and found["posterior"].sizes["item"] == 2
    with pytest.raises(models.DataError):
        inference.update(found, answers(("a", "r", "yes")))


@pytest.mark.slow
@pytest.mark.parametrize("model", ["dawid_skene", "correlated_votes"])
def test_update_is_a_refit_within_its_error(model):
    rows = models.simulators.labels(
        items=200, raters=5, categories=2, answers=4, random_seed=2
    ).data.to_table()
    late = np.random.default_rng(3).random(len(rows["item"])) < 0.03
    first, whole = (
        models.Labels.from_table({name: own[kept] for name, own in rows.items()}, categories=range(2))
        for kept in (~late, slice(None))
    )
    then = models.Labels.from_table({name: own[late] for name, own in rows.items()}, categories=range(2))
    build = getattr(models, model)
    tree, refit = (inference.sample(build(labels), **QUIET) for labels in (first, whole))
    found = inference.update(tree, then)
    assert found.attrs["effective_draws"] > 2000
    mean = [own["posterior"]["plausibility"].mean(("chain", "draw")) for own in (found, refit, tree)]

    def check(own):
        assert np.abs(own - mean[1]).sel(item=then.items).max() < 0.06

    check(mean[0])
    assert_rejects_twin(check, mean[2])


def test_answers_that_cannot_be_taken(golden):
    tree = two_draws(3)
    other = models.Labels.from_table(
        {"item": ["a"], "rater": ["r"], "label": ["maybe"]}, categories=["maybe", "no"]
    )
    for new, column in (
        (answers(("a", "s", "no")), "item"),
        (answers(("a", "t", "no")), "rater"),
        (other, "label"),
    ):
        with golden.raises(models.DataError) as found:
            inference.update(tree, new)
        assert found.value.column == column
    with pytest.raises(ValueError, match="items="):
        inference.update(tree, answers(("a", "r", "no")), items="some")
    with pytest.raises(ValueError, match="update needs"):
        inference.update(
            xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()}), answers(("a", "r", "no"))
        )


def test_items_are_retired_at_the_price_of_an_answer():
    tree = two_draws(3)  # certainty .6
    assert inference.retire(tree, 2.4).item() and not inference.retire(tree, 2.6).item()
    for cost in (0, np.inf, np.nan):
        with pytest.raises(ValueError, match="cost"):
            inference.retire(tree, cost)
