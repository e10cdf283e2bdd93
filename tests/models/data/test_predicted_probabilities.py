"""Probabilities of a classifier for a prior: in the order of the annotations, whatever the form, and what is refused."""

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from raterzoo.evaluation import predictions_from_table
from raterzoo.models import DataError, DataWarning
from raterzoo.models.data.reading.predicted_probabilities import read_predicted_probabilities

ITEMS, CATEGORIES = np.array(["a", "b", "c"]), np.array(["no", "yes"])
VALUES = [[0.9, 0.1], [0.25, 0.75]]


def array(values=VALUES, items=("c", "a"), categories=("no", "yes"), **coords):
    return xr.DataArray(
        np.array(values), {"item": list(items), "category": list(categories)} | coords, ("item", "category")
    )


def read(predictions, items=ITEMS, categories=CATEGORIES, classifier=None):
    return read_predicted_probabilities(predictions, items, categories, classifier)


def test_every_form_is_read_in_the_order_of_the_annotations():
    expected = [[0.25, 0.75], [0, 0], [0.9, 0.1]]
    frame = pd.DataFrame({"yes": [0.1, 0.75], "id": ["c", "a"], "no": [0.9, 0.25]})
    rows = {"item": [*"ccaa"], "category": ["no", "yes"] * 2, "p": [0.9, 0.1, 0.25, 0.75]}
    forms = [array(), array().transpose(), array()[:, ::-1], frame, frame.rename(columns={"id": "item"})]
    forms += [dict(frame), predictions_from_table(rows, score="p"), array().expand_dims(classifier=["net"])]
    for form in forms:
        np.testing.assert_allclose(read(form).probability, expected, atol=1e-15)
    integers = read(array(items=[3, 1], categories=["1", "2"]), np.array([1, 2, 3]), np.array([1, 2]))
    np.testing.assert_allclose(integers.probability, expected, atol=1e-15)


def test_rounded_rows_are_divided_by_their_sum_and_a_category_that_is_not_named_has_probability_zero():
    three = np.array(["no", "perhaps", "yes"])
    found = read(array([[0.333, 0.666], [0, 1]]), categories=three).probability
    np.testing.assert_allclose(found, [[0, 0, 1], [0, 0, 0], [1 / 3, 0, 2 / 3]], atol=1e-15)
    absent = read(array([[-np.inf, 1], [-np.inf, -np.inf]])).probability
    np.testing.assert_array_equal(absent, [[0, 0], [0, 0], [0, 1]])
    unused = read(array([[0.9, 0.1, 0.0], [0.25, 0.75, 0.0]], categories=["no", "yes", "never"]))
    assert unused.probability.shape == (3, 2)


def test_the_classifier_is_named_by_the_argument_or_the_coordinate(golden):
    assert read(array()).classifier == "predictions"
    assert read(array(classifier="net")).classifier == "net"
    assert read(array(classifier="net"), classifier="bert").classifier == "bert"
    with golden.raises(DataError):
        read(array(), classifier="")


def test_items_that_nobody_annotated_are_kept_aside(golden):
    with golden.warns(DataWarning):
        found = read(array(items=["c", "d"]))
    np.testing.assert_allclose(found.probability, [[0, 0], [0, 0], [0.9, 0.1]], atol=1e-15)


@pytest.mark.parametrize(
    "predictions",
    [
        array([[0.9, 0.2], [0.5, 0.5]]),
        array([[0.0, 0.0], [0.5, 0.5]]),
        array([[2.0, -1.0], [0.5, 0.5]]),
        array([[0.5, 0.5], [np.nan, 1.0]]),
        array([[-np.inf] * 2] * 2),
        array(items=["d", "e"]),
        array(items=["c", "c"]),
        array(items=[1, 2]),
        array(categories=["no", "ja"]),
        array().rename(category="label"),
        array().drop_vars("item"),
        array()[:0],
        xr.concat([array(), array()], pd.Index(["net", "bert"], name="classifier")),
        array([["0.9", "0.1"], ["0.5", "0.5"]]),
        {"no": [1.0], "yes": [0.0]},
        {"item": ["a"], "no": [1.0], "ja": [0.5]},
        {"item": ["a"], "no": ["x"], "yes": [0.5]},
        {"item": ["a"], "no": [None], "yes": [0.5]},
        {"id": ["a"], "one": [1.0], "no": [1.0], "yes": [0.0]},
        3.0,
    ],
)  # fmt: skip
def test_other_predictions_are_refused(predictions, golden):
    with golden.raises(DataError):
        read(predictions)
