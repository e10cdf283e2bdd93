# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# metadata: {"myst": {"substitutions": {"extra_dependencies": "raterzoo"}}}
# ---

# %% [markdown]
# (annotation_models)=
# # Models of annotation: what is true when raters disagree?
#
# :::{post} November 28, 2026
# :tags: mixture model, hierarchical model, case study
# :category: intermediate, tutorial
# :author: the raterzoo developers
# :::

# %% [markdown]
# People label images, doctors grade patients, and readers of a chat arena vote for the better of two answers. They disagree, and
# nobody knows the truth. A majority vote counts every rater alike and says nothing about how certain its result is.
#
# Here are two classic models in PyMC. {cite:t}`dawid1979maximum` give each rater a confusion matrix, with the true category as a
# discrete latent variable that we sum out. {cite:t}`bradley1952rank` place the competitors of an arena on one scale, and
# {cite:t}`davidson1970extending` adds ties. Each is then fitted a second time by the package raterzoo, which has both laws as
# distributions of PyMC, with samplers of their own.

# %%
from importlib.resources import files

import arviz as az
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pymc as pm
import pytensor.tensor as pt

# %%
# %config InlineBackend.figure_format = 'retina'
az.style.use("arviz-darkgrid")
RANDOM_SEED = 8927
rng = np.random.default_rng(RANDOM_SEED)

# %% [markdown]
# :::{include} ../extra_installs.md
# :::

# %%
# not a dependency of PyMC
from raterzoo import inference, models

# %% [markdown]
# ## Raters with a confusion matrix each
#
# Five anaesthetists graded the fitness of 45 patients from 1 to 4; the first of them graded every patient three times.

# %%
patients = pd.read_csv(files("raterzoo") / "examples" / "patients.csv")
patients = patients.loc[patients.index.repeat(patients["count"])]
item_idx, items = pd.factorize(patients["item"], sort=True)
rater_idx, raters = pd.factorize(patients["rater"], sort=True)
answer_idx, categories = pd.factorize(patients["label"], sort=True)
patients.groupby(["rater", "label"]).size().unstack(fill_value=0)

# %% [markdown]
# Let $T_i$ be the true grade of patient $i$ and $y_a$ the answer $a$ of rater $k$ to patient $i$.
#
# \begin{align*}
# \text{prevalence} &\sim \text{Dirichlet}(1) \\
# \text{confusion}_{kj} &\sim \text{Dirichlet}(\beta_j) \\
# T_i &\sim \text{Categorical}(\text{prevalence}) \\
# y_a &\sim \text{Categorical}(\text{confusion}_{k, T_i})
# \end{align*}
#
# * $\beta_j$ favours right answers: with a flat prior the names of the grades could be swapped, and the posterior would have a
#   mode for each order.
# * $T_i$ is summed out, so that the No-U-Turn sampler can be used: for each patient we add the log probabilities of the answers
#   given each grade, and take the log of the sum of the exponentials. The same numbers, normalized, are the probability of each
#   grade.

# %%
n_categories = len(categories)
beta = np.where(np.eye(n_categories, dtype=bool), 4.8, 3.2 / (n_categories - 1))
coords = {"item": items, "rater": raters, "category": categories, "answer": categories}

with pm.Model(coords=coords) as patients_model:
    prevalence = pm.Dirichlet("prevalence", np.ones(n_categories), dims="category")
    confusion = pm.Dirichlet(
        "confusion",
        np.broadcast_to(beta, (len(raters), n_categories, n_categories)),
        dims=("rater", "category", "answer"),
    )
    log_answer = pt.log(confusion)[rater_idx, :, answer_idx]
    log_joint = pt.tile(pt.log(prevalence), (len(items), 1))[item_idx].inc(log_answer)
    pm.Potential("answers", pt.logsumexp(log_joint, axis=1))
    pm.Deterministic("truth", pm.math.softmax(log_joint, axis=1), dims=("item", "category"))

    patients_idata = pm.sample(500, chains=4, random_seed=rng, progressbar=False)

# %%
patients_rhat = az.rhat(patients_idata, var_names=["prevalence", "confusion"])
assert all(float(variable.max()) < 1.03 for variable in patients_rhat.data_vars.values())
az.summary(patients_idata, var_names=["prevalence"])

# %% [markdown]
# Raters err in ways of their own. Rows are true grades; an ideal rater has ones on the diagonal.

# %%
mean_confusion = patients_idata.posterior["confusion"].mean(("chain", "draw"))
fig, axs = plt.subplots(1, len(raters), figsize=(13, 3), sharey=True)
for ax, rater in zip(axs, raters, strict=True):
    ax.imshow(mean_confusion.sel(rater=rater), cmap="Blues", vmin=0, vmax=1)
    ax.set(title=f"rater {rater}", xlabel="answer", xticks=range(4), xticklabels=categories)
    ax.grid(False)
