"""Table rows and sentences for a posterior of comparisons: items by rank, raters by reliability."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit, ndtr

from .. import evaluation
from ..models import Comparisons
from ..models.data.comparison_tables import LEFT, RIGHT, TIE

SAMPLE = ("chain", "draw")

NAMED = 6  # raters named in a sentence


def tie_certainty(prob: float) -> float:
    """Return the probability above which an item ranks lower: 1 minus one tail of a central interval."""
    return (1 + prob) / 2


def tally(votes: Comparisons) -> dict[str, np.ndarray]:
    """Count the votes of every item: arrays (item,) of votes, won, lost, tied."""
    on_left, on_right = (
        [
            np.bincount(side, votes.count * (votes.outcome == outcome), len(votes.items)).astype(int)
            for outcome in (LEFT, RIGHT, TIE)
        ]
        for side in (votes.left, votes.right)
    )
    won, lost = on_left[LEFT] + on_right[RIGHT], on_left[RIGHT] + on_right[LEFT]
    tied = on_left[TIE] + on_right[TIE]
    return {"votes": won + lost + tied, "won": won, "lost": lost, "tied": tied}


def leaderboard_rows(tree: xr.DataTree, votes: Comparisons, prob: float) -> list[dict[str, Any]]:
    """Return a table row per item, the best first.

    Columns: rank, shared by items that cannot be separated from the first of their group; item; interval of
    the rank; mean and interval of the quality; probability of being the best; votes. `prob` is that of the
    intervals.
    """
    board = evaluation.rank_intervals(tree, prob)
    group = evaluation.tied_groups(tree, tie_certainty(prob)).to_numpy()
    order = np.lexsort((board["mean_rank"], board["median_rank"]))
    first = {number: place for place, number in reversed(list(enumerate(group[order], 1)))}
    counts = tally(votes)
    values = {name: board[name].to_numpy() for name in board.data_vars}
    return [
        {
            "rank": first[group[i]],
            "item": str(votes.items[i]),
            "rank from": int(values["lower"][i]),
            "rank to": int(values["upper"][i]),
            "quality": float(values["quality"][i]),
            "quality from": float(values["quality_lower"][i]),
            "quality to": float(values["quality_upper"][i]),
            "P(best)": float(values["best"][i]),
            **{name: int(count[i]) for name, count in counts.items()},
        }
        for i in order
    ]


def rater_rows(tree: xr.DataTree, votes: Comparisons, prob: float) -> list[dict[str, Any]]:
    """Return a table row per rater, the most reliable first; none if the raters are alike.

    Columns: rater, attributes, votes, median and interval of the reliability. `prob` is that of the
    intervals.
    """
    if "reliability" not in tree["posterior"]:
        return []
    reliability = tree["posterior"]["reliability"]
    tail = (1 - prob) / 2
    low, median, high = reliability.quantile([tail, 0.5, 1 - tail], SAMPLE).to_numpy()
    given = np.bincount(votes.annotation_rater, votes.count, len(votes.raters)).astype(int)
    return [
        {
            "rater": str(votes.raters[k]),
            **{name: str(values[k]) for name, values in votes.rater_attributes.items()},
            "votes": int(given[k]),
            "reliability": float(median[k]),
            "from": float(low[k]),
            "to": float(high[k]),
        }
        for k in np.argsort(-median, kind="stable")
    ]


def votes_between_equals(tree: xr.DataTree, prob: float) -> dict[str, tuple[float, float, float]]:
    """Return mean and interval of the outcome shares between items of equal quality.

    "tie" is the share of ties, "left" the share of the left side among decided votes.
    """
    posterior = tree["posterior"].to_dataset()
    bias, tie = (posterior[name].to_numpy() if name in posterior else 0.0 for name in ("left_bias", "tie"))
    if tree.attrs["model"] == "bradley_terry":
        shares = {"tie": tie / (2 * np.cosh(bias / 2) + tie), "left": expit(bias)}
    else:
        won, lost = ndtr(bias - tie), ndtr(-bias - tie)
        shares = {"tie": 1 - won - lost, "left": won / (won + lost)}
    has = {"tie": "tie" in posterior, "left": "left_bias" in posterior}
    tail = (1 - prob) / 2
    return {
        name: (float(np.mean(share)), *np.quantile(share, [tail, 1 - tail]).tolist())
        for name, share in shares.items()
        if has[name]
    }


def equals_in_words(tree: xr.DataTree, prob: float) -> str:
    """Return a sentence on votes between items of equal quality; "" without ties and left bias."""
    named = {"tie": "tie in {} of the votes", "left": "the left one has {} of the decided votes"}
    parts = [
        named[name].format(f"{mean:.0%} ({low:.0%} to {high:.0%})")
        for name, (mean, low, high) in votes_between_equals(tree, prob).items()
    ]
    return f"Of two items of equal quality: {', '.join(parts)}." if parts else ""


def scale_in_words(tree: xr.DataTree) -> str:
    """Return a sentence on the scale of the qualities."""
    posterior = tree["posterior"]
    if tree.attrs["model"] == "bradley_terry":
        means = "one more is odds of e to 1 to win"
    else:
        means = "one more is one standard deviation of what a comparison shows"
    if "reliability" not in posterior:
        return f"Qualities have mean zero; {means}."
    mean = "arithmetic" if "reliability_deviation" in posterior else "geometric"
    return f"Qualities have mean zero; {means}, in the eyes of a rater of reliability 1, the {mean} mean."


def raters_in_words(raters: list[dict[str, Any]], signed: bool, prob: float) -> str:
    """Return one or two sentences on raters below the average and, if `signed`, with negative reliability.

    `raters` are rows of `rater_rows`; `prob` is that of the intervals.
    """
    below = [row["rater"] for row in reversed(raters) if row["to"] < 1]
    above = sum(row["from"] > 1 for row in raters)
    text = (
        f"Reliability 1 is the mean of the raters. The {prob:.0%} interval lies above it for {above:,} of them, and below it "
        f"for {_named(below)}."
    )
    if not signed:
        return text
    against = [row["rater"] for row in reversed(raters) if row["to"] < 0]
    return f"{text} Below zero, preferring what is worse: {_named(against)}."


def _named(raters: list[str]) -> str:
    """Return the number of raters, and the names of the first."""
    if not raters:
        return "none"
    more = ", ..." if len(raters) > NAMED else ""
    return f"{len(raters):,} ({', '.join(raters[:NAMED])}{more})"
