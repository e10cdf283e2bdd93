"""Groups of raters by an attribute, such as people and language models, and those that share something."""

import re
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple, Protocol

import numpy as np

from ..._messages import first_reprs, short_repr, warn_user
from .errors import DataError, DataWarning, refused_argument
from .reading.columns import ATTRIBUTE, code_ids, nearest
from .reading.frames import Column


def read_attributes(
    columns: Mapping[str, Column], raters: np.ndarray, rater: np.ndarray
) -> dict[str, np.ndarray]:
    """Read rater attributes, such as their kind; returns an array (rater,) of text or integers for each name.

    Shapes: columns, of which those whose role is an attribute are read, and rater (row,). Refuses missing
    cells, and rows of one rater that disagree.
    """
    found = {}
    for role in columns:
        if not role.startswith(ATTRIBUTE):
            continue
        column = columns[role]
        _refuse_unusable(column.name)
        values, code = code_ids(column)
        first = np.empty(len(raters), np.int32)  # code in the first row of each rater
        np.put(first, rater[::-1], code[::-1])
        if (clash := first[rater] != code).any():
            row = int(clash.argmax())
            raise DataError(
                f"{short_repr(column.values[row])} is the {column.name} of rater "
                f"{short_repr(raters[rater[row]].item())}, who was {short_repr(values[first[rater[row]]].item())} in an "
                "earlier row",
                row=column.row(row),
                column=column.name,
                value=column.values[row],
                allowed="one value for each rater",
                remedy="correct the cell, or give the two raters different ids",
            )
        found[column.name] = values[first]
    return found


PERSON = "person"  # rater who is no classifier, where no attribute says otherwise


def attributes_with_classifiers(
    attributes: Mapping[str, np.ndarray], sizes: tuple[int, int], attribute: str, group: str
) -> dict[str, np.ndarray]:
    """Return the attributes of raters followed by classifiers, whose value is `group`; `sizes`: how many of either.

    A new attribute says "person" of all raters before. Refuses an unusable name, and attributes that are integers.
    """
    (group,) = code_ids(Column("group", [group]))[0].tolist()
    code_ids(Column("attribute", [attribute]))
    _refuse_unusable(attribute)
    n_raters, n_added = sizes
    if attribute not in attributes and group == PERSON:
        problem = f"group={short_repr(group)} would be the {attribute} of all raters, and nobody told apart"
        remedy = "name the group of the classifiers, such as 'classifier'"
        raise refused_argument("group", problem, value=group, remedy=remedy)
    known = (
        dict(attributes) if attribute in attributes else {**attributes, attribute: np.full(n_raters, PERSON)}
    )
    for name, values in known.items():
        if values.dtype.kind != "U":
            raise DataError(
                f"the attribute {short_repr(name)} of the raters is an integer, and a classifier has none",
                column=name,
                value=values[0].item(),
                allowed="text: classifiers have the value of group=",
                remedy="read this column as text, or leave it out of rater_attributes=",
                where="argument attribute" if name == attribute else "",
            )
    return {name: np.concatenate([values, np.full(n_added, group)]) for name, values in known.items()}


MAX_NAME = 100  # characters
_UNSTORABLE = re.compile(r"^\.|[/\\\x00-\x1f\x7f]")
DIMS = frozenset("chain draw item rater category answer annotation place candidate comparison".split())


def _refuse_unusable(name: str) -> None:
    """Raise at the name of an attribute that is a dim of posteriors, or that no store can have as the name of an array."""
    if name in DIMS:
        why, allowed = "as posteriors have a dim of that name", "any name but " + ", ".join(sorted(DIMS))
    elif len(name) > MAX_NAME or _UNSTORABLE.search(name):
        why = "which is stored under it"
        allowed = (
            f"up to {MAX_NAME} characters, without slashes, backslashes and line breaks, and no dot first"
        )
    else:
        return
    raise DataError(
        f"{short_repr(name)} cannot be the name of an attribute of the raters, {why}",
        column=name,
        value=name,
        allowed=allowed,
        remedy="rename the column",
    )


def refuse_reserved_attributes(attributes: Mapping[str, np.ndarray], taken: Sequence[str]) -> None:
    """Raise if an attribute, stored as ``rater_...``, has a name in `taken`, variables of the model without that prefix."""
    for name in taken:
        if name in attributes:
            problem = f"the attribute {short_repr(name)} of the raters would stand as 'rater_{name}', "
            problem += "which is a variable of the model"
            allowed = "any name but " + ", ".join(map(short_repr, taken))
            raise DataError(problem, column=name, value=name, allowed=allowed, remedy="rename its column")


def rater_groups(
    raters: np.ndarray, attributes: Mapping[str, np.ndarray], group: str, argument: str = "group"
) -> tuple[np.ndarray, np.ndarray]:
    """Factorise a rater attribute: names in order of appearance, and codes (rater,); raise if it or a value is missing.

    `argument` is the name of the argument that names the attribute, for errors.
    """
    if not isinstance(group, str) or group not in attributes:
        known = np.array(list(attributes), np.str_)
        problem = f"{argument}={short_repr(group)} is not one of the attributes of the raters"
        allowed = nearest(group, known) if len(known) else "there are none"
        remedy = "read its column with from_table(..., rater_attributes=[...])"
        raise refused_argument(argument, problem, value=group, allowed=allowed, remedy=remedy)
    try:
        return code_ids(Column(group, list(attributes[group])))
    except DataError as error:
        if error.row is None:
            raise
        who = short_repr(raters[error.row - 1].item())
        raise error.moved(f"attribute {short_repr(group)} of rater {who}") from None


