# ---
# jupyter:
#   jupytext:
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Dawid and Skene's patients: whom to believe when raters disagree
#
# Five anaesthetists graded 45 patients; the first of them three times. Nobody knows the truth, and
# each rater errs in a way of his own. With `RATERZOO_DATA` set this is the table of the 1979 paper,
# otherwise a simulated one of the same shape.

# %%
import os
import warnings
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
NUTS = {"method": "nuts", "nuts_sampler": "pymc", "cores": 1}

# %% [markdown]
# ## The data

# %%
folder = os.environ.get("RATERZOO_DATA")
if folder:
    table = pd.read_csv(Path(folder) / "anesthesia.csv")
    labels = models.Labels.from_table(table, label="rating")
else:
    labels = models.simulators.labels(
        items=45, raters=5, categories=4, answers=7, random_seed=SEED
    ).data
print(labels.report())

# %% [markdown]
# ## EM, and its other optimum
#
# From the vote EM climbs to the published solution. Other starts near the vote climb higher: the
# likelihood has many maxima, and the published one is not the highest.

# %%
with warnings.catch_warnings():
    # It says that maximum likelihood overfits, that rows are missing, and that there are several optima.
    warnings.simplefilter("ignore", inference.EstimateWarning)
    likeliest = inference.dawid_skene_em(labels, prior=None, restarts=100, random_seed=SEED)
starts = likeliest[["optimum_log_likelihood", "optimum_found"]].to_dataframe()
print(starts.rename(columns=lambda name: name.removeprefix("optimum_")))
if folder:
    vote = int(likeliest["vote_optimum"])
    assert abs(float(likeliest["optimum_log_likelihood"][vote]) + 192.890881) < 1e-5
    assert abs(likeliest.attrs["log_likelihood"] + 191.5689) < 1e-3

# %% [markdown]
# ## The posterior
#
# A prior that favours the diagonal names the categories. Given the true categories everything else
# is conjugate, so `sample` takes the collapsed Gibbs sampler; NUTS draws the same posterior from the
# same model, whose true categories are summed out.

# %%
model = models.dawid_skene(labels)
tree = inference.sample(model, **QUIET)
print(inference.diagnose(tree).attrs["verdict"])
assert tree.attrs["method"] == "gibbs"
nuts = inference.sample(model, **NUTS, **QUIET)
compared = [
    t["posterior"]["confusion"].astype(float).transpose("chain", "draw", ...) for t in (tree, nuts)
]
means = [draws.mean(("chain", "draw")) for draws in compared]
errors = [az.mcse(draws.to_dataset(name="confusion"))["confusion"] for draws in compared]
z = (means[0] - means[1]) / np.hypot(*errors)
seconds = {t.attrs["method"]: round(t.attrs["seconds"], 1) for t in (tree, nuts)}
print(f"largest |z| of {z.size} means: {float(abs(z).max()):.1f}; seconds: {seconds}")
assert float(abs(z).max()) < 4.5

# %%
truth = evaluation.truth_certainty(tree)
plots.sorted_certainty(truth["certainty"])
least = truth["item"].to_numpy()[np.argsort(truth["certainty"].to_numpy())[:4]].tolist()
plots.plausibility_strips(
    tree, least, point={"vote": inference.majority_vote(labels)["plausibility"]}
)
print(truth[["label", "certainty"]].sel(item=least).to_dataframe())

# %% [markdown]
# ## The raters
#
# How many bits one label says about the truth, and in which way each rater errs.

# %%
quality = evaluation.rater_quality(tree)
print(quality[["accuracy", "information"]].mean(("chain", "draw")).to_dataframe().round(2))
plots.rater_forest(quality["information"], label="information in bits")
plots.confusion_matrices(evaluation.confusion_intervals(tree))

# %% [markdown]
# ## What the prior does
#
# A flat prior does not know which category is which: every permutation of them is as probable, and
# chains that start apart stay apart. The diagnosis names it. Raters who borrow strength from each
# other need a hierarchical prior.

# %%
flat = models.dawid_skene(labels, confusion_concentration=1.0)
order = np.roll(np.arange(len(labels.categories)), 1)
named = np.asarray(compared[0].mean(("chain", "draw")).transpose("rater", "category", "label"))
with flat:
    apart = pm.sample(
        500,
        tune=500,
        chains=2,
        cores=1,
        nuts_sampler="pymc",
        initvals=[{"confusion": named}, {"confusion": named[:, order]}],
        compute_convergence_checks=False,
        quiet=True,
        **QUIET,
    )
