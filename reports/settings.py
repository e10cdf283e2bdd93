"""Inputs of a report: settings of the fit, further tables, groups of categories."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, NamedTuple

from .._messages import short_repr


@dataclass(frozen=True)
class Groups:
    """Groups of categories, read from a file."""

    path: Path | str
    group: Mapping[Any, str]  # category -> group, in the order of the values or else of the file
    value: Mapping[Any, float] | None  # category -> number; None without a column of values

    def of(self, categories: Sequence[str]) -> "Groups":
        """Return the groups of these categories only; raise if one has no group."""
        if missing := [name for name in categories if name not in self.group]:
            more = f" and {len(missing) - 1:,} more" if len(missing) > 1 else ""
            raise ValueError(
                f"{self.path}: no group for the category {short_repr(missing[0])}{more}; give every category one, "
                "also those that are only predicted or declared"
            )
        known = set(categories)
        kept = {name: group for name, group in self.group.items() if name in known}
        values = self.value and {name: self.value[name] for name in kept}
        return Groups(self.path, kept, values)


@dataclass(frozen=True)
class Settings:
    """Model, priors and sampler settings of a fit."""

    kind: str
    model: str
    # the first is reported in full; a single unused one if the model has none
    reliabilities: tuple[float, ...]
    draws: int
    chains: int
    seed: int
    categories: str | None = None  # closed set: a text file with one per line, or comma-separated
    tags: tuple[str, ...] = ()  # labels: tags of which an answer is a set
    layout: str = "long"  # labels and scores: long, wide or counts
    source: str | None = None  # tool that exported the annotations, or "table"; None: the content tells
    missing: Literal["error", "drop"] = "error"  # treatment of rows with an empty cell
    rater_attributes: tuple[str, ...] = ()  # columns, including that of the group
    largest_component: bool = False  # comparisons: keep only the largest component
    bounds: tuple[float, float] | None = None  # scores: lowest and highest possible
    thresholds: tuple[float, ...] = ()  # scores
    anonymize: bool = False  # replace rater ids by numbers in random order
    drop_duplicates: bool = False  # count each repeated answer of a rater once
    no_answer: tuple[str, ...] = ()  # answers that are no truth, which are left out
    levels: str | None = None  # comparisons: scale of preference, comma-separated
    keep_answers: Literal["all", "first", "last"] = "all"  # of a rater to an item
    merge_look_alikes: bool = False  # take ids and categories that look alike as one
    features: Path | None = None  # file of features of the items
    prior_predictions: Path | None = None  # file of probabilities of a classifier, for the prior
    prior_classifier: str | None = None  # the one of several in that file
    vote_covariates: tuple[str, ...] = ()  # comparisons: columns, left minus right
    guessed: bool = False  # the columns told the kind
    by_default: bool = False  # nobody named the model
    has_reliability: bool = False  # the model weighs its raters by a given reliability
    # further arguments of the builder; None if they are not known
    priors: dict[str, Any] | None = field(default_factory=dict)


class Sources(NamedTuple):
    """Further inputs of a report: tables of predictions and of groups of categories, and names of metrics."""

    predictions: Path | None = None
    groups: Path | None = None
    metrics: Sequence[str] = ()  # empty: the default of the kind
    as_given: bool = False  # labels: raters who copy each other are not fitted again as one


UNKNOWN_KIND = (
    "kind",
    "person",
)  # attribute of raters who are all people, as Labels.with_predictions makes it


def people_of(text: str | None, option: str = "people_column") -> tuple[str, str] | None:
    """Parse 'kind=person' as a column of the answers and its value for people."""
    if text is None:
        return None
    column, equals, value = text.partition("=")
    if not (column and equals and value):
        raise ValueError(
            f"{option} {text}: write kind=person if the column 'kind' of the answers says 'person' of people"
        )
    return column, value
