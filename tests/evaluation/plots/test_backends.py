"""Each picture is the same by every backend: drawn once, its names safe, its numbers those that were given."""

import json

import arviz
import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError, plots
from raterzoo.evaluation.plots import canvas
from raterzoo.evaluation.plots.style import plain, shortened

from tests.support.evaluation_trees import distributions

BACKENDS = ["matplotlib", "plotly", "bokeh"]
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
    "sorted_certainty": lambda b: plots.sorted_certainty(CERTAINTY, backend=b),
    "certainty_histogram": lambda b: plots.certainty_histogram(CERTAINTY, backend=b),
    "reliability_sweep": lambda b: plots.reliability_sweep(sweep(), point={"$B$": 0.9}, backend=b),
    "simplex": lambda b: plots.simplex(posterior(), "$b$", backend=b),
    "strips": lambda b: plots.plausibility_strips(
        posterior(), point={"<b>IRN</b>": posterior().mean(("chain", "draw"))}, backend=b
    ),
    "risk": lambda b: plots.risk(CERTAINTY, posterior().isel(category=0), backend=b),
}


def backend(name):
    pytest.importorskip(name)
    return name


def bokeh_panels(figure):
    return [figure] if hasattr(figure, "renderers") else [p for p, *_ in figure.children]


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("figure", FIGURES)
def test_every_backend_draws(figure, name):
    picture = FIGURES[figure](backend(name))
    assert not plt.get_fignums()  # no window manager knows of it
    if name == "matplotlib":
        assert isinstance(picture, Axes | Figure)
        picture.figure.canvas.draw()
    elif name == "plotly":
        text = picture.to_json()
        assert "$b$" not in text and "<i>a" not in text and "<b>x" not in text
    else:
        from bokeh.embed import file_html
        from bokeh.resources import INLINE

        file_html(picture, INLINE)
        assert all(panel.renderers for panel in bokeh_panels(picture))


def test_plotly_draws_the_numbers_of_matplotlib():
    backend("plotly")
    figure = plots.sorted_certainty(CERTAINTY, backend="plotly")
    (curve,) = figure.data
    np.testing.assert_array_equal(curve.y, np.repeat([0.5, 0.7, 0.9, 1.0], 2))
    np.testing.assert_array_equal(curve.x, [0, 0.25, 0.25, 0.5, 0.5, 0.75, 0.75, 1])
    assert curve.hovertext[0] == "&lt;i&gt;a&lt;/i&gt;<br>certainty 0.500"
    figure = plots.reliability_sweep(sweep(), backend="plotly")
    lines = [t for t in figure.data if t.mode == "lines" and t.showlegend]
    np.testing.assert_array_equal(lines[1].y, [0.3, 0.5])
    assert lines[0].name == "&lt;b&gt;A&lt;/b&gt;" and figure.layout.xaxis.type == "log"


def test_bokeh_draws_the_numbers_of_matplotlib():
    backend("bokeh")
    figure = plots.sorted_certainty(CERTAINTY, backend="bokeh")
    data = figure.renderers[0].data_source.data
    np.testing.assert_array_equal(data["y"], np.repeat([0.5, 0.7, 0.9, 1.0], 2))
    assert data["hover"][0] == "<i>a</i>\ncertainty 0.500"  # the pointer's text is escaped by bokeh
    assert "{safe}" not in figure.tools[-1].tooltips
    assert plots.reliability_sweep(sweep(), backend="bokeh").renderers


def test_default_is_that_of_arviz():
    backend("plotly")
    with arviz.rc_context({"plot.backend": "plotly"}):
        assert plots.sorted_certainty(CERTAINTY).data
        ax = Figure().add_subplot()
        assert plots.sorted_certainty(CERTAINTY, ax=ax) is ax
    assert isinstance(plots.sorted_certainty(CERTAINTY, backend="matplotlib"), Axes)


def test_wrong_backends_are_named(monkeypatch):
    with pytest.raises(EvaluationError, match="backend='ggplot': expected one of matplotlib"):
        plots.sorted_certainty(CERTAINTY, backend="ggplot")
    with arviz.rc_context({"plot.backend": "none"}), pytest.raises(EvaluationError, match="'none'"):
        plots.sorted_certainty(CERTAINTY)
    with pytest.raises(EvaluationError, match="axes are matplotlib's"):
        plots.sorted_certainty(CERTAINTY, ax=Figure().add_subplot(), backend="plotly")

    def missing(name):
        raise ModuleNotFoundError(f"No module named {name}", name="plotly")

    monkeypatch.setattr(canvas, "import_module", missing)
    with pytest.raises(EvaluationError, match=r"needs plotly: install raterzoo\[plots\]"):
        plots.sorted_certainty(CERTAINTY, backend="plotly")


