"""Tables of raters in the forms that labels come in: what is one category, what is a blank, and what is neither."""

import numpy as np
import pandas as pd
import polars as pl
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError
from raterzoo.evaluation.surveys.counts import LabelCounts

from tests.support.survey_parts import survey_power_curve

ITEMS = ["i0", "i1", "i2"]
# items by raters; the counts of 1, 2 and 10 are
COUNTS = [[2, 0, 0], [0, 1, 1], [1, 1, 1]]


def table(cells, raters=("a", "b", "c")):
    cells = cells if isinstance(cells, np.ndarray) else np.array(cells, object)
    return xr.DataArray(cells, {"item": ITEMS, "rater": list(raters)}, ("item", "rater"))


def framed(frame):
    """Return a frame (item, rater) as users do."""
    return xr.DataArray(frame.to_numpy(), {"item": ITEMS}, ("item", "rater"))


def rows(one, two, ten, blank):
    return [[one, one, blank], [blank, two, ten], [ten, one, two]]


NUMBERS, TEXT = rows(1, 2, 10, None), rows("1", "2", "10", None)
FORMS = {
    "float": table(np.array(rows(1.0, 2.0, 10.0, np.nan))),
    "single precision": table(np.array(rows(1.0, 2.0, 10.0, np.nan), np.float32)),
    "object": table(NUMBERS),
    "object of kinds": table([[1, 1.0, None], [np.nan, 2, 10.0], [np.int8(10), np.float32(1), 2]]),
    "Int64": framed(pd.DataFrame(NUMBERS, dtype="Int64")),
    "Int64 as objects": table(pd.DataFrame(NUMBERS, dtype="Int64").astype(object).to_numpy()),
    "polars": framed(pl.DataFrame(NUMBERS, orient="row")),
}
TEXTS = {
    "text": table(np.array(rows("1", "2", "10", ""))),
    "white space": table(np.array(rows("1", "2", "10", " \t"))),
    "object": table(TEXT),
    "object of blanks": table([["1", "1", " "], [np.nan, "2", "10"], ["10", "1", "2"]]),
    "text and numbers": table([["1", 1.0, pd.NA], [pd.NaT, 2, "10"], [10, "1", np.str_("2")]]),
    "variable width": table(np.array(rows("1", "2", "10", np.nan), np.dtypes.StringDType(na_object=np.nan))),
    "bytes": table(np.array(rows("1", "2", "10", ""), "S2")),
    "string": framed(pd.DataFrame(TEXT, dtype="string")),
    "categorical": framed(pd.DataFrame(TEXT).astype("category")),
    "polars": framed(pl.DataFrame(TEXT, orient="row")),
}


@pytest.mark.parametrize("name", FORMS)
def test_numbers(name):
    found = LabelCounts.of(FORMS[name])
    assert found.categories.tolist() == ["1", "2", "10"]
    assert found.counts.tolist() == COUNTS


@pytest.mark.parametrize("name", TEXTS)
def test_texts(name):
    found = LabelCounts.of(TEXTS[name])
    assert found.categories.tolist() == ["1", "10", "2"]
    assert found.counts[:, [0, 2, 1]].tolist() == COUNTS


def test_all_forms_have_one_curve():
    curves = [
        survey_power_curve(given, "frequency", "brier", bootstrap=0)["power_curve"]
        for given in (*FORMS.values(), *TEXTS.values())
    ]
    for curve in curves:
        xr.testing.assert_allclose(curve, curves[0], rtol=1e-14)


def test_codes_are_those_of_the_cells():
    found = LabelCounts.of(FORMS["object of kinds"])
    assert found.labels is not None
    assert found.labels.tolist() == [[0, 0, -1], [-1, 1, 2], [2, 0, 1]]


def test_items_that_nobody_labelled_are_left_out():
    cells = rows("a", "b", "a", " ")
    cells[1] = ["", None, np.nan]
    found = survey_power_curve(table(cells), bootstrap=0)
    assert (found.attrs["left_out"], found.attrs["left_out_without_label"]) == (1, 1)
    assert found["items"].to_numpy().tolist() == [2, 2]


def test_truth_values_are_no_numbers():
    mixed = LabelCounts.of(table([[True, 1, None], [False, np.True_, 0], [1, 1, 1]]))
    assert mixed.categories.tolist() == ["0", "1", "False", "True"]
    alone = LabelCounts.of(table(np.array(rows(True, False, True, False))))
    assert alone.categories.tolist() == ["False", "True"]


def test_bytes_are_text():
    given = [["é", "a", ""], ["", "b", "é"], ["a", "é", "a"]]
    encoded = np.strings.encode(np.array(given), "utf-8")
    found, expected = LabelCounts.of(table(encoded)), LabelCounts.of(table(np.array(given)))
    assert found.categories.tolist() == expected.categories.tolist() == ["a", "b", "é"]
    assert found.counts.tolist() == expected.counts.tolist()


@pytest.mark.parametrize("largest", [2**53 + 1, 2**60, 2**64 - 1])
def test_whole_numbers_are_exact_however_large(largest):
    cells = np.array(rows(largest, largest - 1, 3, 4), np.uint64)
    found = [LabelCounts.of(table(given)) for given in (cells, cells.astype(object))]
    for one in found:
        assert one.categories.tolist() == ["3", "4", str(largest - 1), str(largest)]
        assert one.counts.tolist() == found[0].counts.tolist()
    mixed = LabelCounts.of(table([[-1, largest, None], [2**70, -1, -1], [0, None, None]]))
    assert mixed.categories.tolist() == ["-1", "0", str(largest), str(2**70)]


WRONG = {
    "bytes": (np.full((3, 3), b"\xff"), r"bytes b'\\xff' are not UTF-8"),
    "inf": (np.array(rows(1.0, 2.0, np.inf, np.nan)), "item i1, rater c: inf is no label"),
    "fraction": (np.array(rows(1.0, 0.5, 10.0, np.nan)), "item i1, rater b: 0.5 is no label"),
    "too large": (np.array(rows(1.0, 1e300, 2.0, np.nan)), "item i1, rater b: 1e.300 is no label"),
    "inf among objects": (rows("a", -np.inf, "b", None), "item i1, rater b: -inf is no label"),
    "fraction among objects": (rows(1, 2, 2.5, None), "item i1, rater c: 2.5 is no label"),
    "list": (rows("a", ("b", "c"), "b", None), r"item i1, rater b: \('b', 'c'\) is no label"),
    "date": (np.full((3, 3), "2020-01-01", "datetime64[D]"), "dtype datetime64"),
    "blanks": (rows(" ", None, pd.NA, ""), "every cell is blank"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_no_label_is_refused(name):
    cells, message = WRONG[name]
    if not isinstance(cells, np.ndarray):
        objects = np.empty((3, 3), object)
        for i, row in enumerate(cells):
            for j, cell in enumerate(row):
                objects[i, j] = cell
        cells = objects
    with pytest.raises(EvaluationError, match=message):
        survey_power_curve(table(cells))
    with pytest.raises(EvaluationError, match=message.replace("every", "against: every")):
        survey_power_curve(FORMS["float"], against=table(cells))
