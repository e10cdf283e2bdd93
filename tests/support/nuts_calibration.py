"""Simulation-based calibration of NUTS on a model of raters, compiled once: each simulation brings its own answers."""

import numpy as np
import nutpie
import pymc as pm
import pytensor

from tests.support.monte_carlo import sbc_ranks, within_sbc_band

KEPT = 100  # of the draws of each simulation


def open_to_data(model):
    """Put a shared variable in the place of the observed answers."""
    (observed,) = model.observed_RVs
    value = model.rvs_to_values[observed]
    answers = pytensor.shared(value.data, name="answers", shape=value.type.shape)
    model.rvs_to_values[observed] = answers
    del model.values_to_rvs[value]
    model.values_to_rvs[answers] = observed
    return model


def nuts_ranks(model, simulations, seed, twin=None):
    """Rank the free variables of draws from the prior among draws of NUTS; a twin is sampled in place of the model."""
    names = [rv.name for rv in model.free_RVs]
    with model:
        prior = pm.sample_prior_predictive(simulations, random_seed=seed)
    (observed,) = model.observed_RVs
    truth, answers = prior["prior"], prior["prior_predictive"][observed.name].to_numpy()[0]
    compiled = nutpie.compile_pymc_model(open_to_data(twin or model))
    ranks, rng = [], np.random.default_rng(seed)
    for s in range(simulations):
        tree = nutpie.sample(
            compiled.with_data(answers=answers[s]),
            draws=KEPT * 5,
            tune=300,
            chains=2,
            cores=1,
            seed=seed + s,
            progress_bar=False,
            save_warmup=False,
        )
        drawn = [tree["posterior"][name].to_numpy()[:, ::10] for name in names]
        own = [truth[name].to_numpy()[0, s] for name in names]
        flat = np.concatenate([d.reshape(KEPT, -1) for d in drawn], axis=1)
        ranks.append(sbc_ranks(np.concatenate([np.ravel(o) for o in own])[None], flat[None], rng))
    return np.concatenate(ranks)


def calibrated(ranks):
    """Tell whether all quantities stay inside a simultaneous 99 % band."""
    return within_sbc_band(ranks, KEPT, 1 - 0.01 / ranks.shape[1]).all()
