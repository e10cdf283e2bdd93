# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # How many raters is a classifier worth?
#
# Let k raters predict what one more will say, and score them. The more raters, the better the prediction: the survey power
# curve. A classifier is scored against the same further rater; where its score meets the curve, so many raters it is worth
# (Resnick et al., 2021). With `RATERZOO_DATA` set this runs on the paper's data and on PandaLM's, otherwise on simulated urns.
#
# *Runs in less than a minute on two cores.*

# %%
import os
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from raterzoo import evaluation, inference, models, papers
from raterzoo.evaluation import plots
from scipy.stats import hypergeom

SEED = 1
QUIET = {"random_seed": SEED, "progressbar": False}
folder = os.environ.get("RATERZOO_DATA")


def counts_of(positive, total):
    """Return how often each of two labels was given, (item, category)."""
    coords = {"item": np.arange(len(positive)), "category": ["0", "1"]}
    return xr.DataArray(np.stack([total - positive, positive], 1), coords, ("item", "category"))


def law(**positive):
    """Return classifiers, by their probabilities of the positive label."""
    p = np.array([*positive.values()], float)
    coords = {"classifier": [*positive], "item": np.arange(p.shape[1]), "category": ["0", "1"]}
    return xr.DataArray(np.stack([1 - p, p], axis=-1), coords, ("classifier", "item", "category"))


def fitted(counts, draws=1000, **how):
    """Return draws of the states of the items."""
    labels = models.Labels.from_counts(counts.to_pandas().reset_index())
    return inference.sample(models.item_states(labels, **how), draws=draws, **QUIET)


# %% [markdown]
# ## The running example
# 1,000 items, 10 raters: 70 % of the items are positive for 80 % of the raters, 10 % for half of them, 20 % for one in ten.
# *hard* says a label only, *soft* how probable it is, *ideal* knows the item's urn.

# %%
if folder:
    table = pd.read_csv(Path(folder, "running_example.csv"))
    answers = table.filter(like="e_").to_numpy()
    classifiers = law(hard=table["hard"], soft=table["soft_pos"], ideal=table["ideal_pos"])
else:
    made = models.simulators.urn_items(error=0.9, random_seed=SEED)
    answers = np.asarray(made.data.to_table()["label"]).reshape(1000, 10)
    score = made.truth["score"][:, 1]
    classifiers = law(hard=score > 0.5, soft=score, ideal=made.truth["plausibility"][:, 1])
counts = counts_of(answers.sum(axis=1), np.full(1000, 10))
running = evaluation.survey_equivalence(counts, classifiers)
plots.power_curve(running, centred=True)

# %%
print(running["words"].values)
urns = classifiers.sel(classifier="ideal", category="1").to_series().value_counts(normalize=True)

# %% tags=["remove-cell"]
assert answers.shape == (1000, 10) and np.allclose(urns[[0.8, 0.5, 0.1]], [0.7, 0.1, 0.2], atol=0.05)
assert running["censored"].values.tolist() == ["below", "", "above"]

# %% [markdown]
# *hard*, taken at its word, is worse than no labels: its certainty is punished. *ideal* is worth more raters than there
# are. Neither gets a number. The paper prints 1.96, 4.31 and 6.32 for three pairs of combiner and scorer. The first learned
# the combiner from the item that it predicts too; left out, the answer is 1.97. The second drew the ties of an even number of
# raters; here they are averaged. The third hangs on the clip. At the stated .02 it is 7.34, as in the authors' stored run;
# near .03 it comes close to what is printed.

# %%
hard, soft, ideal = (one.drop_vars("classifier") for one in classifiers)
pairs = {
    "ABC, cross-entropy": (soft, "abc", "cross_entropy", 0.02, "leave-one-out"),
    "the same, in sample": (soft, "abc", "cross_entropy", 0.02, "in-sample"),
    "plurality, agreement": (hard, "plurality", "agreement", 0.02, "leave-one-out"),
    "frequency, cross-entropy": (soft, "frequency", "cross_entropy", 0.02, "leave-one-out"),
    "frequency, clip .03": (soft, "frequency", "cross_entropy", 0.03, "leave-one-out"),
}
worth = {}
for name, (*pair, clip, learn) in pairs.items():
    one = evaluation.survey_equivalence(counts, *pair, clip=clip, learn=learn, bootstrap=0)
    worth[name] = float(one["equivalence"])
