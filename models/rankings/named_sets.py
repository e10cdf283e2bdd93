"""Test of whether categories that a rater did not name were below those named, or perhaps never shown.

The models take them to be below. Then a category that is ahead where it is named is named by more raters than the others of its
item. It is not where raters ranked only what they were shown, or where few of them thought of the better one.
"""

from statistics import NormalDist

import numpy as np

from ..._messages import short_repr, warn_user
from ..data.errors import DataError, DataWarning
from ..data.rankings import PartialRankings

LEVEL = 0.01  # bound of the probability of a warning where the sets named are as the models say


def warn_of_named_sets(rankings: PartialRankings) -> None:
    """Warn if a category may not have been shown to raters."""
    if (found := perhaps_not_shown(rankings)) is None:
        return
    best, few = found
    warn_user(
        f"{best} is ahead where raters name it, but only {few}. Not named is taken as below all named: if it was not shown, the "
        'order is wrong. Say what was: from_table(..., shown="rank") if raters ranked all they were shown, else shown= a column',
        DataWarning,
    )


def refuse_shown_sets(rankings: PartialRankings, name: str) -> None:
    """Raise if raters were shown some of the categories only, for a method that averages inverse ranks."""
    if rankings.has_shown_sets:
        raise DataError(
            "the raters were shown some of the categories only, and an inverse rank does not say among which",
            allowed="rankings of all categories",
            remedy="use plackett_luce or plackett_luce_mle, which compare a category with those shown beside it",
            where=name,
        )


def perhaps_not_shown(rankings: PartialRankings) -> tuple[str, str] | None:
    """Category ahead where it is named but named by fewer raters than others, each beyond chance, and how many name it."""
    if rankings.has_shown_sets:
        return None
    size = np.diff(rankings.block_start)
    first, last = (
        rankings.block_start[rankings.annotation_start[:-1]],
        rankings.block_start[rankings.annotation_start[1:]],
    )
    annotation = np.repeat(np.arange(len(first)), np.diff(rankings.annotation_start))  # of a block
    above = rankings.block_start[:-1] - first[annotation]
    below = last[annotation] - rankings.block_start[1:]
    named = (last - first)[annotation]
    several = named > 1
    most = np.maximum(named - 1, 1)
    ahead, spread = (
        np.where(several, (below - above) / most, 0.0),
        np.where(several, (named + 1) / (3 * most), 0.0),
    )
    n_items, n = len(rankings.items), len(rankings.categories)
    pair = np.repeat(rankings.annotation_item[annotation].astype(np.int64), size) * n + rankings.category_code
    pairs, code, times = np.unique(pair, return_inverse=True, return_counts=True)
    item, category = np.divmod(pairs, n)
    ahead, spread = (np.bincount(code, np.repeat(own, size)) for own in (ahead, spread))
    raters = np.bincount(rankings.annotation_item, minlength=n_items)[item]
    mean = (np.bincount(item, times, n_items) / np.maximum(np.bincount(item, minlength=n_items), 1))[
        item
    ] / raters
    deficit = (mean - times / raters) / np.sqrt(np.maximum(mean * (1 - mean), 1e-12) / raters)
    score = np.minimum(ahead / np.sqrt(np.maximum(spread, 1e-12)), deficit)
    k = int(score.argmax())
    if score[k] < NormalDist().inv_cdf(1 - LEVEL / (2 * len(score))):
        return None
    best, of = rankings.categories[category[k]].item(), rankings.items[item[k]].item()
    return short_repr(best), f"{times[k]:,} of {raters[k]:,} name it for item {short_repr(of)}"
