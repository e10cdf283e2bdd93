# ---
# jupyter:
#   jupytext:
#     formats: ipynb,py:percent
#     text_representation:
#       extension: .py
#       format_name: percent
# ---

# %% [markdown]
# # Rating scales: cut late, and keep the uncertainty
#
# How toxic is a comment, how good a photograph, how credible an event? Raters answer on a scale.
# Most data sets take the mean, cut it at a threshold, and call the result the truth. Here the cut
# comes last, after a posterior. Three questions: how certain is the side an item is on, what do
# strict and lax raters do to a score, and does it help to know that labels have an order?
# Toxicity and photographs are simulated in the shape of two public sets. Credibility is CredBank,
# read from the folder that `RATERZOO_DATA` names, or a simulated stand-in.
#
# *Runs in less than two minutes on two cores.*

# %%
import os
import warnings
from pathlib import Path

import arviz as az
import numpy as np
import pandas as pd
import xarray as xr
from raterzoo import evaluation, inference, models, papers
from raterzoo.evaluation import plots
from scipy.special import expit, logsumexp
from scipy.stats import norm, spearmanr

SEED = 1
QUIET = {"random_seed": SEED, "progressbar": False}
SAMPLES = ("chain", "draw")

# %% [markdown]
# ## Scores of comments and photographs
#
# 500 comments have ten scores each, from -2 (toxic) to 2. 300 photographs have about two hundred
# votes each, from 1 to 10. Scores of an item are taken as normal, with a location and a variance of
# the item's own, so that the posterior is exact: draws are independent, and their means agree with
# the closed form.

# %%
made = {
    "toxicity": models.simulators.toxicity_scores(items=500, random_seed=SEED),
    "aesthetics": models.simulators.aesthetic_scores(items=300, random_seed=SEED),
}
trees = {}
for name, simulated in made.items():
    print(f"{name}: {simulated.data!r}")
    model = models.normal_scores(simulated.data)
    trees[name] = inference.sample(model, **QUIET)
    assert trees[name].attrs["method"] == "exact"
    exact = papers.normal_scores_posterior(model)
    drawn = trees[name]["posterior"]["location"].mean(SAMPLES, dtype=float)
    spread = np.sqrt(exact["rate"] / exact["mean_weight"] / (exact["shape"] - 1))
    z = (drawn - exact["mean"]) / spread * np.sqrt(4000)  # there are 4,000 independent draws
    assert float(abs(z).max()) < 4.5

# %% [markdown]
# ## Above the threshold?
#
# There are two answers to this question. The *threshold probability* is that of the next score: it
# counts what is not known of the item and that raters differ. The *annotation certainty* is that of
# the side on which most scores of the item would be: more scores take all doubt away. With two
# hundred votes the side of most photographs is known. Where the next vote falls is known of none.

# %%
HALF_WAY = {"toxicity": -0.5, "aesthetics": 5.5}  # toxic: -1 or -2; good: 6 or more
certainty = {name: evaluation.threshold_certainty(tree, HALF_WAY[name]) for name, tree in trees.items()}
BOTH = ["annotation_certainty", "threshold_probability"]
doubtful = pd.DataFrame({name: (found[BOTH] < 0.99).mean().to_pandas() for name, found in certainty.items()})
print("share of items below .99", doubtful.round(3), sep="\n")
same = evaluation.annotation_certainty(papers.thresholded(trees["toxicity"], HALF_WAY["toxicity"]))
plots.threshold_certainty(certainty)

# %%
plots.threshold_distance(certainty)

# %% tags=["remove-cell"]
assert (doubtful.loc["annotation_certainty"] < 0.35).all()
assert (doubtful.loc["threshold_probability"] > 0.95).all()
assert doubtful.loc["threshold_probability", "aesthetics"] == 1
np.testing.assert_allclose(same, certainty["toxicity"]["annotation_certainty"], atol=1e-6)

