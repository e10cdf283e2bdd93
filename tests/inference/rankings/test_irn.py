"""Inverse rank normalisation, by hand and on the data of the paper."""

import csv
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from raterzoo import models
from raterzoo.inference import irn, plackett_luce_mle
from raterzoo.models.data import rankings as data_rankings

# Figure 3 of the paper, by hand: sum over the six raters of 1 / rank, over the size of the block
# and whole. The totals are 26/3 and 35/3.
FIG3 = {
    "Angiokeratoma of skin": (1, 1),
    "Atypical Nevus": (1 / 2, 1 / 2),
    "Hemangioma": (1 / 2 + 1 + 1 / 3 + 1, 1 / 2 + 1 + 1 + 1),
    "Melanocytic Nevus": (1 / 6 + 1 / 3, 1 / 2 + 1 / 3),
    "Melanoma": (1 / 3 + 1 / 6 + 1 / 3 + 1 + 1 / 2, 1 / 3 + 1 / 2 + 1 + 1 + 1 / 2),
    "O/E - ecchymoses present": (1 / 6, 1 / 2),
    "Pyogenic granuloma": (1, 1),
    "Skin Tag": (1 / 3, 1),
}


def of_item(estimate, item):
    own = estimate[estimate["item"].values == item]
    return dict(zip(own["category"].values.tolist(), own.values.tolist(), strict=True))


@pytest.mark.parametrize(("tie_weight", "column"), [("split", 0), ("full", 1)])
def test_figure_3_by_hand(tie_weight, column):
    expected = {category: weights[column] for category, weights in FIG3.items()}
    total = sum(expected.values())
    found = of_item(irn(models.published_ddx_cases(), tie_weight=tie_weight), "fig3")
    assert found == pytest.approx({k: v / total for k, v in expected.items()}, rel=1e-14)


def test_figure_17b_by_hand():
    found = of_item(irn(models.published_ddx_cases()), "fig17b")
    first, second, alone = 1 / 2, 1 / 2, 1
    assert found == pytest.approx(
        {
            "Dissecting cellulitis of scalp": first / 3.5,
            "Tinea": first / 3.5,
            "Seborrheic dermatitis": second / 3.5,
            "Acne keloidalis": 1 / 2 / 3.5,
            "Folliculitis decalvans": 1 / 2 / 3.5,
            "Folliculitis": alone / 3.5,
        },
        rel=1e-14,
    )


def test_layout():
    rankings = models.published_ddx_cases()
    estimate, pairs = irn(rankings), data_rankings.ranked_pairs(rankings)
    assert estimate.name == "plausibility"
    assert estimate.dims == ("candidate",)
    assert estimate["item"].values.tolist() == rankings.items[pairs.item].tolist()
    assert (np.diff(pairs.item) >= 0).all()
    assert (np.diff(pairs.category)[np.diff(pairs.item) == 0] > 0).all()
    np.testing.assert_allclose(np.add.reduceat(estimate.values, pairs.start[:-1]), 1, rtol=1e-14)
    np.testing.assert_array_equal(estimate, data_rankings.inverse_rank_scores(rankings, "split"))


def test_integer_categories_stay_integers():
    rankings = models.PartialRankings.from_blocks({"a": {"r": [[7], [10, 2]]}})
    category = irn(rankings)["category"]
    assert category.values.tolist() == [2, 7, 10]
    assert plackett_luce_mle(rankings)["category"].values.tolist() == [2, 7, 10]
    assert irn(models.published_ddx_cases())["category"].dtype.kind == "U"


def test_normalised_once_after_summing_over_raters():
    rankings = models.PartialRankings.from_blocks({"a": {"r": [["x"]], "s": [["x"], ["y"]]}})
    assert of_item(irn(rankings), "a") == {"x": 2 / 2.5, "y": 0.5 / 2.5}
    # normalising every rater first would give x (1 + 2/3) / 2
    assert irn(rankings).values[0] != pytest.approx(5 / 6, rel=1e-3)


def test_unknown_tie_weight(golden):
    with golden.raises(ValueError):
        irn(models.published_ddx_cases(), tie_weight="half")


@pytest.mark.skipif("RATERZOO_DATA" not in os.environ, reason="RATERZOO_DATA is not set")
def test_top_labels_that_the_weight_of_ties_changes():
    # 83 of 1,947, ties in plausibility broken by the order of the categories.
    path = Path(os.environ["RATERZOO_DATA"]) / "dermatology_ddx_long.csv"
    with path.open(newline="") as file:
        rows = [{name: int(cell) for name, cell in row.items()} for row in csv.DictReader(file)]
    rankings = models.PartialRankings.from_table(
        {
            "item": [row["case"] for row in rows],
            "rater": [row["reader"] for row in rows],
            "category": [row["condition"] for row in rows],
            "rank": [row["block"] + 1 for row in rows],
        },
        categories=range(419),
    )
    start = data_rankings.ranked_pairs(rankings).start
    tops = [
        [scores[a:b].argmax() for a, b in pairwise(start)]
        for scores in (
            np.round(data_rankings.inverse_rank_scores(rankings, "split"), 12),
            np.round(data_rankings.inverse_rank_scores(rankings, "full"), 12),
        )
    ]
    assert len(tops[0]) == 1947
    assert np.not_equal(*tops).sum() == 83
