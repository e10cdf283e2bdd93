"""Biases that groups of raters share on items: the law against its formula, arguments, and whose scores are believed."""

import numpy as np
import pytest
from raterzoo import inference, models
from scipy.stats import norm

from tests.support.monte_carlo import seed_of
from tests.support.runs import route_of

COMPILED = {"mode": "FAST_COMPILE", "on_unused_input": "ignore"}
KINDS = ["person", "person", "judge", "judge", "judge", "bot"]


def simulated(items, shared, seed, raters=KINDS):
    """Scores of all raters, of whom judges share a bias of this standard deviation on each item; and the locations."""
    rng = np.random.default_rng(seed)
    location, bias = rng.normal(0, 1, items), rng.normal(0, shared, items)
    judges = np.array(raters) == "judge"
    score = location[:, None] + bias[:, None] * judges + rng.normal(0, 0.5, (items, len(raters)))
    item, rater = np.indices(score.shape)
    table = {"item": item.ravel(), "rater": rater.ravel(), "score": score.ravel()}
    table["kind"] = np.array(raters)[rater.ravel()].tolist()
    return models.Scores.from_table(table, rater_attributes=["kind"]), location


SCORES = simulated(4, 1.0, 1)[0]


def built(**options):
    with pytest.warns(
        models.DataWarning, match="the only rater of the group 'bot' counts as independent: with one score"
    ):
        return models.hierarchical_scores(SCORES, groups="kind", independent="person", **options)


def test_groups_see_location_plus_bias_plus_what_they_share():
    model = built(mean=0.0, spread=1.0)
    assert model.coords["group_of_raters"] == ("judge",)
    assert model.named_vars_to_dims["shared_bias"] == ("group_of_raters", "item")
    rng = np.random.default_rng(seed_of("shared bias"))
    point = {name: x + rng.normal(size=np.shape(x)) for name, x in model.initial_point(1).items()}
    names = ["location", "rater_bias", "rater_scale", "shared_bias", "shared_bias_spread"]
    log_p = [
        model.logp(vars=model.observed_RVs, sum=False)[0],
        model.logp(vars=[model["shared_bias"]], jacobian=False),
    ]
    outputs = log_p + model.replace_rvs_by_values([model[name] for name in names])
    own, prior, *found = model.compile_fn(outputs, inputs=model.value_vars, **COMPILED)(point)
    location, bias, scale, shared, spread = found
    item, rater = SCORES.annotation_item, SCORES.annotation_rater
    judged = np.isin(np.array(KINDS)[SCORES.raters.astype(int)], ["judge"])[rater]
    mean = location[item] + bias[rater] + np.where(judged, shared[0, item], 0.0)
    np.testing.assert_allclose(own, norm.logpdf(SCORES.score, mean, scale[rater]), rtol=1e-10)
    twin = location[item] + bias[rater] + shared[0, item]  # of everybody
    assert np.abs(own - norm.logpdf(SCORES.score, twin, scale[rater])).max() > 1e-3
    assert prior == pytest.approx(norm.logpdf(shared, 0, spread[:, None]).sum(), rel=1e-10)
    assert route_of(model).method == "nuts" and "shared_bias" in route_of(model).reason


def test_calls_of_one_model_under_one_name_share_a_bias():
    table = {
        "item": ["i", "i", "i", "j", "j"],
        "rater": ["ann", "bot", "bot", "ann", "bot"],
        "score": [1.0, 2, 3, 4, 5],
    }
    scores = models.Scores.from_table(table)
    model = models.hierarchical_scores(scores, groups={"ann": "person", "bot": "model"}, independent="person")
    assert model.coords["group_of_raters"] == ("model",)


@pytest.mark.parametrize(
    "options",
    [
        {"independent": "person"},
        {"group": "kind", "groups": "kind"},
        {"groups": "kind", "independent": ("person", "judge", "bot")},
        {"groups": {0: "person"}},
    ],
)
def test_wrong_arguments_are_named(options, golden):
    with golden.raises(ValueError):
        models.hierarchical_scores(SCORES, **options)


def covered(scores, truth, **options):
    """Return the share of 90 % intervals of the locations that hold the truth, up to a shift, and their mean width."""
    model = models.hierarchical_scores(scores, **options)
    tree = inference.sample(
        model, draws=400, chains=2, random_seed=1, progressbar=False, log_likelihood=False
    )
    location = tree["posterior"]["location"]
    low, high = (location - location.mean("item")).quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
    centred = truth - truth.mean()
    return ((low < centred) & (centred < high)).mean(), (high - low).mean()


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_intervals_cover_with_the_shared_bias_and_do_not_without():
    raters = ["person"] * 3 + ["judge"] * 9
    for shared in (1.0, 0.0):
        scores, truth = simulated(60, shared, seed_of("covered locations"), raters)
        right, width = covered(scores, truth, groups="kind", independent="person")
        naive, narrow = covered(scores, truth)
        assert right >= 0.8
        assert naive < 0.6 if shared else width < 1.5 * narrow
