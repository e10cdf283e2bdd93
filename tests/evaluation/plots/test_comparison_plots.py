"""The pictures of comparisons draw the numbers they were given."""

from itertools import pairwise

import numpy as np
import pytest
import xarray as xr
from matplotlib.collections import LineCollection
from raterzoo import evaluation, papers
from raterzoo.evaluation import plots


def posterior(n, samples=60):
    rng = np.random.default_rng(1)
    centre = rng.permutation(np.linspace(0, 3, n))
    names = [f"$model {i}$ with a name that goes on and on and on" for i in range(n)]
    draws = centre + rng.normal(scale=0.4, size=(2, samples, n))
    return xr.DataArray(draws, {"item": names}, ("chain", "draw", "item"), name="quality")


def texts(labels):
    return [label.get_text() for label in labels]


@pytest.mark.parametrize("n", [1, 6, 59])
def test_leaderboard_has_the_best_on_top(n):
    draws = posterior(n)
    table, groups = evaluation.rank_intervals(draws), evaluation.tied_groups(draws, 0.9)
    figure = plots.leaderboard(table, groups)
    ax = figure.axes[0]
    figure.draw_without_rendering()
    order = np.lexsort((table["mean_rank"], table["median_rank"]))
    bars, points = ax.collections[:2]
    ends = np.array([path.vertices[:, 0] for path in bars.get_paths()])
    np.testing.assert_allclose(ends[:, 0], table["lower"][order])
    np.testing.assert_allclose(ends[:, 1], table["upper"][order])
    np.testing.assert_allclose(points.get_offsets()[:, 0], table["median_rank"][order])
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first row is the highest
    assert texts(ax.get_yticklabels())[0].startswith(rf"\$model {order[0]}\$")
    assert max(map(len, texts(ax.get_yticklabels()))) <= 42  # forty letters, two dollars escaped
    written = texts(ax.texts)
    best = table["best"].to_numpy()[order]
    assert [t for t in written if "best" in t] == [f"{100 * b:.0f} % best" for b in best if b >= 0.01]
    assert [t for t in written if t.isdecimal()] == [str(g) for g in range(1, int(groups.max()) + 1)]
    assert len(ax.patches) == int(groups.max()) // 2
    assert min(ax.get_xticks()) == 1
    if n == 6:
        assert ax.get_xticks().tolist() == list(range(1, int(table["upper"].max()) + 1))
    numbers = [t.get_position()[1] for t in ax.texts if t.get_text().isdecimal()]
    own = groups.sel(item=table["item"][order]).to_numpy()
    np.testing.assert_allclose(numbers, [np.flatnonzero(own == g).mean() for g in np.unique(own)])
    assert "simultaneous" not in ax.get_xlabel()
    joint = plots.leaderboard(evaluation.rank_intervals(draws, simultaneous=True), most=4)
    assert "simultaneous 90 %" in joint.axes[0].get_xlabel()
    assert len(joint.axes[0].get_yticks()) == min(n, 4)


def test_no_label_of_the_leaderboard_lies_on_another():
    draws = posterior(59)
    figure = plots.leaderboard(evaluation.rank_intervals(draws), evaluation.tied_groups(draws))
    figure.draw_without_rendering()
    ax = figure.axes[0]
    boxes = [t.get_window_extent() for t in [*ax.get_yticklabels(), *ax.texts]]
    for i, box in enumerate(boxes):
        assert box.x0 >= 0 and box.x1 <= figure.bbox.x1
        assert not any(box.overlaps(other) for other in boxes[:i])


@pytest.mark.parametrize("n", [1, 30])
def test_forest_shows_means_and_truths_by_label(n):
    draws = posterior(n)
    table = evaluation.rank_intervals(draws, 0.8)
    truth = (draws.mean(("chain", "draw")) + 1).isel(item=slice(None, None, -1))
    ax = plots.quality_forest(table, truth, most=20).axes[0]
    order = np.argsort(-table["quality"].to_numpy())[:20]
    _, points, crosses = ax.collections
    np.testing.assert_allclose(points.get_offsets()[:, 0], table["quality"][order])
    np.testing.assert_allclose(crosses.get_offsets()[:, 0], table["quality"][order] + 1)
    assert ax.get_xlabel() == "quality, 80 % intervals"
    assert len(plots.quality_forest(table).axes[0].collections) == 2


def raters(n, shift=0.0):
    draws = np.random.default_rng(2).gamma(2.0, size=(2, 40, n)) * np.arange(1, n + 1) - shift
    kind = ["person"] * (n - 2) + ["model"] * min(n, 2)
    coords = {"rater": [f"$r{k}" for k in range(n)], "rater_kind": ("rater", kind[-n:])}
    return xr.DataArray(draws, coords, ("chain", "draw", "rater"), name="reliability")


@pytest.mark.parametrize("n", [1, 12, 126])
def test_raters_are_sorted_and_told_apart(n):
    ax = plots.rater_reliability(raters(n), "rater_kind")
    ax.figure.draw_without_rendering()
    median = np.median(raters(n).to_numpy().reshape(-1, n), axis=0)
    points = [
        c.get_offsets() for c in ax.collections if len(c.get_offsets()) and c.get_paths()[0].codes is not None
    ]
    drawn = np.concatenate(points)
    drawn = drawn[np.argsort(drawn[:, 0])]
    np.testing.assert_allclose(drawn, np.c_[np.arange(n), np.sort(median)])
    assert ax.get_yscale() == "log"
    bars = [path.vertices for c in ax.collections if isinstance(c, LineCollection) for path in c.get_paths()]
    bars = np.array(sorted(bars, key=lambda ends: ends[0, 0]))[:, :, 1]
    values = raters(n).to_numpy().reshape(-1, n)[:, np.argsort(median)]
    np.testing.assert_allclose(bars, np.quantile(values, [0.05, 0.95], axis=0).T)
    if n == 126:
        assert sorted(texts(ax.texts)) == [r"\$r124", r"\$r125"]
        assert texts(ax.get_legend().get_texts()) == ["person (124)", "model (2)"]
    else:
        shown = [rf"\$r{k}" for k in np.argsort(median)]
        assert texts(ax.get_xticklabels()) == shown


