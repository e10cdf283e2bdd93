"""Clouds of items have a point for each, at its own place."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError, plots
from raterzoo.evaluation.plots.certainty import beside

AGREED = xr.Dataset(
    {
        "certainty": ("item", [0.9, 0.5, 0.7, 0.4]),
        "agreement": ("item", [1.0, 0.5, 0.5, np.nan]),
        "raters": ("item", [3, 2, 4, 1]),
        "pearson": 0.87,
        "spearman": 0.8,
    },
    {"item": ["a", "b", "c", "d"]},
    {"at_least": 3, "items": 2},
)
FIGURES = {
    "agreement": lambda: plots.certainty_agreement(AGREED),
    "annotations": lambda: plots.certainty_by_annotations(AGREED),
    "scatter": lambda: plots.certainty_scatter(AGREED["certainty"], AGREED["certainty"], correlation=1.0),
}


def texts(labels):
    return [label.get_text() for label in labels]


@pytest.mark.parametrize("figure", FIGURES)
def test_draws(figure):
    FIGURES[figure]().figure.canvas.draw()


def test_agreement_is_moved_a_little_and_always_the_same():
    values = np.repeat([0.5, 1.0, 0.25], [4, 3, 1])
    moved = beside(values, 0.02)
    assert np.abs(moved).max() <= 0.01 and moved[-1] == 0
    assert len(set(moved[:4])) == 4
    np.testing.assert_array_equal(moved, beside(values, 0.02))
    ax = plots.certainty_agreement(AGREED)
    width, height = ax.figure.get_size_inches()
    assert 1 < width / height < 1.3  # about as wide as high, with room for the names of the ticks
    (points,) = ax.collections
    assert np.abs(points.get_offsets()[:, 0] - [1, 0.5, 0.5]).max() <= 0.012
    np.testing.assert_array_equal(points.get_offsets()[:, 1], [0.9, 0.5, 0.7])
    assert len({tuple(c) for c in points.get_facecolors()}) == 2  # two raters are too few
    assert texts(ax.texts) == ["correlation 0.87 (ranks 0.80)\nof 2 items with 3 raters or more"]
    pale = AGREED.assign(pearson=np.nan)
    assert not plots.certainty_agreement(pale).texts


def test_certainty_by_annotations_has_medians():
    many = AGREED.isel(item=[0, 1, 2, 0]).assign(raters=("item", [3, 2, 2, 3]))
    ax = plots.certainty_by_annotations(many)
    bars = next(c for c in ax.collections if len(c.get_offsets()) < 4)
    heights = [path.vertices[0, 1] for path in bars.get_paths()]
    np.testing.assert_allclose(heights, [0.6, 0.9])
    assert texts(ax.texts) == ["2", "2"] and texts(ax.get_xticklabels()) == ["2", "3"]
    wide = AGREED.isel(item=[0] * 8).assign(raters=("item", np.arange(8)))
    sizes = [plots.certainty_by_annotations(own).figure.get_size_inches() for own in (many, wide)]
    np.testing.assert_allclose(sizes, [(4, 4), (1.6 + 0.75 * 8, 4)])
    (left, right), (bottom, top) = ax.get_xlim(), ax.get_ylim()
    assert (
        left < -0.36
        and right > 1.36
        and bottom < 0
        and all(text.get_position()[1] < top for text in ax.texts)
    )


def test_scatter_matches_items_by_name(golden):
    x = AGREED["certainty"]
    ax = plots.certainty_scatter(x, x[::-1], correlation=0.123)
    np.testing.assert_array_equal(*ax.collections[0].get_offsets().T)
    assert texts(ax.texts) == ["correlation 0.12"]
    with golden.raises(EvaluationError):
        plots.certainty_scatter(x, x[:3])
    with golden.raises(EvaluationError):
        plots.certainty_scatter(x.drop_vars("item"), x[:3].drop_vars("item"))


def test_without_raters_there_is_no_agreement(golden):
    with golden.raises(EvaluationError):
        plots.certainty_agreement(AGREED.isel(item=[3]))
    with pytest.raises(EvaluationError, match="'agreement' among certainty"):
        plots.certainty_agreement(AGREED[["certainty"]])