print(pd.Series(worth).round(5).to_string())

# %% tags=["remove-cell"]
if folder:
    np.testing.assert_allclose([*worth.values()][:4], [1.96867, 1.95935, 4.33172, 7.33931], atol=5e-6)
    assert round(worth["the same, in sample"], 2) == 1.96  # as printed; the other two are not
    assert worth["plurality, agreement"] - 4.31 > 0.02 and worth["frequency, cross-entropy"] > 7
    assert abs(worth["frequency, clip .03"] - 6.32) < 0.1

# %% [markdown]
# ## Personal attacks on Wikipedia
# 2,000 comments with 8 to 39 labels, of 23,178 with up to 46. Published: 4.24 raters, calibrated 7.63. Counted over the labels
# that there are: 1.85 and 3.36. The authors' program pads every comment with blanks to the width of the longest, 46. If k
# raters are k columns, most of them blank, k is too large. Roughly how much, the curve shows when its raters are diluted
# among 46 columns: this explains the direction, and overshoots. The printed numbers it does not give.

# %%
if folder:
    attacks = pd.read_csv(Path(folder, "toxicity2000.csv"))
    positive, total = attacks["n_attack"].to_numpy(), attacks["n_labels"].to_numpy()
    two = law(raw=attacks["predictor_prob"], calibrated=attacks["calibrated_prob"])
    all_lengths = pd.read_csv(Path(folder, "toxicity_full.csv"))["n_labels"]
    assert (len(total), total.min(), total.max()) == (2000, 8, 39)
    assert (len(all_lengths), all_lengths.max()) == (23178, 46)
else:
    total = np.random.default_rng(SEED).choice([8, 10, 20], 1000)
    made = models.simulators.urn_items(raters=total, sharpness=1.3, error=0.8, random_seed=SEED)
    positive, score = made.data.counts[:, 1], law(raw=made.truth["score"][:, 1])
    two = papers.calibrated(score, counts_of(positive, total))
    two["classifier"] = ["raw", "calibrated"]
wikipedia = evaluation.survey_equivalence(counts_of(positive, total), two, max_raters=7)
plots.power_curve(wikipedia)

# %%
print(wikipedia["words"].values, "labels per item:", total.mean().round(1))
curve, k = wikipedia["power_curve"].to_numpy(), np.arange(31)
among = hypergeom(45, total[:, None, None] - 1, k[:, None]).pmf(k)  # labels among k columns
diluted = (among @ curve[np.minimum(k, 7)]).mean(axis=0)
beyond = wikipedia["score"].to_series().map(lambda score: int(np.argmax(diluted > score)))
print("columns of 46 that score as well:", beyond.to_dict())
right = wikipedia["equivalence"].to_series()

# %% tags=["remove-cell"]
assert right["calibrated"] > right["raw"] and (beyond > 2 * right).all()
if folder:
    assert np.allclose(right, [1.85, 3.36], atol=0.005)
    assert (right < [4.24, 7.63]).all() and (beyond > [4.24, 7.63]).all()

# %% [markdown]
# ## CredBank
# 1,377 events, 29 or 30 labels: certainly accurate, or not. Published .48, correct .505. Blanks are not why: there are
# seven. A combiner that learned in sample gives .479, which rounds to what is printed. The interval, .2 to .8, makes light of
# the difference.

