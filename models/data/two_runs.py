"""Labels of two runs that versions of a judge labelled: the versions are raters, and items of both runs tie them."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from ..._messages import first_reprs, short_repr
from ...posterior.schema import JUDGE, VERSION, VERSIONS
from .errors import DataError, refused_argument
from .labels import Labels

COMMON = "let both versions label some items, such as 100 of the old run by the new version"


def two_runs(old: Labels, new: Labels, judges: Mapping[str, str] | Sequence[str]) -> Labels:
    """Join the labels of two runs, in which each judge is two raters: its old version and its new one.

    Fit the result with a model of raters that have confusion matrices, and ask `evaluation.judge_change`.

    Parameters
    ----------
    old, new : Labels
        Labels of the runs, with equal categories. An item is one output: its id is the same in both runs only if it is the same
        output. Other raters, such as people, are the same in both if they have the same id; equal answers of one of them to one
        item, which both tables have, count once.
    judges : mapping of str to str, or sequence of str
        Judges: the rater of the old run -> that of the new one; or names that are the same in both.

    Returns
    -------
    Labels
        Labels of both, with the attributes of raters that both have, and two more: ``judge``, its name in the new run, and
        ``version``, "old" or "new"; both are "" of others. A judge of one name is two raters, "name (old)" and "name (new)".

    Raises
    ------
    DataError
        If categories or kinds of ids differ, raters are anonymous, a judge is missing from a run, or no item has both versions.

    Examples
    --------
    >>> from raterzoo import models
    >>> first = models.Labels.from_table({"item": ["a", "b", "a"], "rater": ["Ann", "gpt", "gpt"], "label": ["no", "yes", "no"]})
    >>> then = models.Labels.from_table({"item": ["a", "c"], "rater": ["gpt", "gpt"], "label": ["yes", "no"]})
    >>> both = models.two_runs(first, then, ["gpt"])
    >>> both.raters.tolist(), both.rater_attributes["version"].tolist()
    (['Ann', 'gpt (old)', 'gpt (new)'], ['', 'old', 'new'])
    """
    pairs = dict(judges) if isinstance(judges, Mapping) else {name: name for name in judges}
    _check(old, new, pairs)
    names = {}  # (version, rater) -> (id, judge)
    for before, after in pairs.items():
        same = f"{before}" == f"{after}"
        names["old", before] = (f"{before} (old)" if same else f"{before}", f"{after}")
        names["new", after] = (f"{after} (new)" if same else f"{after}", f"{after}")
    tables = [
        _renamed(run, version, names, old.has_gold or new.has_gold)
        for version, run in zip(VERSIONS, (old, new), strict=True)
    ]
    told = {own[0]: (key[0], own[1]) for key, own in names.items()}
    there = {*zip(*(tables[1][name].tolist() for name in ("item", "rater", "label")), strict=True)}
    rows = zip(*(tables[0][name].tolist() for name in ("item", "rater", "label")), strict=True)
    kept = np.array([row not in there for row in rows], bool)
    joined = {name: np.concatenate([tables[0][name][kept], tables[1][name]]) for name in tables[0]}
    shared = [
        name for name in old.rater_attributes if name in new.rater_attributes and name not in (JUDGE, VERSION)
    ]
    labels = Labels.from_table(
        joined,
        count="count",
        gold="gold" if "gold" in joined else None,
        rater_attributes=shared,
        categories=new.categories,
    )
    of = [told.get(rater, ("", "")) for rater in labels.raters.tolist()]
    versions, whose = (np.array(own, str) for own in zip(*of, strict=True))
    labels = replace(labels, rater_attributes={**labels.rater_attributes, JUDGE: whose, VERSION: versions})
    _require_common_items(labels)
    return labels


def _renamed(
    run: Labels, version: str, names: Mapping[Any, tuple[str, str]], gold: bool
) -> dict[str, np.ndarray]:
    """Return the rows of a run, with the ids of versions, of raters as text, and an empty gold label where there is none."""
    table = {
        name: cells for name, cells in run.to_table().items() if name not in ("order", "time", JUDGE, VERSION)
    }
    raters = table["rater"].tolist()
    table["rater"] = np.array([names.get((version, own), (str(own),))[0] for own in raters], str)
    if gold and "gold" not in table:
        table["gold"] = np.full(len(raters), "", object)
    return table


def _check(old: Labels, new: Labels, pairs: Mapping[Any, Any]) -> None:
    """Raise unless both runs have raters, equal categories, ids of one kind, and the judges."""
    for name, run in (("old", old), ("new", new)):
        if run.anonymous:
            raise refused_argument(
                name, "its raters are anonymous", remedy="read a table with a column of raters"
            )
    if {*old.categories.tolist()} != {*new.categories.tolist()}:
        odd = sorted({*old.categories.tolist()} ^ {*new.categories.tolist()}, key=str)
        raise refused_argument(
            "old",
            f"its categories are {first_reprs(old.categories.tolist())}, those of the new run "
            f"{first_reprs(new.categories.tolist())}",
            value=odd[0],
            allowed="equal categories in both runs",
            remedy="correct the labels, or declare categories= (--categories) where one was merely never given",
        )
    if old.items.dtype.kind != new.items.dtype.kind:
        kinds = [short_repr(run.items[0].item()) for run in (old, new)]
        raise refused_argument(
            "old",
            f"its items are of another kind: {kinds[0]}, not {kinds[1]}",
            remedy="make both text or both integers",
        )
    if not pairs:
        raise refused_argument("judges", "there is none", remedy="name one that labelled both runs")
    if len({*pairs.values()}) < len(pairs):
        raise refused_argument("judges", "two have one new version", remedy="name a new version for each")
    for name, run, own in (("old", old, pairs.keys()), ("new", new, pairs.values())):
        for judge in own:
            if judge not in run.raters.tolist():
                raise refused_argument(
                    "judges",
                    f"{short_repr(judge)} is no rater of the {name} run, which has {first_reprs(run.raters.tolist())}",
                    value=judge,
                    remedy="name raters of the runs, {old name: new name} where they differ",
                )


def _require_common_items(labels: Labels) -> None:
    """Raise if a judge has no item that both versions labelled."""
    whose, version = labels.rater_attributes[JUDGE], labels.rater_attributes[VERSION]
    for judge in sorted({*whose.tolist()} - {""}):
        old, new = (
            np.unique(labels.annotation_item[((whose == judge) & (version == name))[labels.annotation_rater]])
            for name in VERSIONS
        )
        if not len(np.intersect1d(old, new)):
            raise DataError(
                f"the versions of {short_repr(judge)} have no item in common, without which a change of the judge and "
                "one of the items look alike",
                column="item",
                value=judge,
                allowed="the same output has one id in both runs",
                remedy=COMMON,
                where="labels",
            )
