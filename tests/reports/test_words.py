"""Figures in words."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.reports import wording
from raterzoo.reports.sections.comparisons import one_sided_in_words
from raterzoo.reports.sections.equivalence import subject_of
from scipy.stats import beta


@pytest.mark.parametrize(
    ("probability", "words"),
    [(0.5, "50.0 %"), (0.0, "< 0.1 %"), (1.0, "> 99.9 %"), (0.9991, "> 99.9 %"), (np.nan, "not defined")],
)
def test_what_is_nearly_sure_is_not_said_to_be(probability, words):
    assert wording.percent(probability) == words


def test_every_figure_has_its_interval():
    assert wording.with_interval(0.1234, 0.1, 0.2) == "0.123 (0.100 to 0.200)"
    assert wording.with_interval(np.nan, np.nan, np.nan) == "not defined"
    assert wording.with_interval(np.inf, 1.0, np.inf) == "infinite"
    assert wording.interval(-0.0001, 0.5) == "0.000 to 0.500"  # no negative zero


@pytest.mark.parametrize(("count", "total"), [(3, 10), (50, 60), (700, 1947)])
def test_interval_of_a_share_is_that_of_jeffreys(count, total):
    exact = beta.ppf([0.05, 0.95], count + 0.5, total - count + 0.5)
    np.testing.assert_allclose(wording.share_interval(count, total), exact, rtol=1e-12)


def test_none_or_all_reach_the_end():
    assert wording.share_interval(0, 10)[0] == 0 and wording.share_interval(10, 10)[1] == 1
    assert wording.share_interval(0, 10)[1] > 0.1


def test_names_are_cut_short():
    assert (
        wording.first_names("abc", 5) == "a, b, c" and wording.first_names("abcdef", 2) == "a, b and 4 more"
    )


def test_a_name_with_a_line_break_writes_no_line_of_its_own(golden):
    assert wording.first_names(["a\nconverged"]) == r"a\nconverged"
    assert subject_of("m\nconverged")[0] == r"m\nconverged is"
    sides = xr.Dataset(
        {
            "one_sided": ("rater", [True]),
            "p_value": ("rater", [0.0]),
            "left": ("rater", [9]),
            "decided": ("rater", [9]),
        },
        {"rater": ["r\nconverged"]},
    )
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset()})
    golden.says(one_sided_in_words(tree, sides), "nconverged: left")
