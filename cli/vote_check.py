"""Posterior predictive check of comparisons."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np
import pymc as pm
import xarray as xr

from ..models.data.votes import LEFT, NOBODY, RIGHT, TIE
from ..reports import Section
from .screen import working

__all__ = ["vote_check_section"]

REPLICATES = 200
TAIL = 0.025
LEFT_SHARE = "left wins, of the decided votes"
TIE_SPREAD = "ties, standard deviation over the raters"


def vote_check_section(model: pm.Model, tree: xr.DataTree, seed: int) -> Section:
    """Return the section that compares shares of the votes with those simulated from the posterior.

    The table has the observed shares and the 95 % intervals of the simulated ones.
    """
    rater = tree["constant_data"]["annotation_rater"].to_numpy()
    given = tree["observed_data"]["observed_winner"].to_numpy()
    simulated = _simulated(model, tree, seed)
    observed, replicated = _shares(given[None], rater), _shares(simulated, rater)
    rows, outside = [], []
    for name, share in observed.items():
        low, high = np.quantile(replicated[name], [TAIL, 1 - TAIL]).tolist()
        fits = low <= share.item() <= high
        outside += [] if fits else [name]
        rows.append(
            {
                "share": name,
                "observed": share.item(),
                "2.5 %": low,
                "97.5 %": high,
                "as simulated": "yes" if fits else "no",
            }
        )
    text = (
        f"The shares in the votes, beside the 95 % intervals of {len(simulated)} sets of votes simulated from the posterior. "
        + (f"Outside: {'; '.join(outside)}." if outside else "All of them lie inside.")
    )
    if LEFT_SHARE in outside and "left_bias" not in tree["posterior"]:
        text += " --left-bias gives the model a parameter for the left side."
    if TIE_SPREAD in outside:
        text += (
            " The model takes all raters to tie as readily as each other, and these raters do not."
        )
    return Section("Does the model fit?", text, rows=rows, file="checks", key="checks")


def _simulated(model: pm.Model, tree: xr.DataTree, seed: int) -> np.ndarray:
    """Return simulated counts, shape (replicate, annotation, outcome)."""
    posterior = tree["posterior"].to_dataset()
    step = max(1, posterior.sizes["chain"] * posterior.sizes["draw"] // REPLICATES)
    thinned = posterior.isel(draw=slice(step // 2, None, step))
    with model, working("Simulating votes"), _quiet("pymc.sampling.forward"):
        found = pm.sample_posterior_predictive(
            thinned, var_names=["observed_winner"], random_seed=seed, progressbar=False
        )
    counts = found["posterior_predictive"]["observed_winner"].to_numpy()
    return counts.reshape(-1, *counts.shape[2:])


def _shares(counts: np.ndarray, rater: np.ndarray) -> dict[str, np.ndarray]:
    """Return the compared shares of each replicate, from counts (replicate, annotation, outcome)."""
    totals = counts.sum(axis=1)
    decided = totals[:, LEFT] + totals[:, RIGHT]
    shares = {}
    if decided.all():
        shares[LEFT_SHARE] = totals[:, LEFT] / decided
    if counts.shape[-1] > TIE:
        shares = {"ties": totals[:, TIE] / totals.sum(axis=1)} | shares
        if rater.max() > 0 and rater.min() > NOBODY:
            shares[TIE_SPREAD] = _tie_spread(counts, rater)
    return shares


def _tie_spread(counts: np.ndarray, rater: np.ndarray) -> np.ndarray:
    """Return the standard deviation over raters of their share of ties, shape (replicate,)."""
    order = np.argsort(rater, kind="stable")
    starts = np.flatnonzero(np.r_[True, np.diff(rater[order]) > 0])
    by_rater = np.add.reduceat(counts[:, order], starts, axis=1)  # (replicate, rater, outcome)
    return (by_rater[..., TIE] / by_rater.sum(axis=-1)).std(axis=1)


@contextmanager
def _quiet(name: str) -> Iterator[None]:
    """Context manager: suppress messages of a logger below warnings."""
    logger = logging.getLogger(name)
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
