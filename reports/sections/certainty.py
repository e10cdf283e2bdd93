"""Report sections on certainty, and its relation to the agreement of the raters."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from ... import evaluation, models, papers
from ...evaluation import plots
from ..page import Section, table_rows
from ..study import RankingsOrLabels, annotations_by_item, best_guess
from ..wording import share_interval, share_with_interval, with_interval
from .metrics import metric_rows, scored

MOST_STRIPS = 6
OWN_GUESS = "(the posterior)"  # so that it is not taken for a classifier in the prior
NEARLY = 0.99
ITEMS_SHOWN = 10
NORMAL_90 = 1.6449  # normal quantile of 90 % intervals from standard errors


def best_guess_scores(tree: xr.DataTree, seed: int) -> xr.Dataset:
    """Return the expected accuracy of the most plausible labels, with uncertainty of raters and items."""
    guess = best_guess(tree, seed).assign_coords(classifier=OWN_GUESS)
    return scored(tree, guess, ["accuracy"], seed)["accuracy"]


@dataclass(frozen=True)
class BestGuesses:
    """The most plausible label of every item and how sure it is, each found when it is first asked for."""

    tree: xr.DataTree
    seed: int = 1  # for the members of OTHER and the weights of the items

    @cached_property
    def certainty(self) -> xr.DataArray:
        """Certainty of the most plausible label (item,)."""
        return evaluation.annotation_certainty(self.tree, random_seed=1)

    @cached_property
    def labels(self) -> xr.Dataset:
        """The most plausible labels, as `evaluation.plausible_labels`."""
        return evaluation.plausible_labels(self.tree, random_seed=1)

    @cached_property
    def scores(self) -> xr.Dataset:
        """Expected accuracy of the most plausible labels, as `best_guess_scores`."""
        return best_guess_scores(self.tree, self.seed)


def certainty_in_words(
    scores: xr.Dataset,
    certainty: np.ndarray,
    *,
    what: Literal["label", "side"] = "label",
    sure: Literal["right", "plausible"] = "right",
) -> tuple[str, dict[str, object]]:
    """Return a sentence on the certainty (item,) of each `what`, and its numbers; `scores` are the `best_guess_scores`.

    `sure` is "plausible" of rankings, whose model has no truth.
    """
    (best,) = metric_rows({"certainty": scores})
    below, total = int((certainty < NEARLY).sum()), len(certainty)
    lower, upper = share_interval(below, total)
    right = with_interval(best["mean"], best["lower"], best["upper"])
    guess = "The most plausible label" if what == "label" else "The more probable side"
    text = (
        f"{guess} of an item is {sure} with probability {right} on average: no prediction of one {what} can be "
        f"expected to do better. The certainty is below .99 for {share_with_interval(below, total)} of the items. "
        "Intervals hold 90 %."
    )
    facts = {name: best[name] for name in best if name not in ("metric", "classifier")}
    share = {"below_99": below / total, "below_99_lower": lower, "below_99_upper": upper}
    return text, {**facts, **share}


def certainty_section(best: BestGuesses, data: RankingsOrLabels) -> list[Section]:
    """Return the section on the certainty of the top labels."""
    tops = {"top 1": best.certainty}
    tops |= {f"top {j}": evaluation.annotation_certainty(best.tree, top=j, random_seed=1) for j in (2, 3)}
    first = best.certainty.to_numpy()
    columns = {
        "item": data.items.astype(str),
        "annotations": annotations_by_item(data),
        "most plausible": best.labels["label"].to_numpy()[:, 0, 0].astype(str),
        **{f"certainty {name}": values for name, values in tops.items()},
    }
    rows = table_rows(columns, np.argsort(first, kind="stable"))
    sure = "plausible" if isinstance(data, models.PartialRankings) else "right"
    words, facts = certainty_in_words(best.scores, first, sure=sure)
    text = (
        "Annotation certainty is the posterior probability of the most probable set of best labels. "
        f"{words} The least certain items come first."
    )
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    plots.sorted_certainty(tops, ax=figure.add_subplot())
    return [
        Section("Certainty", text, [figure], rows, "certainty", "certainty", facts=facts, most=ITEMS_SHOWN)
    ]


def agreement_section(tree: xr.DataTree, data: RankingsOrLabels, seed: int) -> Section | None:
    """Return the section on certainty against agreement; None if no item has raters to compare."""
    found = papers.certainty_and_agreement(tree, data, random_seed=seed)
    enters, least = found.attrs["items"], found.attrs["at_least"]
    agreement = found["agreement"].to_numpy()
    order = np.argsort(np.where(np.isnan(agreement), np.inf, agreement), kind="stable")
    names = ("raters", "certainty", "agreement")
    columns = {"item": found["item"].to_numpy().astype(str), **{name: found[name] for name in names}}
    rows = table_rows(columns, order[~np.isnan(agreement[order])])
    if not rows:
        return None
    text = (
        "Agreement is the share of raters who agree with the top label of all the others. Where they disagree, certainty "
        "ought to be low."
    )
    facts: dict[str, object] = {"items": enters, "at_least": least}
    r = float(found["pearson"])
    if np.isfinite(r) and enters > 3:
        lower, upper = _correlation_interval(r, enters)
        facts |= {"pearson": r, "lower": lower, "upper": upper, "spearman": float(found["spearman"])}
        text += (
            f" Over the {enters:,} items with {least} raters or more the correlation of certainty and agreement is "
            f"{with_interval(r, lower, upper, 2)}."
        )
    figure = Figure(figsize=(5.4, 4.6), layout="constrained")
    plots.certainty_agreement(found, ax=figure.add_subplot())
    title, key = "Certainty and agreement", "certainty.agreement"
    file = "certainty_and_agreement"
    return Section(title, text, [figure], rows, file, key, facts, part=True, most=ITEMS_SHOWN)


def _correlation_interval(r: float, n: int) -> tuple[float, float]:
    """Return the 90 % interval of a correlation of n pairs, by Fisher's transform."""
    if abs(r) >= 1:
        return r, r
    middle, half = math.atanh(r), NORMAL_90 / math.sqrt(n - 3)
    return math.tanh(middle - half), math.tanh(middle + half)


def strips_section(best: BestGuesses, data: RankingsOrLabels, point: Mapping[str, xr.DataArray]) -> Section:
    """Return strip plots of the least certain items, with point estimates by name."""
    certainty = best.certainty
    items = certainty["item"].to_numpy()[np.argsort(certainty.to_numpy(), kind="stable")[:MOST_STRIPS]]
    nobody = " OTHER is what nobody ranked." if isinstance(data, models.PartialRankings) else ""
    figure = plots.plausibility_strips(best.tree, items.tolist(), point=point)
    text = (
        "The least certain items: median, 50 % and 90 % intervals of the plausibilities, with "
        f"{' and '.join(point)} as point estimates.{nobody}"
    )
    return Section("Plausibilities", text, [figure])
