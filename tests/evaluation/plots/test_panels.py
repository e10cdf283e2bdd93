"""Pictures are drawn without a window, their names as literal text, their numbers as given."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError, plots
from raterzoo.evaluation.plots import canvas, style

from tests.support.evaluation_trees import distributions

CATEGORIES = ["<b>x</b>", "$y$", "OTHER"]
CERTAINTY = xr.DataArray([0.5, 0.9, 1.0, 0.7], {"item": ["<i>a</i>", "$b$", "c", "d"]}, ("item",))


def posterior():
    values = np.random.default_rng(1).dirichlet([4.0, 2.0, 1.0], size=(2, 30, 4))
    return distributions(values, CERTAINTY["item"].to_numpy(), CATEGORIES)


def sweep():
    return xr.Dataset(
        {
            "mean": (("reliability", "classifier"), [[0.2, 0.3], [0.4, 0.5]]),
            "interval": (("reliability", "classifier", "bound"), np.full((2, 2, 2), [0.1, 0.6])),
        },
        {"reliability": [1.0, 3.0], "classifier": ["<b>A</b>", "$B$"], "bound": ["lower", "upper"]},
    )


FIGURES = {
    "sorted_certainty": lambda: plots.sorted_certainty(CERTAINTY),
    "certainty_histogram": lambda: plots.certainty_histogram(CERTAINTY),
    "reliability_sweep": lambda: plots.reliability_sweep(sweep(), point={"$B$": 0.9}),
    "simplex": lambda: plots.simplex(posterior(), "$b$"),
    "strips": lambda: plots.plausibility_strips(
        posterior(), point={"<b>IRN</b>": posterior().mean(("chain", "draw"))}
    ),
    "risk": lambda: plots.risk(CERTAINTY, posterior().isel(category=0)),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_draws_without_a_window(figure):
    picture = FIGURES[figure]()
    assert not plt.get_fignums() and isinstance(picture, Axes | Figure)
    picture.figure.canvas.draw()


def test_other_libraries_are_refused():
    with pytest.raises(TypeError):
        plots.sorted_certainty(CERTAINTY, backend="plotly")


def test_sorted_certainties_are_steps():
    (steps,) = plots.sorted_certainty(CERTAINTY).patches
    np.testing.assert_array_equal(steps.get_data().values, [0.5, 0.7, 0.9, 1.0])
    np.testing.assert_array_equal(steps.get_data().edges, [0, 0.25, 0.5, 0.75, 1])
    ax = plots.reliability_sweep(sweep())
    np.testing.assert_array_equal(ax.lines[1].get_ydata(), [0.3, 0.5])
    assert ax.get_xscale() == "log"


def test_nothing_cannot_be_drawn(golden):
    empty = CERTAINTY.isel(item=[])
    for draw in (plots.sorted_certainty, plots.certainty_histogram, plots.agreement_histogram):
        with pytest.raises(EvaluationError, match="empty"):
            draw(empty)
    with pytest.raises(EvaluationError, match="certainty is empty"):
        plots.sorted_certainty({})
    with golden.raises(EvaluationError):
        plots.sorted_certainty({"one": empty})
    with pytest.raises(EvaluationError, match="expected is empty"):
        plots.risk(CERTAINTY, posterior().isel(category=0, item=[]))
    with pytest.raises(EvaluationError, match="plausibility is empty"):
        plots.plausibility_strips(posterior().isel(item=[]))
    with pytest.raises(ValueError, match="items is empty"):
        plots.plausibility_strips(posterior(), [])


@pytest.mark.parametrize("n", [1, 10_000])
def test_any_number_of_items(n):
    values = np.random.default_rng(2).uniform(size=(3, n))
    item = xr.DataArray(values[0], dims="item")
    draws = xr.DataArray(values, dims=("draw", "item"))
    plots.sorted_certainty(item)
    plots.risk(item, draws)
    plots.certainty_scatter(item, item)


def test_bars_of_a_histogram_are_shares(golden):
    agreement = xr.DataArray([0.0, 1.0, 1.0, np.nan], dims="item")
    ax = plots.agreement_histogram(xr.Dataset({"agreement": agreement}), bins=2)
    np.testing.assert_allclose(ax.patches[0].get_data().values, [1 / 3, 2 / 3])
    golden.says(ax.get_xlabel(), "items with")


def test_labels_are_text_everywhere():
    assert style.plain("$x$") == r"\$x\$"
    ax = plots.simplex(posterior(), "$b$")
    assert [text.get_text() for text in ax.texts] == ["<b>x</b>", r"\$y\$", "OTHER"]


def test_short_names_stay_apart():
    assert style.shortened(["short", 7]) == ["short", "7"]
    ends = [f"a very long name of a classifier that was trained on split {i}" for i in range(20)]
    short = style.shortened(ends)
    assert len(set(short)) == 20 and max(map(len, short)) <= 34
    assert short[3].startswith("a very long") and short[3].endswith("split 3")
    middles = [f"{'a' * 30} {i} {'b' * 30}" for i in range(3)]
    assert len(set(style.shortened(middles))) == 3
    assert style.shortened([ends[0], ends[0]])[0] == style.shortened([ends[0]])[0]  # the same is the same


def test_expected_value_is_drawn_by_mean():
    tree = posterior()
    expected = evaluation.expected_value(
        tree.isel(category=[0, 1]) / tree.isel(category=[0, 1]).sum("category"), {"<b>x</b>": 0.0, "$y$": 1.0}
    )
    _, right = plots.risk(CERTAINTY, expected).axes
    mean = np.sort(expected.mean(("chain", "draw")).to_numpy())
    np.testing.assert_allclose(right.lines[0].get_ydata(), mean)


def test_marks_are_filled_unless_crosses_or_hollow():
    panel = canvas.panel_of(None, (3, 3))
    for mark, hollow in (("o", False), ("x", False), ("o", True)):
        panel.points([0.0], [0.0], colour="red", mark=mark, hollow=hollow)
    filled, cross, hollow = panel.ax.collections
    assert [own.get_linewidth()[0] for own in (filled, cross, hollow)] == [0, 1.7, 1.7]
    assert len(filled.get_facecolor()) and not len(hollow.get_facecolor())


def test_curves_beyond_the_last_colour_look_different():
    looks = [canvas.look_of(place, ["red", "blue"]) for place in range(8)]
    assert (
        len(set(looks)) == 8
        and looks[3] == ("blue", 1, "s")
        and {dash for _, dash, _ in looks} == {0, 1, 2, 3}
    )
