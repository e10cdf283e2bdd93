"""Data without names: raters, and items too if asked, become numbers in a random order.

Who is who cannot be told from the numbers, nor from the order of the rows, which goes by the numbers. What raters answered and
what is known of them stays: rare answers, rare attributes, or answers that are known from elsewhere may still point at a person.
"""

from typing import Literal, NamedTuple, get_args

import numpy as np

from .errors import DataError, shown

__all__ = ["Recoded", "Whose", "recoded", "unchanged"]

Whose = Literal["raters", "all"]
"""Whose ids are replaced: those of the raters, or those of the items as well."""


class Recoded(NamedTuple):
    """New ids, and which of the old ones they stand for.

    Attributes
    ----------
    ids : ndarray of str or int64, shape (new,)
        New ids.
    old : ndarray of int, shape (new,)
        Old code of each new one.
    new : ndarray of int32, shape (old,) or (old + 1,)
        New code of each old one, -1 where it goes; a last place, of nobody, holds -1.
    """

    ids: np.ndarray
    old: np.ndarray
    new: np.ndarray


def recoded(
    items: np.ndarray, raters: np.ndarray, whose: Whose, random_seed: int | None
) -> tuple[Recoded, Recoded]:
    """Draw new ids.

    Parameters
    ----------
    items, raters : ndarray of str or int64
        Ids.
    whose : str
        "raters" or "all".
    random_seed : int, optional
        Of the order. None takes it from the operating system: nobody can draw it again.

    Returns
    -------
    tuple of Recoded
        Of the items, as they were unless all are asked for; of the raters.

    Raises
    ------
    DataError
        If `whose` is another word.
    """
    if whose not in get_args(Whose):
        raise DataError(
            f"{shown(whose)} says of nobody that they lose their names",
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
    """Return ids that stay what and where they are.

    Parameters
    ----------
    ids : ndarray of str or int64
        Ids.

    Returns
    -------
    Recoded
        The same.
    """
    return _codes(ids, np.arange(len(ids)))


def _numbered(kind: str, ids: np.ndarray, order: np.ndarray) -> Recoded:
    names = np.array([f"{kind} {k}" for k in range(1, len(ids) + 1)], np.str_)
    return _codes(names, order)


def _codes(ids: np.ndarray, order: np.ndarray) -> Recoded:
    new = np.full(len(ids) + 1, -1, np.int32)
    new[order] = np.arange(len(ids))
    return Recoded(ids, order, new)
