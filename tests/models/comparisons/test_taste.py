"""Tastes that groups of raters share: the law against its formula, priors, simulator, arguments, and who is believed."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.reports.sections.next_annotation import pair_questions, pair_rows_to_ask
from scipy.special import expit, gammaln
from scipy.stats import halfnorm, norm

from tests.support.comparison_designs import simulated
from tests.support.few_comparisons import all_pairs
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of
from tests.support.runs import route_of

PAIRS = all_pairs(items=3, raters=4)
COMPILED = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
RATERS = PAIRS.raters.tolist()
GROUPS = dict(zip(RATERS, ["person", "judge", "bot", "judge"], strict=True))


def probabilities(link, x, tie):
    """Return p(left), p(right), p(tie) of differences x."""
    if link == "thurstone":
        left, right = norm.cdf(x - tie), norm.cdf(-x - tie)
    else:
        total = np.exp(x / 2) + np.exp(-x / 2) + tie
        left, right = np.exp(x / 2) / total, np.exp(-x / 2) / total
    return np.stack([left, right, 1 - left - right], axis=1)


def log_p_by_hand(model, link, values):
    """Multinomial log probability of every annotation, from the formula."""
    data = {name: model[f"annotation_{name}"].get_value() for name in ("left", "right", "rater")}
    names = [GROUPS[rater] for rater in RATERS]
    taste = dict(zip(model.coords["group_of_raters"], values["taste"], strict=True))
    seen = np.array([values["quality"] + taste.get(name, 0.0) for name in names])[data["rater"]]
    rows = np.arange(len(seen))
    x = values["reliability"][data["rater"]] * (seen[rows, data["left"]] - seen[rows, data["right"]])
    counts = model.rvs_to_values[model["observed_winner"]].data
    p = probabilities(link, x, values["tie"])
    orders = gammaln(counts.sum(axis=1) + 1) - gammaln(counts + 1).sum(axis=1)
    return orders + (counts * np.log(p)).sum(axis=1)


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
def test_groups_see_quality_plus_taste_and_independent_raters_quality(link):
    model = getattr(models, link)(PAIRS, groups=GROUPS, independent="person")
    assert model.coords["group_of_raters"] == ("judge", "bot")
    assert model.named_vars_to_dims["taste"] == ("group_of_raters", "item")
    wanted = ["quality", "reliability", "taste", "taste_scale", "taste_deviation", "tie", "observed_winner"]
    log_p = model.logp(vars=model.observed_RVs, sum=False)[0]
    outputs = model.replace_rvs_by_values([model[name] for name in wanted[:-1]])
    point = model.initial_point(seed_of("taste"))
    rng = np.random.default_rng(seed_of("taste"))
    point = {name: value + 0.3 * rng.normal(size=np.shape(value)) for name, value in point.items()}
    found = model.compile_fn([log_p, *outputs], inputs=model.value_vars, **COMPILED)(point)
    values = dict(zip(wanted, found[1:], strict=False))
    np.testing.assert_allclose(values["taste"].sum(axis=1), 0, atol=1e-12)
    np.testing.assert_allclose(values["taste"], values["taste_scale"][:, None] * values["taste_deviation"])
    np.testing.assert_allclose(found[0], log_p_by_hand(model, link, values), rtol=1e-10)
    twin = values | {"taste": values["taste"][::-1]}  # the groups exchanged
    assert np.abs(found[0] - log_p_by_hand(model, link, twin)).max() > 1e-3


def test_scales_of_tastes_are_half_normal_or_given(golden):
    model = models.bradley_terry(PAIRS, groups=GROUPS)
    scale, deviation = np.array([0.5, 1.0, 2.0]), np.array([[1.0, -3.0, 2.0]] * 3)
    found = pm.logp(model["taste_scale"], scale).eval(mode="FAST_COMPILE")
    np.testing.assert_allclose(found, halfnorm.logpdf(scale), rtol=1e-12)
    found = pm.logp(model["taste_deviation"], deviation).eval(mode="FAST_COMPILE")
    two_free = -(deviation**2).sum(axis=1) / 2 - np.log(2 * np.pi)  # three numbers that sum to zero
    np.testing.assert_allclose(found, two_free, rtol=1e-12)
    fixed = models.bradley_terry(PAIRS, groups=GROUPS, taste_scale=0.5)
    assert "taste_scale" not in fixed.named_vars
    taste = fixed["taste"].eval({fixed["taste_deviation"]: deviation}, mode="FAST_COMPILE")
    np.testing.assert_allclose(taste, 0.5 * deviation)
    assert route_of(fixed).method == "nuts"
    golden.says(route_of(fixed).reason, "qualities are")


def check_votes_of(simulated, family, quality):
    """Votes of raters of a family follow the logistic law of these qualities."""
    data, truth = simulated.data, simulated.truth
    own = data.rater_attributes["kind"][data.annotation_rater] == family
    x = truth["reliability"][data.annotation_rater] * (quality[data.left] - quality[data.right])
    p = expit(x[own])
    z = (((data.outcome[own] == 0) - p) * np.sign(x[own])).sum() / np.sqrt((p * (1 - p)).sum())
    assert abs(z) < bonferroni_threshold(3)


def test_simulated_judges_share_their_taste_and_people_none():
    drawn = simulated(items=60, raters=30, taste=0.5, seed=seed_of("simulated tastes"))
    truth = drawn.truth
    seen = dict(zip(("judge a", "judge b"), truth["quality"] + truth["taste"], strict=True))
    for family, quality in (seen | {"person": truth["quality"]}).items():
        check_votes_of(drawn, family, quality)
    assert_rejects_twin(check_votes_of, drawn, "judge a", truth["quality"])


def test_another_unit_of_quality_is_that_of_tastes():
    dims = ("chain", "draw")
    posterior = xr.Dataset(
        {
            "quality": ((*dims, "item"), [[[3.0, 1.0, 0.0]]]),
            "taste": ((*dims, "group_of_raters", "item"), [[[[2.0, -2.0, 0.0]]]]),
            "taste_scale": ((*dims, "group_of_raters"), [[[4.0]]]),
        },
        {"item": ["tea", "milk", "cocoa"]},
    )
    found = inference.in_units(xr.DataTree.from_dict({"posterior": posterior}), ("tea", "milk"))["posterior"]
    assert found["taste"].values.tolist() == [[[[1.0, -1.0, 0.0]]]]
    assert found["taste_scale"].values.tolist() == [[[2.0]]]


def test_a_judge_whose_taste_is_uncertain_tells_less_of_the_better_item():
    rng = np.random.default_rng(1)
    dims = ("chain", "draw")
    quality = xr.DataArray(rng.normal(size=(1, 2_000, 2)), {"item": ["a", "b"]}, (*dims, "item"))
    posterior = xr.Dataset(
        {
            "quality": quality,
            "reliability": ((*dims, "rater"), np.ones((1, 2_000, 2))),
            "taste": ((*dims, "group_of_raters", "item"), rng.normal(size=(1, 2_000, 1, 2))),
        },
        {"rater": np.array(["person", "judge"], object)},  # as NUTS leaves them
    )
    constant = xr.Dataset({"sharing_group": ("rater", [-1, 0])}, {"rater": ["person", "judge"]})
    tree = xr.DataTree.from_dict({"posterior": posterior, "constant_data": constant})
    options = {"link": "bradley_terry", "about": "ranks"}
    found = inference.design.next_to_ask(tree, [("a", "b")], **options)
    gain = dict(zip(found["rater"].values.tolist(), found["gain"].values.tolist(), strict=True))
    without = tree.copy()
    without["posterior"] = xr.DataTree(posterior.drop_vars("taste"))
    alone = inference.design.next_to_ask(without, [("a", "b")], raters=["judge"], **options)["gain"].item()
    assert gain["person"] == pytest.approx(alone, rel=1e-12)
    assert gain["judge"] < 0.75 * gain["person"]
    tree.attrs["model"] = "bradley_terry"
    asked = pair_questions(
        *pair_rows_to_ask(tree, ["a", "b"])
    )  # of raters who share no taste, if there are any
    assert "like person" in asked.text and asked.rows[0]["bits"] == pytest.approx(gain["person"] / np.log(2))


@pytest.mark.parametrize(
    "options",
    [
        {"independent": ("person",)},
        {"taste_scale": 1.0},
        {"groups": GROUPS, "independent": ("robot",)},
        {"groups": GROUPS, "independent": ("person", "judge", "bot")},
        {"groups": {RATERS[0]: "person"}},
        {"groups": GROUPS | {"nobody": "person"}},
        {"groups": ["x"]},
        {"groups": GROUPS, "taste_scale": -1.0},
        {"groups": GROUPS, "reliability_range": (1, 20)},
    ],
)
def test_wrong_arguments_are_named(options, golden):
    with golden.raises(ValueError):
        models.bradley_terry(PAIRS, **options)


def test_anonymous_votes_have_no_groups_and_one_group_of_all_is_said(golden):
    votes = models.Comparisons.from_pairs([("a", "b"), ("b", "c")])
    with golden.raises(ValueError):
        models.bradley_terry(votes, groups=["x"])
    with golden.warns(models.DataWarning):
        models.bradley_terry(PAIRS, groups=["x"] * len(RATERS))


def covered(votes, truth, **options):
    """Return which 90 % intervals of the qualities hold the truth, and their mean width."""
    model = models.bradley_terry(votes, reliability="shared", **options)
    tree = inference.sample(
        model, draws=300, chains=2, random_seed=1, progressbar=False, log_likelihood=False
    )
    low, high = tree["posterior"]["quality"].quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
    return (low < truth) & (truth < high), (high - low).mean()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_intervals_cover_with_the_taste_and_do_not_without():
    for taste, least, most in ((0.3, 0.75, 0.6), (1e-9, 0.75, 1.0)):
        drawn = simulated(
            items=40, raters=30, reliability_range=(3.0, 3.0), taste=taste, seed=seed_of("covered")
        )
        truth = 3 * (drawn.truth["quality"] - drawn.truth["quality"].mean())
        right, width = covered(drawn.data, truth, groups="kind", independent="person")
        naive, narrow = covered(drawn.data, truth)
        assert right.mean() >= least
        assert naive.mean() < most if taste > 1e-3 else width < 1.5 * narrow
