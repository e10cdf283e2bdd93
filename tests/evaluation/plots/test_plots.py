"""The pictures draw the numbers they were given."""

import re
from inspect import signature

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from arviz_plots import PlotCollection, add_lines
from raterzoo import evaluation, papers
from raterzoo.evaluation import plots

from tests.support.evaluation_trees import distributions


def dense(draws):
    rng = np.random.default_rng(1)
    values = rng.dirichlet([4.0, 2.0, 1.0], size=(2, draws, 3))
    return distributions(values, ["a", "b", "c"], ["x", "y", "OTHER"])


def flat(draws):
    stacked = dense(draws).stack(candidate=("item", "category"))
    item, category = stacked["item"].values, stacked["category"].values
    plain = stacked.drop_vars(["candidate", "item", "category"])
    return plain.assign_coords(item=("candidate", item), category=("candidate", category))


DRAWN_FROM_A_TREE = {
    "plausibility_strips",
    "simplex",
    "error_against_bound",
}  # the last has an argument of its own


@pytest.mark.parametrize("name", sorted({*plots.__all__} - DRAWN_FROM_A_TREE))
@pytest.mark.parametrize("given", [xr.DataTree.from_dict({"posterior": xr.Dataset()}), 3, xr.DataArray(1.0)])
def test_a_plot_of_a_wrong_object_names_the_function_that_makes_the_right_one(name, given):
    plot = getattr(plots, name)
    needed = [own for own in signature(plot).parameters.values() if own.default is own.empty and own.kind < 2]
    more = {"over": "x"} if name == "ranking_error" else {}
    with pytest.raises(evaluation.EvaluationError, match=r"(evaluation|papers)\.") as raised:
        plot(*[given] * len(needed), **more)
    package, source = re.search(r"(evaluation|papers)\.(\w+)", str(raised.value)).groups()
    assert source in dir({"evaluation": evaluation, "papers": papers}[package])


@pytest.mark.parametrize("layout", [dense, flat])
def test_strips_show_medians_by_mean(layout):
    figure = plots.plausibility_strips(layout(200), ["b", "a"])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["b", "a"]
    own = dense(200).sel(item="b")
    order = own.mean(("chain", "draw")).to_numpy().argsort()
    assert [t.get_text() for t in figure.axes[0].get_yticklabels()] == own["category"].to_numpy()[
        order
    ].tolist()
    (medians,) = (c.get_offsets()[:, 0] for c in figure.axes[0].collections if len(c.get_offsets()) == 3)
    np.testing.assert_allclose(medians, np.median(own.to_numpy().reshape(-1, 3), axis=0)[order])
    with pytest.raises(ValueError, match="no item 'z'"):
        plots.plausibility_strips(layout(5), ["z"])


@pytest.mark.parametrize("n", [1, 2000])
def test_certainty_is_sorted(n):
    values = np.random.default_rng(2).uniform(size=n)
    bars = plots.certainty_histogram(xr.DataArray(values, dims="item")).patches[0]
    assert bars.get_data().values.sum() == pytest.approx(1)
    ax = plots.sorted_certainty(xr.DataArray(values, dims="item"))
    np.testing.assert_allclose(ax.patches[0].get_data().values, np.sort(values))
    assert ax.get_legend() is None
    both = plots.sorted_certainty(
        {"one": xr.DataArray(values, dims="item"), "two": xr.DataArray(values, dims="item")}
    )
    assert [t.get_text() for t in both.get_legend().get_texts()] == ["one", "two"]


def test_sweep_draws_means_bands_and_marks():
    sweep = xr.Dataset(
        {
            "mean": ("reliability", [0.2, 0.4]),
            "interval": (("reliability", "bound"), [[0.1, 0.3], [0.3, 0.5]]),
        },
        {"reliability": [1.0, 3.0], "bound": ["lower", "upper"]},
    )
    ax = plots.reliability_sweep(sweep, point={"": 0.45})
    np.testing.assert_allclose(ax.lines[0].get_xydata(), [[1, 0.2], [3, 0.4]])
    assert ax.lines[1].get_marker() == "x" and ax.lines[1].get_ydata() == [0.45]
    low, high = (
        ax.collections[0].get_paths()[0].vertices[:, 1].min(),
        ax.collections[0].get_paths()[0].vertices[:, 1].max(),
    )
    assert (low, high) == (0.1, 0.5)


