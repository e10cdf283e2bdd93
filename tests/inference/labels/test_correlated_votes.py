"""The sampler of correlated votes: its draws are those of Dawid-Skene, of the prior, and the truth of both."""

import warnings

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference.labels.correlated_votes import read_correlated_votes
from raterzoo.inference.labels.kernels.effective_votes import effective_truth
from scipy.stats import beta as beta_law
from scipy.stats import kstest

from tests.support.label_designs import tiny_labels
from tests.support.laws import Answers
from tests.support.runs import NotConjugate, route_of

PRIOR = (1.2, 2.5)
OPTIONS = {"draws": 500, "thin": 1, "random_seed": 3, "progressbar": False, "dtype": "float64"}


@pytest.fixture(scope="module")
def model():
    return models.correlated_votes(tiny_labels(), vote_correlation=PRIOR)


def sampled(model, **options):
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        return inference.sample(model, **OPTIONS | options)


@pytest.fixture(scope="module")
def tree(model):
    return sampled(model)


def test_parameters_are_those_of_dawid_skene(tree):
    other = sampled(models.dawid_skene(tiny_labels(), confusion_concentration="population"))
    posterior = tree["posterior"]
    for name in ("prevalence", "confusion", "population_skill", "population_strength"):
        assert np.array_equal(posterior[name], other["posterior"][name])
    assert np.array_equal(posterior["independent_plausibility"], other["posterior"]["plausibility"])
    assert tree["log_likelihood"].equals(other["log_likelihood"])
    assert (tree.attrs["model"], tree.attrs["method"]) == ("correlated_votes", "gibbs")


def test_correlation_has_its_prior_and_its_density(tree):
    drawn = tree["posterior"]["vote_correlation"].to_numpy()
    assert kstest(drawn.ravel(), beta_law(*PRIOR).cdf).pvalue > 1e-3
    assert kstest(drawn.ravel(), beta_law(PRIOR[0] + 0.2, PRIOR[1]).cdf).pvalue < 1e-3
    assert np.unique(drawn).size == drawn.size  # chains have streams of their own
    density = tree["log_prior"]["vote_correlation"].to_numpy()
    assert np.allclose(density, beta_law.logpdf(drawn, *PRIOR), atol=1e-12)


@pytest.mark.slow
def test_truth_of_each_draw_is_that_of_the_model(model, tree):
    names = [rv.name for rv in model.free_RVs]
    both = [model["plausibility"], model["independent_plausibility"]]
    compute = model.compile_fn(both, inputs=model.free_RVs, on_unused_input="ignore")
    for draw in range(0, 500, 50):
        own = tree["posterior"].isel(chain=1, draw=draw)
        found = compute({name: own[name].to_numpy() for name in names})
        for name, value in zip(("plausibility", "independent_plausibility"), found, strict=True):
            assert np.allclose(own[name], value, atol=1e-12)


def test_a_correlation_of_another_law_is_not_conjugate(golden):
    with models.dawid_skene(tiny_labels()) as other:
        pm.Uniform("vote_correlation", 0.1, 0.9)
    with golden.raises(NotConjugate):
        read_correlated_votes(other)


def test_thousands_of_answers_do_not_underflow():
    """3,000 votes of each of two items: products of probabilities are beyond doubles, powers of them are not."""
    n = 3000
    table = {
        "item": ["a"] * n + ["b"] * n,
        "rater": [*range(n)] * 2,
        "label": (["x"] * 2000 + ["y"] * 1000) + ["y"] * n,
    }
    tree = sampled(
        models.correlated_votes(models.Labels.from_table(table), vote_correlation=(50.0, 50.0)), draws=20
    )
    p = tree["posterior"]["plausibility"].to_numpy()
    assert np.isfinite(p).all() and np.allclose(p.sum(axis=-1), 1)
    assert (p < 1).all()  # about two effective votes


def test_a_likelihood_with_the_correlation_or_another_prior_is_not_conjugate(model):
    assert route_of(model).method == "gibbs"
    with pm.Model() as outer:
        a = pm.HalfNormal("a")
        models.correlated_votes(tiny_labels(), vote_correlation=(a, 1.0))
    assert route_of(outer).method == "nuts" and "depends on" in route_of(outer).reason
    with models.correlated_votes(tiny_labels(), vote_correlation=PRIOR) as more:
        pm.Potential("more", more["vote_correlation"])
    assert route_of(more).method == "nuts" and "potential" in route_of(more).reason


def test_the_verdict_does_not_depend_on_the_order_in_a_store(tree):
    posterior = tree["posterior"].to_dataset()
    other = posterior[list(posterior.data_vars)[::-1]]
    assert list(other.data_vars) != list(posterior.data_vars)
    verdicts = {
        inference.diagnose(xr.DataTree.from_dict({"posterior": own})).attrs["verdict"]
        for own in (posterior, other)
    }
    assert len(verdicts) == 1


def test_a_single_answer_counts_in_full():
    """The law of the kernel written out, for items of no, one, two and four answers."""
    rng = np.random.default_rng(2)
    prevalence, table = rng.dirichlet([2.0, 1.0, 1.0], 5), rng.uniform(0.1, 0.9, (5, 6, 3))
    correlation, number = rng.uniform(0.2, 0.9, 5), np.array([0, 1, 2, 4])
    start = np.concatenate([[0], np.cumsum(number)])
    answers = Answers(start, rng.integers(0, 6, start[-1]), np.full(4, -1))
    found = np.empty((5, 4, 3))
    effective_truth(answers, prevalence, table, correlation, found)
    for i, n in enumerate(number):
        joint = prevalence * table[:, answers.code[start[i] : start[i + 1]]].prod(axis=1)
        expected = joint ** (1 / (1 + max(n - 1, 0) * correlation))[:, None]
        np.testing.assert_allclose(found[:, i], expected / expected.sum(axis=1, keepdims=True), rtol=1e-12)
