"""Report sections on comparisons: leaderboard, qualities, raters, win probabilities, proposed rankings."""

from collections.abc import Sequence
from itertools import combinations
from typing import Any

import numpy as np
import xarray as xr
from arviz_stats.base.array import array_stats
from matplotlib.figure import Figure
from scipy.special import expit, ndtr

from ... import evaluation, papers
from ..._messages import escaped, way
from ...evaluation import plots
from ...models import Comparisons
from ...models.data.reading.comparison_tables import LEFT, RIGHT, TIE
from ...posterior.groups import tree_like
from ...posterior.links import LOGISTIC
from ...posterior.schema import SAMPLE, posterior_with_attributes
from ..metric_names import CONCORDANCE
from ..page import Row, Section, table_rows
from ..wording import shown_interval, with_interval
from .metrics import difference_sentence, shown_pairs
from .vote_covariates import at_equal_covariates, covariate_sections, has_covariates, names_of_covariates

NAMED = 6  # raters named in a sentence


def tie_certainty(prob: float) -> float:
    """Return the probability above which an item ranks lower: 1 minus one tail of a central interval."""
    return (1 + prob) / 2


def votes_by_item(votes: Comparisons) -> dict[str, np.ndarray]:
    """Count the votes of every item: arrays (item,) of votes, won, lost, tied."""
    n = len(votes.items)
    on_left, on_right = (
        [np.bincount(side, votes.count * (votes.outcome == own), n).astype(int) for own in (LEFT, RIGHT, TIE)]
        for side in (votes.left, votes.right)
    )
    won, lost = on_left[LEFT] + on_right[RIGHT], on_left[RIGHT] + on_right[LEFT]
    tied = on_left[TIE] + on_right[TIE]
    return {"votes": won + lost + tied, "won": won, "lost": lost, "tied": tied}


def leaderboard_rows(tree: xr.DataTree, votes: Comparisons, prob: float) -> list[dict[str, Any]]:
    """Return a table row per item, the best first; rank is that of the first item of a group that cannot be separated."""
    board = evaluation.rank_intervals(tree, prob)
    group = evaluation.tied_groups(tree, tie_certainty(prob)).to_numpy()
    order = np.lexsort((board["mean_rank"], board["median_rank"]))
    first = {number: place for place, number in reversed(list(enumerate(group[order], 1)))}
    columns = {
        "rank": [first[number] for number in group],
        "item": votes.items.astype(str),
        "rank from": board["lower"].astype(int),
        "rank to": board["upper"].astype(int),
        "quality": board["quality"],
        "quality from": board["quality_lower"],
        "quality to": board["quality_upper"],
        "P(best)": board["best"],
        **votes_by_item(votes),
    }
    return table_rows(columns, order)


def rater_rows(
    tree: xr.DataTree, votes: Comparisons, prob: float, sides: xr.Dataset | None = None
) -> list[dict[str, Any]]:
    """Return a table row per rater, with an interval of probability `prob`, the most reliable first; none if raters are alike.

    `sides` is the result of `evaluation.side_test`: raters who prefer a side have the numbers in their row.
    """
    if "reliability" not in tree["posterior"]:
        return []
    reliability = tree["posterior"]["reliability"]
    tail = (1 - prob) / 2
    low, median, high = reliability.quantile([tail, 0.5, 1 - tail], SAMPLE).to_numpy()
    columns = {
        "rater": votes.raters.astype(str),
        **{name: values.astype(str) for name, values in votes.rater_attributes.items()},
        "votes": np.bincount(votes.annotation_rater, votes.count, len(votes.raters)).astype(int),
        "reliability": median,
        "from": low,
        "to": high,
    }
    if sides is not None and sides["one_sided"].any():
        columns[PREFERS] = np.where(sides["one_sided"], _side_shares(sides), "")
    return table_rows(columns, np.argsort(-median, kind="stable"))


# --- Votes that say little about the items: raters who prefer a side, cycles ---

PREFERS = "prefers a side"  # column of raters
SURE = 0.05  # of the test of all raters together


def _side_shares(sides: xr.Dataset) -> np.ndarray:
    """Return for each rater the side of most votes, as text: "left in 40 of 44"."""
    left, decided = sides["left"].to_numpy(), sides["decided"].to_numpy()
    said = [
        f"left in {a:,} of {n:,}" if 2 * a > n else f"right in {n - a:,} of {n:,}"
        for a, n in zip(left.tolist(), decided.tolist(), strict=True)
    ]
    return np.array(said, dtype=object)


