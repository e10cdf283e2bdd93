"""The picture of the survey power curve draws the numbers it was given, and says what is censored."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
import xarray as xr
from matplotlib.figure import Figure
from raterzoo import evaluation, papers
from raterzoo.evaluation import EvaluationError, plots
from raterzoo.evaluation.plots.power_curves import _curves
from raterzoo.papers import survey_summary

from tests.support.survey_urns import PROBABILITY, binary_counts, binary_law, drawn_states

STATE, POSITIVE = drawn_states(300, 6, np.random.default_rng(1))
COUNTS = binary_counts(POSITIVE, 6)
IDEAL = PROBABILITY[STATE]
LAWS = binary_law(np.stack([0.4 * IDEAL + 0.6 * IDEAL.mean(), IDEAL, 1 - IDEAL]))
LAWS = LAWS.assign_coords(classifier=["<b>soft</b>", "$ideal$", "reversed"])


def equivalence():
    return evaluation.survey_equivalence(COUNTS, LAWS, bootstrap=50)


def posterior():
    """Draws as of a posterior, of two classifiers: one inside the curve, one beyond it."""
    rng = np.random.default_rng(2)
    k = np.arange(31)
    start, limit = -0.95 + 0.01 * rng.normal(size=(2, 20)), -0.7 + 0.01 * rng.normal(size=(2, 20))
    curve = limit[..., None] - (limit - start)[..., None] / (1 + k)
    dims, score = ("chain", "draw"), np.stack([start + 0.15, limit + 0.05], axis=-1)
    worth = np.stack([rng.uniform(1, 2, (2, 20)), np.full((2, 20), np.inf)], axis=-1)
    return xr.Dataset(
        {
            "power_curve": ((*dims, "k"), curve),
            "information_gain": ((*dims, "k"), curve - curve[..., :1]),
            "baseline": (dims, start),
            "asymptote": (dims, limit),
            "observed_curve": ("checked_k", [-0.95, -0.83, -0.78]),
            "score": ((*dims, "classifier"), score),
            "equivalence": ((*dims, "classifier"), worth),
        },
        {"k": k, "checked_k": np.arange(3), "classifier": ["soft", "ideal"]},
        {"scorer": "cross_entropy", "base": 2},
    )


def labelled(ax):
    return {line.get_label(): line for line in ax.lines if not line.get_label().startswith("_")}


def legend_of(ax):
    return [text.get_text() for text in ax.get_legend().get_texts()]


@pytest.mark.parametrize("centred", [False, True])
def test_curve_and_band_are_those_given(centred):
    found = evaluation.survey_power_curve(COUNTS, bootstrap=50)
    ax = plots.power_curve(found, centred=centred)
    name = "information_gain" if centred else "power_curve"
    (curve,) = ax.lines
    np.testing.assert_array_equal(curve.get_xydata(), np.stack([found["k"], found[name]], axis=1))
    band = ax.collections[0].get_paths()[0].vertices
    ends = found[f"{name}_interval"]
    assert {*band[:, 1]} == {*ends.to_numpy().ravel()}
    low, high = ax.get_ylim()
    assert 0 < float(ends.min()) - low < 0.5 * (high - low)
    assert ax.get_legend() is None
    assert ax.get_ylabel().startswith("information gain" if centred else "score against")
    assert "bits" in ax.get_ylabel()


@pytest.mark.parametrize("centred", [False, True])
def test_a_drop_ends_at_the_equivalence(centred):
    found = equivalence()
    ax = plots.power_curve(found, centred=centred)
    words = found["words"].to_numpy()
    label = f"<b>soft</b>: {words[0]}"
    way = labelled(ax)[label].get_xydata()
    worth = float(found["equivalence"][0])
    score = float(found["classifier_gain" if centred else "score"][0])
    assert way[0, 0] == 0 and way[0, 1] == pytest.approx(score, abs=1e-12)
    np.testing.assert_allclose(way[-2:, 0], worth, atol=1e-12)
    curve = found["information_gain" if centred else "power_curve"].to_numpy()
    # the corner is on the curve, the foot on the axis
    assert way[-2, 1] == pytest.approx(np.interp(worth, found["k"], curve), abs=1e-12)
    assert way[-1, 1] == ax.get_ylim()[0]


def test_a_drop_is_on_the_curve_where_items_drop_out():
    """The score is then that of the items of each k."""
    kept = np.where(np.arange(300) < 180, 6, 3)
    positive = np.minimum(POSITIVE, kept)
    coords = {"item": np.arange(300), "category": ["0", "1"]}
    ragged = xr.DataArray(np.stack([kept - positive, positive], 1), coords, ("item", "category"))
    found = evaluation.survey_equivalence(ragged, LAWS.isel(classifier=[0, 1]), bootstrap=0, max_raters=5)
    assert np.ptp(found["score_of_same_items"][0].to_numpy()) > 1e-3
    inside = np.flatnonzero(np.isfinite(found["equivalence"]))
    assert len(inside)
    ax = plots.power_curve(found)
    for c in inside:
        prefix = str(found["classifier"][c].item()).replace("$", r"\$")
        (way,) = (line for name, line in labelled(ax).items() if name.startswith(prefix))
        x, y = way.get_xydata()[-2]
        assert y == pytest.approx(np.interp(x, found["k"], found["power_curve"]), abs=1e-12)


def test_censored_classifiers_are_said(golden):
    found = equivalence()
    ax = plots.power_curve(found)
    said = legend_of(ax)
    golden.says(" ".join(said), "more than")
    (low,) = (s for s in said if s.startswith("reversed"))
    assert "no rater" in low
    # far below the curve its mark is at the edge, and the legend has the number
    assert f"(score {float(found['score'][2]):.3g})" in low
    assert ax.get_ylim()[0] > float(found["score"][2])
    (level,) = (line for name, line in labelled(ax).items() if "ideal" in name)
    np.testing.assert_allclose(level.get_ydata(), float(found["score"][1]))
    assert level.get_xdata()[-1] == 5


def test_marks_at_the_edge_do_not_hide_each_other():
    """Three classifiers far below the curve: one at the edge of what is shown, the others apart from it and each other."""
    wrong = 1 - LAWS.sel(classifier="$ideal$", drop=True)
    squared = wrong**2 / (wrong**2).sum("category")
    cubed = wrong**3 / (wrong**3).sum("category")
    laws = xr.concat([wrong, squared, cubed], "classifier")
    laws["classifier"] = ["a", "b", "c"]
    found = evaluation.survey_equivalence(COUNTS, laws, bootstrap=0)
    assert (found["censored"] == "below").all()
    ax = plots.power_curve(found)
    marks = [line for line in ax.collections if len(line.get_offsets()) == 1]
    heights = np.sort([mark.get_offsets()[0, 1] for mark in marks])
    assert len(heights) == 3
    apart = np.diff(heights) / np.diff(ax.get_ylim())
    assert (apart > 0.03).all() and ax.get_ylim()[0] < heights[0]


def test_one_classifier_without_a_name():
    found = evaluation.survey_equivalence(COUNTS, LAWS.isel(classifier=0, drop=True), bootstrap=0)
    ax = plots.power_curve(found)
    assert legend_of(ax) == [f"classifier: {found['words'].item()}"]
    assert len(ax.collections) == 2  # marks of curve and drop: no band, no interval


def test_intervals_stand_at_the_foot():
    found = evaluation.survey_equivalence(COUNTS, LAWS.isel(classifier=[0]), bootstrap=50)
    ax = plots.power_curve(found)
    bar = ax.collections[-1].get_segments()[0]
    # a bound beyond the curve is drawn to its end
    np.testing.assert_allclose(bar[:, 0], np.clip(found["equivalence_interval"][0], 0, 5))
    assert (bar[:, 1] < float(found["power_curve_interval"].min())).all()


def test_posterior_has_its_asymptote_and_the_data(golden):
    drawn = posterior()
    ax, summed = plots.power_curve(drawn), survey_summary(drawn)
    lines = labelled(ax)
    np.testing.assert_allclose(lines["asymptote"].get_ydata(), float(summed["asymptote"]))
    np.testing.assert_allclose(lines["asymptote"].get_xdata(), summed["k"].to_numpy()[[0, -1]])
    (data,) = (c for c in ax.collections if c.get_label() == "the data")
    assert not len(data.get_facecolor())
    bands = [c.get_paths()[0].vertices[:, 1] for c in ax.collections[:2]]
    ends = summed["asymptote_interval"].to_numpy()
    assert any({*band} == {*ends} for band in bands)
    said = " ".join(legend_of(ax))
    assert "the data" in said
    golden.says(said, "ideal: more")
    assert (
        lines[next(name for name in lines if name.startswith("soft"))].get_xdata()[-1]
        == (summed["equivalence"][0])
    )
    # a summary draws the same
    again = labelled(plots.power_curve(summed))
    assert all((again[name].get_xydata() == line.get_xydata()).all() for name, line in lines.items())
    assert plots.power_curve(drawn, most=8).get_xlim()[1] < 9
    centred = labelled(plots.power_curve(drawn, centred=True))
    gain = float(summed["asymptote"] - summed["baseline"])
    np.testing.assert_allclose(centred["asymptote"].get_ydata(), gain)


def test_experts_and_amateurs_have_a_curve_each():
    found = papers.rater_equivalence(binary_counts(POSITIVE // 2, 3), COUNTS, bootstrap=50)
    ax = plots.power_curve(found)
    lines = labelled(ax)
    np.testing.assert_array_equal(lines["experts"].get_ydata(), found["power_curve"])
    np.testing.assert_array_equal(lines["amateurs"].get_ydata(), found["score"])
    (words,) = (s for s in legend_of(ax) if s.startswith("3 amateurs: "))
    assert words == f"3 amateurs: {found['words'][-1].item()}".replace("rater", "expert")


@pytest.mark.parametrize(("worth", "path"), [(2.5, [3, 2.5]), (np.inf, [3])])
def test_the_path_of_amateurs_ends_at_as_many_experts_if_they_are_on_the_curve(worth, path):
    found = papers.rater_equivalence(binary_counts(POSITIVE // 2, 3), COUNTS, bootstrap=0)
    found = found.assign(
        equivalence=xr.full_like(found["equivalence"], worth), censored=found["censored"].where(False, "")
    )
    (drawn,) = _curves(found, "", centred=False)[1].drops
    np.testing.assert_array_equal(drawn.x, path)
    assert len({*drawn.y.tolist()}) == 1 and len(drawn.y) == len(path)


def test_several_curves_by_name():
    ax = plots.power_curve({"six": equivalence(), "posterior": posterior()}, most=10)
    said = legend_of(ax)
    assert {"six", "posterior", "posterior: asymptote", "posterior: the data"} <= {*said}
    assert any(s.startswith("posterior: soft: ") for s in said)
    assert len({*said}) == len(said)


@pytest.mark.parametrize("result", [equivalence, posterior])
def test_draws(result):
    plots.power_curve(result()).figure.canvas.draw()
    assert not plt.get_fignums()


def test_own_axes():
    ax = Figure().add_subplot()
    assert plots.power_curve(equivalence(), ax=ax) is ax


@pytest.mark.parametrize("most", [0, 1.5, True])
def test_wrong_ends_are_named(most, golden):
    with golden.raises(EvaluationError):
        plots.power_curve(equivalence(), most=most)


def test_what_is_no_curve_is_refused():
    with pytest.raises(EvaluationError, match="survey_power_curve"):
        plots.power_curve(xr.Dataset({"mean": 1.0}))
    with pytest.raises(EvaluationError, match="survey_power_curve"):
        plots.power_curve({})
    several = xr.concat([equivalence(), equivalence()], "group")
    with pytest.raises(EvaluationError, match="pick one curve"):
        plots.power_curve(several)
