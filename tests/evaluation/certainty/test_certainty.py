"""Certainty and plausible labels against a loop over draws, and OTHER against the brute-force expansion."""

from collections import Counter

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation

from tests.support.evaluation_trees import Case, as_dense, as_flat, random_case
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

GROUPS = {f"label {c}": "low" if c % 3 else "high" for c in range(6)}


def top_set(row, top):
    """Return the places of the `top` largest positive entries; ties go to the first."""
    order = sorted(range(len(row)), key=lambda place: (-row[place], place))
    return tuple(place for place in order[:top] if row[place] > 0)


def slow_certainty(tree, top, group=None):
    dense = tree["posterior"]["plausibility"].to_numpy()
    samples = dense.reshape(-1, *dense.shape[2:])
    found = []
    for item in range(samples.shape[1]):
        sets = [frozenset(top_set(row, top)) for row in samples[:, item]]
        if group is not None:
            sets = [group[next(iter(labels))] for labels in sets]
        found.append(max(Counter(sets).values()) / len(sets))
    return np.array(found)


@pytest.fixture
def case():
    return random_case(np.random.default_rng(3))


@pytest.mark.parametrize("top", [1, 2, 3, 5])
def test_certainty_is_that_of_a_loop_over_draws(case, top):
    expected = slow_certainty(as_dense(case), top)
    dense = evaluation.annotation_certainty(as_dense(case), top)
    flat = evaluation.annotation_certainty(as_flat(case), top, other="exclude")
    assert dense.dims == ("item",)
    assert dense["item"].to_numpy().tolist() == case.items
    np.testing.assert_array_equal(dense, expected)
    np.testing.assert_array_equal(flat, expected)


def test_ties_go_to_the_first_category_and_empty_plausibility_to_none():
    draws = np.array([[[[0.25, 0.25, 0.5, 0.0]], [[0.5, 0.5, 0.0, 0.0]], [[0.3, 0.3, 0.3, 0.1]]]])
    array = xr.DataArray(
        draws,
        {"item": [7], "category": list("abcd")},
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )
    found = evaluation.plausible_labels(array, top=3)
    assert found["label"].to_numpy()[0].tolist() == [["a", "b", "c"], ["a", "b", ""]]
    np.testing.assert_allclose(found["probability"], [[2 / 3, 1 / 3]])
    first = evaluation.plausible_labels(array)["label"].to_numpy()[0, :, 0]
    assert sorted(first.tolist()) == ["a", "c"]
    assert evaluation.plausible_labels(array)["probability"].to_numpy()[0, 0] == 2 / 3


def test_plausible_labels_are_the_sets_of_the_draws(case):
    found = evaluation.plausible_labels(as_flat(case), top=2, other="exclude")
    np.testing.assert_array_equal(
        found["probability"].isel(alternative=0),
        evaluation.annotation_certainty(as_flat(case), 2, other="exclude"),
    )
    np.testing.assert_allclose(found["probability"].sum("alternative"), 1)
    draws = as_dense(case)["posterior"]["plausibility"].to_numpy()
    names = np.array(case.categories)
    for item in range(len(case.items)):
        sets = [tuple(sorted(top_set(row, 2))) for row in draws[:, :, item].reshape(60, -1)]
        for places, count in Counter(sets).items():
            labels = [*names[list(places)].tolist(), ""][:2]
            alternative = (found["label"].to_numpy()[item] == labels).all(axis=-1)
            assert found["probability"].to_numpy()[item, alternative] == [count / 60]


def test_other_as_a_label_is_one_alternative():
    draws = np.array([[[0.4, 0.6], [0.7, 0.3], [0.1, 0.9]]])
    case = Case([[1]], [draws], 100, 0.01)
    tree = as_flat(case)
    assert evaluation.annotation_certainty(tree, other="label").item() == 2 / 3
    found = evaluation.plausible_labels(tree, other="label")
    assert found["label"].to_numpy()[0, :, 0].tolist() == ["OTHER", "label 1"]
    assert evaluation.annotation_certainty(tree, other="exclude").item() == 1


def test_certainty_of_groups(case):
    group = [GROUPS[label] for label in case.categories]
    expected = slow_certainty(as_dense(case), 1, group)
    for tree in (as_dense(case), as_flat(case, concentration=np.nan)):
        found = evaluation.annotation_certainty(tree, groups=GROUPS)
        np.testing.assert_array_equal(found, expected)