verdict = inference.diagnose(inference.label(apart, labels)).attrs["verdict"]
print(verdict)
assert "label switching" in verdict

# %%
with warnings.catch_warnings():
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    hierarchical = inference.sample(
        models.hierarchical_dawid_skene(labels), target_accept=0.95, **NUTS, **QUIET
    )
same = (evaluation.truth_certainty(hierarchical)["label"] == truth["label"]).mean()
print(f"the hierarchical model agrees on {float(same):.0%} of the items")
assert float(same) > 0.8

# %% [markdown]
# ## Which model predicts best?
#
# Leave-one-out over items: do the raters differ, and is one ability enough?

# %%
trees = {
    "dawid_skene": tree,
    "hierarchical_dawid_skene": hierarchical,
    **{
        name: inference.sample(getattr(models, name)(labels), **QUIET)
        for name in ("multinomial", "one_coin", "class_conditional")
    },
}
with warnings.catch_warnings():
    warnings.simplefilter(
        "ignore", UserWarning
    )  # some items are influential: few raters, rare grades
    print(az.compare(trees)[["rank", "elpd", "se", "elpd_diff", "dse"]])

# %% [markdown]
# Posterior predictive: do replicates of the model disagree as often as the raters did?

# %%
with model:
    replicates = pm.sample_posterior_predictive(
        tree.isel(draw=slice(0, 200)),
        freeze_vars=["prevalence", "confusion"],  # PyMC asks, as trees name categories by text
        random_seed=SEED,
        progressbar=False,
    )
drawn = replicates["posterior_predictive"]["observed_label"].stack(sample=("chain", "draw"))
item = tree["constant_data"]["annotation_item"].to_numpy()


def share_that_agrees(answers: np.ndarray) -> np.ndarray:
    """Share of items on which all answers are equal."""
    first = np.unique(item, return_index=True)[1]
    low, high = (f.reduceat(answers, first, axis=0) for f in (np.minimum, np.maximum))
    return (low == high).mean(axis=0)


observed = share_that_agrees(tree["observed_data"]["observed_label"].to_numpy())
predicted = share_that_agrees(drawn.transpose("annotation", "sample").to_numpy())
below = float((predicted <= observed).mean())
print(f"all answers agree on {observed:.2f} of the items; replicates {predicted.mean():.2f}")
assert 0.005 < below < 0.9999

# %% [markdown]
# ## People and language models as raters
#
# PandaLM's test set: three people and two language models say which of two answers is better, or
# that neither is (0); 25 answers of one model could not be parsed and are missing. Agreement beyond
# chance, and what a label of each is worth.

# %%
if folder:
    frame = pd.read_csv(Path(folder) / "pandalm_testset_labels.csv", dtype=str)
    frame = frame.replace({"gpt35": {"Tie": "0", "garbage": None}})
    raters = ["annotator1", "annotator2", "annotator3", "gpt35", "pandalm7b"]
    judges = models.Labels.from_wide(frame, raters=raters, item="idx", categories=["0", "1", "2"])
else:
    judges = models.simulators.labels(items=300, raters=5, answers=5, random_seed=SEED).data
panel = inference.sample(models.dawid_skene(judges), **QUIET)
print(inference.diagnose(panel).attrs["verdict"])
agreement = evaluation.label_agreement(evaluation.ratings_of(panel), bootstrap=50, random_seed=SEED)
print(agreement["kappa"].to_pandas().round(3))
print(f"alpha {float(agreement['alpha']):.3f}, AC1 {float(agreement['ac1']):.3f}")
worth = evaluation.rater_quality(panel)["information"]
plots.rater_forest(worth, label="information in bits")
print(worth.mean(("chain", "draw")).to_pandas().round(2))
if folder:
    assert abs(float(agreement["kappa"].sel(rater="annotator1", other="annotator2")) - 0.852) < 0.03
    people = worth.sel(rater=["annotator1", "annotator2", "annotator3"]).min("rater")
    assert float((people > worth.sel(rater="gpt35")).mean()) > 0.95
assert isinstance(agreement, xr.Dataset)
