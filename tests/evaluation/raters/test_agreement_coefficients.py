"""Agreement beyond chance of ordered labels: published values of irrCAC and krippendorff, and peers."""

from itertools import product

import krippendorff
import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from sklearn.metrics import cohen_kappa_score

WEIGHTS = ("nominal", "ordinal", "linear", "quadratic")
N = np.nan
FOUR_RATERS = [  # Gwet (2014), page 120; Krippendorff (2011), Computing Krippendorff's alpha-reliability
    [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, N],
    [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, 3],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
]


def ratings_of(table):
    table = np.asarray(table, float)
    return xr.DataArray(table, {"rater": np.arange(table.shape[1])}, ("item", "rater"))


def expanded(counts):
    """Return codes of two raters whose contingency table is given."""
    counts = np.array(counts)
    return np.stack([np.repeat(codes, counts[np.nonzero(counts)]) for codes in np.nonzero(counts)], axis=1)


def test_published_values_of_four_raters():
    """Gwet's AC1 .775 and AC2 by irrCAC, alpha by irrCAC and by Krippendorff, whose ordinal differences are .815."""
    of = {
        "nominal": (0.743, 0.775),
        "ordinal": (0.815, 0.899),
        "linear": (0.800, 0.859),
        "quadratic": (0.849, 0.914),
    }
    for weights, (alpha, gwet) in of.items():
        found = evaluation.label_agreement(
            ratings_of(np.transpose(FOUR_RATERS)), weights=weights, bootstrap=0
        )
        name = "ac1" if weights == "nominal" else "ac2"
        assert float(found["alpha"]) == pytest.approx(alpha, abs=5e-4)
        assert float(found[name]) == pytest.approx(gwet, abs=5e-4)


def test_published_kappas_of_four_raters():
    """Fleiss' and Conger's kappa of cac.raw4raters by irrCAC 1.0 (R, its vignettes) and 0.4 (Python, its tests)."""
    of = {
        "nominal": (0.76117, 0.76282),
        "ordinal": (0.850, 0.844),
        "linear": (0.818, 0.814),
        "quadratic": (0.865, 0.858),
    }
    for weights, published in of.items():
        found = evaluation.label_agreement(
            ratings_of(np.transpose(FOUR_RATERS)), weights=weights, bootstrap=0, pairs=False
        )
        digits = 5e-6 if weights == "nominal" else 5.1e-4
        np.testing.assert_allclose([found["fleiss"], found["conger"]], published, atol=digits)
        assert "kappa" not in found


def test_kappa_of_two_raters_with_all_labels_is_conger_s():
    codes = np.random.default_rng(5).integers(0, 4, (30, 2))
    codes[:15, 1], codes[25:, 1] = codes[:15, 0], 3
    for weights in WEIGHTS:
        found = evaluation.label_agreement(ratings_of(codes), weights=weights, bootstrap=50, random_seed=1)
        assert float(found["conger"]) == pytest.approx(float(found["kappa"][0, 1]))
        np.testing.assert_allclose(found["conger_interval"], found["kappa_interval"][:, 0, 1])
        assert abs(float(found["fleiss"] - found["conger"])) > 1e-4  # whose raters have one law


@pytest.mark.parametrize(
    ("counts", "published"),
    [
        ([[13, 0, 0], [0, 20, 7], [0, 4, 56]], [0.796, 0.872, 0.843, 0.892]),
        ([[40, 4, 4, 17], [6, 25, 2, 13], [4, 1, 21, 12], [15, 5, 9, 45]], [0.432, 0.390, 0.407, 0.383]),
    ],
)
def test_published_kappas_of_two_raters(counts, published):
    """Tables cont3x3abstractors and cont4x4diagnosis of irrCAC."""
    ratings = ratings_of(expanded(counts))
    found = [evaluation.label_agreement(ratings, weights=own, bootstrap=0)["kappa"][0, 1] for own in WEIGHTS]
    np.testing.assert_allclose(found, published, atol=6e-4)


