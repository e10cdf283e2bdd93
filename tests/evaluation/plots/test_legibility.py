"""Pictures show themselves in notebooks, say names in words, and no text lies on another or leaves its panel."""

import struct
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from raterzoo import evaluation
from raterzoo.evaluation import plots
from raterzoo.evaluation.plots import style
from raterzoo.evaluation.plots.classifiers import _named_pairs

from tests.support.evaluation_trees import distributions

QUIET = {"random_seed": 1, "progressbar": False, "resamples": 20}
CERTAINTY = xr.DataArray([0.5, 0.9, 1.0], {"item": list("abc")}, ("item",))
ITEMS = [f"item {i}" for i in range(40)]


def truth(seed=0):
    values = np.random.default_rng(seed).dirichlet([6.0, 2.0, 1.0], size=(2, 20, 40))
    return distributions(values, ITEMS, list("xyz"))


def predicted(names):
    share = np.linspace(0.9, 0.1, len(names))[:, None, None]
    noise = np.random.default_rng(7).dirichlet([1.0, 1.0, 1.0], size=(len(names), 40))
    values = share * truth().mean(("chain", "draw")).to_numpy() + (1 - share) * noise
    coords = {"classifier": list(names), "item": ITEMS, "category": list("xyz")}
    return xr.DataArray(values, coords, ("classifier", "item", "category"))


VOTE = truth().mean(("chain", "draw"))
POINTS = {"IRN": VOTE, "maximum likelihood": VOTE}
# a coverage close to one
SETS = evaluation.conformal_sets(truth(), predicted("AB"), ITEMS[:15], random_seed=1)
LONG = [f"network {i} of a clinic with a long name" for i in range(4)]


def compared(names, tree=None):
    tree = truth() if tree is None else tree
    metric = evaluation.set_accuracy(2)
    return evaluation.compare(metric, tree, predicted(names), points=POINTS, **QUIET)


def sure(names):
    """Return a comparison whose intervals are far narrower than what is written above them."""
    found = compared(names)
    pairs = {"interval": "mean", "difference_interval": "difference"}
    return found.assign({k: found[m] + 0.02 * (found[k] - found[m]) for k, m in pairs.items()})


def subgroups(names):
    groups = {"x": "low", "y": "high", "z": "high"}
    metric = evaluation.top_k_accuracy(1)
    return evaluation.metric_intervals(metric, truth(), predicted(names), by=groups, **QUIET)


def size_of(png):
    assert png.startswith(b"\x89PNG\r\n\x1a\n")
    return struct.unpack(">II", png[16:24])


def draws(dim, n):
    values = np.random.default_rng(1).gamma(2.0, size=(2, 20, n))
    return xr.DataArray(values, {dim: [f"{k}" for k in range(n)]}, ("chain", "draw", dim))


SHOWN = {
    "axes": lambda: plots.sorted_certainty(CERTAINTY),
    "panels": lambda: plots.conformal(SETS),
    "simplex": lambda: plots.simplex(truth(), "item 1"),
    "reliability": lambda: plots.rater_reliability(draws("rater", 3)),
    "forest": lambda: plots.rater_forest(draws("rater", 3)),
    "matrix": lambda: plots.win_matrix(evaluation.preference_probability(draws("item", 3))),
    "leaderboard": lambda: plots.leaderboard(evaluation.rank_intervals(draws("item", 3))),
    "quality": lambda: plots.quality_forest(evaluation.rank_intervals(draws("item", 3))),
}


@pytest.mark.parametrize("name", SHOWN)
def test_what_a_plot_returns_shows_itself(name):
    picture = SHOWN[name]()
    assert isinstance(picture, Axes | Figure)
    width, height = size_of(picture._repr_png_())
    inches = picture.figure.get_size_inches() if isinstance(picture, Axes) else None
    inches = picture.get_size_inches() if inches is None else inches
    assert 0.5 * inches[0] * 110 < width < 1.3 * inches[0] * 110
    assert 0.5 * inches[1] * 110 < height < 1.3 * inches[1] * 110


def test_axes_show_the_whole_figure():
    figure = plots.conformal(SETS)
    assert size_of(figure.axes[1]._repr_png_()) == size_of(figure._repr_png_())


def test_notebooks_find_the_picture():
    formatters = pytest.importorskip("IPython.core.formatters")
    for show in ("axes", "panels"):
        size_of(formatters.PNGFormatter()(SHOWN[show]()))


def test_axes_of_the_caller_stay_as_they_are():
    ax = Figure().add_subplot()
    assert plots.sorted_certainty(CERTAINTY, ax=ax) is ax
    assert type(ax) is Axes and not hasattr(ax, "_repr_png_")


@pytest.mark.parametrize(
    ("metric", "words"),
    [
        (evaluation.top_k_accuracy(3), "top-3 accuracy"),
        (evaluation.set_accuracy(2), "set accuracy, 2 best"),
        (evaluation.average_overlap(3), "average overlap, 3 best"),
        (evaluation.rank_biased_overlap(), "rank-biased overlap, 10 best"),
        (evaluation.kendall_tau(), "Kendall's tau"),
        (evaluation.spearman_footrule(4), "Spearman's footrule, 4 best"),
        (evaluation.ndcg(5), "nDCG, 5 best"),
        (evaluation.cross_entropy(), "cross-entropy"),
        (evaluation.brier_score(), "Brier score"),
        (evaluation.calibration_error(), "calibration error"),
        (evaluation.f1(), "macro F1"),
        (evaluation.roc_auc(), "macro ROC AUC"),
        (evaluation.cohen_kappa(), "Cohen's kappa"),
        (evaluation.matthews_correlation(), "Matthews correlation"),
        (evaluation.balanced_accuracy(), "balanced accuracy"),
    ],
)
def test_metrics_are_named_in_words(metric, words):
    assert style.in_words(metric.name) == words


