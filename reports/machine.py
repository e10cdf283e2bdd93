"""``report.json``: the content of a report as JSON.

====================  =====================================================================================
key                   content
====================  =====================================================================================
schema                version of this layout; it changes where a key changes its meaning
title, summary        text, and the sentences on top of the page
kind                  rankings, labels, scores or comparisons
versions              of the software that drew the posterior
data                  counts of items, raters, annotations, categories; for scores bounds, null where there are none
model                 name, method, seed, draws, chains, reliability, priors
convergence           converged (true or false), verdict, and a row for each item
certainty             mean with its interval; rows: a row for each item; agreement: with the raters; for scores the rows
                      are for each threshold and item, and thresholds has a row for each: threshold, items_above and the
                      means of annotation_certainty and threshold_probability; mean is that of the first threshold
locations             for scores; rows: location of each item with its interval, mean score, number of scores
raters                rows: estimates for each rater, for scores bias and scale with intervals
rater_groups          for scores; rows: bias and usual scale of each group; differences: difference, lower, upper and
                      probability_higher of every pair
prevalence            for labels; rows: frequency of each true category, with its interval
worth                 for labels; rows: number of answers of a typical rater that one answer of each judge is worth;
                      group, reference, and groups: averages over the raters of each group
label_thresholds      for labels with an order; rows: position on the scale of the items where one label gives way to
                      the next
metrics               rows: mean, lower, upper (90 %, raters and items together), the same of either source alone
                      (raters_lower ...), sd_raters, sd_items, mcse
comparison            rows: difference, lower, upper and probability_better of every pair; best, optimism
equivalence           for labels: combiner and scorer; baseline, the score without labels; rows: score, gain,
                      equivalence (in raters) with intervals, censored ("below", "above" or ""), words; curve: a row for
                      each number of raters, probability_above_... that a classifier is better; differences of every pair;
                      of the command with --posterior also posterior: asymptote, performance_ratio, check_p, converged,
                      and its curve: the posterior of each number of raters, and the observed score
sensitivity           reliability and prior
risk                  rows: certainty and expected value of each item; metrics: within risk groups
ask_next              rows: suggested further annotations, the most informative first
cite                  references
====================  =====================================================================================

Every section is an object with ``title``, ``text`` and ``rows``; a part of a section lies inside it. The rows
have the columns of the CSV file of the same table. Ids are text. There is no NaN and no infinity: null where
a number is undefined or infinite. Sections that a report does not have are absent; comparisons have
``leaderboard``, ``raters``, ``wins`` and ``checks``.
"""

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol

import numpy as np

__all__ = ["SCHEMA", "document", "plain", "write_json"]

SCHEMA = 1


class Part(Protocol):
    """Structural type of a section, as far as JSON needs it."""

    @property
    def key(self) -> str:
        """Dotted place in ``report.json``."""
        ...

    @property
    def title(self) -> str:
        """Heading."""
        ...

    @property
    def text(self) -> str:
        """One paragraph."""
        ...

    @property
    def rows(self) -> Sequence[Mapping[str, object]]:
        """Table."""
        ...

    @property
    def facts(self) -> Mapping[str, object]:
        """Numbers in the text."""
        ...


def document(heading: Mapping[str, object], parts: Sequence[Part]) -> dict[str, Any]:
    """Nest the sections that have a key in one JSON object, below the heading.

    A key with dots leads into another section. The result holds text, numbers, bool, None, lists and dicts
    only.
    """
    found: dict[str, Any] = {"schema": SCHEMA, **heading}
    for part in parts:
        if not part.key:
            continue
        *inside, last = part.key.split(".")
        place = found
        for name in inside:
            place = place.setdefault(name, {})
        own = {"title": part.title, "text": part.text, **part.facts, "rows": part.rows}
        place[last] = {**place.get(last, {}), **own}
    return plain(found)


def plain(value: Any) -> Any:
    """Convert a value to JSON types: ids to text, non-finite numbers to None."""
    if isinstance(value, Mapping):
        return {str(name): plain(own) for name, own in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(own) for own in value]
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if isinstance(value, str | bool | int | float | None) else str(value)


def write_json(path: Path, value: object) -> None:
    """Write a value as JSON, with null for NaN and infinity."""
    text = json.dumps(plain(value), ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