@pytest.mark.parametrize("name", BACKENDS)
def test_nothing_cannot_be_drawn(name):
    empty = CERTAINTY.isel(item=[])
    for draw in (plots.sorted_certainty, plots.certainty_histogram, plots.agreement_histogram):
        with pytest.raises(EvaluationError, match="empty"):
            draw(empty, backend=backend(name))
    with pytest.raises(EvaluationError, match="certainty is empty"):
        plots.sorted_certainty({}, backend=name)
    with pytest.raises(EvaluationError, match="of 'one' is empty"):
        plots.sorted_certainty({"one": empty}, backend=name)
    with pytest.raises(EvaluationError, match="expected is empty"):
        plots.risk(CERTAINTY, posterior().isel(category=0, item=[]), backend=name)
    with pytest.raises(EvaluationError, match="plausibility is empty"):
        plots.plausibility_strips(posterior().isel(item=[]), backend=name)
    with pytest.raises(ValueError, match="items is empty"):
        plots.plausibility_strips(posterior(), [], backend=name)


@pytest.mark.parametrize("name", BACKENDS)
@pytest.mark.parametrize("n", [1, 10_000])
def test_any_number_of_items(name, n):
    values = np.random.default_rng(2).uniform(size=(3, n))
    item = xr.DataArray(values[0], dims="item")
    draws = xr.DataArray(values, dims=("draw", "item"))
    plots.sorted_certainty(item, backend=backend(name))
    plots.risk(item, draws, backend=name)
    plots.certainty_scatter(item, item, backend=name)


def test_bars_of_a_histogram_are_shares():
    backend("plotly")
    agreement = xr.DataArray([0.0, 1.0, 1.0, np.nan], dims="item")
    (bars,) = plots.agreement_histogram(agreement, bins=2, backend="plotly").data
    np.testing.assert_allclose(bars.y, [1 / 3, 2 / 3])
    ax = plots.agreement_histogram(xr.Dataset({"agreement": agreement}), bins=2)
    np.testing.assert_allclose(ax.patches[0].get_data().values, [1 / 3, 2 / 3])
    assert "1 items with one rater left out" in ax.get_xlabel()


def test_labels_are_text_everywhere():
    assert plain("$x$") == r"\$x\$"
    assert plain('<b>"$x$" & \n', "plotly") == '&lt;b&gt;"&#36;x&#36;" &amp; <br>'
    assert "$$" not in plain("$$x$$", "bokeh") and r"\(" not in plain(r"\(x\)", "bokeh")
    figure = plots.simplex(posterior(), "$b$", backend=backend("plotly"))
    texts = [t for trace in json.loads(figure.to_json())["data"] for t in trace.get("text") or []]
    assert texts == ["&lt;b&gt;x&lt;/b&gt;", "&#36;y&#36;", "OTHER"]


def test_short_names_stay_apart():
    assert shortened(["short", 7]) == ["short", "7"]
    ends = [f"a very long name of a classifier that was trained on split {i}" for i in range(20)]
    short = shortened(ends)
    assert len(set(short)) == 20 and max(map(len, short)) <= 34
    assert short[3].startswith("a very long") and short[3].endswith("split 3")
    middles = [f"{'a' * 30} {i} {'b' * 30}" for i in range(3)]
    assert len(set(shortened(middles))) == 3
    assert shortened([ends[0], ends[0]])[0] == shortened([ends[0]])[0]  # the same is the same


def test_expected_value_is_drawn_by_mean():
    backend("plotly")
    tree = posterior()
    expected = evaluation.expected_value(
        tree.isel(category=[0, 1]) / tree.isel(category=[0, 1]).sum("category"), {"<b>x</b>": 0.0, "$y$": 1.0}
    )
    figure = plots.risk(CERTAINTY, expected, backend="plotly")
    mean = np.sort(expected.mean(("chain", "draw")).to_numpy())
    assert any(t.y is not None and len(t.y) == 4 and np.allclose(t.y, mean) for t in figure.data)


def test_marks_are_filled_unless_crosses_or_hollow():
    (panel,) = canvas.canvas((3, 3)).panels
    for mark, hollow in (("o", False), ("x", False), ("o", True)):
        panel.points([0.0], [0.0], colour="red", mark=mark, hollow=hollow)
    filled, cross, hollow = panel.target.collections
    assert [own.get_linewidth()[0] for own in (filled, cross, hollow)] == [0, 1.7, 1.7]
    assert len(filled.get_facecolor()) and not len(hollow.get_facecolor())


def test_matrices_have_neither_grid_nor_frame():
    (panel,) = canvas.canvas((3, 3)).panels
    panel.clear_grid()
    assert not any(spine.get_visible() for spine in panel.target.spines.values())


def test_bars_and_percentages_of_plotly():
    backend("plotly")
    picture = canvas.canvas((3, 3), backend="plotly")
    (panel,) = picture.panels
    panel.bars(np.array([1.0, 2.0]), np.array([0.0, 1.0]), 0.4, colour="red")
    panel.percent("y")
    (bars,) = picture.whole.data
    np.testing.assert_allclose(bars.width, 0.4)
    np.testing.assert_allclose(bars.x, [0, 1], atol=1e-12)
    assert picture.whole.layout.yaxis.tickformat == "~%"


def test_curves_beyond_the_last_colour_look_different():
    looks = [canvas.look_of(place, ["red", "blue"]) for place in range(8)]
    assert (
        len(set(looks)) == 8
        and looks[3] == ("blue", 1, "s")
        and {dash for _, dash, _ in looks} == {0, 1, 2, 3}
    )
