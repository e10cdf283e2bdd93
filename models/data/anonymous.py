"""Anonymisation: ids of raters, and of items on request, become numbers in a random order.

Neither the numbers nor the row order, which follows the numbers, reveal an id. Answers and rater attributes
stay: rare answers, rare attributes, or answers known from elsewhere may still identify a person.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np

from .errors import DataError, shown

__all__ = ["Recoded", "Whose", "recoded", "unchanged"]

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
            f"{shown(whose)} is not a choice of ids to replace",
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
