"""Predictions are read by one reader in Python and on the command line: from frames, files and any of their layouts."""

import numpy as np
import pandas as pd
import pytest
from raterzoo import models
from raterzoo.posterior.matching import named_as
from raterzoo.reports.predictions import read_predictions

from tests.support.cli_parts import read_predictions as read_file
from tests.support.command_line import write

P = np.array([0.9, 0.2, 0.6, 0.5])
LABELS = np.where(P > 0.4, "bad", "ok")
TABLE = {"item": [*"abcd"], "label": LABELS}
BOTH = {"prob_bad": P, "prob_ok": 1 - P}


def both_ways(tmp_path, table):
    """Read a table from a frame, and by the command line; assert that these are the same."""
    found = read_predictions(pd.DataFrame(table))
    path = write(tmp_path / "p.csv", {name: [*cells] for name, cells in table.items()})
    assert read_predictions(path).identical(found) and read_file(path, []).identical(found)
    return found


@pytest.mark.parametrize(
    ("table", "category"),
    [
        ({"item": [*"abcd"], "no": 1 - P, "yes": P}, ["no", "yes"]),
        ({"item": [*"abcd"], "P(no)": 1 - P, "P(yes)": P, "seconds": [7] * 4}, ["no", "yes"]),
        ({**TABLE, "bad": P, "ok": 1 - P}, ["bad", "ok"]),
        ({**TABLE, **BOTH, "prob_worse": [0.0] * 4}, ["bad", "ok", "worse"]),
        ({**TABLE, "p_bad": P}, ["bad"]),
    ],
)
def test_columns_of_probabilities_are_read_without_and_beside_labels(tmp_path, table, category, golden):
    with golden.warns(models.DataWarning):
        found = both_ways(tmp_path, table)
    assert found["category"].values.tolist() == category
    np.testing.assert_allclose(found.isel(category=1 if category == ["no", "yes"] else 0), P)


def test_labels_that_contradict_their_probabilities_are_read_and_it_is_said(tmp_path, golden):
    other = {**TABLE, "label": ["ok", "ok", "bad", "bad"]}
    with golden.warns(models.DataWarning):
        found = both_ways(tmp_path, {**other, **BOTH})
    assert found.values.ravel().tolist() == other["label"]
    for free in ({"prob_1": P, "prob_2": P}, {"bad": [7, 8, 9, 7]}, {"prob_bad": ["x"] * 4}):
        assert both_ways(tmp_path, {**other, **free}).dims == (
            "item",
            "position",
        )  # of no label, or no probabilities


@pytest.mark.parametrize("given", [["0", "1"], ["0.0", "1.0"]])
@pytest.mark.parametrize(
    "cells", [["0", "1", "1"], ["0.0", "1.0", "1.0"], ["0", "1.0", "1"], [0.0, 1.0, 1.0], [0, 1, 1]]
)
def test_whole_numbers_with_a_point_are_the_categories_without(given, cells):
    predicted = named_as(read_predictions({"item": [*"abc"], "category": cells}), np.array(given))
    assert predicted.values.ravel().tolist() == [given[0], given[1], given[1]]
    labels = models.Labels.from_table({"item": [*"abcc"], "rater": [*"rrrs"], "label": [*given, *given]})
    assert labels.with_predictions(predicted).counts.sum() == 7


def test_versions_are_no_numbers():
    predicted = read_predictions({"item": [*"ab"], "category": ["1.10", "2"]})
    assert named_as(predicted, np.array(["1.1", "2.0"])).values.ravel().tolist() == ["1.10", "2.0"]
