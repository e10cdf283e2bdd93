"""Report section on covariates of votes, such as lengths of the answers: what decides votes beside the qualities."""

from typing import Any

import numpy as np
import xarray as xr
from scipy.special import expit, ndtr

from ...posterior.links import LOGISTIC
from ..page import Row, Section
from ..wording import percent_with_interval

KEY, EFFECT, SCALE = "vote_covariates", "vote_effect", "vote_covariate_scale"
DIM = "vote_covariate"
CAUTION = (
    "Effects are associations of these votes: whatever goes along with a covariate, also what raters value for good reason, "
    "counts as its effect and not as quality. Of an item that nearly always has more of it, the votes hardly tell one from the "
    "other, and the prior decides."
)


def has_covariates(tree: xr.DataTree) -> bool:
    """Whether the model has covariates of votes."""
    return EFFECT in tree["posterior"]


def names_of_covariates(tree: xr.DataTree) -> str:
    """Return the names of the covariates of the votes as a list in words."""
    *names, last = tree["posterior"][DIM].to_numpy().astype(str).tolist()
    return f"{', '.join(names)} and {last}" if names else last


def at_equal_covariates(tree: xr.DataTree) -> str:
    """Return a sentence on the votes that qualities are about; "" without covariates of votes."""
    if not has_covariates(tree):
        return ""
    return (
        f"Qualities, ranks and probabilities are those of answers that do not differ in {names_of_covariates(tree)}, whose "
        "effects on votes are estimated beside them."
    )


def effect_rows(tree: xr.DataTree, prob: float) -> list[Row]:
    """Return a table row per covariate, the largest effect first, with intervals of probability `prob`.

    ``difference`` is the root mean square difference of the two sides in the units of the table, and ``effect`` what it adds to
    the scale of the vote. ``wins`` is the share of decided votes won by the side with more, between items of equal quality.
    """
    effect = tree["posterior"][EFFECT].transpose("chain", "draw", DIM).to_numpy()
    scale = tree["constant_data"][SCALE].to_numpy()
    wins, tail = _share_won(tree, effect), (1 - prob) / 2
    names = tree["posterior"][DIM].to_numpy().astype(str).tolist()
    rows: list[Row] = []
    for k in np.argsort(-np.abs(effect.mean((0, 1))), kind="stable").tolist():
        row: dict[str, Any] = {"covariate": names[k], "difference": float(scale[k])}
        for name, draws in (("effect", effect[..., k]), ("wins", wins[..., k])):
            low, high = np.quantile(draws, [tail, 1 - tail]).tolist()
            row |= {name: float(draws.mean()), f"{name} from": low, f"{name} to": high}
        rows.append(row | {"P(effect > 0)": float((effect[..., k] > 0).mean())})
    return rows


def _share_won(tree: xr.DataTree, x: np.ndarray) -> np.ndarray:
    """Return the share of decided votes that one side wins at x (chain, draw, covariate), without an advantage of a side."""
    if tree.attrs["model"] == LOGISTIC:
        return expit(x)  # Davidson's ties leave the odds as they are
    tie = 0.0
    if "tie" in tree["posterior"]:
        tie = tree["posterior"]["tie"].transpose("chain", "draw").to_numpy()[..., None]
    won, lost = ndtr(x - tie), ndtr(-x - tie)
    return won / (won + lost)


def _favoured(row: Row) -> str:
    """Return what a covariate does to votes between items of equal quality."""
    more = row["effect"] >= 0
    ends = (row["wins"], row["wins from"], row["wins to"])
    share = percent_with_interval(*(ends if more else (1 - ends[0], 1 - ends[2], 1 - ends[1])))
    said = f"the one with {'more' if more else 'less'} {row['covariate']} wins {share} of the decided votes"
    unclear = row["effect from"] <= 0 <= row["effect to"]
    return f"{said}{', so that it is not clear which is favoured' * unclear}, at a difference of {row['difference']:.3g}"


def effects_in_words(tree: xr.DataTree, prob: float) -> str:
    """Return sentences on the covariates of the votes, with intervals of probability `prob`; "" without any."""
    return _rows_in_words(tree, effect_rows(tree, prob)) if has_covariates(tree) else ""


def _rows_in_words(tree: xr.DataTree, rows: list[Row]) -> str:
    """Return sentences on the covariates of a table."""
    said = "; ".join(map(_favoured, rows))
    return f"{at_equal_covariates(tree)} Of two items of equal quality: {said} (the root mean square of these votes)."


def favours_in_words(section: Section) -> str:
    """Return the headline on the covariates whose effects are clear; "" if none is."""
    clear = [row for row in section.rows if not row["effect from"] <= 0 <= row["effect to"]]
    return (
        f"Votes depend on more than quality: of two items of equal quality {'; '.join(map(_favoured, clear))}."
        if clear
        else ""
    )


def covariate_sections(tree: xr.DataTree, prob: float) -> list[Section]:
    """Return the section on the covariates of the votes; none if the model has none."""
    if not has_covariates(tree):
        return []
    unit = (
        "changes of the log odds"
        if tree.attrs["model"] == LOGISTIC
        else "in standard deviations of what a comparison shows"
    )
    rows = effect_rows(tree, prob)
    text = (
        f"{_rows_in_words(tree, rows)} Effects are {unit} of a vote per difference of that size, the same for all raters; "
        f"intervals hold {100 * prob:.0f} %. {CAUTION}"
    )
    facts = {"probability": prob, "covariates": len(rows)}
    return [
        Section(
            "What votes favour beside quality", text, rows=rows, file="vote_covariates", key=KEY, facts=facts
        )
    ]