# %% [markdown]
# What do more votes do? A tenth of the votes of the same photographs, against all of them. The
# certainty of the side grows. The threshold probability does not: it comes to rest where the raters
# are, who go on to differ. (With few votes it is even higher, as their noise moves items away from
# the threshold.)

# %%
table = made["aesthetics"].data.to_table()
rng = np.random.default_rng(SEED)
fewer = rng.binomial(table["count"], 0.1)
tenth = models.Scores.from_table({**table, "count": fewer}, rater=None, count="count", bounds=(1, 10))
by_votes = {
    "a tenth": evaluation.threshold_certainty(
        inference.sample(models.normal_scores(tenth), **QUIET), HALF_WAY["aesthetics"]
    ),
    "all": certainty["aesthetics"],
}
truth = made["aesthetics"].truth
above = truth["probability"][:, truth["level"] > HALF_WAY["aesthetics"]].sum(axis=1)
means = pd.DataFrame({name: found[BOTH].mean().to_pandas() for name, found in by_votes.items()})
means.loc["threshold_probability", "simulation"] = np.maximum(above, 1 - above).mean()
print(means.round(3))
sure, next_vote = (means.loc[name] for name in BOTH)

# %% tags=["remove-cell"]
assert sure["all"] > sure["a tenth"] + 0.03
assert abs(next_vote["all"] - next_vote["simulation"]) < 0.01 < next_vote["a tenth"] - next_vote["all"]

# %% [markdown]
# ## Cut between the numbers, not on one
#
# Scores are whole numbers, the normal law is not. Cut at 5 it parts the photographs' fives, half of
# them to either side, which no rule on whole numbers does. Cut half-way, at 5.5, its probability is
# that of a vote of 6 or more. The simulation knows the true probabilities. The usual cuts, toxicity
# at 0 and photographs at 5, are on a number. Toxicity suffers more: nearly half of its scores are 0,
# and the normal law puts half of a comment's zeros on the side of the toxic. Both certainties fall.
# Those of photographs hardly change, as their fives are fewer and the scale is longer.

# %%
on_a_level = {
    f"{name} at {level}": evaluation.threshold_certainty(trees[name], level)
    for name, level in (("toxicity", 0), ("aesthetics", 5))
}
mean_certainty = pd.DataFrame(
    {name: found[BOTH].mean().to_pandas() for name, found in {**certainty, **on_a_level}.items()}
)
print(mean_certainty.round(3))
cut_at = {5.0: None, 5.5: None}
for threshold in cut_at:
    found = evaluation.threshold_certainty(trees["aesthetics"], threshold)["above"].to_numpy()
    cut_at[threshold] = float((found - above).mean())
print("mean error of P(6 or more):", {t: round(error, 3) for t, error in cut_at.items()})

# %% tags=["remove-cell"]
assert (mean_certainty["toxicity at 0"] < mean_certainty["toxicity"] - 0.05).all()
assert (abs(mean_certainty["aesthetics at 5"] - mean_certainty["aesthetics"]) < 0.02).all()
assert cut_at[5.0] > 0.1
assert abs(cut_at[5.5]) < 0.01

# %% [markdown]
# ## A classifier against cut scores
#
# A made classifier knows the location of each comment up to noise. Against the cut means it has one
# accuracy. Against the posterior it has a distribution, and a lower mean: where the raters hardly
# tell the side, neither the mean nor the classifier can be sure to have it. The side of the next
# score is a harder question. There no classifier beats the mean threshold probability.

