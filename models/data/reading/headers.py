"""Columns of a table by role, resolved from its header alone."""

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from inspect import signature
from typing import Any

from ...._messages import first_reprs, short_repr
from ..comparisons import Comparisons
from ..errors import DataError
from ..labels import Labels
from ..rankings import PartialRankings
from ..scores import Scores
from .columns import ANONYMOUS_KINDS
from .frames import KINDS, Wording, is_listed, resolved_names
from .label_cells import turk_roles
from .ranked_lists import ranking_roles
from .stated import PROBABILITY
from .vote_shapes import AND, is_derived, vote_roles

Pairs = Sequence[tuple[str, str]]  # role and name of its column; a role may be there more than once

LAYOUTS: dict[str, tuple[str, ...]] = {
    "labels": ("long", "wide", "counts"),
    "scores": ("long", "wide", "counts"),
}  # other kinds: long
LISTED: dict[str, tuple[str, ...]] = {
    "wide": ("rater",),
    "counts": ("category", "label", "score"),
    "predictions": ("category",),
}


@dataclass(frozen=True)
class Asked:
    """How annotations are to be read."""

    kind: str
    layout: str = "long"
    columns: Pairs = ()
    tool: str | None = None  # that exported them, or "table"; None: the content tells
    covariates: Sequence[str] = ()  # columns of votes
    options: Mapping[str, Any] = field(default_factory=dict)  # further arguments of the container, by name

    @property
    def given(self) -> dict[str, Any]:
        """Options that say something: neither None, nor empty, nor the default."""
        return {name: own for name, own in self.options.items() if not _is_default(own)}


def _is_default(option: Any) -> bool:
    """Whether an option of a container is as if it was not given: None, empty, missing="error" or keep="all"."""
    if isinstance(option, str):
        return option in ("error", "all", "")
    return option is None or (is_listed(option) and not len(option))


Container = PartialRankings | Labels | Comparisons | Scores
CONTAINERS: dict[str, type[Container]] = {
    "labels": Labels,
    "rankings": PartialRankings,
    "comparisons": Comparisons,
    "scores": Scores,
}


def door_of(asked: Asked) -> Callable[..., Container]:
    """Return the constructor of the container of a kind of annotation from a layout."""
    return getattr(CONTAINERS[asked.kind], "from_table" if asked.layout == "long" else f"from_{asked.layout}")


@dataclass(frozen=True)
class Header:
    """Columns of a table by role."""

    names: Sequence[Any]  # all columns
    found: Mapping[str, str]  # by role
    listed: Sequence[str]  # columns that are raters or categories; empty: all others
    others: Mapping[str, str]  # further columns to rename, such as attributes of the raters
    by_synonym: Mapping[str, str]  # roles whose columns were found by a synonym
    by_shape: Mapping[str, str]  # roles whose columns were found by others: winner beside loser

    def free(self) -> list[Any]:
        """Columns that are none of the roles, or those that were listed."""
        return list(self.listed) or [name for name in self.names if name not in self.found.values()]


def resolved_header(
    names: Sequence[Any],
    given: Pairs,
    roles: Collection[str],
    optional: Collection[str],
    words: Wording,
    *,
    kind: str | None = None,
    several: str = "long",
    synonyms: Mapping[str, str] | None = None,
) -> Header:
    """Resolve the columns of a table; those `given` win, of which a role of `several` may be repeated."""
    if strange := [(role, name) for role, name in given if name not in names]:
        role, name = strange[0]
        raise DataError(
            f"there is no column {short_repr(name)} to rename to {role!r}",
            column=name,
            allowed=f"the columns {first_reprs(names)}",
            remedy="name one of these",
            where=words.where,
        )
    listed = [name for role, name in given if role in LISTED.get(several, ()) and role not in roles]
    by_role = {role: name for role, name in given if name not in listed}
    if several == "predictions" and [role for role, _ in given].count("category") > 1:
        listed = [name for role, name in given if role == "category"]
        del by_role["category"]
    marks = [name for role, name in given if role == "label" and role in roles]
    if kind == "labels" and marks[1:]:
        by_role["label"] = AND.join(marks)  # a column for each category
    asked = {role: by_role.get(role, role) for role in roles}
    if kind == "comparisons":
        asked = vote_roles(names, asked)
    elif kind == "rankings":
        asked = ranking_roles(names, asked)
    elif kind in ("labels", "scores") and several == "long":
        asked = turk_roles(names, asked)
    derived = [own for own in asked.values() if is_derived(own, names)]
    found = resolved_names(
        [*(name for name in names if name not in listed), *derived], asked,
        optional=optional, synonyms=synonyms, kind=kind, words=words,
    )  # fmt: skip
    others = {name: role for role, name in by_role.items() if role not in roles}
    unnamed = {role: name for role, name in found.items() if role not in by_role}
    by_shape = {
        role: name
        for role, name in unnamed.items()
        if kind in ("comparisons", "rankings") and asked[role] == name != role
    }
    by_synonym = {role: name for role, name in unnamed.items() if role not in by_shape and role != name}
    return Header(names, found, listed, others, by_synonym, by_shape)


def annotation_header(names: Sequence[Any], asked: Asked, words: Wording) -> Header:
    """Resolve the columns of a table of annotations; raise if the kind has no such layout, or one is missing."""
    kind, layout = asked.kind, asked.layout
    if layout not in (own := LAYOUTS.get(kind, ("long",))):
        raise DataError(
            f"{short_repr(str(layout))} is no layout of {kind}",
            value=layout,
            allowed=", ".join(own),
            remedy="choose one, or bring the table into the long layout",
            where=words.place("layout"),
        )
    accepted = signature(door_of(asked)).parameters
    if strange := [name for name in asked.given if name not in accepted and name != "missing"]:
        raise DataError(
            f"no option of {kind} in the {layout} layout",
            remedy="leave it out" + ", or write a row for each answer" * (layout != "long"),
            where=words.place(strange[0]),
        )
    attributes, tags = asked.given.get("rater_attributes", ()), asked.given.get("tags", ())
    optional = {"count"} if kind in ("labels", "scores", "comparisons") and layout != "counts" else set()
    if kind == "labels" and layout == "long":
        renamed = [role for role, _ in asked.columns]
        timed = "time" in [*names, *renamed]  # no other name is taken for it
        optional |= {"gold", "order", *(["time"] * timed)}
        optional |= {PROBABILITY, "label"} if PROBABILITY in renamed else set()
        optional |= {"label"} if {*tags} & {*names} else set()
    optional |= {"shown"} if kind == "rankings" else set()
    optional |= {"rater"} if kind in ANONYMOUS_KINDS and layout == "long" else set()
    optional |= {"item"} if layout == "wide" else set()
    optional -= {"count"} if (kind, layout) == ("scores", "wide") else set()
    needed = KINDS[kind].roles if layout == "long" else ("item",)
    roles = dict.fromkeys([*needed, *sorted(optional)])
    header = resolved_header(names, asked.columns, roles, optional, words, kind=kind, several=layout)
    known = [*names, *header.others.values()]
    for what, own in {"of the raters": attributes, "of the votes": asked.covariates}.items():
        if missing := [name for name in own if name not in known]:
            raise DataError(
                f"there is no column {missing[0]!r} {what}",
                column=missing[0],
                allowed=f"the columns {first_reprs(names)}",
                remedy="name one of these, or leave it out",
                where=words.where,
            )
    return header
