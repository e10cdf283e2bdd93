"""``report.json``: what the page says, for machines.

====================  =====================================================================================
key                   what it holds
====================  =====================================================================================
schema                number of this layout; another number where a key changes its meaning
title, summary        text, and the sentences on top of the page
kind                  rankings, labels, scores or comparisons
versions              of the software that drew the posterior
data                  counts of items, raters, annotations, categories; of scores bounds, null where there are none
model                 name, method, seed, draws, chains, reliability, priors
convergence           converged (true or false), verdict, and a row for each item
certainty             mean with its interval; rows: a row for each item; agreement: with the raters; of scores the rows are of
                      each threshold and item, and thresholds has a row for each: threshold, items_above and the means
                      of annotation_certainty and threshold_probability; mean is of the first
locations             of scores; rows: location of each item with its interval, mean score, number of scores
raters                rows: what the model says of each rater, of scores bias and scale with intervals
rater_groups          of scores; rows: bias and usual scale of each group; differences: difference, lower, upper and
                      probability_higher of every pair
prevalence            of labels; rows: how frequent each true category is, with its interval
worth                 of labels; rows: how many answers of a typical rater one of each judge is worth; group, reference,
                      and groups: the same on average over the raters of each
label_thresholds      of labels with an order; rows: where on the scale of the items one label gives way to the next
metrics               rows: mean, lower, upper (90 %, raters and items together), the same of either alone
                      (raters_lower ...), sd_raters, sd_items, mcse
comparison            rows: difference, lower, upper and probability_better of every pair; best, optimism
equivalence           of labels: how they were combined and scored; baseline, the score of no labels; rows: score, gain,
                      equivalence (in raters) with intervals, censored ("below", "above" or ""), words; curve: a row for
                      each number of raters, probability_above_... that a classifier is better; differences of every pair;
                      of the command with --posterior also posterior: asymptote, performance_ratio, check_p, converged,
                      and its curve: beside the posterior of each number of raters the score observed
sensitivity           reliability and prior
risk                  rows: certainty and expected value of each item; metrics: within risk groups
ask_next              rows: what to annotate once more, the most informative first
cite                  references
====================  =====================================================================================

Every section is an object with ``title``, ``text`` and ``rows``; a part of a section lies inside it. The rows have the columns
of the CSV file of the same table. Ids are text. There is no NaN and no infinity: null where a number is not defined or infinite.
Sections that a report does not have are absent; comparisons have ``leaderboard``, ``raters``, ``wins`` and ``checks``.
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
    """What a section tells machines."""

    @property
    def key(self) -> str:
        """Its place."""
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
        """Numbers of the text."""
        ...


def document(heading: Mapping[str, object], parts: Sequence[Part]) -> dict[str, Any]:
    """Return what a report says as one object.

    Parameters
    ----------
    heading : mapping
        Title and the like.
    parts : sequence of Section
        Those with a key are in it.

    Returns
    -------
    dict
        Of text, numbers, true, false, None, lists and dicts only.
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
    """Return a value as JSON knows it: text ids, None for what is no finite number."""
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
    """Write a value as JSON, NaN and infinity as null.

    Parameters
    ----------
    path : Path
        Where to.
    value : object
        What `plain` takes.
    """
    text = json.dumps(plain(value), ensure_ascii=False, indent=1, allow_nan=False)
    path.write_text(text + "\n", encoding="utf-8")
