"""Columns of annotations by role, and errors about columns that are missing."""

from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import NamedTuple

from ...._messages import short_repr
from ....posterior.table_text import TRADE, columns_alike, folded
from ..errors import DataError


class _Kind(NamedTuple):
    """Container of a kind of annotation, and the roles of its long table."""

    container: str
    roles: tuple[str, ...]


KINDS = {
    "comparisons": _Kind("Comparisons", ("left", "right", "winner")),
    "rankings": _Kind("PartialRankings", ("item", "rater", "category", "rank")),
    "labels": _Kind("Labels", ("item", "rater", "label")),
    "scores": _Kind("Scores", ("item", "score")),
}


class Wording(NamedTuple):
    """Remedies in the words of Python or of the command line."""

    column: Callable[[str, str], str]  # role, name of the column or "..."
    kind: Callable[[str], str]
    wide: Callable[[str], str]
    separator: str = ", "
    where: str = "the table"


PYTHON = Wording(
    lambda role, name: f"{role}={name if name == '...' else short_repr(name)}",
    lambda kind: f"these look like {kind}, which models.{KINDS[kind].container}.from_table reads",
    lambda kind: f"read it by models.{KINDS[kind].container}.from_wide",
)


def resolved_names(
    names: Sequence[str],
    roles: Mapping[str, str],
    *,
    optional: Collection[str] = (),
    synonyms: Mapping[str, str] | None = None,
    kind: str | None = None,
    words: Wording = PYTHON,
) -> dict[str, str]:
    """Names of columns by role: those given, or synonyms where the default, the name of the role, is not there.

    `optional` roles may be absent; `synonyms` maps a role to another row of `TRADE`. Raises at all missing
    columns at once, and where two columns could be one role.
    """
    used = {name for name in roles.values() if name in names}
    found, missing = {}, {}
    for role, name in roles.items():
        if name not in names and name == role:
            alike = columns_alike(role, names, used, (synonyms or {}).get(role))
            if len(alike) > 1:
                raise _ambiguous(role, alike, words)
            name = alike[0] if alike else name
            used.update(alike)
        if name in names:
            found[role] = name
        elif role not in optional or name != role:
            missing[role] = name
    if missing:
        raise missing_columns(missing, names, kind, words, used)
    return found


def _ambiguous(role: str, alike: Sequence[str], words: Wording) -> DataError:
    """Error about columns that could all be one role."""
    both = " and ".join(map(short_repr, alike[:5]))
    return DataError(
        f"the columns {both} could each be the {role}",
        column=role,
        value=list(alike),
        allowed="one of them",
        remedy="say which: " + " or ".join(words.column(role, name) for name in alike[:5]),
        where=words.where,
    )


def missing_columns(
    missing: Mapping[str, str],
    names: Sequence[str],
    kind: str | None = None,
    words: Wording = PYTHON,
    taken: Collection[str] = (),
) -> DataError:
    """Error about all columns that are missing, by role, with the kind that the others look like.

    The `taken` columns have another role, and are not suggested.
    """
    known = {folded(name): name for name in names if folded(name) and name not in taken}
    near = {role: _nearest(role, name, known) for role, name in missing.items()}
    times = Counter(near.values())
    near = {
        role: found if times[found] == 1 else "" for role, found in near.items()
    }  # one column is one role
    there = ", ".join(map(short_repr, names[:20])) + (", ..." if len(names) > 20 else "")
    listed = [short_repr(name) for name in missing.values()]
    remedies = [words.column(role, known.get(found, "...")) for role, found in near.items()]
    remedy = f"name the column{'s' * (len(missing) > 1)}: {words.separator.join(remedies)}"
    if words is PYTHON and "rater" in missing and kind in ("comparisons", "scores"):
        remedy += ", or pass rater=None if the raters are not told apart"
    if (other := kind and _looks_like(kind, names)) is not None:
        remedy = f"{words.kind(other)}; or {remedy}"
    elif kind and _looks_wide(kind, missing, near, [name for name in names if name not in taken]):
        remedy = f"if each rater has a column, {words.wide(kind)}; or {remedy}"
    elif not taken and not any(near.values()) and len(missing) > 1:
        remedy += "; or write these names above the first row, if the table has no header"
    return DataError(
        f"there is no column {' or '.join(filter(None, [', '.join(listed[:-1]), listed[-1]]))}",
        column=next(iter(missing.values())),
        allowed=f"the columns that are there: {there or 'none'}",
        remedy=remedy,
        where=words.where,
    )


def _nearest(role: str, name: str, known: Collection[str]) -> str:
    """Folded name most similar to that of a missing column or, of a default one, to a synonym; empty if none is."""
    words = [(folded(name), 0.6), *((word, 0.8) for word in sorted(TRADE.get(role, ())) if name == role)]
    found = (get_close_matches(word, known, n=1, cutoff=cutoff) for word, cutoff in words)
    return next((near[0] for near in found if near), "")


def _looks_wide(
    kind: str, missing: Mapping[str, str], near: Mapping[str, str], free: Collection[str]
) -> bool:
    """Whether a table without a column of answers may have one for each rater instead."""
    absent = {"labels": ["label", "rater"], "scores": ["score"]}.get(kind)
    by_default = all(role == name for role, name in missing.items())
    return sorted(missing) == absent and by_default and not any(near.values()) and len(free) > 1


def _looks_like(kind: str, names: Sequence[str]) -> str | None:
    """Kind of annotation, other than `kind`, that has all its columns under these names."""
    texts = {folded(name) for name in names}
    others = {other: own.roles for other, own in KINDS.items() if other != kind}
    return next((k for k, roles in others.items() if all(TRADE[r] & texts for r in roles)), None)
