# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Differential diagnoses: what is the truth when dermatologists disagree?
#
# Each rater gives a partial ranking of conditions with ties. We fit the Plackett-Luce model, ask
# how sure the raters make us, and evaluate classifiers against what they left open. With
# `RATERZOO_DATA` set this runs on the 1,947 cases of Stutz et al. (2025), otherwise on the seven
# cases printed in the paper.
#
# *Runs in less than three minutes on two cores.*

# %%
import logging
import os
import time
import warnings
from itertools import product
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import pymc as pm
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

SEED = 1
QUIET = {"random_seed": SEED, "progressbar": False}
for name in ("pymc", "arviz_stats"):
    logging.getLogger(name).setLevel("ERROR")

# %% [markdown]
# ## The data

# %%
cases = models.published_ddx_cases()
folder = os.environ.get("RATERZOO_DATA")
if folder:
    conditions = pd.read_csv(Path(folder) / "dermatology_conditions.csv")
    conditions = conditions.rename(columns={"category": "name", "value": "risk"})  # as fetched
    frame = pd.read_csv(Path(folder) / "dermatology_ddx_long.csv")
    frame["category"] = conditions["name"].to_numpy()[frame["condition"]]
    frame["rank"] = frame["block"] + 1
    names = conditions["name"].tolist()
    rankings = models.PartialRankings.from_table(frame, item="case", rater="reader", categories=names)
    risk = dict(zip(names, conditions["risk"].astype(int).tolist(), strict=True))
else:
    rankings = cases
    risk = {
        name: position % 3 for position, name in enumerate(cases.categories.tolist())
    }  # made up: the paper prints none
print(rankings.report())

# %% [markdown]
# ## The posterior
#
# A whole number of repetitions keeps the worths conjugate, so `sample` takes the exact Gibbs
# sampler.

# %%
model = models.plackett_luce(rankings, reliability=3)
tree = inference.sample(model, **QUIET)
diagnosis = inference.diagnose(tree)
print(diagnosis.attrs["verdict"])

# %% tags=["remove-cell"]
assert diagnosis.attrs["converged"] == 1
assert tree.attrs["method"] == "gibbs"

# %% [markdown]
# ## How sure are we?
#
# Annotation certainty is the posterior probability of the most probable label. A majority vote
# would have called all of these 1.

# %%
certainty = evaluation.annotation_certainty(tree, random_seed=SEED)
plots.sorted_certainty(
    {f"top {j}": evaluation.annotation_certainty(tree, top=j, random_seed=SEED) for j in (1, 2, 3)}
)

# %%
print(f"certainty below .99 for {float((certainty < 0.99).mean()):.1%} of the items")

# %% tags=["remove-cell"]
assert float((certainty < 0.99).mean()) > 0.5

# %%
least = certainty["item"].to_numpy()[np.argsort(certainty.to_numpy())[:4]].tolist()
plots.plausibility_strips(tree, least, point={"IRN": inference.irn(rankings)})

# %% [markdown]
# ## Risk
#
# What a patient needs is often the risk, not the name. Its certainty is a question about the top
# label of every draw; the expected risk weighs all labels.

# %%
risk_certainty = evaluation.annotation_certainty(
    tree, groups={k: str(v) for k, v in risk.items()}, random_seed=SEED
)
plots.risk(risk_certainty, evaluation.expected_value(tree, risk))

# %% tags=["remove-cell"]
assert float(risk_certainty.mean()) > float(certainty.mean())

# %% [markdown]
# ## Classifiers under uncertain truth
#
# Against a point estimate of the truth a classifier looks better, or worse, than the raters can
# tell. For the printed cases we have the predictions of the paper's models; A predicted all three
# cases that they are printed for.

# %%
printed = evaluation.predictions_from_table(
    models.published_ddx_predictions(), rank="rank", classifier="classifier"
)
judged = cases.select(items=printed["item"].to_numpy())
trees = inference.sweep(lambda r: models.plackett_luce(judged, reliability=r), [1, 2, 3, 5, 10], **QUIET)
sweep = evaluation.reliability_sweep(
    trees, evaluation.top_k_accuracy(3), printed.sel(classifier=["A"]), random_seed=SEED
)
plots.reliability_sweep(sweep, metric="top-3 accuracy of A")

