# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # How good is the classifier, really?
#
# "Accuracy .72 (.69 to .75)" can be the answer to three questions: how far the classifier agrees with what the raters leave
# open; how often it is right; and how often it is right where people labelled few items and a judge, such as a language model,
# all of them. Here all three are asked of one simulated set, where the truth is known; then of a judge in the test set of
# PandaLM, from the folder that `RATERZOO_DATA` names (without it, simulated stand-ins).
#
# *Runs in about a minute on two cores.*

# %%
import os
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import xarray as xr
from raterzoo import evaluation, inference, models

SEED = 1
QUIET = {"random_seed": SEED, "progressbar": False}
ACCURACY = evaluation.top_k_accuracy(1)

# %% [markdown]
# ## One set, the truth known
#
# 1,000 items with two categories. Three people are right in 80 % of their answers, a classifier in 88 %, and a judge in 85 %;
# all err independently of each other.

# %%
rng = np.random.default_rng(SEED)
ITEMS = 1000
truth = rng.integers(0, 2, ITEMS)


def answers_of(right: float, raters: int = 1) -> np.ndarray:
    """Return answers (item, rater) that are right with a probability, and else the other category."""
    return np.where(rng.random((ITEMS, raters)) < right, truth[:, None], 1 - truth[:, None])


def labels_of(answers: np.ndarray, items: np.ndarray) -> models.Labels:
    """Return the labels of people (item, person)."""
    item, person = np.indices(answers.shape)
    names = np.array([f"person {k + 1}" for k in range(answers.shape[1])])
    table = {"item": items[item.ravel()], "rater": names[person.ravel()], "label": answers.ravel()}
    return models.Labels.from_table(table, categories=[0, 1])


def predictions_of(answers: np.ndarray, name: str) -> xr.DataArray:
    """Return predictions of all items."""
    return xr.DataArray(answers, {"item": np.arange(ITEMS), "classifier": name}, ("item", "position"))


people = answers_of(0.8, 3)
predictions, judged = predictions_of(answers_of(0.88), "model"), predictions_of(answers_of(0.85), "judge")
right = float((predictions.to_numpy()[:, 0] == truth).mean())
print(f"the classifier is right in {right:.3f} of these items, and in .88 of all there could be")


def figure(found: xr.Dataset, **chosen: str) -> tuple[float, float, float]:
    """Return mean, lower and upper end."""
    own = found.sel(**chosen)
    return (float(own["mean"]), *own["interval"].to_numpy().ravel().tolist())


def scored(tree: xr.DataTree, predicted: xr.DataArray) -> tuple[float, float, float]:
    """Print which question the accuracy answers; return it with its interval."""
    found = evaluation.metric_intervals(ACCURACY, tree, predicted, **QUIET)
    print(found.attrs["question"])
    return figure(found, source="both")


# %% [markdown]
# ## Questions 1 and 2: people answered all items
#
# The posterior of the people alone is blurred by their errors: against it the classifier looks worse than it is, however many
# items there are. With the classifier among the raters, the posterior has seen its predictions, and the accuracy is that
# against the truth.

# %%
labels = labels_of(people, np.arange(ITEMS))
alone = inference.sample(models.dawid_skene(labels), **QUIET)
joint = inference.sample(models.dawid_skene(labels.with_predictions(predictions)), **QUIET)
table = {"1. agreement with what people leave open": scored(alone, predictions)}
table["2. accuracy against the truth"] = scored(joint, predictions)

# %% [markdown]
# ## Question 3: people answered few items, a judge all of them
#
# Only 150 items, chosen at random, go to the people. The judge's figure over all items is corrected by these: however wrong the
# judge, the estimate is right, and a good judge makes it narrower. `gain` says how many items with people the judge is worth.

# %%
few = np.sort(rng.choice(ITEMS, 150, replace=False))
some = labels_of(people[few], few).with_predictions(predictions.sel(item=few))
tree = inference.sample(models.dawid_skene(some), **QUIET)
found = evaluation.rectified(ACCURACY, tree, predictions, judged, random_seed=SEED)
for estimate, words in (
    ("people", "150 items with people"),
    ("rectified", "3. the same, rectified"),
    ("judge", "the judge taken for the truth"),
):
    table[words] = figure(found.squeeze(), estimate=estimate)