def side_for(whom: str) -> str:
    """Return the option or argument of an advantage of the left side."""
    return way(f"--left-side {whom}", f'left_side="{whom}"')


def one_sided_in_words(tree: xr.DataTree, sides: xr.Dataset) -> str:
    """Return a warning of raters who prefer a side, unless the model has an advantage of the side for each; "" if none does."""
    one_sided = sides["one_sided"].to_numpy()
    if not one_sided.any() or sides_by_rater(tree):
        return ""
    order = np.argsort(sides["p_value"].to_numpy(), kind="stable")
    shares = _side_shares(sides)
    named = [escaped(f"{sides['rater'].to_numpy()[k]}: {shares[k]}") for k in order if one_sided[k]]
    more = "; ..." if len(named) > NAMED else ""
    return (
        f"{len(named):,} of {len(one_sided):,} raters prefer a side, whatever stands there ({'; '.join(named[:NAMED])}{more} "
        "decided votes). Such raters agree with each other, so that this model may call them the most reliable and rank items by "
        f"where they stood. Fit again with an advantage of the side for each rater: {side_for('rater')}."
    )


def sides_in_words(tree: xr.DataTree, sides: xr.Dataset) -> str:
    """Return a sentence on the sides of all votes together, or on why they cannot be tested; "" if there is nothing to say."""
    left, decided, p = (sides.attrs[name] for name in ("left", "decided", "p_value"))
    if sides.attrs["sides"] == "winner":
        side = "left" if left else "right"
        return (
            f"The winner of every vote is on the {side}: the table does not say where the items stood, and raters who prefer a "
            "side cannot be found."
        )
    if p >= SURE:
        return ""
    if sides.attrs["sides"] == "fixed":
        return (
            f"The left side has {left:,} of the {decided:,} decided votes, but sides were not assigned at random: items stand "
            "on one side too often. A preference for a side cannot be told from one for the items."
        )
    if sides_by_rater(tree):
        return "The model has an advantage of the left side for each rater."
    text = f"The left side has {left:,} of the {decided:,} decided votes, more than chance (p = {p:.1g})."
    if 2 * left < decided:
        text = f"The right side has {decided - left:,} of the {decided:,} decided votes, more than chance (p = {p:.1g})."
    if "left_bias" not in tree["posterior"] and not sides["one_sided"].any():
        text += f" {side_for('shared')} gives the model an advantage of the left side."
    return text


def no_order_in_words(board: Sequence[Row]) -> str:
    """Return why no item can be called first, from the rows of the leaderboard; "" if one can."""
    if any(row["rank"] > 1 for row in board):
        return ""
    if not any(row["won"] or row["lost"] for row in board):
        return "All votes are ties: they hold no order, that of the table is by chance, and no item is first."
    if all(row["won"] == row["lost"] for row in board):
        return (
            "Every item has won as often as it has lost, as in a cycle where a beats b, b beats c and c beats a: the votes "
            "hold no order, that of the table is by chance, and no item is first."
        )
    return "No item can be called first: all share rank 1, and the order of the table is not settled by the votes."


def sides_by_rater(tree: xr.DataTree) -> bool:
    """Whether the model has an advantage of the left side for each rater."""
    return "left_bias" in tree["posterior"] and "rater" in tree["posterior"]["left_bias"].dims


def votes_between_equals(tree: xr.DataTree, prob: float) -> dict[str, tuple[float, float, float]]:
    """Return mean and interval of the shares of ties, and of left among decided votes, between items of equal quality."""
    posterior = tree["posterior"].to_dataset()
    tie, bias = (posterior[name].to_numpy() if name in posterior else 0.0 for name in ("tie", "left_bias"))
    if sides_by_rater(tree):
        tie, bias = np.asarray(tie)[..., None], posterior["left_bias"].transpose(*SAMPLE, "rater").to_numpy()
    if tree.attrs["model"] == LOGISTIC and "cut_point" not in posterior:
        shares = {"tie": tie / (2 * np.cosh(bias / 2) + tie), "left": expit(bias)}
    else:
        law = expit if tree.attrs["model"] == LOGISTIC else ndtr
        won, lost = law(bias - tie), law(-bias - tie)
        shares = {"tie": 1 - won - lost, "left": won / (won + lost)}
    if sides_by_rater(tree):  # a rater at random
        shares = {name: np.mean(share, axis=-1) for name, share in shares.items()}
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
        named[name].format(f"{100 * mean:.0f} % ({100 * low:.0f} to {100 * high:.0f} %)")
        for name, (mean, low, high) in votes_between_equals(tree, prob).items()
    ]
    return f"Of two items of equal quality: {', '.join(parts)}." if parts else ""