# OTHER split, against the expansion by brute force

LAWS = [(0.02, 0.3), (0.5, 1.0), (3.0, 4.0)]


def statistics(case, tree, seed):
    """Return probabilities of being in the top-j set of each item: (draw, statistic), of one seed."""
    truth = xr.DataArray(np.eye(case.n_categories, dtype=bool), dims=("classifier", "category"))
    predicted = truth.expand_dims(item=case.items).assign_coords(category=case.categories)
    columns = []
    for metric in (evaluation.top_k_accuracy(1), evaluation.overlap(2), evaluation.overlap(3)):
        found = evaluation.uncertainty_adjusted(metric, tree, predicted, reduce=None, random_seed=seed)
        columns.append(found.stack(sample=("chain", "draw")).transpose("sample", ...).to_numpy())
    return np.concatenate([c.reshape(len(c), -1) for c in columns], axis=1).astype(float)


def assert_same_means(a, b):
    error = np.sqrt(a.var(axis=0) / len(a) + b.var(axis=0) / len(b))
    difference = a.mean(axis=0) - b.mean(axis=0)
    varies = error > 0
    assert (difference[~varies] == 0).all()
    z = difference[varies] / error[varies]
    assert np.abs(z).max() < bonferroni_threshold(len(z))


@pytest.mark.parametrize(("concentration", "worth"), LAWS)
def test_split_other_is_the_dense_expansion(concentration, worth):
    rng = np.random.default_rng(seed_of(f"split other {concentration}"))
    case = random_case(rng, 4, 6, (2, 10_000), concentration, worth)
    laws = [[worth] * len(m) + [concentration * (6 - len(m))] for m in case.named]
    fresh = Case(case.named, [rng.dirichlet(law, (2, 10_000)) for law in laws], 6, concentration)
    dense = statistics(case, as_dense(case, rng), 1)
    assert_same_means(dense, statistics(case, as_flat(fresh), 2))
    assert_rejects_twin(assert_same_means, dense, statistics(case, as_dense(fresh), 2))
    wrong = as_flat(fresh, concentration=3 * concentration)
    assert_rejects_twin(assert_same_means, dense, statistics(case, wrong, 2))


def test_split_other_certainty_and_groups_are_those_of_the_dense_expansion():
    rng = np.random.default_rng(seed_of("split other certainty"))
    case = random_case(rng, 6, 6, (2, 20_000), 0.4, 0.4)
    tolerance = 5 * np.sqrt(0.5 / 40_000)
    dense, flat = as_dense(case, rng), as_flat(case)
    for top in (1, 2, 3):
        found = evaluation.annotation_certainty(flat, top, random_seed=1)
        expected = evaluation.annotation_certainty(dense, top)
        np.testing.assert_allclose(found, expected, atol=tolerance)
        wrong = evaluation.annotation_certainty(flat, top, other="label")
        assert np.abs(wrong - expected).max() > 2 * tolerance
    found = evaluation.annotation_certainty(flat, groups=GROUPS, random_seed=1)
    expected = evaluation.annotation_certainty(dense, groups=GROUPS)
    np.testing.assert_allclose(found, expected, atol=tolerance)


def test_plausible_labels_pool_the_members_of_other():
    rng = np.random.default_rng(seed_of("pooled alternatives"))
    case = random_case(rng, 6, 6, (2, 20_000), 0.4, 0.4)
    dense = as_dense(case, rng)["posterior"]["plausibility"]
    top = dense.argmax("category").to_numpy().reshape(-1, 6)
    found = evaluation.plausible_labels(as_flat(case), random_seed=1)
    for i, named in enumerate(case.named):
        pooled = (found["label"].to_numpy()[i, :, 0] == "OTHER") @ found["probability"].to_numpy()[i]
        assert pooled == pytest.approx(1 - np.isin(top[:, i], named).mean(), abs=0.018)


def test_same_seed_same_answer():
    case = random_case(np.random.default_rng(5), 40, 30, (2, 200), 0.2, 0.4)
    first, again, other = (
        evaluation.annotation_certainty(as_flat(case), 3, random_seed=s) for s in (1, 1, 2)
    )
    xr.testing.assert_identical(first, again)
    assert (first != other).any()