def test_names_of_others_are_kept():
    assert style.in_words("f1_score") == "F1 score"
    assert style.in_words("my_score_2") == "my score 2"  # of which nobody knows what the number is
    assert style.in_words("top_heavy_loss") == "top heavy loss"


def test_axes_say_metrics_in_words_unless_told():
    one = evaluation.metric_intervals(evaluation.set_accuracy(2), truth(), predicted("AB"), **QUIET)
    both = {"set_accuracy_2": one, "set accuracy 2": one, "mine_2": one}
    said = [ax.get_xlabel() for ax in plots.metric_intervals(both).axes]
    words = "set accuracy, 2 best: mean, 90 % interval"
    assert said == [words, words, "mine_2: mean, 90 % interval"]
    told = plots.metric_intervals(one, label="own_name").axes[0].get_xlabel()
    assert told == "own_name: mean, 90 % interval"
    differences = plots.comparison(compared("AB")).axes
    assert any(ax.get_xlabel().startswith("difference in set accuracy, 2 best") for ax in differences)


@pytest.mark.parametrize(("half", "letters"), [(0.0, 0), (0.25, 20), (0.9, 60)])
def test_limits_hold_texts(half, letters):
    middles = np.array([0.0, half, 1.0])
    low, high = style.limits_with_texts((0.0, 1.0), middles, letters, 3.2)
    room = min(0.058 * letters / 2 / 3.2, 0.36) * (high - low)
    assert low <= min(-room, -0.03) + 1e-9 and high >= max(1 + room, 1.03) - 1e-9
    assert high - low < 4
    assert style.limits_with_texts((0.5, 0.5), np.array([0.5]), 20, 3.2)[0] < 0.5  # of no extent


WRITTEN = {
    "comparison": lambda: plots.comparison(compared("ABCD")),
    "sure": lambda: plots.comparison(sure("ABCD")),
    "long": lambda: plots.comparison(compared(LONG)),
    "conformal": lambda: plots.conformal({"voted": SETS, "x": SETS}),
    "subgroups": lambda: plots.subgroups(subgroups("ABCD")),
    "many": lambda: plots.subgroups(subgroups("ABCDEFGH")),
    "metrics": lambda: plots.metric_intervals(subgroups("AB")),
}


@pytest.mark.parametrize("name", WRITTEN)
def test_texts_stay_in_their_panel_and_apart(name):
    figure = WRITTEN[name]()
    figure.draw_without_rendering()
    for ax in figure.axes:
        texts = [t.get_window_extent() for t in ax.texts]
        box = ax.get_window_extent()
        assert all(box.x0 - 1 <= t.x0 and t.x1 <= box.x1 + 1 for t in texts)
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            ticks = zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True)
            shown = [t.get_window_extent() for at, t in ticks if low <= at <= high]
            texts += [t for t in shown if t.width]
        assert not any(a.overlaps(b) for a, b in combinations(texts, 2))


def test_limits_without_texts_have_a_margin():
    assert style.limits_with_texts((2.0, 4.0), np.array([]), 5, 3.0) == (
        2 - 2 * style.MARGIN,
        4 + 2 * style.MARGIN,
    )


def test_pairs_are_on_one_line_if_short():
    assert _named_pairs(["C", "A"], [(0, 1)]) == ["C − A"]
    assert _named_pairs(LONG[:2], [(0, 1)]) == [f"{LONG[0]}\n− {LONG[1]}"]
    assert _named_pairs(list("ABCDE"), [(0, 1), (0, 4)]) == ["− B", "− E"]


def test_no_point_estimate_hides_another():
    points = plots.comparison(compared("ABCD")).axes[2]
    offsets = [np.asarray(c.get_offsets()) for c in points.collections if len(c.get_offsets()) == 4]
    posterior, *estimates = (place[:, 1] for place in offsets)
    assert len(estimates) == 2
    assert (posterior < estimates[0]).all() and (estimates[0] < estimates[1]).all()
    crosses, diamonds = [c for c in points.collections if len(c.get_offsets()) == 4][1:]
    assert crosses.get_linewidth()[0] > 1 and diamonds.get_linewidth()[0] == 0
    assert points.get_legend_handles_labels()[1].count("posterior") == 1


def test_estimates_over_reliability_have_marks_of_their_own():
    swept = compared("AB", {1.0: truth(), 5.0: truth(1)})
    metric, _, right = plots.comparison(swept).axes
    marks = [line for line in metric.lines if len(line.get_xdata()) == 1]
    assert [line.get_marker() for line in marks] == ["x", "D"] * 2
    assert marks[0].get_xdata()[0] < marks[1].get_xdata()[0]
    written = [text.get_text() for text in right.get_legend().get_texts()]
    assert written[2:] == ["point estimate: IRN", "point estimate: maximum likelihood"]


def test_shares_are_written_and_their_intervals_dark():
    own = subgroups("AB").isel(classifier=0)
    _, right = plots.subgroups(own).axes
    low, high = own["share_interval"].sel(group="low").to_numpy()
    share = float(own["share"].sel(group="low"))
    assert right.texts[0].get_text() == f"{100 * share:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"
    pale, dark = right.collections[:2]
    assert dark.get_linewidth()[0] >= pale.get_linewidth()[0] > 5
    assert dark.get_alpha() > 2 * pale.get_alpha()


def test_percentages_have_no_needless_digits():
    _, right = plots.conformal(SETS).axes
    right.figure.draw_without_rendering()
    names = [label.get_text() for label in right.get_xticklabels() if label.get_text()]
    assert len(set(names)) == len(names) and not any(name.endswith(".0 %") for name in names)
    assert max(float(name[:-1]) for name in names) <= 100
