"""Densities of draws, computed by PyMC from the model."""

import pymc as pm

UNCOMPILED = {"mode": "FAST_COMPILE"}  # of few draws: compiling takes ten times as long


def add_densities(tree, model):
    """Add the groups log_likelihood and log_prior to a tree of few draws."""
    options = {"model": model, "progressbar": False, "compile_kwargs": UNCOMPILED}
    pm.stats.compute_log_likelihood(tree, **options)
    pm.stats.compute_log_prior(tree, **options)
