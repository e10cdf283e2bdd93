"""Categories that look ordered: whole numbers, words of common scales, and those that do not."""

import numpy as np
import pytest
from raterzoo import models
from raterzoo.posterior.ordered import ordered_categories


@pytest.mark.parametrize(
    ("categories", "order"),
    [
        ([1, 2, 3, 4, 5], [1, 2, 3, 4, 5]),
        (["0", "1", "10", "2", "3", "4", "5", "6", "7", "8", "9"], [str(k) for k in range(11)]),
        (["always", "never", "sometimes"], ["never", "sometimes", "always"]),
        (["High", "Low", "Medium"], ["Low", "Medium", "High"]),
        (
            ["agree", "disagree", "neutral", "strongly_agree", "strongly-disagree"],
            ["strongly-disagree", "disagree", "neutral", "agree", "strongly_agree"],
        ),
        (["mild", "moderate", "severe"], ["mild", "moderate", "severe"]),
        ([-1, 0, 1], [-1, 0, 1]),
        ([2, -1, 0], None),
        ([0, 1], None),
        ([1, 2, 40], None),
        (["billing", "complaint", "other"], None),
        (["Low", "low", "high"], None),
        ([str(k) for k in range(12)], None),
    ],
)
def test_numbers_and_words_of_scales_look_ordered(categories, order):
    assert ordered_categories(np.array(categories)) == order


def test_words_of_a_scale_need_no_order_in_the_ordinal_model():
    table = {
        "item": [1, 1, 2, 2, 3],
        "rater": list("abaab"),
        "label": ["low", "medium", "high", "high", "low"],
    }
    table["rater"] = ["a", "b", "a", "c", "b"]
    model = models.ordinal(models.Labels.from_table(table))
    assert model.coords["cut"] == ("low|medium", "medium|high")
