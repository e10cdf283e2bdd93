"""The builders of score models: laws, replicates, default priors on the scale of the data, refusals."""

import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models, papers
from raterzoo.models import DataError
from scipy.stats import norm

from tests.support.score_designs import PRIOR, hierarchy, tiny_scores

SCORES = tiny_scores()
QUIET = {"progressbar": False}
RNG = np.random.default_rng(1)


def scores(*rows, **options):
    item = np.repeat(np.arange(len(rows)), [len(r) for r in rows])
    rater = np.concatenate([np.arange(len(r)) for r in rows])
    table = {"item": item, "rater": rater, "score": np.concatenate(rows).astype(float)}
    return models.Scores.from_table(table, **options)


def numbers(rv):
    return [np.asarray(p.eval()) for p in rv.owner.op.dist_params(rv.owner)]


def test_law_is_pointwise_by_item():
    model = models.normal_scores(SCORES, **PRIOR)
    location, variance = np.arange(5.0), np.array([0.5, 1, 2, 3, 4])
    observed = model["observed_score"]
    log_p = pm.logp(observed, model.rvs_to_values[observed])
    found = log_p.eval({model["location"]: location, model["variance"]: variance})
    each = np.repeat(SCORES.annotation_item, SCORES.count)
    own = norm.logpdf(np.repeat(SCORES.score, SCORES.count), location[each], np.sqrt(variance[each]))  # fmt: skip
    np.testing.assert_allclose(found, np.bincount(each, own, 5), rtol=1e-13, atol=1e-13)


def test_replicates_have_the_law():
    many = scores(np.arange(4000), [1.0], np.arange(4000))
    with models.normal_scores(many, mean=[0, 5, 9], mean_weight=1e9, shape=1e9, rate=[1e9, 1e9, 4e9]):
        tree = pm.sample_prior_predictive(3, random_seed=1)
    replicate = tree["prior_predictive"]["observed_score"].to_numpy()[0]
    assert replicate.shape == (3, 8001)
    for part, mean, scale in ((slice(0, 4000), 0, 1), (slice(4001, None), 9, 2)):
        z = (replicate[:, part] - mean) / scale
        assert np.abs(z.mean(1)).max() * np.sqrt(4000) < 4.5
        assert np.abs((z**2).mean(1) - 1).max() * np.sqrt(2000) < 4.5


def test_default_priors_are_on_the_scale_of_the_data():
    bounded = models.normal_scores(scores([1, 2, 3], [5, 6, 7], bounds=(1, 7)))
    assert numbers(bounded["variance"])[1] == pytest.approx(1.0)  # six units are six deviations
    assert numbers(bounded["location"])[0] == pytest.approx(4.0)
    free = np.array([1.0, 2, 3, 5, 6, 9])
    model = models.normal_scores(scores(free[:3], free[3:]))
    assert numbers(model["location"])[0] == pytest.approx(free.mean())
    np.testing.assert_allclose(numbers(model["variance"])[1], free.var() / 2)
    tree = models.hierarchical_scores(scores(free[:3], free[3:]))
    np.testing.assert_allclose(numbers(tree["bias_spread"])[1], np.sqrt(free.var() / 2), rtol=1e-7)
    constant = models.normal_scores(scores([3, 3], [3], bounds=(0, 10)))
    drawn = inference.sample(constant, random_seed=1, draws=100, **QUIET)
    assert np.isfinite(drawn["posterior"].to_dataset().to_array()).all()


def test_anonymous_counts_do_for_normal_scores_alone(golden):
    counts = models.Scores.from_counts({"item": ["a", "b"], "1": [3, 0], "2": [1, 2]})
    exact = papers.normal_scores_posterior(models.normal_scores(counts, **PRIOR))
    np.testing.assert_allclose(exact["shape"], [1.7 + 2, 1.7 + 1])
    with golden.raises(ValueError):
        models.hierarchical_scores(counts)


def test_rows_and_raters_may_come_in_any_order():
    table, rng = SCORES.to_table(), np.random.default_rng(1)
    order = rng.permutation(len(table["item"]))
    again = models.Scores.from_table({k: v[order] for k, v in table.items()}, count="count")
    one, other = (papers.normal_scores_posterior(models.normal_scores(s, **PRIOR)) for s in (SCORES, again))
    for name in one.data_vars:
        np.testing.assert_allclose(one[name].sel(item=other["item"]), other[name], rtol=1e-12)


@pytest.mark.parametrize(
    "build",
    [
        lambda: models.normal_scores(scores([3, 3], [3])),
        lambda: models.hierarchical_scores(scores([3, 3], [3])),
        lambda: models.normal_scores(SCORES, shape=0),
        lambda: models.normal_scores(SCORES, mean=np.nan),
        lambda: models.normal_scores(SCORES, rate=np.ones(3)),
        lambda: models.normal_scores(SCORES, mean_weight="x"),
        lambda: models.hierarchical_scores(SCORES, spread=-1),
        lambda: models.hierarchical_scores(SCORES, group="kind"),
        lambda: models.hierarchical_scores(hierarchy(RNG, 3, 3, 2), group="kind"),
        lambda: models.normal_scores([1, 2, 3]),
        lambda: models.normal_scores(SCORES, mean=True),
        lambda: models.normal_scores(SCORES, shape=None),
        lambda: models.normal_scores(SCORES, mean=1e300),
        lambda: models.hierarchical_scores(SCORES, spread=1e-200),
        lambda: models.hierarchical_scores(SCORES, spread=1e200),
        lambda: models.normal_scores(scores([0.1 + 0.2, 0.3])),
        lambda: models.hierarchical_scores(scores(1e9 + 1e-6 * np.arange(4))),
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(build, golden):
    with golden.raises(ValueError):
        build()


def test_no_scores(golden):
    nothing = models.Scores.from_table({"item": ["a"], "rater": ["r"], "score": [1.0], "n": [0]}, count="n")
    for build in (models.normal_scores, lambda s: models.normal_scores(s, **PRIOR)):
        with golden.raises(DataError):
            build(nothing)


@pytest.mark.parametrize("name", ["bias", "scale", "variance"])
def test_attributes_that_are_variables_are_refused(name, golden):
    table = {"item": [1, 2], "rater": ["r", "s"], "score": [1.0, 2.0], name: ["u", "v"]}
    scores = models.Scores.from_table(table, rater_attributes=[name])
    with golden.raises(models.DataError):
        models.hierarchical_scores(scores)


@pytest.mark.parametrize("build", [models.normal_scores, models.hierarchical_scores])
def test_bounds_stay_with_the_model(build):
    table = {"item": [1, 1], "rater": ["r", "s"], "score": [1.0, 2.0]}
    bounded = build(models.Scores.from_table(table, bounds=(-1, 5)))
    assert bounded["score_bounds"].get_value().tolist() == [-1, 5]
    assert "score_bounds" not in build(models.Scores.from_table(table)).named_vars


@pytest.mark.parametrize("build", [models.normal_scores, models.hierarchical_scores])
def test_items_of_one_score_are_told_of(build, golden):
    with golden.warns(models.DataWarning) as said:
        build(scores([1], [2], [4], bounds=(0, 5)))
    assert said[0].filename == __file__
    build(scores([1], [2, 3], bounds=(0, 5)))
