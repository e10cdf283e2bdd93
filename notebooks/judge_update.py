# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # The judge was updated: what changed?
#
# A team regrades every release with a language model as the judge. The share of good outputs rises.
# Did the outputs become better, or did the judge become more lenient? A share cannot tell, and two
# shares cannot either. Outputs that both versions of the judge have labelled can.
# First simulated releases, where the truth is known; then GPT-3 and GPT-4 as two versions of the
# judge of LLMFAO, in a run that we cut ourselves, so that the answer is known there, too.
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
VALUE = {"bad": 0, "good": 1}
PARTS = ["drift", "by_judge", "by_items"]


def labels_of(rows):
    return models.Labels.from_table(pd.DataFrame(rows, columns=["item", "rater", "label"]))


def parts_of(old, new, judge, value, seed=SEED):
    """Fit both runs together, and return the drift and its parts: mean and 90 % interval."""
    both = models.two_runs(labels_of(old), labels_of(new), judges=[judge])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", models.DataWarning)  # people of few labels
        tree = inference.sample(models.correlated_votes(both), random_seed=seed, progressbar=False)
    found = evaluation.judge_change(tree, value)
    rows = {}
    for name in PARTS:
        low, high = found[name].quantile([0.05, 0.95]).values
        rows[name] = {"mean": float(found[name].mean()), "low": low, "high": high}
    return pd.DataFrame(rows).T, bool(found["changed"].item())


# %% [markdown]
# ## Releases whose truth is known
#
# The old run has 400 outputs, the new one 400 others. A hundred old outputs are labelled by both
# versions, and by three people. In the first world only the judge changes: it lets three in ten bad outputs
# pass, where it let one in ten. In the second only the outputs change: six in ten are good, where five were.
# In the third both change, against each other: the judge has become strict, the outputs have become better.

# %%
LENIENT, STRICT, AS_BEFORE = (
    (0.05, 0.3),
    (0.3, 0.02),
    (0.15, 0.1),
)  # share of good called bad, and of bad called good
WORLDS = {"the judge": (LENIENT, 0.5), "the outputs": (AS_BEFORE, 0.6), "both": (STRICT, 0.7)}


def release(errors, share, seed):
    """Return the rows of an old and a new run, and what the judge and the outputs added in truth."""
    rng = np.random.default_rng(seed)
    truth = rng.random(800) < np.where(np.arange(800) < 400, 0.5, share)

    def said(rater, items, wrong):
        good, luck = truth[items], rng.random(len(items))
        yes = np.where(good, luck > wrong[0], luck < wrong[1])
        return [(int(item), rater, "good" if own else "bad") for item, own in zip(items, yes, strict=True)]

    common = np.arange(100)
    people = [row for name in ("Ann", "Bob", "Eve") for row in said(name, common, (0.15, 0.15))]
    old = said("judge", np.arange(400), AS_BEFORE) + people
    new = said("judge", np.r_[common, 400:800], errors)
    said_good = np.array(
        [[own[1], 1 - own[0]] for own in (AS_BEFORE, errors)]
    )  # version, truth of the output
    kinds = np.array([[1 - p, p] for p in (truth[100:400].mean(), truth[400:].mean())])
    by_judge = (said_good[1] - said_good[0]) @ kinds.mean(axis=0)
    return old, new, {"by_judge": by_judge, "by_items": (kinds[1] - kinds[0]) @ said_good.mean(axis=0)}


found, told, changed = {}, {}, {}
for world, (errors, share) in WORLDS.items():
    for study in range(4):
        old, new, told[world, study] = release(errors, share, [SEED, study])
        found[world, study], changed[world, study] = parts_of(old, new, "judge", VALUE)
table = pd.concat(found)
truth = pd.DataFrame(told).T.stack()
print(table.xs(0, level=1).round(2))

# %% [markdown]
# The drift is what a dashboard shows: the sum of the part of the judge and the part of the outputs. In the third world it is
# small, though both moved. Each interval holds 90 % of the posterior; crosses are the truth.

# %%
fig, axes = plt.subplots(1, 3, figsize=(9, 3.2), sharey=True, layout="constrained")
for ax, world in zip(axes, WORLDS, strict=True):
    for place, part in enumerate(["by_judge", "by_items"]):
        for study in range(4):
            own, x = found[world, study].loc[part], place + (study - 1.5) / 6
            ax.plot([x, x], [own["low"], own["high"]], color=f"C{place}", lw=3)
            ax.plot(x, told[world, study][part], "kx", ms=7)
    ax.axhline(0, color="0.5", lw=0.8)
    ax.set(title=f"changed: {world}", xticks=[0, 1], xticklabels=["by the judge", "by the outputs"])
axes[0].set_ylabel("share of good, new - old")
plt.show()

