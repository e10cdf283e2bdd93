"""The pictures of metrics, comparisons, sets and sensitivities draw what evaluation computed."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation import EvaluationError, plots
from raterzoo.evaluation.plots.classifiers import _percent

from tests.support.evaluation_trees import distributions

CATEGORIES = ["x", "y", "z"]
ITEMS = [f"item {i}" for i in range(30)]
QUIET = {"random_seed": 1, "progressbar": False, "resamples": 50}


def truth(seed=0):
    values = np.random.default_rng(seed).dirichlet([3.0, 2.0, 1.0], size=(2, 40, 30))
    return distributions(values, ITEMS, CATEGORIES)


def predicted(n=3):
    values = np.random.default_rng(7).dirichlet([1.0, 1.0, 1.0], size=(n, 30))
    names = [f"<b>classifier</b> ${i}$" for i in range(n)]
    coords = {"classifier": names, "item": ITEMS, "category": CATEGORIES}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


METRIC = evaluation.top_k_accuracy(1)


@cache
def summary():
    return evaluation.metric_intervals(METRIC, truth(), predicted(), **QUIET)


GROUPS = {"x": "low", "y": "high", "z": "high"}


@cache
def by_group():
    return evaluation.metric_intervals(METRIC, truth(), predicted(), by=GROUPS, **QUIET)


VOTE = truth().mean(("chain", "draw"))


@cache
def compared():
    return evaluation.compare(METRIC, truth(), predicted(), points={"vote": VOTE}, **QUIET)


@cache
def swept():
    return evaluation.compare(
        METRIC, {1: truth(), 5.0: truth(1)}, predicted(), points={"vote": VOTE}, **QUIET
    )


@cache
def many():
    return evaluation.compare(METRIC, truth(), predicted(20), **QUIET)


ONE = predicted().isel(classifier=0, drop=True)


@cache
def sets():
    return evaluation.conformal_sets(truth(), ONE, ITEMS[:15], random_seed=1)


@cache
def voted():
    return evaluation.conformal_sets(truth(), ONE, ITEMS[:15], truth="voted", random_seed=1)


LEANING = xr.Dataset(
    {
        "prior": ("item", [0.01, 0.2, 0.3]),
        "likelihood": ("item", [0.1, 0.01, 0.4]),
        "diagnosis": (
            "item",
            ["✓", "potential strong prior / weak likelihood", "potential prior-data conflict"],
        ),
        "pareto_k": (("component", "item"), [[0.1, 0.2, 0.9], [0.1, 0.1, 0.1]]),
    },
    {"item": ["a", "$b$", "c"]},
    {"quantity": "annotation_certainty", "distance": "mean", "threshold": 0.05},
)

FIGURES = {
    "metric": lambda: plots.metric_intervals(summary()),
    "metrics": lambda: plots.metric_intervals({"<one>": summary(), "two": summary()}),
    "groups of metrics": lambda: plots.metric_intervals(by_group()),
    "alone": lambda: plots.metric_intervals(summary().isel(classifier=0)),
    "subgroups": lambda: plots.subgroups(by_group()),
    "comparison": lambda: plots.comparison(compared()),
    "twenty": lambda: plots.comparison(many(), source="raters"),
    "over reliability": lambda: plots.comparison(swept()),
    "conformal": lambda: plots.conformal(sets()),
    "two methods": lambda: plots.conformal({"plausible": sets(), "voted": voted()}),
    "sensitivity": lambda: plots.sensitivity(LEANING),
}


def texts(labels):
    return [label.get_text() for label in labels]


def ends(collection):
    return np.array([path.vertices[:, 0] for path in collection.get_paths()])


@pytest.mark.parametrize("figure", FIGURES)
def test_draws(figure):
    FIGURES[figure]().figure.canvas.draw()


def test_forest_tells_the_sources_apart(golden):
    ax = plots.metric_intervals(summary(), label="accuracy").axes[0]
    bars = [c for c in ax.collections if len(c.get_paths()) == 3 and len(c.get_offsets()) < 3]
    colours = {tuple(bar.get_color()[0][:3]) for bar in bars}
    widths = [bar.get_linewidth()[0] for bar in bars]
    assert len(bars) == len(colours) == 3 and widths[0] > widths[1]
    for bar, source in zip(bars, ("both", "raters", "items"), strict=True):
        np.testing.assert_allclose(ends(bar), summary()["interval"].sel(source=source))
    own = summary().sel(source="both").isel(classifier=1)
    low, high = own["interval"].to_numpy()
    assert texts(ax.texts)[1] == f"{float(own['mean']):.2f} ({low:.2f} to {high:.2f})"
    golden.says(ax.get_xlabel())
    assert texts(ax.get_yticklabels())[0] == r"<b>classifier</b> \$0\$"
    bottom, top = ax.get_ylim()
    assert bottom > top


def test_group_without_members_says_so():
    nobody = by_group().copy(deep=True)
    for name in ("mean", "interval"):
        nobody[name] = nobody[name].where(nobody["group"] != "low")
    left, right = plots.subgroups(nobody).axes
    assert texts(left.texts).count("no members") == 1
    assert texts(left.get_yticklabels()) == ["low", "high"]
    share = by_group()["share"].isel(classifier=0)
    np.testing.assert_allclose(right.collections[0].get_paths()[1].vertices[:, 0], [0, share[1]])
    np.testing.assert_allclose(ends(right.collections[1]), by_group()["share_interval"][0])
    every = nobody.where(False)
    assert texts(plots.subgroups(every.assign(share=by_group()["share"], share_interval=by_group()["share_interval"])
                                 .assign_attrs(by_group().attrs)).axes[0].texts) == ["no members"] * 2  # fmt: skip


def test_shares_of_each_classifier_where_they_differ():
    moved = by_group().copy(deep=True)
    moved["share"][0] = [0.4, 0.6]
    _, right = plots.subgroups(moved).axes
    bars = right.collections[::3]
    drawn = np.stack([ends(bar)[:, 1] for bar in bars])
    np.testing.assert_allclose(drawn, moved["share"])
    heights = np.array([[path.vertices[0, 1] for path in bar.get_paths()] for bar in bars])
    np.testing.assert_allclose(heights.mean(axis=0), [0, 1])
    assert (np.diff(heights, axis=0) > 0.1).all() and np.ptp(heights, axis=0).max() < 0.7
    assert all(
        bar.get_alpha() < 0.5 < dark.get_alpha()
        for bar, dark in zip(bars, right.collections[1::3], strict=True)
    )
    written = np.reshape([text.get_position()[1] for text in right.texts], (3, 2))
    assert (0 < heights - written).all() and (heights - written < 0.5).all()


def test_classifiers_of_subgroups_are_named_in_the_legend_while_colours_are_enough():
    figure = plots.subgroups(by_group())
    (legend,) = figure.legends
    assert len(texts(legend.get_texts())) == 3


def test_matrix_has_the_best_on_top():
    figure = plots.comparison(compared())
    matrix, differences, points = figure.axes
    own = compared().sel(source="both")
    order = np.argsort(own["mean_rank"].to_numpy(), kind="stable")
    better = own["probability_better"].to_numpy()[np.ix_(order, order)]
    drawn = matrix.images[0].get_array()
    assert np.ma.getmaskarray(drawn).diagonal().all() or np.isnan(drawn.data).diagonal().all()
    np.testing.assert_allclose(drawn.data[~np.eye(3, dtype=bool)], better[~np.eye(3, dtype=bool)])
    assert len(matrix.texts) == 6
    assert {label.get_rotation() for label in matrix.get_xticklabels()} == {90}
    expected = [own["difference"].to_numpy()[order[i], order[j]] for i, j in ((0, 1), (0, 2), (1, 2))]
    offsets = [c.get_offsets() for c in differences.collections if len(c.get_offsets()) == 3]
    np.testing.assert_allclose(offsets[0][:, 0], expected)
    marks = [c.get_offsets() for c in points.collections if len(c.get_offsets()) == 3]
    np.testing.assert_allclose(marks[1][:, 0], own["point"].isel(estimate=0)[order])


def test_many_classifiers_are_compared_with_the_best():
    matrix, differences = plots.comparison(many()).axes
    assert len(differences.get_yticks()) == 19
    assert matrix.images[0].get_array().shape == (20, 20)
    assert len(set(texts(matrix.get_yticklabels()))) == 20
    assert not any(spine.get_visible() for spine in matrix.spines.values())


def test_percentages_are_not_rounded_to_certainty():
    assert [_percent(p) for p in (0, 0.001, 0.5, 0.999, 1)] == ["0", "<1", "50", ">99", "100"]


def test_order_over_reliability():
    metric, best, rank = plots.comparison(swept()).axes
    own = swept().sel(source="both")
    for k in range(3):
        np.testing.assert_allclose(best.lines[k].get_ydata(), own["probability_best"][:, k])
        np.testing.assert_allclose(rank.lines[k].get_ydata(), own["mean_rank"][:, k])
        np.testing.assert_allclose(metric.lines[2 * k].get_ydata(), own["mean"][:, k])
        mark = metric.lines[2 * k + 1]
        assert mark.get_marker() == "x"
        assert np.isclose(mark.get_ydata()[0], own["point"].isel(reliability=-1, classifier=k, estimate=0))
        band = metric.collections[k].get_paths()[0].vertices[:, 1]
        assert {*own["interval"].isel(classifier=k).to_numpy().ravel()} == {*band}
    assert not any(axes.get_legend_handles_labels()[1] for axes in (metric, best))
    assert len(texts(rank.get_legend().get_texts())) == 4  # three classifiers, and the point estimate


def test_sets_show_sizes_and_coverage():
    left, right = plots.conformal({"plausible": sets(), "voted": voted()}).axes
    for k, made in enumerate((sets(), voted())):
        share = np.bincount(made["size"], minlength=4) / made.sizes["item"]
        drawn = [bar.get_height() for bar in left.containers[k]]
        np.testing.assert_allclose(drawn, share[: len(drawn)])
        low, high = np.quantile(made["coverage"], [0.05, 0.95])
        spans = [c for c in right.collections if len(c.get_offsets()) < 2 and len(ends(c)[0]) == 2]
        np.testing.assert_allclose(ends(spans[k])[0], [low, high])
    assert any(np.allclose(line.get_xdata(), 0.9) for line in right.lines)


def test_sensitive_items_are_named():
    ax = plots.sensitivity(LEANING)
    assert texts(ax.texts) == [" c", r" \$b\$"]
    legend = texts(ax.get_legend().get_texts())
    assert legend == [
        "the prior hardly moves it (1)",
        "prior moves it more than annotations (1)",
        "both prior and annotations move it, Pareto k above 0.7 (1)",
    ]
    drawn = np.concatenate([c.get_offsets() for c in ax.collections])
    np.testing.assert_allclose(drawn, np.c_[LEANING["likelihood"], LEANING["prior"]])
    assert next(line.get_xdata()[0] for line in ax.lines) == 0.05


def test_what_cannot_be_drawn_is_said(golden):
    with golden.raises(EvaluationError):
        plots.metric_intervals(LEANING)
    with golden.raises(EvaluationError):
        plots.metric_intervals(summary()["mean"])
    with pytest.raises(EvaluationError, match="no Dataset"):
        plots.metric_intervals({})
    with pytest.raises(EvaluationError, match="is empty"):
        plots.metric_intervals(summary().isel(classifier=[]))
    with golden.raises(EvaluationError):
        plots.metric_intervals({"one": summary(), "two": summary().isel(classifier=[0])})
    with pytest.raises(EvaluationError, match=r"'share'.*by="):
        plots.subgroups(summary())
    with pytest.raises(EvaluationError, match="'difference' among"):
        plots.comparison(summary())
    with pytest.raises(EvaluationError, match="source='draws'"):
        plots.comparison(compared(), source="draws")
    with pytest.raises(EvaluationError, match="pick one by"):
        plots.comparison(evaluation.compare(METRIC, truth(), predicted(), by=GROUPS, **QUIET))
    with pytest.raises(EvaluationError, match="'size' among"):
        plots.conformal({"one": summary()})
    with pytest.raises(EvaluationError, match="is empty"):
        plots.sensitivity(LEANING.isel(item=[]))


def test_other_words_of_a_diagnosis_are_kept():
    words = LEANING.assign(diagnosis=("item", ["✓", "something new", "✓"]))
    legend = plots.sensitivity(words).get_legend()
    assert texts(legend.get_texts()) == [
        "the prior hardly moves it (1)",
        "the prior hardly moves it, Pareto k above 0.7 (1)",
        "something new (1)",
    ]
