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
# other hundred?
#
# *Runs in less than a minute on two cores.*

# %%
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