# %% [markdown]
# Is the judge said to have changed? It is where the 98 % interval of its part leaves out 0.

# %%
print(pd.Series(changed).unstack().sum(axis=1).rename("judge said to have changed, of 4 studies"))

# %% tags=["remove-cell"]
inside = [table.loc[key, "low"] <= value <= table.loc[key, "high"] for key, value in truth.items()]
assert np.mean(inside) > 0.7, np.mean(inside)
assert sum(changed["the judge", study] for study in range(4)) >= 3
assert sum(changed["the outputs", study] for study in range(4)) <= 1
assert table.loc["both"].xs("drift", level=1)["mean"].abs().max() < 0.15

# %% [markdown]
# ## LLMFAO: from GPT-3 to GPT-4
#
# Which of two answers is better, the left or the right? A crowd has voted on 2,139 pairs of answers, and so have GPT-3 and
# GPT-4. We take GPT-3 for the old version of one judge and GPT-4 for the new one, and cut two runs: the
# old one of pairs in which the crowd rather prefers the right answer, the new one of pairs in which it prefers the left.
# So what is judged changes, and the judge changes, too. 300 pairs are labelled by both. As each version
# has in fact judged all pairs, the part of the judge is known. Ties are left out.

# %%
folder = os.environ.get("RATERZOO_DATA", "")


def llmfao():
    """Return the labels of the crowd, of GPT-3 and of GPT-4, without ties: item, rater, label."""
    frames = []
    for rater in ("crowd", "gpt3", "gpt4"):
        votes = pd.read_csv(Path(folder) / f"llmfao_{rater}_comparisons.csv").rename(
            columns={"id": "item", "winner": "label"}
        )
        votes["rater"] = "worker " + votes["worker"].astype(str) if rater == "crowd" else rater
        frames.append(
            votes.loc[votes["label"] != "tie", ["item", "rater", "label"]].drop_duplicates(["item", "rater"])
        )
    return frames


def stand_in(items=2000):
    """Simulate the three tables where there are no data: the new judge says "left" more often than the old one."""
    rng = np.random.default_rng(SEED)
    truth = rng.random(items) < 0.5
    said = {"gpt3": (0.35, 0.3), "gpt4": (0.15, 0.25)} | {f"worker {k}": (0.2, 0.2) for k in range(3)}
    frames = []
    for rater, (wrong_left, wrong_right) in said.items():
        luck = rng.random(items)
        left = np.where(truth, luck > wrong_left, luck < wrong_right)
        frames.append(
            pd.DataFrame({"item": np.arange(items), "rater": rater, "label": np.where(left, "left", "right")})
        )
    return pd.concat(frames[2:]), frames[0], frames[1]


crowd, first, second = llmfao() if folder else stand_in()
share = crowd.assign(left=crowd["label"] == "left").groupby("item")["left"].mean()
both_judged = sorted(set(first["item"]) & set(second["item"]) & set(share.index))
rng = np.random.default_rng(SEED)
items = rng.permutation(both_judged)
common, rest = items[:300], items[300:]
to_new = (
    rng.random(len(rest)) < 0.2 + 0.6 * share[rest].to_numpy()
)  # the new run has more whose left answer is liked
old_items, new_items = np.r_[common, rest[~to_new]], np.r_[common, rest[to_new]]
people = crowd[crowd["item"].isin(common)]
old = pd.concat([first[first["item"].isin(old_items)].assign(rater="judge"), people])
new = second[second["item"].isin(new_items)].assign(rater="judge")
parts, judge_changed = parts_of(old, new, "judge", {"left": 1, "right": 0})
left = pd.DataFrame(
    {name: own.set_index("item")["label"] == "left" for name, own in (("old", first), ("new", second))}
).loc[both_judged]
change = left.loc[rest[~to_new]].mean(), left.loc[rest[to_new]].mean()  # of the pairs of one run alone
parts["in fact"] = [
    change[1]["new"] - change[0]["old"],
    np.mean([own["new"] - own["old"] for own in change]),
    np.mean([change[1][version] - change[0][version] for version in ("old", "new")]),
]
print(
    f"{(~to_new).sum():,} pairs in the old run alone, {to_new.sum():,} in the new one, {len(common)} in both"
)
print("judge changed:", judge_changed)
print(parts.round(3))

# %% tags=["remove-cell"]
assert (parts["in fact"].between(parts["low"], parts["high"])).all(), parts

# %% [markdown]
# "In fact" is computed from the labels of both versions for all pairs. The model saw the old ones of the old run, the new
# ones of the new run, and no others. A dashboard shows the drift alone, in which both parts are mixed.
#
# What to take home: let the new version label a random sample of the old outputs, before the old version is gone. Without outputs
# in common `two_runs` refuses, because a change of the judge and a change of the outputs look alike then.
