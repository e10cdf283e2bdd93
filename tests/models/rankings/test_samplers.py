"""Every sampler of PyMC runs on the law, and draws the posterior that Gibbs draws; numpyro and blackjax in long runs."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models

from tests.support.monte_carlo import bonferroni_threshold, mc_z, seed_of

CASES = models.published_ddx_cases().select(items=["fig3", "fig17a"])
OPTIONS = {"draws": 1000, "tune": 500, "chains": 4, "progressbar": False}
# JAX as the samplers configure it: what they warn of is theirs.
pytestmark = [
    pytest.mark.filterwarnings("ignore::UserWarning:pymc.sampling.jax"),
    pytest.mark.filterwarnings("ignore:There are not enough devices"),
    pytest.mark.filterwarnings("ignore::DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::FutureWarning"),
]


@pytest.fixture(scope="module")
def model():
    return models.plackett_luce(CASES, concentration=0.8, reliability=2)


@pytest.fixture(scope="module")
def exact(model):
    """Means by Gibbs from twenty times as many draws."""
    tree = inference.sample(
        model, draws=20_000, thin=4, dtype="float64", log_likelihood=False, random_seed=1, progressbar=False
    )
    return tree["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize(
    "sampler",
    ["pymc", "nutpie", *(pytest.param(name, marks=pytest.mark.long) for name in ("numpyro", "blackjax"))],
)
def test_sampler_agrees_with_gibbs(model, exact, sampler):
    # In JAX the chains are one batch: how many devices it sees depends on what ran before.
    extra = {
        "pymc": {"cores": 1},
        "nutpie": {},
        "numpyro": {"nuts_sampler_kwargs": {"chain_method": "vectorized"}},
        "blackjax": {"nuts_sampler_kwargs": {"chain_method": "vectorized"}},
    }
    with model:
        tree = pm.sample(random_seed=seed_of(sampler), nuts_sampler=sampler, **OPTIONS, **extra[sampler])
    tree = inference.label(tree, CASES)
    plausibility = tree["posterior"]["plausibility"]
    assert plausibility["category"].values[-1] == "OTHER"
    z = mc_z(plausibility.to_numpy(), exact) / np.sqrt(1.05)  # the reference has an error of its own
    assert np.abs(z).max() < bonferroni_threshold(z.size)


def test_power_scaling_and_loo_read_a_pymc_tree(model):
    tree = inference.sample(model, random_seed=1, progressbar=False)
    assert np.isfinite(az.loo(tree).elpd)
    for group in ("prior", "likelihood"):
        sensitivity = az.psense(tree, group=group, var_names=["plausibility"])
        assert np.isfinite(sensitivity["plausibility"]).all()


@pytest.mark.slow
def test_predictive_needs_the_dense_layout(model):
    dense = models.plackett_luce(CASES, concentration=0.8, candidates="all")
    with dense:
        prior = pm.sample_prior_predictive(50, random_seed=1)
    replicates = prior["prior_predictive"]["observed_ranking"].to_numpy()
    observed = prior["observed_data"]["observed_ranking"].to_numpy()
    assert replicates.shape[2:] == observed.shape
    # a replicate has the block sizes of the observed ranking
    for block in range(observed.max() + 1):
        np.testing.assert_array_equal(
            np.broadcast_to((observed == block).sum(axis=-1), replicates.shape[:3]),
            (replicates == block).sum(axis=-1),
        )
    tree = inference.sample(dense, random_seed=1, progressbar=False)
    with dense:
        posterior = pm.sample_posterior_predictive(tree, random_seed=1, progressbar=False)
    assert posterior["posterior_predictive"]["observed_ranking"].shape[2:] == observed.shape
    with model, pytest.raises(ValueError, match="candidates='all'"):
        pm.sample_prior_predictive(5, random_seed=1)