# %%
comments, threshold = made["toxicity"], HALF_WAY["toxicity"]
ids, given, sides = comments.data.items, comments.data, ["toxic", "not toxic"]
cut = papers.thresholded(trees["toxicity"], threshold, names=sides)
guess = comments.truth["location"] + rng.normal(0, 0.3, len(ids)) > threshold
predictions = xr.DataArray(np.array(sides)[guess.astype(int)][:, None], {"item": ids}, ("item", "position"))
mean_score = np.bincount(given.annotation_item, given.count * given.score) / 10
cut_mean = np.stack([mean_score <= threshold, mean_score > threshold], axis=1).astype(float)
plain = xr.DataArray(cut_mean, {"item": ids, "category": sides}, ("item", "category"))
accuracy = evaluation.top_k_accuracy(1)
adjusted = {"tree": cut, "predictions": predictions, "progressbar": False}
against = {
    "cut means": evaluation.uncertainty_adjusted(accuracy, plain, predictions, progressbar=False),
    "posterior": evaluation.uncertainty_adjusted(accuracy, **adjusted),
    "next score": evaluation.uncertainty_adjusted(accuracy, truth="sampled", random_seed=SEED, **adjusted),
}
hits = {name: float(values.mean()) for name, values in against.items()}
best = float(certainty["toxicity"]["threshold_probability"].mean())
print({name: round(value, 3) for name, value in hits.items()}, f"at best {best:.3f}")
intervals = evaluation.metric_intervals(accuracy, cut, predictions, random_seed=SEED)
print(intervals["interval"].to_pandas().round(3))

# %% tags=["remove-cell"]
assert hits["posterior"] < hits["cut means"]
assert hits["next score"] < best < hits["posterior"]
assert (intervals["sd"].sel(source="both") > intervals["sd"].sel(source="items")).all()

# %% [markdown]
# ## Strict raters and lax ones
#
# The mean of a few scores hangs on who gave them. 300 items, 30 raters, four scores for each item;
# biases have a standard deviation of .7, items one of 1. `hierarchical_scores` learns
# bias and scale of every rater from the items they share. `normal_scores` believes all raters alike:
# the biases look like disagreement about the item. One score of each item is held out.

# %%
panel = models.simulators.scores(
    items=300, raters=30, answers=4, bias=0.7, scale=0.5, unequal=0.4, random_seed=SEED
)
frame = pd.DataFrame(panel.data.to_table())
held_out = frame.groupby("item").cumcount() == np.repeat(rng.integers(4, size=300), 4)
kept, rest = models.Scores.from_table(frame[~held_out]), frame[held_out]
names = ["hierarchical_scores", "normal_scores"]
fits = {name: inference.sample(getattr(models, name)(kept), **QUIET) for name in names}
print(inference.diagnose(fits[names[0]]).attrs["verdict"])


def recovered(draws: xr.DataArray, truth: np.ndarray, dim: str, ids: np.ndarray) -> pd.Series:
    """Return root mean squared error, and width and coverage of 90 % intervals."""
    known = xr.DataArray(truth, {dim: ids}, (dim,))
    low, high = draws.astype(float).quantile([0.05, 0.95], SAMPLES)
    error = np.sqrt(((draws.mean(SAMPLES) - known) ** 2).mean())
    inside = ((low <= known) & (known <= high)).mean()
    return pd.Series({"error": error, "width": (high - low).mean(), "inside": inside}, dtype=float)


bias = fits[names[0]]["posterior"]["rater_bias"]
of_bias = recovered(bias, panel.truth["rater_bias"], "rater", panel.data.raters)
plots.rater_forest(bias, label="bias")

# %%
of_location = pd.DataFrame(
    {
        name: recovered(tree["posterior"]["location"], panel.truth["location"], "item", kept.items)
        for name, tree in fits.items()
    }
)
print("bias of the raters", of_bias.round(3), "location", of_location.round(3), sep="\n")

# %% tags=["remove-cell"]
assert fits[names[0]].attrs["method"] == "gibbs"
assert of_bias["error"] < 0.3 and of_bias["inside"] > 0.7
assert of_location.loc["error", names[0]] < 0.75 * of_location.loc["error", names[1]]
assert of_location.loc["width", names[0]] < of_location.loc["width", names[1]]
assert (of_location.loc["inside"] > 0.8).all()