@pytest.mark.slow
def test_intervals_are_those_of_the_packages_on_the_same_resampled_items():
    rng = np.random.default_rng(2)
    truth = rng.integers(0, 4, 50)
    table = np.clip(truth[:, None] + rng.integers(-1, 2, (50, 4)), 0, 3).astype(float)
    table[rng.random(table.shape) < 0.25] = np.nan
    resampled = np.random.default_rng(7)
    rows = [resampled.integers(0, 50, 50) for _ in range(60)]
    peers = {
        "nominal": ("nominal", None),
        "ordinal": ("ordinal", ""),
        "linear": ("", "linear"),
        "quadratic": ("interval", "quadratic"),
    }
    for weights, (level, own) in peers.items():
        found = evaluation.label_agreement(
            ratings_of(table), weights=weights, bootstrap=60, probability=0.8, random_seed=7
        )
        if level:
            alpha = [
                krippendorff.alpha(reliability_data=table[r].T, level_of_measurement=level) for r in rows
            ]
            np.testing.assert_allclose(found["alpha_interval"], np.quantile(alpha, [0.1, 0.9]))
        if own == "":
            continue  # scikit-learn has no ordinal weights
        for a, b in product(range(4), range(4)):
            if a != b:
                both = [r[np.isfinite(table[np.ix_(r, [a, b])]).all(axis=1)] for r in rows]
                kappa = [
                    cohen_kappa_score(table[r, a], table[r, b], labels=[0, 1, 2, 3], weights=own)
                    for r in both
                ]
                np.testing.assert_allclose(found["kappa_interval"][:, a, b], np.quantile(kappa, [0.1, 0.9]))


def test_a_category_of_one_rater_alone_leaves_alpha_undefined():
    """One label among the items with two answers: no warning of numpy, and AC1 is 1 (nltk#3264)."""
    ratings = ratings_of([[1, 1], [N, 2], [1, 1], [1, 1]])
    for weights in WEIGHTS:
        found = evaluation.label_agreement(ratings, weights=weights, bootstrap=100, random_seed=1)
        assert np.isnan(found["alpha"]) and int(found["alpha_undefined"]) == 100
        assert float(found["ac1" if weights == "nominal" else "ac2"]) == 1


def test_a_scale_is_longer_than_what_occurs():
    """A category that nobody gave widens the scale, so that neighbours are nearer."""
    ratings = ratings_of([[0, 0], [0, 1], [1, 1], [1, 0]])
    short = evaluation.label_agreement(ratings, weights="quadratic", bootstrap=0)
    longer = evaluation.label_agreement(ratings.assign_attrs(categories=5), weights="quadratic", bootstrap=0)
    assert longer["ac2"] > short["ac2"]
    assert float(longer["kappa"][0, 1]) == pytest.approx(float(short["kappa"][0, 1]))


def test_unknown_weights_are_refused(golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.label_agreement(ratings_of([[0, 0], [0, 1]]), weights="squared")


def test_one_item_has_no_interval():
    """Resampling the only item with two labels gives the same coefficient again: no width is known."""
    one = [[0, 1, 0], [1, np.nan, np.nan], [np.nan, 0, np.nan]]
    two = [*one, [1, 1, np.nan]]
    for table, known in ((one, False), (two, True)):
        ratings = xr.DataArray(table, {"rater": [*"rst"]}, ("item", "rater"), attrs={"categories": 2})
        found = evaluation.label_agreement(ratings, bootstrap=50, random_seed=1)
        assert np.isfinite(found["alpha"]) and np.isfinite(found["ac1_interval"]).all() == known
        assert np.isfinite(found["alpha_interval"]).all() == known
        kappas = found["kappa_interval"].sel(rater="r")
        assert np.isnan(kappas.sel(other="t")).all()  # one item has labels of both