def weight_of_strength(tree: xr.DataTree, prob: float) -> tuple[float, float, float] | None:
    """Return mean and interval of the weight of strength; None if the model has none."""
    if "strength_weight" not in tree["posterior"]:
        return None
    weight, tail = tree["posterior"]["strength_weight"].to_numpy(), (1 - prob) / 2
    return (float(weight.mean()), *np.quantile(weight, [tail, 1 - tail]).tolist())


def weight_in_words(tree: xr.DataTree, prob: float) -> str:
    """Return a sentence on the weight of strength; "" if the model has none."""
    if (weight := weight_of_strength(tree, prob)) is None:
        return ""
    mean, low, high = (f"{100 * own:.0f}" for own in weight)
    return f"Strength of votes counts {mean} % ({low} to {high} %) of what it could, and who won fully."


ONE_MORE_WINS = {True: 0.731, False: 0.841}  # by the logistic law, and by the normal one of a comparison


def scale_in_words(tree: xr.DataTree) -> str:
    """Return a sentence on the scale of the qualities."""
    posterior = tree["posterior"]
    wins = ONE_MORE_WINS[tree.attrs["model"] == LOGISTIC]
    judge = ", for an average judge" if "reliability" in posterior else ""
    return f"Quality +1 wins {100 * wins:.0f} % against quality 0{judge}; their mean is 0."