# %%
if folder:
    events = pd.read_csv(Path(folder, "credweb.csv"))
    levels = events[["c_m2", "c_m1", "c_0", "c_p1", "c_p2"]].to_numpy()
    given = counts_of(levels[:, 4], levels.sum(axis=1)), law(bucket=events["calibrated_p"])
    left_out = evaluation.survey_equivalence(*given, max_raters=19)
    in_sample = evaluation.survey_equivalence(*given, max_raters=19, learn="in-sample")
    print(left_out["words"].item(), left_out["equivalence_interval"].values.round(2)[0])
    assert np.unique(levels.sum(axis=1), return_counts=True)[1].tolist() == [7, 1370]
    assert {29, 30} == set(levels.sum(axis=1))
    assert np.allclose(left_out["equivalence_interval"], [0.2, 0.8], atol=0.05)
    assert abs(left_out["equivalence"].item() - 0.505) < 5e-4
    assert round(in_sample["equivalence"].item(), 3) == 0.479

# %% [markdown]
# ## Beyond the raters there are
# The curve ends one short of the labels. A model of the items goes on: each item is in one of a few states, and the states
# say what any number of raters know, up to the omniscient one. Here it sees four raters. *blend* is made to be worth more
# than the three of their curve, and less than nine; what the posterior says of it the other six raters confirm.

# %%
four = counts_of(answers[:, :4].sum(axis=1), np.full(1000, 4))
three = xr.concat([soft, 0.6 * soft + 0.4 * ideal, ideal], "classifier")
three["classifier"] = ["soft", "blend", "ideal"]
short, full = (evaluation.survey_equivalence(c, three) for c in (four, counts))
print(f"four raters: {short['words'].values}\nten raters: {full['words'].values}")
tree = fitted(four)
print(inference.diagnose(tree).attrs["verdict"])
posterior = papers.survey_summary(evaluation.survey_equivalence(tree, three, max_raters=30))
plots.power_curve({"four raters": short.drop_dims("classifier"), "posterior": posterior}, most=12)

# %%
shown = ["equivalence", "probability_beyond", "performance_ratio"]
ends, limits = posterior["equivalence_interval"], posterior["asymptote_interval"]
print(posterior[shown].to_dataframe().round(3), ends.to_pandas().round(2), sep="\n")
print(f"asymptote {limits.to_numpy().round(3)}, check p = {posterior.attrs['check_p']:.2f}")
low, high = ends.sel(classifier="blend").to_numpy()

# %% tags=["remove-cell"]
assert low < full["equivalence"][1] < high and short["censored"][1] == "above"
assert limits[0] < -0.9507 + 0.2515 < limits[1] and posterior.attrs["check_p"] > 0.05  # of the urns

# %% [markdown]
# How many states? Leaving out one item at a time compares the laws by how well they predict it. Two states are too few, and one
# Beta for all items is too smooth for urns: both are more than two standard errors behind. Three do, as there are three urns,
# and ten, the default, do no worse: those that are not needed stay all but empty. The check of the curve needs no other law
# beside it. With ten raters it catches the Beta; the ten states pass.

# %%
kinds = {f"{states} states": {"states": states} for states in (2, 3, 10)}
kinds["one Beta"] = {"states": 1, "spread": True}
laws = {name: fitted(counts, 500, plausibility=False, **kind) for name, kind in kinds.items()}
compared = az.compare(laws)[["elpd", "elpd_diff", "dse"]]
print(compared)
behind = compared.index[compared["elpd_diff"] < -2 * compared["dse"]]
checked = ["10 states", "one Beta"]
curves = [evaluation.survey_power_curve(laws[name], max_raters=9) for name in checked]
checks = {name: curve.attrs["check_p"] for name, curve in zip(checked, curves, strict=True)}
print(checks)

# %% tags=["remove-cell"]
assert set(behind) == {"2 states", "one Beta"}
assert checks["one Beta"] < 0.05 < checks["10 states"]

# %% [markdown]
# ## How many people is a language model worth?
# PandaLM's test set: three people say which of two answers is better, or neither (0); so do two language models. GPT-3.5
# gives no readable answer to 25 of 999. Such an item stays in, as a third for each label. The authors count it as 0, and
# leaving it out would flatter the model; all three are shown. Both models say a label only, so that they are scored by
# agreement, and by cross-entropy once calibrated: each label becomes the shares of people's labels where the model said it.