print(
    f"gain {float(found['gain'].squeeze()):.2f}: as good as {float(found['effective_items'].squeeze()):.0f} items with people"
)
shown = pd.DataFrame(table, index=["mean", "lower", "upper"]).T
print(shown.round(3))

# %%
_, axes = plt.subplots(figsize=(7, 2.4), layout="constrained")
axes.axvline(right, color="C1")
axes.set_yticks(range(len(shown)), shown.index)
axes.set_xlabel("accuracy of the classifier: mean and 90 % interval; line: in these items")
axes.invert_yaxis()
for place, row in enumerate(shown.to_dict("records")):
    axes.hlines(place, row["lower"], row["upper"], color="0.4", linewidth=3)
    axes.plot(row["mean"], place, "o", color="0.2")

# %% tags=["remove-cell"]
assert shown.loc["1. agreement with what people leave open", "upper"] < right
assert (
    shown.loc["2. accuracy against the truth", "lower"]
    < right
    < shown.loc["2. accuracy against the truth", "upper"]
)
assert shown.loc["3. the same, rectified", "lower"] < right < shown.loc["3. the same, rectified", "upper"]

# %% [markdown]
# ## A judge that has learnt from the same texts
#
# The joint estimate leans on errors that are independent. A judge that repeats the classifier's answers nine times in ten is
# not: taken for one more independent rater it confirms the classifier. The check says so, and a model in which both share
# a guess does not believe them.

# %%
copied = np.where(rng.random((ITEMS, 1)) < 0.9, predictions.to_numpy(), answers_of(0.85))
both = xr.concat([predictions, predictions_of(copied, "judge")], "classifier")
seen = labels.with_predictions(both)
laws = {
    "independent": models.dawid_skene(seen),
    "sharing a guess": models.shared_guess(seen, groups="kind", independent=("person",)),
}
found_by = {}
for name, model in laws.items():
    tree = inference.sample(model, **QUIET)
    accuracy = evaluation.metric_intervals(ACCURACY, tree, both, **QUIET)
    found_by[name] = figure(accuracy, source="both", classifier="model")
    checked = evaluation.model_checks(tree, by="kind", random_seed=SEED)
    print(name, "fits" if checked.attrs["fits"] else "does not fit", [round(x, 3) for x in found_by[name]])

# %% tags=["remove-cell"]
assert found_by["independent"][1] > right  # wrong, and sure of it
assert found_by["sharing a guess"][1] < right < found_by["sharing a guess"][2]

# %% [markdown]
# ## PandaLM: a judge against people
#
# Three people compared 999 pairs of answers of language models, and so did PandaLM-7B, a language model that judges. Nobody
# knows the truth. How far does it agree with what the people leave open, and how often is it right?

# %%
folder = os.environ.get("RATERZOO_DATA")
if folder:
    wide = pd.read_csv(Path(folder) / "pandalm_testset_labels.csv")
    names = ["annotator1", "annotator2", "annotator3"]
    long = wide.reset_index(names="item").melt("item", names, "rater", "label").astype({"label": str})
    three = models.Labels.from_table(long, categories=["0", "1", "2"])
    said = wide["pandalm7b"].astype(str).replace("Tie", "0").to_numpy()
    judge = xr.DataArray(said[:, None], {"item": wide.index, "classifier": "PandaLM"}, ("item", "position"))
else:
    three, judge = labels, predictions
of_people = inference.sample(models.dawid_skene(three), **QUIET)
of_all = inference.sample(models.dawid_skene(three.with_predictions(judge)), **QUIET)
print(
    pd.DataFrame(
        {"1": scored(of_people, judge), "2": scored(of_all, judge)}, index=["mean", "lower", "upper"]
    ).T.round(3)
)
for sentence in np.atleast_1d(evaluation.model_checks(of_all, random_seed=SEED).attrs["sentences"])[:3]:
    print(sentence)

# %% [markdown]
# The people agree nearly always, so little is left open, and the two answers are close. How much they mean depends on the check
# above: where people see alike and wrongly, no number of their answers tells; gold items would.
