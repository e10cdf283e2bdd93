"""Report sections on comparisons: leaderboard, qualities, raters, win probabilities."""

from typing import Any

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .. import evaluation
from ..evaluation import plots
from ..models import Comparisons
from ..reports import Section
from ..reports.classifiers import shown_pairs, verdict
from ..reports.words import interval
from .concordances import concordances
from .standings import (
    equals_in_words,
    leaderboard_rows,
    rater_rows,
    raters_in_words,
    scale_in_words,
    tie_certainty,
)

__all__ = ["comparison_section", "concordance_section", "model_in_words", "vote_sections"]

PROB = 0.9
MOST_DRAWN = 60  # items plotted of the leaderboard
MOST_MET = 40  # items of the win matrix
MOST_KINDS = 6  # values of an attribute that are coloured


def model_in_words(tree: xr.DataTree) -> str:
    """Return a sentence on the parts of a model of comparisons."""
    posterior = tree["posterior"]
    if "reliability" not in posterior:
        raters = "Raters are taken as alike"
    elif "reliability_deviation" in posterior:
        raters = "Each rater has a reliability, which may be below zero"
    else:
        raters = "Each rater has a reliability"
    ties = "a tie is an outcome" if "tie" in posterior else "there are no ties"
    sides = "may have an advantage" if "left_bias" in posterior else "has no advantage"
    return f"{raters}; {ties}; the left side {sides}. "


def vote_sections(tree: xr.DataTree, votes: Comparisons) -> list[Section]:
    """Return the sections leaderboard, quality, raters (if the model has them), and win probabilities."""
    board = leaderboard_rows(tree, votes, PROB)
    intervals = evaluation.rank_intervals(tree, PROB)
    groups = evaluation.tied_groups(tree, tie_certainty(PROB))
    text = (
        f"Rank 1 is the best. Items share a rank where none is below the first of them with {tie_certainty(PROB):.0%} "
        f"probability; intervals hold {PROB:.0%}. P(best) is the probability to be the best of all."
    )
    sections = [
        Section(
            "Leaderboard",
            text,
            [plots.leaderboard(intervals, groups, most=MOST_DRAWN)],
            board,
            "leaderboard",
            key="leaderboard",
        ),
        Section(
            "Quality",
            f"{scale_in_words(tree)} {equals_in_words(tree, PROB)}".rstrip(),
            [plots.quality_forest(intervals, most=MOST_DRAWN)],
        ),
    ]
    if raters := rater_rows(tree, votes, PROB):
        sections.append(_raters_section(tree, votes, raters))
    best = [str(row["item"]) for row in board[:MOST_MET]]
    whole = "" if len(board) <= MOST_MET else f" The {MOST_MET} best items are shown."
    sections.append(_wins_section(tree, best, whole))
    return sections


def _raters_section(tree: xr.DataTree, votes: Comparisons, raters: list[dict[str, Any]]) -> Section:
    """Return the section on rater reliabilities, with a figure for each attribute of few values."""
    signed = "reliability_deviation" in tree["posterior"]
    text = f"{raters_in_words(raters, signed, PROB)} The more reliable a rater, the more often the better item wins."
    kinds = [
        name
        for name, values in votes.rater_attributes.items()
        if len(np.unique(values)) <= MOST_KINDS
    ]
    figures = []
    for kind in kinds or [None]:
        figure = Figure(figsize=(8, 4), layout="constrained")
        reliability = tree["posterior"].to_dataset()["reliability"]
        plots.rater_reliability(reliability, kind, probability=PROB, ax=figure.add_subplot())
        figures.append(figure)
    return Section("Raters", text, figures, raters, "raters", key="raters")


def _wins_section(tree: xr.DataTree, items: list[str], whole: str) -> Section:
    """Return the section on win probabilities between any two of the items."""
    few = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset().sel(item=items)})
    few.attrs = tree.attrs
    ties = "tie" in few["posterior"]
    expected = evaluation.win_probability(few)
    above = evaluation.preference_probability(few)
    rows = [
        {
            "item": items[i],
            "other": items[j],
            "P(wins)": float(expected["win"][i, j]),
            **({"P(tie)": float(expected["tie"][i, j])} if ties else {}),
            "P(loses)": float(expected["win"][j, i]),
            "P(better)": float(above[i, j]),
        }
        for apart in range(1, len(items))  # neighbours first: their order is least certain
        for i, j in enumerate(range(apart, len(items)))
    ]
    label = "points of row against column" if ties else "P(row beats column)"
    half = " A tie is half a point." if ties else ""
    text = (
        f"How the vote of an average rater between two items would go.{half}{whole} In the table neighbours in rank come first, "
        "and P(better) is the probability that the quality of the item is above that of the other."
    )
    figure = plots.win_matrix(expected["points"], items, label=label)
    return Section("Who beats whom", text, [figure], rows, "wins", key="wins")


def concordance_section(tree: xr.DataTree, orders: xr.DataArray) -> Section:
    """Return the section on the concordance of proposed rankings (classifier, item) with the posterior."""
    text = (
        "Kendall's tau-b of each order with the qualities of every posterior draw: 1 is the same order, 0 no relation, -1 the "
        "reverse. The last row is the order of the posterior means: about as close as the votes let anybody come. The "
        "intervals hold 90 % and count what the votes leave open."
    )
    rows = concordances(tree, orders)
    shown = [
        {
            "classifier": row["classifier"],
            "mean": row["mean"],
            "90 % interval": interval(row["lower"], row["upper"]),
        }
        for row in rows
    ]
    return Section(
        "Predictions",
        text,
        rows=rows,
        file="metrics",
        key="metrics",
        facts={"probability": PROB},
        shown=shown,
    )


def comparison_section(pairs: list[dict[str, Any]]) -> Section:
    """Return the section that compares proposed rankings; `pairs` are rows of `order_pairs`."""
    text = f"By concordance. {verdict(pairs[0])} All orders meet the same draws of the qualities."
    return Section(
        "Comparison",
        text,
        rows=pairs,
        file="comparison",
        key="comparison",
        facts={"headline": "concordance"},
        shown=shown_pairs(pairs),
    )
