"""The simulated designs have the features that they are named for."""

import numpy as np
import pytest
from raterzoo.models import simulators

from tests.support.monte_carlo import bonferroni_threshold, seed_of


@pytest.fixture(scope="module")
def diagnoses():
    return simulators.differential_diagnoses(random_seed=seed_of("diagnoses"))


def test_diagnoses_have_the_shape_of_the_dermatology_design(diagnoses):
    data = diagnoses.data
    per_item = np.bincount(data.annotation_item)
    assert (len(data.items), len(data.categories)) == (1947, 419)
    assert (per_item.min(), per_item.max()) == (1, 10)
    named = np.diff(data.block_start[data.annotation_start])
    # 117 + 25 + 5 + 2 of 9,602 annotations name more than three; the design leaves out a few.
    assert (named <= 3).mean() > 0.98
    assert (np.diff(data.block_start) > 1).any()
    assert np.diff(data.block_start).max() <= 6


def test_use_of_categories_is_long_tailed(diagnoses):
    used = np.sort(np.bincount(diagnoses.data.category_code, minlength=419))[::-1]
    assert 200 < (used > 0).sum() < 380
    assert used[:42].sum() > used.sum() / 2


def test_truth_sums_to_one_and_is_concentrated(diagnoses):
    plausibility = diagnoses.truth["plausibility"]
    assert plausibility.shape == (1947, 419)
    np.testing.assert_allclose(plausibility.sum(axis=1), 1, rtol=1e-12)
    assert np.median(plausibility.max(axis=1)) > 0.4


@pytest.mark.parametrize("categories, raters", [(2, 1), (3, 10), (6, 4)])
def test_diagnoses_of_other_sizes(categories, raters):
    drawn = simulators.differential_diagnoses(items=50, categories=categories, raters=raters, random_seed=1)
    assert len(drawn.data.categories) == categories
    assert len(drawn.data.raters) <= raters


def test_toy_posterior_is_calibrated():
    toy = simulators.three_class_toy(items=20_000, raters=1, random_seed=seed_of("toy"))
    plausibility, label = toy.truth["plausibility"], toy.truth["true_category"]
    hit = np.arange(3) == label[:, None]
    # Given the inputs, the labels are independent draws from the posterior.
    bins = np.digitize(toy.truth["input"], [-1.0, -0.5, 0.0, 0.5, 1.0])
    z = [
        (hit[b] - plausibility[b]).sum(axis=0)
        / np.sqrt((plausibility[b] * (1 - plausibility[b])).sum(axis=0))
        for b in (bins == k for k in range(6))
    ]
    assert np.abs(z).max() < bonferroni_threshold(18)


def test_toy_raters_name_what_is_plausible():
    sharp = simulators.three_class_toy(
        items=2000, raters=1, sharpness=1e6, tie_threshold=0.0, expected_length=0.0, random_seed=3
    )
    first = np.bincount(sharp.data.category_code, minlength=3)
    expected = sharp.truth["plausibility"].sum(axis=0)
    spread = np.sqrt((sharp.truth["plausibility"] * (1 - sharp.truth["plausibility"])).sum(axis=0))
    assert np.abs((first - expected) / spread).max() < bonferroni_threshold(3)


def test_toy_ties_are_neighbours_within_the_threshold():
    none = simulators.three_class_toy(tie_threshold=0.0, random_seed=4)
    assert (np.diff(none.data.block_start) == 1).all()
    everything = simulators.three_class_toy(tie_threshold=1.0, expected_length=9.0, random_seed=4)
    assert (np.diff(everything.data.annotation_start) == 1).all()


def test_toy_stays_finite_when_classes_hardly_overlap():
    toy = simulators.three_class_toy(spread=1e-3, random_seed=5)
    assert np.isfinite(toy.truth["plausibility"]).all()
    assert len(toy.data) == 1500
