"""Pictures of thresholds and of what judges are worth, with the numbers that were given."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError, plots


def certainty(n=4, threshold=0.0):
    rng = np.random.default_rng(n)
    values = {
        "threshold_probability": ("item", rng.uniform(0.5, 1, n)),
        "annotation_certainty": ("item", rng.uniform(0.5, 1, n)),
        "above": ("item", rng.uniform(0, 1, n)),
        "location": ("item", rng.normal(0, 1, n)),
    }
    return xr.Dataset(values, {"item": [f"<i>{k}</i>" for k in range(n)]}, {"threshold": threshold})


def worth(raters=4, groups=True):
    rng = np.random.default_rng(raters)
    draws = rng.gamma(5, 0.3, (2, 50, raters, 2))
    draws[:, :, 0] = 6.0
    over = ("chain", "draw", "rater", "measure")
    values = {
        "worth": (over, draws),
        "censored": (over, draws == 6.0),
        "panel": (("chain", "draw", "answers", "measure"), np.zeros((2, 50, 7, 2))),
    }
    kinds = np.array(["<b>model</b>", "$person$"])[(np.arange(raters) > 0).astype(int)]
    coords = {
        "measure": ["information", "accuracy"],
        "rater": [f"r{k}" for k in range(raters)],
        "kind": ("rater", kinds),
    }
    if groups:
        over = ("chain", "draw", "group_of_raters", "measure")
        mean = np.stack([draws[:, :, 0], draws[:, :, 1:].mean(axis=2)], axis=2)
        values |= {"group_worth": (over, mean), "group_censored": (over, mean == 6.0)}
        coords["group_of_raters"] = ["<b>model</b>", "$person$"]
    by = {"by": "kind" if groups else "", "reference": "$person$" if groups else ""}
    return xr.Dataset(values, coords, by)


PAIR = {"toxicity at $0$": certainty(), "<b>beauty</b> at 5": certainty(700, 5.0)}
FIGURES = {
    "certainty": lambda: plots.threshold_certainty(PAIR),
    "certainty of one": lambda: plots.threshold_certainty(certainty(1)),
    "distance": lambda: plots.threshold_distance(PAIR),
    "distance of one": lambda: plots.threshold_distance(certainty(5000)),
    "worth": lambda: plots.rater_worth(worth()),
    "worth of many": lambda: plots.rater_worth(worth(90, False), measure="accuracy"),
}


@pytest.mark.parametrize("figure", FIGURES)
def test_draws(figure):
    FIGURES[figure]().figure.canvas.draw()


def test_curves_are_sorted_certainties():
    own = certainty(40)
    ax = plots.threshold_certainty(own)
    both = [line.get_ydata() for line in ax.lines]
    np.testing.assert_array_equal(both[0], np.sort(own["annotation_certainty"]))
    np.testing.assert_array_equal(both[1], np.sort(own["threshold_probability"]))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names[0].startswith("annotation certainty") and names[1].startswith("threshold probability")


def test_points_are_at_their_distance():
    own = certainty(30, threshold=0.5)
    figure = plots.threshold_distance(own)
    certain, probable = (np.asarray(c.get_offsets()) for c in figure.axes[0].collections)
    order = np.argsort(own["location"].to_numpy())
    np.testing.assert_allclose(certain[:, 0], own["location"].to_numpy()[order] - 0.5)
    np.testing.assert_allclose(certain[:, 1], own["annotation_certainty"].to_numpy()[order])
    np.testing.assert_allclose(probable[:, 1], own["threshold_probability"].to_numpy()[order])


def test_rows_are_judges_by_group_and_say_what_is_censored():
    ax = plots.rater_worth(worth())
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert names[0] == "<b>model</b>" and names[1] == "r0" and names[2] == r"\$person\$"
    written = [text.get_text() for text in ax.texts]
    assert written[:2] == ["more than 6.0"] * 2 and "more" not in written[2]
    draws = worth()["worth"].sel(measure="information")
    median = draws.median(("chain", "draw"))[1:].to_numpy()
    ordered = sorted(median, reverse=True)
    assert written[3:] == [f"{m:.2f}" if m < 1 else f"{m:.1f}" for m in ordered]
    legends = [[text.get_text() for text in own.get_texts()] for own in ax.figure.legends]
    assert legends == [["mean over the group", "its raters"]]
    assert not plots.rater_worth(worth(groups=False)).figure.legends


@pytest.mark.parametrize(
    "draw",
    [
        lambda: plots.threshold_certainty(xr.Dataset()),
        lambda: plots.threshold_certainty({}),
        lambda: plots.threshold_distance({"x": certainty(0)}),
        lambda: plots.rater_worth(certainty()),
        lambda: plots.rater_worth(worth(), measure="bits"),
        lambda: plots.rater_worth(worth(), probability=1),
    ],
)
def test_what_cannot_be_drawn_is_named(draw, golden):
    with golden.raises(EvaluationError):
        draw()
