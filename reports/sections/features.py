"""Report section on the features of the items: their worth in answers, and their effects."""

from typing import Any

import numpy as np
import xarray as xr

from ...evaluation import EvaluationError, feature_effects, feature_worth
from ...evaluation.features.worth import EFFECT
from ..page import Row, Section, mean_with_ends
from ..wording import percent, with_interval

KEY = "features"
MOST = 15  # effects on the page
WARY = 0.1  # share of items whose leave-one-out weights are unreliable, from which it is said


def feature_sections(tree: xr.DataTree, seed: int) -> list[Section]:
    """Return the section on the features of the items; none if the model has none."""
    if "posterior" not in tree.children or EFFECT not in tree["posterior"]:
        return []
    effects = feature_effects(tree)
    rows = _rows(effects)
    facts: dict[str, Any] = {"features": effects.sizes["feature"]}
    try:
        worth = feature_worth(tree, random_seed=seed)
    except EvaluationError as error:
        said, facts["why_not"] = f"What they are worth is not known: {error}.", str(error)
    else:
        facts |= _facts(worth)
        said = _of_labels(facts) if "gain" in facts else _of_scores(facts)
    clear = sum(row["5 %"] > 0 or row["95 %"] < 0 for row in rows)
    unit = "Of scores in their units" if "category" not in effects.dims else _unit(effects)
    text = (
        f"{said} The table has the effect of one standard deviation of each feature, the other features being the same, the "
        f"largest first, with 90 % intervals; {clear:,} of {len(rows):,} lie on one side of zero. {unit}. Effects are "
        "associations of this data set, and features that correlate share one: a small effect does not say that a feature is "
        "useless, nor a large one that it is a cause. A classifier whose outputs are among the features agrees with itself here; "
        "only probabilities by evaluation.prediction_features are told apart."
    )
    return [
        Section("What the features tell", text, rows=rows, file="features", key=KEY, facts=facts, most=MOST)
    ]


def _unit(effects: xr.Dataset) -> str:
    """Return what the effects of labels are."""
    names = effects["category"].to_numpy().astype(str).tolist()
    if len(names) == 2:
        return f"They are changes of the log odds of {names[1]} against {names[0]}"
    return "They are changes of the log odds of a category against the (geometric) mean of the others"


def _rows(effects: xr.Dataset) -> list[Row]:
    """Return rows of effects, the largest first; of two categories only the second is named."""
    if effects.sizes.get("category") == 2:
        effects = effects.isel(category=[1])
    dims = [d for d in ("feature", "category") if d in effects.dims]
    flat = effects.transpose(*dims)
    order = np.argsort(-np.abs(flat["mean"].to_numpy()).ravel(), kind="stable")
    rows = []
    for index in zip(*np.unravel_index(order, flat["mean"].shape), strict=True):
        own = flat.isel(dict(zip(dims, map(int, index), strict=True)))
        ids = {dim: str(own[dim].item()) for dim in dims}
        numbers = {"effect": "mean", "5 %": "lower", "95 %": "upper", "P(effect > 0)": "positive"}
        rows.append(ids | {name: float(own[of]) for name, of in numbers.items()})
    return rows


def _facts(worth: xr.Dataset) -> dict[str, Any]:
    """Return mean and 90 % interval of each quantity; the median of the worth of scores, which has no mean."""
    facts: dict[str, Any] = {}
    for name in ("worth", "gain", "explained"):
        if name in worth:
            facts[name] = mean_with_ends(worth[name].to_numpy())
    if "explained" in worth:
        facts["worth"] = {"median": float(worth["worth"].median())} | facts["worth"]
        del facts["worth"]["mean"]
    if "gold_gain" in worth:
        names = ("gain", "claimed", "error", "items")
        facts["gold"] = {name: worth[f"gold_{name}"].item() for name in names}
    if "censored" in worth:
        facts |= {"censored": float(worth["censored"].mean()), "unreliable": float(worth.attrs["unreliable"])}
        facts["items"] = worth.sizes["item"]
    return facts