# %%
print(sweep["mean"].to_series())

# %% [markdown]
# ## What the priors do
#
# Most categories are ranked by nobody. Their exact pool, one pseudo-category (the authors' code)
# and leaving them out are three priors, and so are three concentrations.

# %%
shares = {}
with warnings.catch_warnings():
    # Short runs: a share of 4 x 500 draws needs no ESS of 400 in every single item.
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    for unranked, concentration in product(("pooled", "single", "dropped"), (None, 0.1, 1.0)):
        other = models.plackett_luce(rankings, reliability=3, unranked=unranked, concentration=concentration)
        drawn = inference.sample(other, draws=500, thin=1, log_likelihood=False, **QUIET)
        sure = evaluation.annotation_certainty(drawn, other="exclude")
        shares[unranked, concentration or "1/K"] = float((sure < 0.99).mean())
print(pd.Series(shares, name="share of items with certainty < .99").unstack())

# %% tags=["remove-cell"]
if folder:
    assert abs(shares["single", 1.0] - 0.597) < 0.02  # the paper's 59 %
    assert shares["pooled", "1/K"] < shares["dropped", 1.0] < shares["single", 1.0]

# %% [markdown]
# Before any data, the default prior already expects one leader: its total concentration is 1. Prior
# predictive replicates exist in the dense layout, where every category has a worth.

# %%
few = cases.select(items=["fig17a"])
small = models.PartialRankings.from_table(few.to_table())
with models.plackett_luce(small, candidates="all"):
    prior = pm.sample_prior_predictive(500, random_seed=SEED)
leader = prior["prior"]["plausibility"].max("category")
print(f"prior mean of the largest plausibility: {float(leader.mean()):.2f}")

# %% tags=["remove-cell"]
assert float(leader.mean()) > 0.5

# %% [markdown]
# Power-scaling asks how much an item's certainty leans on prior and likelihood. It is asked item by
# item: the joint model is a sum over items, and its weights would be noise.

# %%
one = inference.sample(models.plackett_luce(small, reliability=3), dtype="float64", **QUIET)
scaled = xr.DataTree.from_dict(
    {
        name: one[name].to_dataset().drop_vars(["item", "category"], errors="ignore")
        for name in ("posterior", "log_likelihood", "log_prior")
    }
)
print(az.psense_summary(scaled, var_names=["plausibility"]))

# %% [markdown]
# ## Gibbs against NUTS
#
# Two samplers, one posterior. They agree within Monte-Carlo error, and Gibbs gives many more
# effective draws for each second.

# %%
compared = models.plackett_luce(judged, reliability=3)
seconds, means, errors, leaders = {}, {}, {}, {}
for method, options in {"gibbs": {}, "nuts": {"nuts_sampler": "pymc", "cores": 1}}.items():
    start = time.perf_counter()
    drawn = inference.sample(compared, method=method, log_likelihood=False, **options, **QUIET)
    seconds[method] = time.perf_counter() - start
    plain = drawn["posterior"]["plausibility"].astype(float).drop_vars(["item", "category"])
    means[method], errors[method] = plain.mean(("chain", "draw")), az.mcse(plain)
    leaders[method] = plain.isel(candidate=plain.mean(("chain", "draw")).argmax("candidate"))
    effective = float(az.ess(plain).min())
    print(f"{method}: smallest ESS {effective:.0f} in {seconds[method]:.1f} s")
z = abs(means["gibbs"] - means["nuts"]) / np.hypot(errors["gibbs"], errors["nuts"])
print(f"largest |z| of {z.size} means: {float(z.max()):.1f}")

# %% tags=["remove-cell"]
assert float(z.max()) < 4.5

# %%
for method, leader in leaders.items():
    drawn = xr.DataTree.from_dict({"posterior": leader.to_dataset(name=f"leader by {method}")})
    az.plot_trace_dist(drawn)
    az.plot_rank(drawn)