def test_risk_shows_range_and_mean():
    expected = xr.DataArray(np.random.default_rng(3).uniform(size=(2, 50, 4)), dims=("chain", "draw", "item"))
    figure = plots.risk(xr.DataArray([0.5, 0.9, 1.0, 0.7], dims="item"), expected)
    right = figure.axes[1]
    np.testing.assert_allclose(right.lines[0].get_ydata(), np.sort(expected.mean(("chain", "draw"))))


def test_triangle_needs_three_categories():
    ax = plots.simplex(dense(100), "a")
    points = ax.collections[0].get_offsets()
    assert len(points) == 200 and points[:, 1].max() <= np.sqrt(3) / 2
    with pytest.raises(ValueError, match="has 2 categories"):
        plots.simplex(dense(5).isel(category=[0, 1]), "a")


def test_labels_are_not_mathematics():
    names = {"item": ["$i$1", "b", "c"], "category": [r"$\frac$", "y_{2}^$", "costs $5"]}
    tree = dense(40).assign_coords(names)
    strips = plots.plausibility_strips(tree, ["$i$1"], point={"$x$": tree.mean(("chain", "draw"))})
    triangle = plots.simplex(tree, "$i$1").figure
    for figure in (strips, triangle):
        figure.canvas.draw()
        assert figure.axes[0].get_title("left" if figure is strips else "center") == r"\$i\$1"


def raters(n):
    draws = np.random.default_rng(2).beta(np.arange(1, n + 1), 3.0, (2, 50, n))
    names = [f"$r{k}" for k in range(n)]
    return xr.DataArray(draws, {"rater": names}, ("chain", "draw", "rater"), name="accuracy")


@pytest.mark.parametrize("n", [1, 5, 60])
def test_forest_has_the_best_rater_on_top(n):
    figure = plots.rater_forest(raters(n))
    ax = figure.axes[0]
    medians = np.median(raters(n).to_numpy().reshape(-1, n), axis=0)
    assert ax.get_yticklabels()[-1].get_text() == rf"\$r{medians.argmax()}"
    assert ax.get_yticklabels()[0].get_text() == rf"\$r{medians.argmin()}"
    assert len(ax.get_yticks()) == min(n, 40)
    assert ax.get_xlabel() == "accuracy"


def test_confusion_matrices_show_their_intervals():
    values = np.random.default_rng(3).dirichlet([1.0, 2.0], (7, 2))
    coords = {"rater": list("abcdefg"), "category": ["x", "y"], "answer": ["x", "y"]}
    mean = xr.DataArray(values, coords, ("rater", "category", "answer"))
    figure = plots.confusion_matrices(xr.Dataset({"mean": mean, "lower": mean / 2, "upper": mean}))
    assert len(figure.axes) == 6
    texts = [t.get_text() for t in figure.axes[1].texts]
    assert texts[2].startswith(f"{values[1, 1, 0]:.2f}")
    grid = [(ax.get_subplotspec().rowspan.start, ax.get_subplotspec().colspan.start) for ax in figure.axes]
    assert grid == [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]
    figure.canvas.draw()


def test_raters_as_a_collection_of_arviz():
    draws = np.random.default_rng(1).normal([1.0, 3.0, 2.0], 0.1, size=(2, 50, 3))
    quality = xr.DataArray(draws, {"rater": ["Ann", "Bob", "Eve"]}, ("chain", "draw", "rater"))
    drawn = plots.rater_forest(quality, label="bits", collection=True)
    assert isinstance(drawn, PlotCollection)
    assert drawn.data["bits"]["rater"].values.tolist() == ["Bob", "Eve", "Ann"]
    marks = drawn.get_viz("point_estimate", "bits", rater="Bob")
    assert float(marks.get_offsets()[0][0]) == pytest.approx(np.median(draws[..., 1]))
    assert add_lines(drawn, values=2.0) is drawn
    plt.close("all")