# %% [markdown]
# Leave-one-out cannot compare these two. The likelihood of `hierarchical_scores` is by score, that of
# `normal_scores` by item; and without its scores nothing is known of an item, which the Pareto k of
# most items says. The held-out scores can: how probable is each of them?


# %%
def log_density(tree: xr.DataTree) -> np.ndarray:
    """Return the log posterior predictive density of each held-out score, whose item and rater are known."""
    draws = tree["posterior"].to_dataset().astype(float).stack(sample=SAMPLES)
    item = xr.DataArray(rest["item"].to_numpy(), dims="score")
    mean, scale = draws["location"].sel(item=item), draws.get("scale")
    if scale is None:
        rater = xr.DataArray(rest["rater"].to_numpy(), dims="score")
        mean, scale = (mean + draws["rater_bias"].sel(rater=rater), draws["rater_scale"].sel(rater=rater))
    else:
        scale = scale.sel(item=item)
    scores = xr.DataArray(rest["score"].to_numpy(), dims="score")
    each = norm.logpdf(scores, *(x.transpose("sample", "score") for x in (mean, scale)))
    return logsumexp(each, axis=0) - np.log(len(each))


gain = log_density(fits[names[0]]) - log_density(fits[names[1]])
error = gain.std(ddof=1) * np.sqrt(len(gain))
print(f"log density of {len(gain)} held-out scores: hierarchical +{gain.sum():.0f} (s.e. {error:.0f})")
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # what it says is the point
    by_item = az.loo(fits[names[1]], pointwise=True)

# %% tags=["remove-cell"]
assert gain.sum() > 4 * error
assert fits[names[0]]["log_likelihood"]["observed_score"].dims[-1] == "annotation"
assert float((by_item.pareto_k > 0.7).mean()) > 0.5

# %% [markdown]
# Are language models laxer than people? Ten of the raters are now called models, and score .8
# higher. With `group=` every group has a bias of its own, and its raters are pooled about that.

# %%
is_model = frame["rater"] < 10
frame = frame.assign(kind=np.where(is_model, "model", "person"), score=frame["score"] + 0.8 * is_model)
mixed = models.Scores.from_table(frame, rater_attributes=["kind"])
grouped = inference.sample(models.hierarchical_scores(mixed, group="kind"), **QUIET)
of_group = grouped["posterior"]["group_bias"].astype(float)
gap = of_group.sel(group_of_raters="model") - of_group.sel(group_of_raters="person")
low, high = gap.quantile([0.05, 0.95]).to_numpy()
made_gap = 0.8 + np.subtract(
    *(panel.truth["rater_bias"][own].mean() for own in (panel.data.raters < 10, panel.data.raters >= 10))
)
print(f"models score higher by {float(gap.mean()):.2f} (90 %: {low:.2f} to {high:.2f}); made {made_gap:.2f}")

# %% tags=["remove-cell"]
assert grouped.attrs["method"] == "gibbs"
assert low < made_gap < high
assert float((gap > 0).mean()) > 0.95

# %% [markdown]
# ## Levels in order
#
# CredBank: about thirty people say how credible an event is, from -2 (certainly inaccurate) to 2
# (certainly accurate). They are anonymous, so that all raters are alike: what is left of Dawid and
# Skene's model is `multinomial`, five kinds of event, each with shares of labels of its own.
# `ordinal` knows the order: an event has a place on one scale, and labels are parts of it. Every
# ninth event is enough to see the difference; `RATERZOO_LONG=1` takes all 1,377.

# %%
LEVELS = ["-2", "-1", "0", "1", "2"]
LONG = bool(os.environ.get("RATERZOO_LONG"))
folder = os.environ.get("RATERZOO_DATA")
if folder:
    credible = pd.read_csv(Path(folder) / "credweb.csv").iloc[:: 1 if LONG else 9, :6]
    credible.columns = ["item", *LEVELS]
