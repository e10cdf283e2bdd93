"""Base class of the containers: read-only arrays, equality by content, anonymisation."""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, Self, get_args

import numpy as np

from ..._messages import short_repr
from .errors import DataError

Whose = Literal["raters", "all"]

"""Ids to replace: those of the raters, or those of the items as well."""


class Recoded(NamedTuple):
    """New ids with the mapping to the old codes and back."""

    ids: np.ndarray  # (new,), text or int64
    old: np.ndarray  # (new,), old code of each new one
    new: np.ndarray  # (old,) or (old + 1,), -1 if dropped; last place: rater -1 stays -1


def recoded(
    items: np.ndarray, raters: np.ndarray, whose: Whose, random_seed: int | None
) -> tuple[Recoded, Recoded]:
    """Draw new ids for the raters, and for the items if `whose` is "all"; return items, then raters.

    `random_seed` fixes the random order; None takes it from the operating system, so nobody can reproduce it.
    """
    if whose not in get_args(Whose):
        raise DataError(
            f"{short_repr(whose)} is not a choice of ids to replace",
            column="anonymize",
            value=whose,
            allowed="'raters', or 'all' for items as well",
            remedy="choose one, or leave it out",
            where="argument anonymize",
        )
    rng = np.random.default_rng(random_seed)
    of_raters = _numbered("rater", raters, rng.permutation(len(raters)))
    if whose == "all":
        return _numbered("item", items, rng.permutation(len(items))), of_raters
    return unchanged(items), of_raters


def unchanged(ids: np.ndarray) -> Recoded:
    """Identity recoding: the same ids with the same codes."""
    return _codes(ids, np.arange(len(ids)))


def _numbered(kind: str, ids: np.ndarray, order: np.ndarray) -> Recoded:
    """Assign the ids "kind 1", "kind 2"... to the old codes in the given order."""
    names = np.array([f"{kind} {k}" for k in range(1, len(ids) + 1)], np.str_)
    return _codes(names, order)


def _codes(ids: np.ndarray, order: np.ndarray) -> Recoded:
    """Recoding of ids whose old codes are `order`."""
    new = np.full(len(ids) + 1, -1, np.int32)
    new[order] = np.arange(len(ids))
    return Recoded(ids, order, new)


# --- Base class of the containers: read-only arrays, equality by content, anonymisation ---


class Container:
    """Base of the frozen dataclasses that hold annotations."""

    items: np.ndarray
    raters: np.ndarray

    def __post_init__(self) -> None:
        for field in fields(self):  # type: ignore[arg-type]
            object.__setattr__(self, field.name, _read_only(getattr(self, field.name)))

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        compared = [field.name for field in fields(self) if field.compare]  # type: ignore[arg-type]
        return all(_equal(getattr(self, name), getattr(other, name)) for name in compared)

    @property
    def anonymous(self) -> bool:
        """Whether the container holds no rater ids."""
        return len(self.raters) == 0

    def anonymized(self, whose: Whose = "raters", *, random_seed: int | None = None) -> Self:
        """Replace the ids of raters, and of items on request, by numbers in a random order.

        Parameters
        ----------
        whose : {"raters", "all"}
            "all" replaces the ids of items as well.
        random_seed : int, optional
            Seed of the random order. Anyone who knows it, and the original data, can recover the ids; by
            default nobody can.

        Returns
        -------
        same container
            The same annotations by "rater 1", "rater 2"...; rater attributes stay.

        Raises
        ------
        DataError
            If `whose` is another word.

        Examples
        --------
        >>> from raterzoo import models
        >>> table = {"item": ["a", "a"], "rater": ["Ann", "Bob"], "label": ["cat", "dog"]}
        >>> models.Labels.from_table(table).anonymized("all").items.tolist()
        ['item 1']
        """
        return self._recoded(*recoded(self.items, self.raters, whose, random_seed))

    def _named(self, anonymize: Whose | None, random_seed: int | None) -> Self:
        """Anonymised copy, or the container itself if `anonymize` is None."""
        return self if anonymize is None else self.anonymized(anonymize, random_seed=random_seed)

    def _recoded(self, items: Recoded, raters: Recoded) -> Self:
        """Annotations with other ids, in the order of these, without those whose new code is -1."""
        raise NotImplementedError


def expect(data: object, kind: type[Container]) -> None:
    """Raise `DataError` unless data are of a class of container."""
    if not isinstance(data, kind):
        name = kind.__name__
        raise DataError(
            f"a {type(data).__name__} is not {name}",
            allowed=f"raterzoo.models.{name}",
            remedy=f"read it by {name}.from_table",
        )


def _read_only(value: Any) -> Any:
    """Read-only view of an array, or of the arrays of a mapping; other values unchanged."""
    if isinstance(value, np.ndarray):
        value = value.view()
        value.flags.writeable = False
    elif isinstance(value, Mapping):
        value = MappingProxyType({name: _read_only(own) for name, own in value.items()})
    return value


def _equal(one: Any, other: Any) -> bool:
    """Compare two fields; text is never equal to integers."""
    if isinstance(one, np.ndarray):
        return one.dtype.kind == other.dtype.kind and np.array_equal(one, other)
    if isinstance(one, Mapping):
        return one.keys() == other.keys() and all(_equal(one[name], other[name]) for name in one)
    return one == other
