# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # People and judges: raters who share errors
#
# A few people and many language models label the same items. The models have learnt from the same texts and err
# together; a model of independent raters counts each of them as a witness of its own. This page shows what that does to
# its claims, how it can be noticed, and a law in which the judges may share a guess.
#
# First simulated, where the truth is known; then the test set of PandaLM, and the votes of LLMFAO, from the folder that
# `RATERZOO_DATA` names (without it, the second half simulates stand-ins).
#
# *Runs in less than two minutes on two cores.*

# %%
import os
import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from raterzoo import evaluation, inference, models

SEED = 1
QUIET = {"random_seed": SEED, "progressbar": False, "log_likelihood": False}
SAMPLES = ("chain", "draw")

# %% [markdown]
# ## The disaster, simulated
#
# A thousand items with two categories. Three people are right in 80 % of their answers, nine judges in 70 %; but of the
# judges' answers 80 % copy one guess that they share.

# %%
rng = np.random.default_rng(SEED)
ITEMS, PEOPLE, JUDGES, COPIED = 1000, 3, 9, 0.8


def answers_of(truth: np.ndarray, right: float, raters: int) -> np.ndarray:
    """Return answers (item, rater) that are right with a probability, and else the other category."""
    return np.where(rng.random((len(truth), raters)) < right, truth[:, None], 1 - truth[:, None])


truth = rng.integers(0, 2, ITEMS)
guess, own = answers_of(truth, 0.7, 1), answers_of(truth, 0.7, JUDGES)
judged = np.where(rng.random(own.shape) < COPIED, guess, own)
answers = np.hstack([answers_of(truth, 0.8, PEOPLE), judged])
names = [f"person {k + 1}" for k in range(PEOPLE)] + [f"judge {k + 1}" for k in range(JUDGES)]
table = pd.DataFrame(
    {
        "item": np.repeat(np.arange(ITEMS), len(names)),
        "rater": np.tile(names, ITEMS),
        "label": answers.ravel(),
    }
)
table["kind"] = table["rater"].str.split().str[0]
labels = models.Labels.from_table(table, rater_attributes=["kind"])
trees = {
    "dawid_skene": inference.sample(models.dawid_skene(labels), **QUIET),
    "correlated_votes": inference.sample(models.correlated_votes(labels), **QUIET),
    "shared_guess": inference.sample(
        models.shared_guess(labels, groups="kind", independent=("person",)), **QUIET
    ),
}


def claim(tree: object, truth: np.ndarray) -> dict[str, float]:
    """Return the mean probability of the most probable category, and how often this category is right."""
    plausibility = tree["posterior"]["plausibility"].mean(SAMPLES)
    found = plausibility["category"].to_numpy()[plausibility.argmax("category").to_numpy()]
    return {"claimed": float(plausibility.max("category").mean()), "right": float((found == truth).mean())}


claims = pd.DataFrame({name: claim(tree, truth) for name, tree in trees.items()}).T
print(claims.round(3))

# %%
figure, axes = plt.subplots(figsize=(6, 2), layout="constrained")
axes.set_yticks(range(len(claims)), claims.index)
axes.set_xlabel("share of the items: claimed to be right (ring), and right (dot)")
axes.set_xlim(0.5, 1.02)
for place, row in enumerate(claims.to_dict("records")):
    axes.hlines(place, row["right"], row["claimed"], color="0.6")
    axes.plot(row["claimed"], place, "o", color="0.2", markerfacecolor="white")
    axes.plot(row["right"], place, "o", color="0.2")

# %% tags=["remove-cell"]
assert claims.loc["dawid_skene", "claimed"] > claims.loc["dawid_skene", "right"] + 0.2
assert abs(claims.loc["shared_guess"].diff()["right"]) < 0.03

# %% [markdown]
# Dawid and Skene's model is all but certain of every item, and wrong in nearly a third of them: nine copies outvote three
# people. `correlated_votes`, the default of `raterzoo report`, knows that raters err together, but not which: it claims
# less, and believes the judges all the same. Told who belongs together, and that people do not, `shared_guess` finds
# that the judges copy, and its claim is true.
#
# ## The check that fails
#
# Before a claim is believed: does the model fit? Replicates of the table are drawn from the model, and the observed
# table is compared with them. Under a law of independent errors the residuals of two raters have no correlation.

# %%
checks = {name: evaluation.model_checks(trees[name], by="kind") for name in ("dawid_skene", "shared_guess")}
for name, found in checks.items():
    print(name, "fits" if found.attrs["fits"] else "does not fit")
    for sentence in np.atleast_1d(found.attrs["sentences"])[:4]:
        print(f"    {sentence}")

# %% tags=["remove-cell"]
assert not checks["dawid_skene"].attrs["fits"]

# %% [markdown]
# That errors are shared is certain; whose they are, this check cannot say. It is the people whose residuals agree most,
# because the inferred truth is the judges' guess, and where that is wrong the people err together against it.
#
# ## What nine judges are worth
#
# How many independent raters tell as much about the truth as the group does: by Kish's n / (1 + (n - 1) r), with r the
# correlation of the residuals, and by the information of all its answers together.