else:  # one scale, and so the ordinal model is right
    located = rng.normal(size=(153, 1))
    below = expit((np.array([-3.6, -3.3, -2.3, -1.2]) - located) / 0.7)
    shares = np.diff(below, axis=1, prepend=0, append=1)
    credible = pd.DataFrame(rng.multinomial(30, shares), columns=LEVELS).reset_index(names="item")
events = models.Labels.from_counts(credible, item="item", categories=LEVELS)
print(events.report())
few = {"draws": 500, **QUIET}
with warnings.catch_warnings():
    # few draws; and where there are not five kinds of event, chains need not agree on them
    warnings.simplefilter("ignore", inference.ConvergenceWarning)
    of_levels = {
        "dirichlet": inference.sample(models.dirichlet(events), **few),
        "multinomial": inference.sample(models.multinomial(events), **few),
        "ordinal": inference.sample(
            models.ordinal(events, order=LEVELS),
            method="nuts",
            nuts_sampler="pymc",
            tune=300,
            chains=2,
            cores=1,
            **few,
        ),
    }

# %% [markdown]
# Which predicts an event that it has not seen? In the stand-in, made by one scale, `ordinal` does.
# On CredBank it does not: on every ninth event the difference is within its error, on all of them
# five free kinds predict better by more than three standard errors. They are not the five levels,
# though: of the kind called "0", 2 is the most frequent answer.

# %%
compared = {name: of_levels[name] for name in ("ordinal", "multinomial")}
with warnings.catch_warnings():
    warnings.simplefilter("ignore", UserWarning)  # some events are influential
    ranked = az.compare(compared, round_to="none")
print(ranked[["rank", "elpd", "se", "elpd_diff", "dse"]].round(1))
ahead = ranked.loc["ordinal", "elpd"] - ranked.loc["multinomial", "elpd"]
error = ranked["dse"].max()
kinds = of_levels["multinomial"]["posterior"]["confusion"].mean(SAMPLES, dtype=float)
print(kinds.to_pandas().round(2))
if not folder:
    assert ahead > 0
elif LONG:
    assert ahead < -3 * error
else:
    assert abs(ahead) < 3 * error

# %% tags=["remove-cell"]
assert not folder or kinds.sel(category="0").idxmax("answer") == "2"

# %% [markdown]
# How certain is the label of an event? It depends on what the label is. `dirichlet` asks which one
# most raters would give: thirty answers settle that for most events. `multinomial` asks of which
# kind the event is. `ordinal` asks which label one typical rater gives: that is certain of no event,
# as raters differ on each. The place on the scale keeps what a label loses; it is close to the mean
# score, without taking the levels for equally far apart.

# %%
kind, one = (evaluation.truth_certainty(of_levels[n])["certainty"] for n in ("multinomial", "ordinal"))
sure = {
    "what most would say (dirichlet)": evaluation.annotation_certainty(of_levels["dirichlet"]),
    "the kind of event (multinomial)": kind,
    "what one rater says (ordinal)": one,
}
plots.sorted_certainty(sure)

# %%
found = {name: [float(c.mean()), float((c < 0.99).mean())] for name, c in sure.items()}
print(pd.DataFrame(found, index=["mean", "share below .99"]).round(3).T)
most_say, _, one_says = found.values()
place = of_levels["ordinal"]["posterior"]["expected_location"].mean(SAMPLES)
mean_level = events.counts @ np.arange(-2, 3) / events.counts.sum(axis=1)
concordance = spearmanr(place, mean_level).statistic
print(f"rank correlation of place and mean score: {concordance:.3f}")

# %% tags=["remove-cell"]
assert most_say[0] > 0.95 and most_say[1] < 0.3
assert one_says[0] < 0.85 and one_says[1] > 0.9
assert concordance > 0.95
