"""The printed cases, predictions and accuracies are those of the paper."""

import numpy as np
from raterzoo.models import published_ddx_accuracies, published_ddx_cases, published_ddx_predictions


def test_cases_are_the_seven_printed_ones():
    cases = published_ddx_cases()
    assert cases.items.tolist() == "fig3 fig17a fig17b fig17c fig18a fig18b fig18c".split()
    assert len(cases) == 29
    assert np.bincount(cases.annotation_item).tolist() == [6, 3, 3, 6, 4, 3, 4]
    assert len(cases.category_code) == 55
    assert cases.gaps == 0


def test_closed_set_holds_what_was_only_predicted():
    cases = published_ddx_cases()
    ranked = set(cases.categories[cases.category_code])
    predicted = set(published_ddx_predictions()["category"])
    assert predicted - ranked == {"Acne", "Diabetic ulcer"}
    assert set(cases.categories) == ranked | predicted
    assert len(cases.categories) == 35


def test_figure_three_as_printed():
    table = published_ddx_cases().select(items=["fig3"]).to_table()
    annotation = table["rater"] == "A2"
    assert dict(zip(table["category"][annotation], table["rank"][annotation], strict=True)) == {
        "Hemangioma": 1,
        "Melanocytic Nevus": 2,
        "Melanoma": 2,
        "O/E - ecchymoses present": 2,
    }


def test_predictions_are_six_sets_of_three():
    table = published_ddx_predictions()
    pairs, counts = np.unique(np.stack([table["item"], table["classifier"]]), axis=1, return_counts=True)
    assert counts.tolist() == [3] * 6
    assert set(map(tuple, pairs.T.tolist())) == {
        ("fig3", "A"),
        ("fig3", "B"),
        ("fig17a", "A"),
        ("fig17a", "D"),
        ("fig17b", "A"),
        ("fig17b", "B"),
    }


def test_accuracies_are_the_twelve_printed_numbers():
    table = published_ddx_accuracies()
    printed = dict(
        zip(
            zip(table["item"], table["classifier"], table["model"], strict=True),
            table["accuracy"].tolist(),
            strict=True,
        )
    )
    assert len(printed) == 12
    assert printed["fig3", "A", "plackett_luce"] == 0.70
    assert printed["fig17b", "B", "prirn"] == 0.62
    assert set(table["figure"][table["item"] == "fig3"]) == {5}
    assert set(table["figure"][table["item"] != "fig3"]) == {17}
