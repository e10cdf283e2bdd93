"""Command `rank`: leaderboard on the terminal, with intervals, ties and rater reliabilities."""

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import xarray as xr

from .. import inference
from .._messages import step
from ..evaluation.argument_checks import check_probability
from ..inference.methods import Route, route_of
from ..inference.storage.permissions import private_files
from ..models import Comparisons
from ..reports.analyses.votes import VoteAnalysis
from ..reports.page import write_table
from ..reports.sections.comparisons import (
    equals_in_words,
    leaderboard_rows,
    one_sided_in_words,
    rater_rows,
    raters_in_words,
    scale_in_words,
    side_test_of,
    sides_in_words,
    tastes_in_words,
    tie_certainty,
    weight_in_words,
)
from ..reports.sections.predictive_fit import predictive_fit_sections
from ..reports.sections.vote_covariates import effects_in_words
from ..reports.study import Settings
from .fitting import build, draw
from .tables import read_votes
from .terminal import print_answers, print_note, print_table, print_text, width

WIDE = 100  # characters per line needed for all columns
FEW_RATERS = 10  # up to which all raters are shown
SECONDS = {
    "hmc": 1.5e-8,
    "nuts": 8e-7,
}  # CPU, for each vote with covariates and draw (benchmarks/vote_covariates.py)
LONG = 3.0  # seconds from which the duration is said
ENDS = 4  # raters shown at either end, if there are more


def rank_votes(
    votes: Path, columns: Sequence[str], settings: Settings, *, prob: float, top: int, out: Path | None
) -> None:
    """Fit a table of votes and print the leaderboard; `out` is a CSV file for all items.

    `prob` is that of the intervals, `top` the number of items printed.
    """
    check_probability("--prob", prob)
    if top < 1:
        raise ValueError(f"--top {top}: expected a whole number from 1")
    if out is not None and out.suffix.lower() != ".csv":
        raise ValueError(f"--out {out}: name a .csv file")
    with step("Reading"):
        data, tables = read_votes(votes, settings, columns)
    model = build(data, settings, settings.reliabilities[0], tables)
    if settings.vote_covariates and (note := duration_in_words(len(data), route_of(model), settings)):
        print_note(note)
    (tree,) = draw(lambda _: model, settings, log_likelihood=False).values()
    with step("Ranking"):
        analysis = VoteAnalysis(data, tree, model, settings)
        board, sides = leaderboard_rows(tree, data, prob), side_test_of(tree, data)
        raters = rater_rows(tree, data, prob, sides)
        diagnosis = inference.diagnose(tree).attrs
    with step("Checking"):
        (fit, *_) = predictive_fit_sections(analysis.replicated, data.rater_attributes, analysis.checked)
    print_answers(analysis.answers)
    print_text("")
    _show_board(board, data, top, prob)
    print_text(f"\nItems that share a rank (=) cannot be told apart at {100 * tie_certainty(prob):.0f} %.")
    if warning := one_sided_in_words(tree, sides):
        print_text(warning)
    print_text(scale_in_words(tree))
    said = (
        equals_in_words(tree, prob),
        weight_in_words(tree, prob),
        sides_in_words(tree, sides),
        tastes_in_words(tree, prob),
    )
    for sentence in (*said, effects_in_words(tree, prob)):
        if sentence:
            print_text(sentence)
    print_text(fit.text)
    print_text(diagnosis["verdict"])
    _show_raters(raters, data, tree, prob)
    if out is not None:
        out.parent.mkdir(parents=True, exist_ok=True)
        with private_files(settings.anonymize, out):
            write_table(out, board)
        print_text(f"wrote {out}")


def duration_in_words(votes: int, route: Route, settings: Settings) -> str:
    """Return a sentence on how long the draws will take, for votes with covariates; "" for less than a few seconds."""
    seconds = votes * settings.chains * settings.draws * SECONDS[route.method]
    if seconds < LONG:
        return ""
    time = f"{seconds:.0f} CPU seconds" if seconds < 120 else f"{seconds / 60:.0f} CPU minutes"
    why = f", as NUTS draws them: {route.reason}" if route.method == "nuts" else ""
    return f"{votes:,} votes with covariates: drawing takes about {time}{why}"


def _show_board(board: list[dict[str, Any]], data: Comparisons, top: int, prob: float) -> None:
    """Print the best items."""
    holders = Counter(row["rank"] for row in board)
    rows = [
        {
            "rank": f"{row['rank']}{'=' if holders[row['rank']] > 1 else ' '}",
            "item": row["item"],
            f"{100 * prob:.0f} % ranks": f"{row['rank from']}-{row['rank to']}",
            "quality": f"{row['quality']:z.2f}",
            f"{100 * prob:.0f} % interval": _interval(row["quality from"], row["quality to"]),
            "best": _percent(row["P(best)"]),
            "votes": row["votes"],
            "won": row["won"],
            "lost": row["lost"],
            "tied": row["tied"],
        }
        for row in board[:top]
    ]
    unneeded = {"votes"} if width() < WIDE else set()
    if not data.has_ties:
        unneeded.add("tied")
    kept = [{name: cell for name, cell in row.items() if name not in unneeded} for row in rows]
    print_table(kept, f"{len(board):,} items, {len(data):,} votes", folds="item")
    if len(board) > top:
        print_text(f"... and {len(board) - top:,} more; --top {len(board)} shows them, --out writes them")


def _show_raters(raters: list[dict[str, Any]], data: Comparisons, tree: xr.DataTree, prob: float) -> None:
    """Print the most and least reliable raters, and those clearly below average."""
    if not raters:
        known = "not told apart" if data.anonymous else f"{len(data.raters):,}, taken as alike"
        print_text(f"raters: {known}")
        return
    ends = raters if len(raters) <= FEW_RATERS else [*raters[:ENDS], *raters[-ENDS:]]
    rows = [
        {name: cell for name, cell in row.items() if name not in ("reliability", "from", "to")}
        | {
            "reliability": f"{row['reliability']:.2f}",
            f"{100 * prob:.0f} % interval": _interval(row["from"], row["to"]),
        }
        for row in ends
    ]
    of = "" if len(ends) == len(raters) else f", the {ENDS} most and the {ENDS} least reliable"
    print_text("")
    print_table(rows, f"{len(raters):,} raters{of}", folds="rater")
    print_text(raters_in_words(raters, "reliability_deviation" in tree["posterior"], prob))


def _interval(lower: float, upper: float) -> str:
    """Return both ends of an interval, aligned over rows."""
    return f"{lower:z5.2f} to {upper:z5.2f}"


def _percent(share: float) -> str:
    """Return a probability as a percentage, never rounded to 0 % or 100 %."""
    if share < 0.005:
        return "< 1 %"
    return "> 99 %" if share > 0.995 else f"{100 * share:.0f} %"
