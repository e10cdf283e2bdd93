"""Marks and letters of pictures: the region that fails, a zero line, letters of 8 points, and fonts that have the letters."""

import numpy as np
import pytest
import xarray as xr
from matplotlib.text import Text
from raterzoo.evaluation import plots
from raterzoo.evaluation.checks.discrepancies import Check, judged
from raterzoo.evaluation.plots import style

from tests.evaluation.plots.test_legibility import compared, subgroups


def checks(seed, moved=0.0):
    rng = np.random.default_rng(seed)
    sides = ["both", "upper", "lower", "both", "upper"]
    return judged(
        [
            Check(
                f"check {k}", rng.normal() + moved * (k == 0), rng.normal(size=199), side=side, is_main=k == 3
            )
            for k, side in enumerate(sides)
        ]
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("moved", [0.0, 9.0])
def test_a_check_fails_beyond_its_limits_only(seed, moved):
    found = checks(seed, moved)
    outside = (found["observed"] < found["fails_below"]) | (found["observed"] > found["fails_above"])
    assert outside.to_numpy().tolist() == found["fails"].to_numpy().tolist()
    assert bool(found["fails"][0]) == (moved > 0)
    assert np.isinf(found["fails_below"]).to_numpy().tolist() == [False, True, False, False, True]
    assert np.isinf(found["fails_above"]).to_numpy().tolist() == [False, False, True, False, False]


def test_the_picture_has_points_outside_the_band_only_where_a_check_fails():
    found = checks(1, 9.0)
    band, *dots = plots.model_checks(found).axes[0].collections
    ends = {round(own[0, 1]): (own[0, 0], own[1, 0]) for own in band.get_segments()}
    x, row = np.concatenate([own.get_offsets() for own in dots]).T
    outside = [not ends[round(r)][0] <= at <= ends[round(r)][1] for at, r in zip(x, row, strict=True)]
    assert sorted(np.round(row[outside]).astype(int)) == np.flatnonzero(found["fails"]).tolist()


def test_two_classifiers_have_no_matrix_and_zero_is_in_sight():
    two, three = (plots.comparison(compared(names)) for names in ("AB", "ABC"))
    assert len(three.axes) == len(two.axes) + 1
    low, high = two.axes[0].get_xlim()
    assert low <= 0 <= high
    assert two.axes[0].get_title(loc="left").startswith("A is better: ")


@pytest.mark.parametrize(
    "figure", [lambda: plots.comparison(compared("ABC")), lambda: plots.subgroups(subgroups("AB"))]
)
def test_no_letter_is_below_eight_points(figure):
    drawn = figure()
    drawn.draw_without_rendering()
    assert min(own.get_fontsize() for own in drawn.findobj(Text) if own.get_text()) >= 8


def test_letters_beyond_ascii_have_a_font_that_has_them(monkeypatch):
    monkeypatch.setattr(style, "cjk_fonts", lambda: ("DejaVu Serif",))
    quality = xr.DataArray(np.ones((2, 5, 2)), {"rater": ["Ünal", "Li"]}, ("chain", "draw", "rater"))
    figure = plots.rater_forest(quality + np.arange(5.0)[:, None])
    figure.draw_without_rendering()
    family = {own.get_text(): own.get_fontfamily() for own in figure.axes[0].get_yticklabels()}
    assert "DejaVu Serif" in family["Ünal"] and "DejaVu Serif" not in family["Li"]
