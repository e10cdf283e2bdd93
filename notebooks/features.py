# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # The truth from answers and features
#
# Four hundred mails, of which three people answered for three hundred, each right four times in five. Whether a mail is spam also
# depends on two of its features, its length and its links. What do the features add to the answers, and what do they say of the
# other hundred? And the same of public images of handwritten digits, most of which have one answer or none.
#
# *Runs in less than three minutes on two cores.*

# %%
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd
from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

QUIET = {"random_seed": 1, "progressbar": False}
ANSWERED, ITEMS = 300, 400

rng = np.random.default_rng(1)
features = pd.DataFrame(rng.normal(size=(ITEMS, 2)), columns=["length", "links"])
features.insert(0, "item", [f"mail {k}" for k in range(ITEMS)])
spam = rng.random(ITEMS) < 1 / (1 + np.exp(features["links"] - 2 * features["length"])).to_numpy()
says = rng.random((ANSWERED, 3)) < np.where(spam[:ANSWERED, None], 0.8, 0.2)
answers = {
    "item": features["item"][:ANSWERED].repeat(3),
    "rater": ["Ann", "Bob", "Cem"] * ANSWERED,
    "label": np.where(says.ravel(), "spam", "ham"),
}
labels = models.Labels.from_table(pd.DataFrame(answers))
truth = dict(zip(features["item"], np.where(spam, "spam", "ham"), strict=True))

# %% [markdown]
# ## Answers alone, and with features
#
# The log score is that of the true categories, which neither posterior has seen.

# %%
alone = inference.sample(models.dawid_skene(labels), **QUIET)
tree = inference.sample(
    models.dawid_skene(labels, features=features[:ANSWERED]), draws=500, chains=2, **QUIET
)
answered = {item: truth[item] for item in labels.items.tolist()}
pd.DataFrame(
    {
        name: evaluation.log_score(own, answered)[["mean", "sampling_error", "monte_carlo_error"]].to_pandas()
        for name, own in {"answers": alone, "answers and features": tree}.items()
    }
)

# %% [markdown]
# ## What the features are worth
#
# In answers of a typical rater, the answers to each item left out; and the effect of a standard deviation of each.

# %%
worth = evaluation.feature_worth(tree)
print("worth", worth["worth"].quantile([0.05, 0.5, 0.95]).values.round(1))
evaluation.feature_effects(tree).sel(category="spam").to_dataframe()

# %% [markdown]
# ## Mails that nobody answered for

# %%
new = inference.predict(tree, features[ANSWERED:])
held_out = {item: truth[item] for item in new["posterior"]["item"].values.tolist()}
score = evaluation.log_score(new, held_out)
print(f"log score {score['mean']:.2f} +- {score['sampling_error']:.2f}; of a coin {np.log(0.5):.2f}")
plots.calibration_curve(evaluation.calibration_curve(new, held_out, bins=5))

# %% [markdown]
# Which question should come next, among all four hundred?

# %%
inference.design.next_to_ask(tree, features=features[ANSWERED:]).isel(question=slice(5)).to_dataframe()

# %% [markdown]
# ## Handwritten digits
#
# `raterzoo data fetch digits` writes 1,797 images, of 8 by 8 grey values, and the digit of each; both are public (Alpaydin and
# Kaynak 1998). Its answers are simulated: six raters are right in .9 to .4 of their answers, and most of their errors are the
# digit that looks alike. Of the first thousand images every other one has two answers, the rest one; no answer to the other 797
# is used. The features are the first ten principal components of the grey values.

# %%
folder = Path(tempfile.mkdtemp())
subprocess.run(["raterzoo", "data", "fetch", "digits", "--out", folder], check=True, capture_output=True)
names = ("answers", "features", "gold")
answers, pixels, gold = (pd.read_csv(folder / f"digits_{name}.csv", index_col="item") for name in names)
axes = np.linalg.eigh(pixels.cov())[1][:, :-11:-1]  # of the largest variance first
components = pd.DataFrame(pixels @ axes).add_prefix("component ").reset_index()
known, unknown = components[:1000], components[1000:]
digits = models.Labels.from_table(answers[answers.index.isin(known["item"])].reset_index())
alone = inference.sample(models.dawid_skene(digits), **QUIET)
tree = inference.sample(models.dawid_skene(digits, features=known), draws=1500, tune=700, **QUIET)
new = inference.predict(tree, unknown)
print(inference.diagnose(tree).attrs["verdict"])

# %% [markdown]
# How often the most probable digit is right, how often that is claimed, and the log score of the right digit:


# %%
def scored(own):
    """Return how good a posterior is where the truth is known."""
    found = evaluation.truth_certainty(own)
    truth = gold["category"].loc[found["item"].values]
    return {
        "images": found.sizes["item"],
        "right": np.mean(found["label"].values == truth.values),
        "claimed": found["certainty"].values.mean(),
        "log score": evaluation.log_score(own, truth.to_dict())["mean"].item(),
    }


posteriors = {"answers": alone, "answers and features": tree, "features, of images without an answer": new}
table = pd.DataFrame({name: scored(own) for name, own in posteriors.items()}).T
table.round(3)

# %% tags=["remove-cell"]
assert inference.diagnose(tree)["r_hat"].max() < 1.03
assert table["right"].iloc[1] > table["right"].iloc[0] + 0.2
assert (table["right"] - table["claimed"]).abs().iloc[1:].max() < 0.03

# %% [markdown]
# Answers alone leave a third of the digits wrong: few answers say little of which digits a rater mistakes. With the features
# nearly all are right; and where nobody answered, the probability that is claimed is how often it is right.

# %%
plots.calibration_curve(
    evaluation.calibration_curve(new, gold["category"].loc[unknown["item"]].to_dict(), bins=5)
)
