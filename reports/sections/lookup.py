"""Items one by one: plausibilities, location or quality of each, its raters and what each said, and predictions."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from ...evaluation import truth_certainty
from ...models import Comparisons, Labels, PartialRankings, Scores
from ...models.data.reading.comparison_tables import LEFT, RIGHT, TIE
from ...posterior.matching import match_items
from ...posterior.plausibility import Block, Plausibility
from ...posterior.schema import OTHER
from ..items import Items, ItemTable
from ..page import Row
from ..study import RankingsOrLabels

LEAST = 0.0005  # plausibilities below it would be shown as 0.000
DIGITS = 6  # of plausibilities
MOST_NAMED = 5  # categories of a prediction
ENDS = (0.05, 0.95)
SAID = ("raters", "Raters and what each said")
PREDICTED = ("predictions", "Predictions")
SURE, BEST, HIGHEST = "the least certain first", "the best first", "the highest first"


def truth_items(
    tree: xr.DataTree, data: RankingsOrLabels, rows: Sequence[Row], predicted: xr.DataArray | None = None
) -> Items:
    """Return the items of rankings or labels; `rows` are those of the section on certainty, the least certain first."""
    said = _labels_said(data) if isinstance(data, Labels) else _rankings_said(data)
    tables = [_plausibilities(tree, data.items), said, *_predictions(data.items, predicted)]
    facts = rows
    if isinstance(data, Labels) and (data.gold >= 0).any():
        names = [*_ids(data.categories), None]  # unknown is -1, the last
        gold = {item: names[code] for item, code in zip(_ids(data.items), data.gold.tolist(), strict=True)}
        facts = [{**row, "gold label": gold[row["item"]]} for row in rows]
    return Items(facts, SURE, _ids(data.items), tables)


def score_items(
    scores: Scores, rows: Sequence[Row], sides: Sequence[Row] = (), predicted: xr.DataArray | None = None
) -> Items:
    """Return the items of scores; `rows` are those of the section on locations, `sides` those on the sides of thresholds.

    With thresholds those whose side of the first is least certain come first, otherwise the highest.
    """
    counts = np.asarray(scores.count)
    cells = {**_raters(scores, scores.annotation_rater), "score": scores.score, **_times(counts)}
    tables = [ItemTable.of(*SAID, scores.annotation_item, len(scores.items), cells)]
    tables += _predictions(scores.items, predicted)
    if not sides:
        return Items(rows, HIGHEST, _ids(scores.items), tables)
    above: dict[str, dict[str, float]] = {}
    for row in sides:
        above.setdefault(row["item"], {})[f"P(above {row['threshold']})"] = row["P(above)"]
    locations = {row["item"]: row for row in rows}
    facts = [{**locations[item], **own} for item, own in above.items()]  # in the order of the first threshold
    return Items(facts, SURE, _ids(scores.items), tables)


def vote_items(votes: Comparisons, rows: Sequence[Row], orders: xr.DataArray | None = None) -> Items:
    """Return the items of comparisons; `rows` are those of the leaderboard, `orders` (classifier, item) proposed scores."""
    ids, n = votes.items.astype(str), len(votes.items)
    item, against = np.r_[votes.left, votes.right], np.r_[votes.right, votes.left]
    of_left = np.array(["won", "lost", "tied"], object)
    of_right = of_left[[RIGHT, LEFT, TIE]]
    cells = {
        **_raters(votes, np.r_[votes.annotation_rater, votes.annotation_rater]),
        "against": ids[against],
        "side": np.repeat(["left", "right"], len(votes.left)),
        "outcome": np.r_[of_left[votes.outcome], of_right[votes.outcome]],
        **_times(np.r_[votes.count, votes.count]),
    }
    tables = [ItemTable.of("votes", "Votes on this item", item, n, cells)]
    if orders is not None:
        values = orders.transpose("classifier", "item").to_numpy()
        places = rankdata(-values, "min", axis=1).astype(int)
        named = np.repeat(orders["classifier"].to_numpy().astype(str), n)
        proposed = {"classifier": named, "score": values.ravel().astype(float), "rank": places.ravel()}
        tables.append(ItemTable.of(*PREDICTED, np.tile(np.arange(n), len(values)), n, proposed))
    return Items(rows, BEST, ids.tolist(), tables)


def _ids(items: np.ndarray) -> list[str]:
    """Return ids as text."""
    return items.astype(str).tolist()


# --- Plausibilities ---


def _plausibilities(tree: xr.DataTree, items: np.ndarray) -> ItemTable:
    """Return the plausibilities of each item, the largest first: with 90 % intervals if they are the truth of a draw."""
    view = Plausibility.of(tree)
    item = np.repeat(match_items(view.items, items, "annotation"), np.diff(view.start))
    names = np.append(view.categories, OTHER)[view.code]
    if view.is_of_category:
        mean = truth_certainty(tree)["probability"].to_numpy().ravel().round(DIGITS)
        columns = {"category": names, "probability": mean}
    else:
        mean, low, high = np.concatenate(view.map_blocks(_mean_and_ends), axis=1).round(DIGITS)
        columns = {"category": names, "plausibility": mean, "5 %": low, "95 %": high}
    order = np.lexsort((-mean, item))
    order = order[mean[order] >= LEAST]
    columns = {name: np.asarray(cells)[order] for name, cells in columns.items()}
    title = "Plausibilities of the categories"
    bar = "probability" if view.is_of_category else "plausibility"
    return ItemTable.of("plausibilities", title, item[order], len(items), columns, bar)


def _mean_and_ends(block: Block, _: np.random.Generator) -> np.ndarray:
    """Return mean and ends of the 90 % interval of each cell, shape (3, cell)."""
    return np.stack([block.draws.mean(axis=1), *np.quantile(block.draws, ENDS, axis=1)])


# --- What the raters said ---


def _raters(data: Labels | Scores | Comparisons, code: np.ndarray) -> dict[str, np.ndarray]:
    """Return the columns of the rater and its attributes; none if the raters are anonymous."""
    if data.anonymous:
        return {}
    taken = {"label", "score", "times", "against", "side", "outcome"}
    attributes = {
        f"attribute {name}" if name in taken else name: values
        for name, values in data.rater_attributes.items()
    }
    return {"rater": data.raters.astype(str)[code]} | {
        name: values.astype(str)[code] for name, values in attributes.items()
    }


def _times(count: np.ndarray) -> dict[str, np.ndarray]:
    """Return the column of the number of times that a rater said the same, if one did so more than once."""
    return {"times": count} if (count > 1).any() else {}


def _labels_said(labels: Labels) -> ItemTable:
    """Return the answers to each item."""
    cells = {
        **_raters(labels, labels.annotation_rater),
        "label": labels.categories.astype(str)[labels.label_code],
        **_times(labels.count),
    }
    return ItemTable.of(*SAID, labels.annotation_item, len(labels.items), cells)


def _rankings_said(rankings: PartialRankings) -> ItemTable:
    """Return the rankings of each item, in words such as "a > b = c", where b and c are tied."""
    names = rankings.categories.astype(str)[rankings.category_code].tolist()
    ends = rankings.block_start.tolist()
    blocks = [" = ".join(names[first:end]) for first, end in pairwise(ends)]
    ends = rankings.annotation_start.tolist()
    texts = [" > ".join(blocks[first:end]) for first, end in pairwise(ends)]
    cells = {
        "rater": rankings.raters.astype(str)[rankings.annotation_rater],
        "ranking": np.array(texts, object),
    }
    return ItemTable.of(*SAID, rankings.annotation_item, len(rankings.items), cells)


# --- Predictions ---


def _predictions(items: np.ndarray, predicted: xr.DataArray | None) -> list[ItemTable]:
    """Return the table of what each classifier said of each item; none without predictions."""
    if predicted is None:
        return []
    if "classifier" not in predicted.dims:
        predicted = predicted.expand_dims(classifier=["predictions"])
    predicted = predicted.isel(item=match_items(items, predicted["item"].to_numpy()))
    last = "category" if "category" in predicted.dims else "position"
    values = predicted.transpose("classifier", "item", last).to_numpy()
    values = values.reshape(-1, values.shape[-1])
    if last == "position":
        texts = [_named([str(label) for label in row if str(label) != ""]) for row in values.tolist()]
    else:
        texts = _scored(values, predicted["category"].to_numpy().astype(str))
    named = np.repeat(predicted["classifier"].to_numpy().astype(str), len(items))
    item = np.tile(np.arange(len(items)), predicted.sizes["classifier"])
    cells: Mapping[str, Any] = {"classifier": named, "prediction": np.array(texts, object)}
    return [ItemTable.of(*PREDICTED, item, len(items), cells)]


def _scored(values: np.ndarray, names: np.ndarray) -> list[str]:
    """Return each row of scores or of members of a set (row, category) in words, the best first."""
    if values.dtype.kind == "b":
        return [_named(names[row].tolist()) for row in values]
    best = np.argsort(-values, axis=1, kind="stable")[:, : MOST_NAMED + 1]
    scores = np.take_along_axis(values, best, axis=1)
    given = scores > (0 if (values >= 0).all() else -np.inf)  # the rest is not predicted
    given[:, 0] = scores[:, 0] > -np.inf
    return [
        _named([f"{name} ({score:.3g})" for name, score, is_given in zip(*own, strict=True) if is_given])
        for own in zip(names[best].tolist(), scores.tolist(), given.tolist(), strict=True)
    ]


def _named(labels: Sequence[str]) -> str:
    """Return the first labels of a prediction in words."""
    return ", ".join([*labels[:MOST_NAMED], *["..."] * (len(labels) > MOST_NAMED)])