def _figure(facts: dict[str, Any], digits: int = 2) -> str:
    """Return the mean, or the median where there is none, with its interval."""
    centre = facts["mean"] if "mean" in facts else facts["median"]
    return with_interval(centre, facts["lower"], facts["upper"], digits)


def _of_labels(facts: dict[str, Any]) -> str:
    """Return what the features of labels are worth in words."""
    gain, worth, gold = facts["gain"], facts["worth"], _of_gold(facts)
    if gain["upper"] <= 0 or worth["mean"] < 0.005:
        return (
            f"The {facts['features']:,} features tell nothing of the truth of an item whose answers are left out: in log "
            f"probability they gain {_figure(gain)} bits on average.{gold}"
        )
    more = "more than " * (facts["censored"] > 0.5)
    said = (
        f"By the model the {facts['features']:,} features of an item tell before any answer as much of its truth as "
        f"{more}{_figure(worth)} answers of a typical rater: the log probability of the truth gains {_figure(gain)} bits on "
        f"average, the answers to the item itself left out. After some answers they tell less.{gold}"
    )
    if gain["lower"] <= 0:
        said += " It may also be nothing: the interval of the gain contains zero."
    if facts["unreliable"] > WARY:
        said += (
            f" For {percent(facts['unreliable'])} of the items this is unreliable (Pareto k above .7): features are many for so "
            "few items, and the gain may be too high; hold some items out and use evaluation.log_score."
        )
    return said


ASSUMED = (
    " The model takes it that raters err regardless of the features and that log odds are linear in them. If errors follow the "
    "features, as where long texts are misread, they pass for the truth: these numbers and all certainties are then too high, "
    "and answers alone hardly tell. Items of known truth, drawn at random, do: a column gold, or evaluation.log_score of items "
    "that are held out."
)
FAR = 2.0  # standard errors below the claim from which the known truth contradicts it


def contradicted(facts: dict[str, Any]) -> bool:
    """Whether the gain of the known truth is further below the claim than chance explains."""
    gold = facts.get("gold")
    return bool(gold) and gold["claimed"] - gold["gain"] > FAR * gold["error"]


def _of_gold(facts: dict[str, Any]) -> str:
    """Return what the features tell of items of known truth, or without any what is assumed."""
    if "gold" not in facts:
        return ASSUMED
    gold = facts["gold"]
    error = f" ± {gold['error']:.2f}" if np.isfinite(gold["error"]) else ""
    said = (
        f" Of the {gold['items']:,} items of known truth, which is left out too, they gain {gold['gain']:.2f}{error} bits, where "
        f"the model claims {gold['claimed']:.2f}."
    )
    if contradicted(facts):
        said += (
            " So they tell less than the model says: raters' errors may follow the features, or log odds are not linear in them. "
            "Do not rely on the certainties of items with few answers; leave the features out, or add squares of them."
        )
    return said


def _of_scores(facts: dict[str, Any]) -> str:
    """Return what the features of scores are worth in words."""
    explained = facts["explained"]
    share = f"{percent(explained['mean'])} ({percent(explained['lower'])} to {percent(explained['upper'])})"
    return (
        f"The {facts['features']:,} features explain {share} of the variance of the locations of the items. Before any score "
        f"they tell as much of a location as {_figure(facts['worth'], 1)} scores of typical raters, in the median. Biases that "
        "raters share and that follow the features pass for the location."
    )


def worth_in_words(section: Section) -> str:
    """Return the headline on the features; "" if their worth is not known."""
    facts: Any = section.facts
    if "worth" not in facts:
        return ""
    if contradicted(facts):
        gold = facts["gold"]
        return (
            f"Do not rely on the features: of {gold['items']:,} items of known truth they tell {gold['gain']:.2f} bits, where "
            f"the model claims {gold['claimed']:.2f}."
        )
    if "gain" in facts and facts["gain"]["lower"] <= 0:
        return "Whether the features tell anything of an item's truth is not clear."
    kind = "answers" if "gain" in facts else "scores"
    digits = 2 if "gain" in facts else 1
    assumed = ", if raters err regardless of them" if "gain" in facts and "gold" not in facts else ""
    return f"The features of an item are worth {_figure(facts['worth'], digits)} {kind} of a typical rater{assumed}."