# --- Groups whose raters share something ---

NO_GROUP = -1  # of a rater who shares nothing
Groups = str | Mapping[Any, Any] | Sequence[Any] | np.ndarray | None


class HasRaters(Protocol):
    """Annotations by identified raters, in memory or in files."""

    @property
    def raters(self) -> np.ndarray:
        """Ids of the raters."""
        ...

    @property
    def rater_attributes(self) -> Mapping[str, np.ndarray]:
        """Attributes of the raters."""
        ...


class SharingGroups(NamedTuple):
    """Groups whose raters share something."""

    names: np.ndarray  # (group,)
    group: np.ndarray  # int64 (rater,), code of the group or NO_GROUP


class Sharing(NamedTuple):
    """Meaning of sharing in a model, for its errors and warnings."""

    data: str  # name of the argument with the annotations
    fewest: int  # raters in a group that may share
    none: str  # end of the error if no group may share
    single: str  # why groups with fewer raters count as independent
    all_alike: str  # warning if all raters are of one group, after its name; "" if gold labels tell


GUESSES = Sharing(
    "labels",
    2,
    "no group of two raters or more may share a guess, so that all raters are independent: use models.dawid_skene, which is "
    "that law",
    "copies need two",
    "the truth and what they share are told apart only by the answers that are not copied. Gold labels of some items, or a "
    "few independent raters, would tell more",
)
TASTES = Sharing(
    "pairs",
    1,
    "all groups are independent, so that no raters share a taste: leave out groups= and independent=",
    "",
    "the votes tell quality plus taste, and only the prior how much of it is taste. Raters of another group, or some who "
    "are independent, would tell more",
)
BIASES = Sharing(
    "scores",
    2,
    "no group may share a bias, so that all raters are independent: leave out groups= and independent=",
    "with one score of an item its share of a bias cannot be told from its noise",
    "the scores tell location plus shared bias, and only the prior how much of it is bias. Raters of another group, or some "
    "who are independent, would tell more",
)


def sharing_groups(
    data: HasRaters, groups: Groups, independent: str | Collection[Any], sharing: Sharing = GUESSES
) -> SharingGroups:
    """Return the groups that may share; raise if there are none, warn of groups that are too small and of a single one."""
    names, code = _groups_of(data, groups, sharing.data)
    apart, known = [independent] if isinstance(independent, str) else list(independent), names.tolist()
    if strange := [name for name in apart if name not in known]:
        raise ValueError(
            f"independent: {short_repr(strange[0])} is no group of the raters; the groups are {first_reprs(known)}"
        )
    size = np.bincount(code, minlength=len(names))
    few = size < sharing.fewest
    kept = [g for g, name in enumerate(known) if name not in apart and not few[g]]
    if not kept:
        raise ValueError(
            f"{sharing.none}. The groups are {first_reprs(known)}, of them independent: {first_reprs(apart)}"
        )
    _warn_of_small([known[g] for g in np.flatnonzero(few) if known[g] not in apart], sharing)
    if len(known) == 1 and not getattr(data, "has_gold", False):
        warn_user(f"all raters are of the group {short_repr(known[0])}: {sharing.all_alike}", DataWarning)
    place = np.full(len(names), NO_GROUP, np.int64)
    place[kept] = np.arange(len(kept))
    return SharingGroups(names[kept], place[code])


def _warn_of_small(small: list[Any], sharing: Sharing) -> None:
    """Warn if groups have a single rater."""
    if small:
        others = f", and so do those of {first_reprs(small[1:])}" if len(small) > 1 else ""
        warn_user(
            f"the only rater of the group {short_repr(small[0])} counts as independent{others}: {sharing.single}",
            DataWarning,
        )


def _groups_of(data: HasRaters, groups: Groups, name: str) -> tuple[np.ndarray, np.ndarray]:
    """Return names of groups in order of appearance, and codes (rater,)."""
    if groups is None:
        if not data.rater_attributes:
            raise ValueError(
                "groups: the raters have no attribute, such as their kind. Read its column with "
                "from_table(..., rater_attributes=['kind']), or pass groups={rater: group}"
            )
        groups = next(iter(data.rater_attributes))
    if isinstance(groups, str):
        return rater_groups(data.raters, data.rater_attributes, groups, "groups")
    raters = data.raters.tolist()
    if isinstance(groups, Mapping):
        if strange := [rater for rater in groups if rater not in raters]:
            raise ValueError(
                f"groups: {short_repr(strange[0])} is no rater of these {name}; they are {first_reprs(raters)}"
            )
        if absent := [rater for rater in raters if rater not in groups]:
            raise ValueError(f"groups: rater {short_repr(absent[0])} has no group; name one for every rater")
        groups = [groups[rater] for rater in raters]
    if len(groups) != len(raters):
        raise ValueError(
            f"groups: {len(groups):,} groups for {len(raters):,} raters; pass one for each of {name}.raters"
        )
    return rater_groups(data.raters, {"groups": np.asarray(groups)}, "groups", "groups")