def test_groups_must_be_complete(case, golden):
    some = {k: v for k, v in GROUPS.items() if k != "label 0"}
    for groups in (some, {}):
        with pytest.raises(evaluation.EvaluationError, match="groups= "):
            evaluation.annotation_certainty(as_flat(case), groups=groups)
    with golden.raises(evaluation.EvaluationError):
        evaluation.annotation_certainty(as_flat(case), groups=GROUPS, other="label")
    with golden.raises(evaluation.EvaluationError):
        evaluation.annotation_certainty(as_flat(case), 2, GROUPS)
    with pytest.raises(evaluation.EvaluationError, match="at least one"):
        evaluation.annotation_certainty(as_flat(case), 0)


def test_certainty_of_groups_names_the_group_it_is_of():
    """Two labels of `high` share most of the mean plausibility; the top-1 label of most draws is `low`."""
    draws = [[0.4, 0.3, 0.3]] * 3 + [[0.0, 0.9, 0.1]] * 2
    coords = {"item": ["a"], "category": ["x", "y", "z"]}
    truth = xr.DataArray(
        np.array(draws)[None, :, None],
        coords,
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )
    groups = {"x": "low", "y": "high", "z": "high"}
    found = evaluation.annotation_certainty(truth, groups=groups)
    assert found["group"].item() == "low" and found.item() == 0.6
    mean = evaluation.coarsen(truth, groups).mean(("chain", "draw"))
    assert mean.idxmax("category").item() == "high"


def test_groups_of_one_text_and_two_types_are_two():
    draws = np.array([[0.1, 0.9, 0.0]] * 3 + [[0.8, 0.1, 0.1]])[None, :, None]
    coords = {"item": ["a"], "category": ["x", "y", "z"]}
    truth = xr.DataArray(
        draws, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"}
    )
    found = evaluation.annotation_certainty(truth, groups={"x": 1, "y": "1", "z": "last"})
    assert found["group"].item() == "1" and found.item() == 0.75
    last = evaluation.annotation_certainty(truth[..., ::-1], groups={"x": 1, "z": "1", "y": "last"})
    assert last["group"].item() == "last"


def test_a_point_estimate_has_no_certainty_and_this_is_said(golden):
    point = xr.DataArray(
        [[0.6, 0.4], [0.5, 0.5]],
        {"item": ["a", "b"], "category": ["x", "y"]},
        ("item", "category"),
        attrs={"truth": "distribution"},
    )
    for one_draw in (point, point.expand_dims(("chain", "draw"))):
        with golden.warns(UserWarning):
            found = evaluation.annotation_certainty(one_draw)
        assert found.values.tolist() == [1, 1]
        golden.says(found.attrs["note"], "the uncertainty")
        with pytest.warns(UserWarning, match="one draw"):
            assert "note" in evaluation.annotation_certainty(one_draw, groups={"x": "g", "y": "h"}).attrs
    several = xr.concat([point, 1 - point], "draw").expand_dims("chain")
    assert "note" not in evaluation.annotation_certainty(several).attrs


@pytest.mark.parametrize("items", [["y"], ["x", "y"]], ids=" ".join)
def test_labels_of_equal_probability_do_not_depend_on_the_other_items(items):
    """As in a shard of the items, in which labels appear in another order."""
    candidates = {"x": ["c", "b"], "y": ["a", "b", "c"]}
    draws = {"x": [[0.6, 0.4], [0.4, 0.6]], "y": [[0.1, 0.6, 0.3], [0.6, 0.1, 0.3]]}
    coords = {
        "item": ("candidate", [item for item in items for _ in candidates[item]]),
        "category": ("candidate", [label for item in items for label in candidates[item]]),
    }
    values = np.concatenate([draws[item] for item in items], axis=1)[None]
    array = xr.DataArray(values, coords, ("chain", "draw", "candidate"), attrs={"truth": "distribution"})
    for top, first in ((1, ["a", "b"]), (2, ["ac", "bc"])):
        found = evaluation.plausible_labels(array, top).sel(item="y")["label"].values
        assert ["".join(own) for own in found.tolist()] == first
