"""What all containers have in common: read-only arrays, equality by content, and leaving names out."""

from collections.abc import Mapping
from dataclasses import fields
from types import MappingProxyType
from typing import Any, Self

import numpy as np

from .anonymous import Recoded, Whose, recoded
from .errors import DataError

__all__ = ["Container", "expect"]


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
        """Whether the raters are not told apart."""
        return len(self.raters) == 0

    def anonymized(self, whose: Whose = "raters", *, random_seed: int | None = None) -> Self:
        """Put numbers, in a random order, in the place of the names of raters.

        Parameters
        ----------
        whose : {"raters", "all"}
            "all": in the place of the ids of items as well.
        random_seed : int, optional
            Of the order. Who knows it, and the data with their names, can tell who is who: by default nobody can draw it again.

        Returns
        -------
        same container
            The same annotations, by "rater 1", "rater 2"...; what is known of raters stays.

        Raises
        ------
        DataError
            If `whose` is another word.
        """
        return self._recoded(*recoded(self.items, self.raters, whose, random_seed))

    def _named(self, anonymize: Whose | None, random_seed: int | None) -> Self:
        return self if anonymize is None else self.anonymized(anonymize, random_seed=random_seed)

    def _recoded(self, items: Recoded, raters: Recoded) -> Self:
        """Return the annotations with other ids, in the order of these, without those that are gone."""
        raise NotImplementedError


def expect(data: object, kind: type[Container]) -> None:
    """Raise unless data have passed the door of a container.

    Parameters
    ----------
    data : object
        What was given.
    kind : type
        The container it has to be.

    Raises
    ------
    DataError
        If it is anything else.
    """
    if not isinstance(data, kind):
        name = kind.__name__
        raise DataError(
            f"a {type(data).__name__} is not {name}",
            allowed=f"raterzoo.models.{name}",
            remedy=f"read it by {name}.from_table",
        )


def _read_only(value: Any) -> Any:
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
