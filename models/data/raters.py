"""Groups of raters by an attribute, such as people and language models."""

import re
from collections.abc import Mapping, Sequence

import numpy as np

from ..._messages import short_repr
from .errors import DataError
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
        raise DataError(problem, column="group", value=group, remedy=remedy, where="argument group")
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
        raise DataError(
            problem,
            column=argument,
            value=group,
            allowed=allowed,
            remedy=remedy,
            where=f"argument {argument}",
        )
    try:
        return code_ids(Column(group, list(attributes[group])))
    except DataError as error:
        if error.row is None:
            raise
        who = short_repr(raters[error.row - 1].item())
        raise error.moved(f"attribute {short_repr(group)} of rater {who}") from None