def raters_in_words(raters: list[dict[str, Any]], signed: bool, prob: float) -> str:
    """Return one or two sentences on raters, rows of `rater_rows`, below the average and, if `signed`, below zero."""
    below = [row["rater"] for row in reversed(raters) if row["to"] < 1]
    above = sum(row["from"] > 1 for row in raters)
    text = (
        f"Reliability 1 is the mean of the raters. The {100 * prob:.0f} % interval lies above it for {above:,} of them, and "
        f"below it for {_named(below)}."
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


BEST_GUESS = "(posterior mean)"
ENDS = (0.05, 0.95)
MOST_DRAWS = 1000  # more would hardly change the intervals, and the cost is linear


def concordances(tree: xr.DataTree, orders: xr.DataArray) -> list[dict[str, Any]]:
    """Return rows of Kendall's tau-b of rankings (classifier, item), last the posterior mean, with draws of the qualities."""
    some = _some_draws(tree)
    guess = some.mean(("chain", "draw")).expand_dims(classifier=[BEST_GUESS])
    rows = []
    for classifier, found in {**_by_order(some, orders), **_by_order(some, guess)}.items():
        lower, upper = np.quantile(found, ENDS).tolist()
        row = {"metric": CONCORDANCE, "classifier": classifier, "mean": float(found.mean())}
        row |= {"lower": lower, "upper": upper, "sd": float(found.std()), "mcse": _mcse(found)}
        rows.append(row)
    return rows


def order_pairs(tree: xr.DataTree, orders: xr.DataArray) -> list[dict[str, Any]]:
    """Return a row per pair of proposed rankings (classifier, item), on the same draws, the one with the better mean first."""
    found = _by_order(_some_draws(tree), orders)
    names = sorted(found, key=lambda name: -found[name].mean())
    rows = []
    for better, worse in combinations(names, 2):
        apart = found[better] - found[worse]
        lower, upper = np.quantile(apart, ENDS).tolist()
        ahead = float((apart > 0).mean() + 0.5 * (apart == 0).mean())
        row = {"metric": CONCORDANCE, "classifier": better, "other": worse, "difference": float(apart.mean())}
        row |= {"lower": lower, "upper": upper, "probability_better": ahead, "mcse": _mcse(apart)}
        rows.append(row)
    return rows


def _some_draws(tree: xr.DataTree) -> xr.DataArray:
    """Return the qualities, thinned evenly."""
    quality = tree["posterior"].to_dataset()["quality"]
    step = -(-quality.sizes["chain"] * quality.sizes["draw"] // MOST_DRAWS)
    return quality.isel(draw=slice(None, None, step))


def _by_order(quality: xr.DataArray, orders: xr.DataArray) -> dict[str, np.ndarray]:
    """Return the concordance of each ranking with each draw, shape (chain, draw)."""
    return {
        str(name): papers.quality_concordance(quality, orders.isel(classifier=i, drop=True))
        .transpose("chain", "draw")
        .to_numpy()
        for i, name in enumerate(orders["classifier"].to_numpy())
    }


def _mcse(values: np.ndarray) -> float:
    """Return the Monte-Carlo error of the mean of draws (chain, draw); 0 if all are equal."""
    error: Any = array_stats.mcse(values) if np.ptp(values) > 0 else 0.0
    return float(error)


def and_more(items: Sequence[object]) -> str:
    """Return " and 3 more" after the first of several items."""
    return f" and {len(items) - 1:,} more" if len(items) > 1 else ""


# --- Report sections on comparisons: leaderboard, qualities, raters, win probabilities ---

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
    if "cut_point" in posterior:
        ties += ", and by how much an item is better counts"
    sides = "may have an advantage" if "left_bias" in posterior else "has no advantage"
    if sides_by_rater(tree):
        sides += ", another for each rater"
    if has_covariates(tree):
        sides += f"; a vote also depends on how the two differ in {names_of_covariates(tree)}"
    return f"{raters}; {ties}; the left side {sides}. {tastes_in_words(tree, PROB)}".rstrip() + " "


def tastes_in_words(tree: xr.DataTree, prob: float) -> str:
    """Return a sentence on the tastes that groups of raters share, with intervals of probability `prob`; "" if none do."""
    if "taste" not in tree["posterior"]:
        return ""
    spread = tree["posterior"]["taste"].std("item")
    tail = (1 - prob) / 2
    bounds = spread.quantile([0.5, tail, 1 - tail], SAMPLE).transpose("group_of_raters", "quantile")
    names = spread["group_of_raters"].to_numpy().tolist()
    found = [
        f"{name} {with_interval(median, low, high, 2)}"
        for name, (median, low, high) in zip(names, bounds.to_numpy().tolist(), strict=True)
    ]
    return (
        "Raters of a group share a taste beside the quality of an item, so that many of them tell less than as many who are "
        f"independent. Standard deviation of the tastes over the items, in the unit of the qualities: {', '.join(found)}. "
        "Qualities are what independent raters see."
    )


def side_test_of(tree: xr.DataTree, votes: Comparisons) -> xr.Dataset:
    """Return the test of sides of each rater, against the share of the left side that the model has fitted for all."""
    shares = {} if sides_by_rater(tree) else votes_between_equals(tree, PROB)
    return evaluation.side_test(votes, left=shares["left"][0] if "left" in shares else 0.5)


def vote_sections(tree: xr.DataTree, votes: Comparisons, board: list[dict[str, Any]]) -> list[Section]:
    """Return the sections leaderboard, quality, raters (if the model has them), and win probabilities."""
    sides = side_test_of(tree, votes)
    one_sided, open_order = one_sided_in_words(tree, sides), no_order_in_words(board)
    intervals = evaluation.rank_intervals(tree, PROB)
    groups = evaluation.tied_groups(tree, tie_certainty(PROB))
    text = (
        f"Rank 1 is the best. Items share a rank where none is below the first of them with {100 * tie_certainty(PROB):.0f} % "
        f"probability; intervals hold {100 * PROB:.0f} %. P(best) is the probability to be the best of all."
    )
    text = " ".join(filter(None, (one_sided, open_order, text, sides_in_words(tree, sides))))
    facts = {
        "first": None if open_order or one_sided else board[0]["item"],
        "warnings": [*filter(None, (one_sided, open_order))],
        "one_sided_raters": sides["rater"].to_numpy()[sides["one_sided"].to_numpy()].astype(str).tolist(),
        "left": sides.attrs["left"],
        "decided": sides.attrs["decided"],
        "sides": sides.attrs["sides"],
        "sides_p_value": sides.attrs["p_value"],
    }
    plot = plots.leaderboard(intervals, groups, most=MOST_DRAWN)
    own = {"facts": facts, "alarm": bool(facts["warnings"])}
    sections = [Section("Leaderboard", text, [plot], board, "leaderboard", key="leaderboard", **own)]
    parts = (
        scale_in_words(tree),
        equals_in_words(tree, PROB),
        weight_in_words(tree, PROB),
        at_equal_covariates(tree),
    )
    text = " ".join(filter(None, parts))
    sections.append(Section("Quality", text, [plots.quality_forest(intervals, most=MOST_DRAWN)]))
    if raters := rater_rows(tree, votes, PROB, sides):
        sections.append(_raters_section(tree, votes, raters, one_sided))
    best = ids_by_rank(tree, board)[:MOST_MET]
    whole = "" if len(board) <= MOST_MET else f" The {MOST_MET} best items are shown."
    sections.append(_wins_section(tree, best, whole))
    return [*sections, *covariate_sections(tree, PROB)]


def _raters_section(
    tree: xr.DataTree, votes: Comparisons, raters: list[dict[str, Any]], one_sided: str
) -> Section:
    """Return the section on reliabilities, after the warning `one_sided`, with a figure for each attribute of few values."""
    signed = "reliability_deviation" in tree["posterior"]
    text = f"{raters_in_words(raters, signed, PROB)} The more reliable a rater, the more often the better item wins."
    text = f"{one_sided} {text}".lstrip()
    kinds = [name for name, values in votes.rater_attributes.items() if len(np.unique(values)) <= MOST_KINDS]
    figures = []
    for kind in kinds or [None]:
        figure = Figure(figsize=(8, 4), layout="constrained")
        reliability = posterior_with_attributes(tree)["reliability"]
        plots.rater_reliability(reliability, kind, probability=PROB, ax=figure.add_subplot())
        figures.append(figure)
    return Section("Raters", text, figures, raters, "raters", key="raters", alarm=bool(one_sided))


def ids_by_rank(tree: xr.DataTree, board: Sequence[Row]) -> list[Any]:
    """Return the ids of the items as the tree has them, in the order of the leaderboard."""
    ids = {str(item): item for item in tree["posterior"]["item"].to_numpy().tolist()}
    return [ids[row["item"]] for row in board]


def _wins_section(tree: xr.DataTree, ids: list[Any], whole: str) -> Section:
    """Return the section on win probabilities between any two of the items."""
    few = tree_like(tree, {"posterior": tree["posterior"].to_dataset().sel(item=ids)})
    items = [str(item) for item in ids]
    ties = "tie" in few["posterior"]
    expected = evaluation.win_probability(few)
    above = evaluation.preference_probability(few)
    rows = []
    for apart in range(1, len(items)):  # neighbours first: their order is least certain
        for i, j in enumerate(range(apart, len(items))):
            row = {"item": items[i], "other": items[j], "P(wins)": float(expected["win"][i, j])}
            row |= {"P(tie)": float(expected["tie"][i, j])} if ties else {}
            rows.append(row | {"P(loses)": float(expected["win"][j, i]), "P(better)": float(above[i, j])})
    label = "points of row against column" if ties else "P(row beats column)"
    half = " A tie is half a point." if ties else ""
    alike = f", if they do not differ in {names_of_covariates(tree)}" if has_covariates(tree) else ""
    text = (
        f"How the vote of an average rater between two items would go{alike}.{half}{whole} In the table neighbours in rank come "
        "first, and P(better) is the probability that the quality of the item is above that of the other."
    )
    figure = plots.win_matrix(expected["points"], ids, label=label)
    return Section("Win probabilities", text, [figure], rows, "wins", key="wins")


def concordance_section(tree: xr.DataTree, orders: xr.DataArray) -> Section:
    """Return the section on the concordance of proposed rankings (classifier, item) with the posterior."""
    text = (
        "Agreement with what the votes leave open, not with the true order, which nobody knows: Kendall's tau-b of each order "
        "with the qualities of every posterior draw: 1 is the same order, 0 no relation, -1 the "
        "reverse. The last row is the order of the posterior means: roughly the highest concordance that the votes can show. The "
        "intervals hold 90 % and include the posterior uncertainty of the qualities."
    )
    rows = concordances(tree, orders)
    shown = [{name: row[name] for name in ("classifier", "mean")} | shown_interval(row) for row in rows]
    return Section("Predictions", text, (), rows, "metrics", "metrics", {"probability": PROB}, shown=shown)


def comparison_section(pairs: list[dict[str, Any]]) -> Section:
    """Return the section that compares proposed rankings; `pairs` are rows of `order_pairs`."""
    text = f"By concordance. {difference_sentence(pairs[0])} All orders meet the same draws of the qualities."
    facts, shown = {"headline": "concordance"}, shown_pairs(pairs)
    return Section("Comparison", text, (), pairs, "comparison", "comparison", facts, shown=shown)
