"""Draws of scores are stored so that they can be told apart, or refused."""

import numpy as np
import pytest
from raterzoo import inference, models, papers

from tests.support.monte_carlo import seed_of
from tests.support.runs import ChainPlan
from tests.support.score_designs import hierarchy, tiny_scores
from tests.support.score_samplers import draw_hierarchy, read_rater_scores

QUIET = {"progressbar": False}


def small():
    return hierarchy(np.random.default_rng(seed_of("small")), 7, 5, 3)


@pytest.mark.parametrize(
    ("middle", "unit", "dtype"),
    [(0, 1, "float32"), (1e7, 0.1, "float64"), (1.7e9, 1, "float64"), (0, 1e60, "float64"), (0, 1e-25, "float64")],
)  # fmt: skip
def test_exact_draws_are_told_apart(middle, unit, dtype):
    rng = np.random.default_rng(seed_of("storage"))
    item = np.repeat(np.arange(4), 3)
    table = {"item": item, "rater": np.tile(np.arange(3), 4), "score": middle + unit * rng.standard_normal(12)}  # fmt: skip
    model = models.normal_scores(models.Scores.from_table(table))
    tree = inference.sample(model, draws=200, random_seed=1, **QUIET)
    location = tree["posterior"]["location"]
    assert location.dtype == dtype
    exact = papers.normal_scores_posterior(model)
    sd = np.sqrt(exact["rate"] / (exact["shape"] - 1) / exact["mean_weight"])
    np.testing.assert_allclose(location.std(("chain", "draw"), dtype=np.float64) / sd, 1, atol=0.25)
    for values in tree["posterior"].to_dataset().data_vars.values():
        assert np.isfinite(values).all()


def test_what_no_storage_holds_is_refused(golden):
    prior = {"mean": 0.0, "mean_weight": 0.25, "rate": 1.0}
    with golden.raises(ValueError):
        inference.sample(models.normal_scores(tiny_scores(), **(prior | {"shape": 0.001})), **QUIET)
    fine = models.Scores.from_table({"item": [1, 1], "rater": [1, 2], "score": [1e9, 1e9 + 1e-6]})
    with pytest.raises(ValueError, match="another zero"):
        inference.sample(models.normal_scores(fine, mean=1e9, rate=1e-12), **QUIET)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
@pytest.mark.parametrize(
    ("middle", "unit", "dtype"), [(0, 1, "float32"), (1.7e9, 1, "float64"), (0, 1e60, "float64")]
)
def test_gibbs_draws_are_told_apart(middle, unit, dtype):
    table = small().to_table()
    table["score"] = middle + unit * np.asarray(table["score"])
    model = models.hierarchical_scores(models.Scores.from_table(table, count="count"))
    tree = inference.sample(model, random_seed=1, draws=100, thin=5, log_likelihood=False, **QUIET)
    location = tree["posterior"]["location"]
    assert location.dtype == dtype
    sd = location.std(("chain", "draw"), dtype=np.float64) / unit
    assert sd.min() > 0.1 and sd.max() < 2


def test_chains_that_leave_double_precision_are_refused(golden):
    law = read_rater_scores(models.hierarchical_scores(small()))
    nowhere = law.scores._replace(score=np.full_like(law.scores.score, np.nan))
    with golden.raises(ValueError):
        draw_hierarchy(nowhere, law.hyper, ChainPlan(1, 3, 0, 1))