_ = axs[0].set(ylabel="true grade", yticks=range(4), yticklabels=categories)
# %% [markdown]
# Most patients are certain, a few are not: for these one would ask again.

# %%
truth = patients_idata.posterior["truth"].mean(("chain", "draw")).to_pandas()
truth.loc[truth.max(axis=1).sort_values().index[:5]].round(2)

# %% [markdown]
# The package has this model, too. Its builder returns a {class}`~pymc.Model`, and the conditional distributions are known, so
# that `inference.sample` chooses a compiled Gibbs sampler. Both posteriors agree within their Monte Carlo errors.

# %%
table = patients[["item", "rater", "label"]]
labels = models.Labels.from_table(
    table.assign(count=1).groupby(list(table), as_index=False).sum(), count="count"
)
gibbs_idata = inference.sample(models.dawid_skene(labels), random_seed=RANDOM_SEED, progressbar=False)
gibbs_truth = gibbs_idata["posterior"]["plausibility"].mean(("chain", "draw")).to_pandas()
print(inference.diagnose(gibbs_idata).attrs["verdict"])
print(f"largest difference of p(grade): {np.abs(gibbs_truth.values - truth.values).max():.3f}")

# %%
assert np.abs(gibbs_truth.values - truth.values).max() < 0.05

# %% [markdown]
# ## An arena with ties
#
# Twenty raters cast 660 votes on pairs of twelve trees. A vote is for the left, for the right, or a tie.

# %%
votes = pd.read_csv(files("raterzoo") / "examples" / "votes.csv")
trees = sorted({*votes["left"], *votes["right"]})
left_idx = pd.Categorical(votes["left"], trees).codes.astype(int)
right_idx = pd.Categorical(votes["right"], trees).codes.astype(int)
outcome_idx = pd.Categorical(votes["winner"], ["left", "right", "tie"]).codes.astype(int)
counts = np.zeros((len(trees), len(trees), 3), int)  # by ordered pair
np.add.at(counts, (left_idx, right_idx, outcome_idx), 1)
left_idx, right_idx = np.nonzero(counts.sum(axis=2))
votes["winner"].value_counts()

# %% [markdown]
# The odds of the three outcomes are $e^{d/2} : e^{-d/2} : \nu$, where $d$ is the difference of the qualities. Only differences
# matter, so that the qualities sum to zero: {class}`~pymc.ZeroSumNormal`.

# %%
with pm.Model(coords={"tree": trees}) as arena_model:
    scale = pm.LogNormal("scale", np.log(2), 1)
    quality = pm.ZeroSumNormal("quality", scale, dims="tree")
    tie = pm.LogNormal("tie", 0, 1)
    half = (quality[left_idx] - quality[right_idx]) / 2
    odds = pt.stack([half, -half, pt.full_like(half, pt.log(tie))], axis=1)
    n_votes = counts[left_idx, right_idx]
    pm.Multinomial("outcome", n_votes.sum(axis=1), pm.math.softmax(odds, axis=1), observed=n_votes)

    arena_idata = pm.sample(500, chains=4, random_seed=rng, progressbar=False)

# %%
arena_rhat = az.rhat(arena_idata, var_names=["quality", "tie", "scale"])
assert all(float(variable.max()) < 1.03 for variable in arena_rhat.data_vars.values())
_ = az.plot_forest(arena_idata, var_names=["quality"], combined=True)
# %% [markdown]
# A leaderboard should say how sure it is. The share of the draws in which a tree is the best one is the probability that it is.

# %%
post = az.extract(arena_idata)
best = pd.Series(np.array(trees)[post["quality"].argmax("tree")]).value_counts(normalize=True)
best.round(3)

# %% [markdown]
# Some raters vote more consistently than others. With a reliability for each, which multiplies the differences of quality,
# careful raters count for more. In raterzoo this is the default of `models.bradley_terry`.

# %%
pairs = models.Comparisons.from_table(votes)
rated_idata = inference.sample(models.bradley_terry(pairs), random_seed=RANDOM_SEED, progressbar=False)
print(inference.diagnose(rated_idata).attrs["verdict"])
_ = az.plot_forest(rated_idata, var_names=["reliability"], combined=True)

# %% [markdown]
# ## Authors
# * Authored by the raterzoo developers in November, 2026

# %% [markdown]
# ## References
#
# :::{bibliography}
# :filter: docname in docnames
# :::

# %% [markdown]
# ## Watermark

# %%
# %load_ext watermark
# %watermark -n -u -v -iv -w -p pytensor,xarray

# %% [markdown]
# :::{include} ../page_footer.md
# :::
