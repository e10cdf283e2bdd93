"""Report section on what to annotate next: items, or pairs of items to compare."""

import math
from collections.abc import Collection, Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr

from ...inference.design import next_to_ask
from ..page import Section
from ..study import Study, annotations_by_item
from ..wording import first_names
from .certainty import BestGuesses

NAMED = 5
ITEMS_SHOWN = 10
ABOUT = "about these first"

DISPLAYED = {
    "bits": "information",
    "or": "second label",
    "with probability": "its probability",
    "whom": "most informative rater",
}


def question_section(
    rows: Sequence[Mapping[str, Any]], names: Sequence[str], whom: str = "", asked: str = ABOUT
) -> Section:
    """Section with the questions to ask next, the most informative first; `names` put them in words, `whom` says whom to ask."""
    worth = sum(row["bits"] > 0 for row in rows)
    first = first_names(names[:NAMED], joint=", " if asked == ABOUT else "; ")
    text = (
        f"Ask one more rater {asked}: {first}. They are ordered by the information expected from one more answer: the first is "
        f"100 %, and {worth:,} of {len(rows):,} are above 0. {whom}"
        if worth
        else f"No information is expected from one more answer to any of {len(rows):,} questions. {whom}"
    )
    return Section(
        "Next annotations" if asked == ABOUT else "Next comparisons",
        text.strip(),
        rows=rows,
        file="ask_next",
        key="ask_next",
        shown=[_shown(row, rows[0]["bits"]) for row in rows],
        most=ITEMS_SHOWN,
        facts={"first": list(names[:NAMED]) if worth else []},
    )


def _shown(row: Mapping[str, Any], most: float) -> dict[str, Any]:
    """Return a row of the page, with the information relative to that of the first."""
    own = {"bits": f"{100 * row['bits'] / most:.0f} %"} if most > 0 else {}
    return {DISPLAYED.get(name, name): value for name, value in {**row, **own}.items()}


BITS = 1 / math.log(2)  # per nat
FIRST = 20  # items for which the best rater is sought
NEIGHBOURS = 10  # largest difference in rank of a pair; the order of others is hardly in doubt
MOST_ITEMS = 60  # up to which all pairs are considered


def item_questions(rows: Sequence[Mapping[str, Any]]) -> list[Section]:
    """Return the section of `item_rows`; none without any."""
    if not rows:
        return []
    whom = {row["item"]: row["whom"] for row in rows if row.get("whom")}
    return [question_section(rows, [row["item"] for row in rows], _whom_in_words(whom))]


def item_rows(study: Study, best: BestGuesses, apart: Collection[str] = ()) -> list[dict[str, Any]]:
    """Return items by expected information of one more annotation, of raters not `apart`; none without confusion matrices."""
    tree, data = study.tree, study.data
    if study.is_of_category and "confusion" not in tree["posterior"]:
        return []
    found = next_to_ask(tree, raters="anyone", random_seed=study.seed)
    ids = found["item"].to_numpy()
    items = [str(item) for item in ids]
    certainty, labels = best.certainty, best.labels
    counts = annotations_by_item(data)
    number = {str(item): int(n) for item, n in zip(data.items, counts, strict=True)}
    place = {str(item): i for i, item in enumerate(labels["item"].to_numpy())}
    sure = {str(item): float(c) for item, c in zip(certainty["item"].values, certainty, strict=True)}
    whom = _best_raters(tree, ids[:FIRST], study.seed, apart)
    rows = []
    for item, gain in zip(items, found["gain"].to_numpy().tolist(), strict=True):
        row = {"item": item, "bits": gain * BITS, "annotations": number[item]}
        row |= {"certainty": sure[item], **_doubt(labels, place[item])}
        rows.append(row | ({"whom": whom.get(item)} if whom else {}))
    return rows


def _doubt(labels: xr.Dataset, place: int) -> dict[str, object]:
    """Return the most plausible label of an item, and the second with its probability."""
    names = labels["label"].to_numpy()[place, :2, 0].tolist()
    probability = labels["probability"].to_numpy()[place, :2].tolist()
    first, second, p = names[0], None, None
    if len(names) > 1 and probability[1] > 0:
        second, p = names[1], probability[1]
    return {"most plausible": first, "or": second, "with probability": p}


def _best_raters(tree: xr.DataTree, items: np.ndarray, seed: int, apart: Collection[str]) -> dict[str, str]:
    """Return the most informative rater for each item but those `apart`; empty if raters are alike."""
    posterior = tree["posterior"].to_dataset()
    if "confusion" not in posterior or "rater" not in posterior["confusion"].dims:
        return {}
    raters = [own for own in posterior["rater"].to_numpy().tolist() if str(own) not in apart]
    found = next_to_ask(tree, items=items, raters=raters, random_seed=seed)
    best: dict[str, str] = {}
    for item, rater in zip(found["item"].to_numpy(), found["rater"].to_numpy(), strict=True):
        best.setdefault(str(item), str(rater))
    return best


def _whom_in_words(whom: dict[str, str]) -> str:
    if not whom:
        return ""
    names, times = np.unique(list(whom.values()), return_counts=True)
    most = names[times.argmax()]
    return (
        f"The answer of rater {most} is expected to be the most informative for {times.max()} of the first {len(whom)} items; a "
        "column names the rater for each."
    )


def pair_rows_to_ask(tree: xr.DataTree, best_first: list[Any]) -> tuple[list[dict[str, Any]], str | None]:
    """Return pairs of items, `best_first` by rank, by the expected information gain of one more vote, and the assumed rater."""
    n = len(best_first)
    reach = n if n <= MOST_ITEMS else NEIGHBOURS
    pairs = [(best_first[i], best_first[j]) for i in range(n) for j in range(i + 1, min(i + reach + 1, n))]
    rater = _typical_rater(tree)
    found = next_to_ask(tree, pairs, None if rater is None else [rater], about="ranks")
    sides = (found[name].to_numpy().tolist() for name in ("left", "right"))
    return [
        {"left": str(a), "right": str(b), "bits": gain * BITS}
        for a, b, gain in zip(*sides, found["gain"].to_numpy().tolist(), strict=True)
    ], rater


def pair_questions(rows: Sequence[Mapping[str, Any]], rater: str | None) -> Section:
    """Return the section of `pair_rows_to_ask`."""
    whom = "" if rater is None else f"The rater is assumed to have the median reliability, like {rater}."
    names = [f"{row['left']} with {row['right']}" for row in rows]
    return question_section(rows, names, whom, asked="to compare")


def _typical_rater(tree: xr.DataTree) -> str | None:
    """Return the rater of median reliability, of those who share no taste if there are any."""
    posterior = tree["posterior"].to_dataset()
    if "reliability" not in posterior:
        return None
    mean = posterior["reliability"].mean(("chain", "draw"))
    raters, means = mean["rater"].to_numpy(), mean.to_numpy()
    if "taste" in posterior and (apart := tree["constant_data"]["sharing_group"].to_numpy() < 0).any():
        raters, means = raters[apart], means[apart]
    return raters.tolist()[np.argsort(means)[len(means) // 2]]