# %%
effective = evaluation.effective_raters(trees["shared_guess"], by="kind")
worth = (
    effective[["effective", "equivalent"]].mean(SAMPLES).to_dataframe().join(effective["raters"].to_series())
)
print(worth.round(2))
shared = trees["shared_guess"]["posterior"]["shared"].mean(SAMPLES)
print(f"copied, true {COPIED}: found {float(shared.min()):.2f} to {float(shared.max()):.2f}")

# %% tags=["remove-cell"]
assert worth.loc["judge", "effective"] < 3

# %% [markdown]
# ## PandaLM: three people and two judges compare answers
#
# 999 pairs of answers of language models; three people and two models that judge say which one is better (0: a tie).
# Nobody knows the truth. Two judges cannot outvote three people; what matters is whether their agreement with each
# other is evidence.

# %%
folder = os.environ.get("RATERZOO_DATA")
if folder:
    wide = pd.read_csv(Path(folder) / "pandalm_testset_labels.csv")
    raters = ["annotator1", "annotator2", "annotator3", "gpt35", "pandalm7b"]
    long = wide.reset_index(names="item").melt("item", raters, "rater", "label").astype({"label": str})
    long["label"] = long["label"].replace("Tie", "0")  # as one of the judges writes it
    long = long[long["label"] != "garbage"]  # where that judge gave no verdict
    long["kind"] = np.where(long["rater"].str.startswith("annotator"), "person", "judge")
    pandalm = models.Labels.from_table(long, rater_attributes=["kind"])
else:
    options = {"items": 400, "raters": 5, "answers": 5, "categories": 3, "random_seed": SEED}
    pandalm = models.simulators.labels(model="shared_guess", **options).data
print(pandalm.report())
independent = inference.sample(models.dawid_skene(pandalm), **QUIET)
# two copiers tell little of how much they copy: the shares mix slowly
together = inference.sample(models.shared_guess(pandalm, "kind", "person"), thin=24, **QUIET)
sure = {
    name: float(tree["posterior"]["plausibility"].mean(SAMPLES).max("category").mean())
    for name, tree in {"independent": independent, "shared guess": together}.items()
}
print({name: round(value, 3) for name, value in sure.items()})
share = together["posterior"]["shared"].quantile([0.05, 0.5, 0.95], SAMPLES).to_pandas().T
print(share.round(2))
for name, tree in {"independent": independent, "shared guess": together}.items():
    found = evaluation.model_checks(tree, by="kind")
    print(
        name,
        "fits" if found.attrs["fits"] else "does not fit",
        *np.atleast_1d(found.attrs["sentences"])[:3],
        sep="\n    ",
    )

# %% [markdown]
# On the real votes both models are sure of nearly every item, because three people agree nearly always,
# and both checks fail within the people, too: `independent=("person",)` is an assumption, and here the data speak
# against it. No law of these five raters can know what three people see alike and wrongly; gold items would.

# %% [markdown]
# ## LLMFAO: two judges and a crowd rank language models
#
# 124 people and two models vote on which of two language models answers better. For comparisons the same idea is a
# taste: a group of raters sees the quality q + delta of an item, with a deviation delta that its members share, while the
# deviations of people are their own. However many votes the judges cast, they tell of q only as much as one taste does.

# %%
if folder:
    parts = [pd.read_csv(Path(folder) / "llmfao_crowd_comparisons.csv").rename(columns={"worker": "rater"})]
    parts[0]["kind"] = "person"
    for judge in ("gpt3", "gpt4"):
        votes = pd.read_csv(Path(folder) / f"llmfao_{judge}_comparisons.csv")
        parts.append(votes.assign(rater=judge, kind="judge"))
    ballots = pd.concat(parts).astype({"rater": str})
    # a dozen of the 59 models, so that this page is quick: those with most votes
    most = pd.concat([ballots["left"], ballots["right"]]).value_counts().index[:12]
    ballots = ballots[ballots["left"].isin(most) & ballots["right"].isin(most)]
    pairs = models.Comparisons.from_table(ballots, rater_attributes=["kind"])
else:
    pairs = models.simulators.comparisons(items=12, raters=12, taste=0.3, random_seed=SEED).data
print(pairs.report())
widths = {}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", models.DataWarning)  # people who cast few votes here
    laws = {
        "independent": models.bradley_terry(pairs),
        "shared taste": models.bradley_terry(pairs, groups="kind", independent=("person",)),
    }
    for name, model in laws.items():
        tree = inference.sample(model, draws=1500, **QUIET)
        quality = tree["posterior"]["quality"]
        low, high = quality.quantile([0.05, 0.95], SAMPLES).to_numpy()
        widths[name] = float((high - low).mean() / quality.mean(SAMPLES).std())
print({name: round(width, 2) for name, width in widths.items()})

# %% tags=["remove-cell"]
assert widths["shared taste"] > widths["independent"]

# %% [markdown]
# Widths of 90 % intervals, in units of the spread of the qualities. The judges' votes still count, but as those of two
# raters of one taste, and the leaderboard is as uncertain as that.