# %%
people = ["person 1", "person 2", "person 3"]
judges = ["gpt35", "pandalm7b"] if folder else ["judge A", "judge B"]
if folder:
    frame = pd.read_csv(Path(folder, "pandalm_testset_labels.csv"), dtype=str)
    frame = frame.replace({"gpt35": {"Tie": "0"}})
    assert len(frame) == 999 and (~frame["gpt35"].isin(["0", "1", "2"])).sum() == 25
    frame = frame.rename(columns={f"annotator{k}": f"person {k}" for k in (1, 2, 3)})
else:
    sides = [[0.05, 0.92, 0.03], [0.05, 0.03, 0.92], [0.8, 0.1, 0.1]]
    design = {"items": 400, "raters": 3, "weight": [0.45, 0.45, 0.1], "probability": sides}
    made = models.simulators.urn_items(**design, error=2.5, random_seed=SEED)
    said = np.asarray(made.data.to_table()["label"]).reshape(-1, 3).astype(str)
    frame = pd.DataFrame(said, columns=people)
    first = made.truth["score"].argmax(axis=1).astype(str)
    shuffled = np.random.default_rng(SEED).permutation(first)
    frame[judges[0]], frame[judges[1]] = first, np.where(np.arange(400) % 4, first, shuffled)
three_labels = ["0", "1", "2"]
coords = {"item": np.arange(len(frame)), "category": three_labels}
votes = np.stack([(frame[people] == label).sum(axis=1) for label in three_labels], axis=1)
votes = xr.DataArray(votes, coords, ("item", "category"))


def judged(no_answer):
    """Return what the models said, and `no_answer` where that could not be read."""
    said = np.stack([frame[judges] == label for label in three_labels], axis=-1).astype(float)
    said[said.sum(axis=2) == 0] = no_answer
    dims = ("item", "classifier", "category")
    return xr.DataArray(said, {"classifier": judges, **coords}, dims)


third = judged([1 / 3, 1 / 3, 1 / 3])
answered = frame[judges].isin(three_labels).all(axis=1).to_numpy()
ways = {
    "a third each": (votes, third),
    "counts as 0": (votes, judged([1, 0, 0])),
    "left out": (votes[answered], third[answered]),
}
rules = ("plurality", "agreement")
agreeing = {name: evaluation.survey_equivalence(*way, *rules) for name, way in ways.items()}
calibrated = evaluation.survey_equivalence(votes, papers.calibrated(third, votes))
plots.power_curve(agreeing["a third each"])

# %%
plots.power_curve(calibrated, centred=True)

# %%
for name, found in agreeing.items():
    print(f"no answer {name}: {found['score'].values.round(3)}, {found['words'].values}")
print(f"cross-entropy: {calibrated['words'].values}")
score = {name: float(found["score"].sel(classifier=judges[0])) for name, found in agreeing.items()}
gain = calibrated["classifier_gain"].to_series()

# %% tags=["remove-cell"]
for found in (calibrated, *agreeing.values()):
    assert (found["equivalence"].fillna(0) < 1).all() and (found["censored"] != "above").all()
assert not folder or score["left out"] > max(score["a third each"], score["counts as 0"])
assert all(gain[judge] < 0 < gain[f"{judge}, calibrated"] for judge in judges)

# %% [markdown]
# Neither model is worth one person. Dawid and Skene's model gives a reference: it takes all five as raters of a hidden
# truth and says how many bits a label of each tells of it; there an unread answer is missing. It puts them in the same order.
# It is another question: its truth is what people and models have in common, and errors are taken to be independent.

# %%
long = frame[people + judges].rename_axis("item").reset_index()
long = long.melt("item", var_name="rater", value_name="label").query("label in @three_labels")
panel = inference.sample(models.dawid_skene(models.Labels.from_table(long)), draws=500, **QUIET)
information = evaluation.rater_quality(panel)["information"].mean(("chain", "draw")).to_series()
print(information.round(2).to_string())
print(gain.round(2).to_string(), f"one person {float(calibrated['information_gain'][1]):.2f}")

# %% tags=["remove-cell"]
assert information[people].min() > information[judges].max()
assert information.idxmin() == gain[2:].idxmin().removesuffix(", calibrated")
