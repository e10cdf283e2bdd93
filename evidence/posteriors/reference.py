"""Draws of a reference posterior, their summaries, and the checks that make it a reference."""

from collections.abc import Mapping
from itertools import product
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from arviz_stats.base.array import array_stats
from raterzoo import inference

from .pairs import Law

CHAINS, DRAWS = 10, 1000  # 10,000 draws, as in posteriordb
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
MOST_RHAT, MOST_LAG_1, LEAST_ESS = 1.01, 0.05, 8000
SEED = 4711


def reference_draws(model: pm.Model, thin: int) -> xr.DataTree:
    """Draw 10 chains, and keep every `thin`-th draw."""
    tree = inference.sample(
        model,
        draws=DRAWS * thin,
        chains=CHAINS,
        tune=2000 if thin > 1 else None,
        random_seed=SEED,
        cores=1,
        progressbar=False,
        log_likelihood=False,
    )
    return tree.isel(draw=slice(None, None, thin))


def quantities(posterior: xr.Dataset, law: Law) -> tuple[list[str], np.ndarray]:
    """Names as Stan has them, with indices from 1, and draws (quantity, chain, draw)."""
    names: list[str] = []
    draws = []
    for parameter in law.parameters:
        own = posterior[parameter].transpose(..., "chain", "draw").to_numpy()
        shape = own.shape[:-2]
        for place in product(*map(range, shape)):
            names.append(parameter + (f"[{','.join(str(k + 1) for k in place)}]" if place else ""))
        draws.append(own.reshape(-1, *own.shape[-2:]))
    return names, np.concatenate(draws)


def summary(names: list[str], draws: np.ndarray) -> dict[str, Any]:
    """Means, standard deviations and quantiles with their Monte-Carlo errors, six digits."""
    found: dict[str, Any] = {
        "mean": draws.mean(axis=(1, 2)),
        "mcse_mean": array_stats.mcse(draws, method="mean"),
        "sd": draws.std(axis=(1, 2), ddof=1),
        "mcse_sd": array_stats.mcse(draws, method="sd"),
    }
    for q in QUANTILES:
        found[f"q{100 * q:g}"] = np.quantile(draws, q, axis=(1, 2))
        found[f"mcse_q{100 * q:g}"] = array_stats.mcse(draws, method="quantile", prob=q)
    return {"names": names} | {
        name: [float(f"{own:.6g}") for own in values] for name, values in found.items()
    }


def diagnostics(names: list[str], draws: np.ndarray) -> dict[str, Any]:
    """R-hat, effective sample sizes and autocorrelation of each quantity, as in posteriordb."""
    centred = draws - draws.mean(axis=2, keepdims=True)
    lag_1 = (centred[..., 1:] * centred[..., :-1]).mean(axis=2) / (centred**2).mean(axis=2)
    numbers = {
        "effective_sample_size_bulk": array_stats.ess(draws, method="bulk"),
        "effective_sample_size_tail": array_stats.ess(draws, method="tail", prob=(0.05, 0.95)),
        "r_hat": array_stats.rhat(draws, method="rank"),
        "mean_lag1_ac": lag_1.mean(axis=1),
    }
    rounded = {name: [float(f"{own:.6g}") for own in np.ravel(values)] for name, values in numbers.items()}
    sizes = {"ndraws": int(draws[0].size), "nchains": draws.shape[1]}
    return {"diagnostic_information": {"names": names}, **sizes, **rounded}


def checks(found: Mapping[str, Any]) -> dict[str, bool]:
    """Which of the conditions of a reference posterior the diagnostics meet."""
    ess = [*found["effective_sample_size_bulk"], *found["effective_sample_size_tail"]]
    return {
        "ndraws_is_10k": found["ndraws"] == 10_000,
        "nchains_is_gte_4": found["nchains"] >= 4,
        "r_hat_below_1_01": max(found["r_hat"]) < MOST_RHAT,
        "abs_mean_lag1_ac_below_0_05": max(map(abs, found["mean_lag1_ac"])) < MOST_LAG_1,
        "ess_above_8000": min(ess) > LEAST_ESS,
    }