def test_signed_raters_have_a_line_at_zero_and_need_a_known_kind(golden):
    ax = plots.rater_reliability(raters(20, shift=3.0))
    assert ax.get_yscale() == "linear" and ax.get_legend() is None
    assert ax.lines[0].get_ydata() == [0, 0]
    with golden.raises(ValueError):
        plots.rater_reliability(raters(3), "species")
    own = raters(3)
    ax = plots.rater_reliability(own.drop_vars("rater_kind"), own["rater_kind"][::-1])
    assert texts(ax.get_legend().get_texts()) == ["model (2)", "person (1)"]
    with golden.raises(ValueError):
        plots.rater_reliability(own, own["rater_kind"].assign_coords(rater=["$r0", "$r1", "x"]))
    with golden.raises(ValueError):
        plots.rater_reliability(own, own["rater_kind"][:2])


def test_errors_stand_with_their_bounds():
    values = np.array([[4.0, 2.0, 1.0], [8.0, 4.0, 2.0]])
    error = xr.DataArray(values, {"N": [40, 100], "alpha": [0.1, 0.5, 1.0]}, ("N", "alpha"))
    ax = plots.error_against_bound(error, error / 2, over="alpha", by="N", standard_error=error / 8)
    assert texts(ax.get_legend().get_texts()) == ["N = 40", "N = 100", "bound"]
    for k in range(2):
        curve, limit = ax.lines[2 * k], ax.lines[2 * k + 1]
        np.testing.assert_allclose(curve.get_xydata(), np.c_[[0.1, 0.5, 1.0], values[k]])
        np.testing.assert_allclose(limit.get_ydata(), values[k] / 2)
        assert curve.get_color() == limit.get_color() and limit.get_linestyle() == "--"
        bars = [path.vertices[:, 1] for path in ax.collections[k].get_paths()]
        np.testing.assert_allclose(bars, np.c_[values[k] * 0.75, values[k] * 1.25])
    one = plots.error_against_bound(error[0], error[0] / 2, over="alpha", ax=ax)
    assert one is ax
    many = xr.DataArray(np.ones((12, 2)), {"N": range(12), "alpha": [0.1, 0.5]}, ("N", "alpha"))
    assert len(plots.error_against_bound(many, many, over="alpha", by="N").lines) == 25  # colours come again


@pytest.mark.parametrize("by", [None, "method"])
def test_failures_stand_with_their_intervals(by, golden):
    failed = np.random.default_rng(3).uniform(size=(20, 3, 4)) < 0.4
    errors = xr.DataArray(
        failed,
        {"method": ["QUITE", "AG", "MAP"], "epsilon": [0.0, 0.1, 0.2, 0.3]},
        ("run", "method", "epsilon"),
    )
    rates = papers.error_rate(errors if by else errors[:, 0])
    ax = plots.ranking_error(rates, over="epsilon", by=by)
    curves = rates["rate"].transpose(..., "epsilon").to_numpy().reshape(-1, 4)
    assert len(ax.lines) == len(curves)
    for k, curve in enumerate(curves):
        np.testing.assert_allclose(ax.lines[k].get_ydata(), curve)
        assert np.abs(ax.lines[k].get_xdata() - [0, 0.1, 0.2, 0.3]).max() < 0.01
        bars = np.array([path.vertices[:, 1] for path in ax.collections[k].get_paths()])
        ends = [rates[v].transpose(..., "epsilon").to_numpy().reshape(-1, 4)[k] for v in ("lower", "upper")]
        np.testing.assert_allclose(bars, np.stack(ends, axis=1))
    golden.says(ax.get_ylabel())
    assert (ax.get_legend() is None) == (by is None)
    assert by is None or texts(ax.get_legend().get_texts()) == ["QUITE", "AG", "MAP"]


@pytest.mark.parametrize("n", [1, 5, 59])
def test_matrix_is_sorted_by_wins(n):
    win = evaluation.preference_probability(posterior(n))
    figure = plots.win_matrix(win)
    ax = figure.axes[0]
    figure.draw_without_rendering()
    order = np.argsort(-win.to_numpy().mean(axis=1), kind="stable")
    np.testing.assert_allclose(ax.images[0].get_array(), win.to_numpy()[np.ix_(order, order)])
    assert len(ax.texts) == (n * (n - 1) if n <= 20 else 0)
    assert texts(ax.get_xticklabels()) == texts(ax.get_yticklabels())
    chosen = win["item"].to_numpy()[::-1]
    reverse = plots.win_matrix(win, chosen, label="$").axes
    np.testing.assert_allclose(reverse[0].images[0].get_array(), win.to_numpy()[::-1, ::-1])
    boxes = [t.get_window_extent() for t in ax.get_yticklabels()]
    assert not any(a.overlaps(b) for a, b in pairwise(boxes))
