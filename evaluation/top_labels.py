"""The most plausible labels of every draw: order by plausibility, ties by the order of the categories.

Labels are codes 0, 1, ... of one numbering of the categories for all items. OTHER, the pooled rest,
is split into its members, left out, or kept as one label; a member is the category it stands for.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np

from .errors import EvaluationError
from .members import category_of_member, distinct_members, insert, largest_members
from .plausibility import OTHER, REMEDY, Block, Plausibility

__all__ = ["NO_LABEL", "OtherAs", "TopLabels", "treatment_of_other"]

OtherAs = Literal["split", "exclude", "label"]
NO_LABEL = -1


def treatment_of_other(view: Plausibility, other: OtherAs | None) -> OtherAs:
    """Resolve how OTHER is treated.

    Parameters
    ----------
    view : Plausibility
        Posterior.
    other : {"split", "exclude", "label"}, optional
        Wish of the caller; default "split" where the tree says how, "exclude" where it says that
        OTHER is not to be split (``unranked="single"``).

    Raises
    ------
    EvaluationError
        If the value is unknown, or the tree does not say what OTHER stands for.
    """
    if other is not None and other not in get_args(OtherAs):
        raise EvaluationError(f"other={other!r}: expected one of {get_args(OtherAs)} or None")
    if not view.has_other.any():
        return "exclude"
    if other in ("exclude", "label"):
        return other
    if view.other_size is None or view.other_concentration is None:
        raise EvaluationError(
            f"the posterior has candidates {OTHER} but no constant_data other_size and "
            f'other_concentration: pass the tree, or other="exclude" or "label"; {REMEDY}'
        )
    if np.isfinite(view.other_concentration):
        return "split"
    if other == "split":
        raise EvaluationError(
            f'other="split": the model has one pseudo-category {OTHER} (other_concentration is NaN), '
            'which has no members; use other="exclude" or "label"'
        )
    return "exclude"


@dataclass(frozen=True)
class TopLabels:
    """The j most plausible labels of every draw.

    Attributes
    ----------
    view : Plausibility
        Posterior.
    other : {"split", "exclude", "label"}
        How OTHER is treated.
    identify : bool
        Whether a member of OTHER is told from the others; if not, all are labelled OTHER.
    """

    view: Plausibility
    other: OtherAs
    identify: bool = True

    @property
    def n_codes(self) -> int:
        """Number of codes of categories; the code after the last is OTHER as a label."""
        known = len(self.view.categories)
        return max(known, self.view.declared_count() or 0) if self.other == "split" else known

    @property
    def dtype(self) -> type[np.signedinteger]:
        """Smallest integers that hold every code."""
        return np.int16 if self.n_codes < np.iinfo(np.int16).max else np.int32

    def draw(self, block: Block, top: int, rng: np.random.Generator) -> np.ndarray:
        """Return the labels of every draw, best first, fewer if fewer are positive.

        Parameters
        ----------
        block : Block
            Draws of consecutive items.
        top : int
            How many labels.
        rng : numpy.random.Generator
            Draws the members of OTHER, if it is split.

        Returns
        -------
        ndarray of int, shape (top, item, sample)
            Codes; -1 after the last.
        """
        view, start = self.view, self.view.start[block.items]
        codes = np.empty((top, len(start), block.draws.shape[1]), self.dtype)
        count, has_other = np.diff(view.start)[block.items], view.has_other[block.items]
        size = has_other if view.other_size is None else has_other * view.other_size[block.items]
        # items with equally many cells and members are one array
        alike, group = np.unique(np.c_[count, has_other, size], axis=0, return_inverse=True)
        for number, (n_cells, other, n_members) in enumerate(alike.tolist()):
            items = np.flatnonzero(group.ravel() == number)
            named = start[items, None] + np.arange(n_cells - other)
            best, codes_of_best = self._named(block, named, top)
            if other and self.other != "exclude":
                mass = block.draws[named[:, -1] + 1 - block.cells.start]
                if self.other == "label":
                    insert(best, mass, codes_of_best, self.n_codes)
                else:
                    law = _Members(n_members, np.sort(self.view.code[named]), rng)
                    self._split(best, codes_of_best, mass, law)
            codes[:, items] = codes_of_best
        return codes

    def _named(self, block: Block, cells: np.ndarray, top: int) -> tuple[np.ndarray, np.ndarray]:
        """Return the best plausibilities of cells (item, cell) and their codes: (top, item, sample)."""
        shape = (top, len(cells), block.draws.shape[1])
        best = np.zeros(shape, block.draws.dtype)
        codes = np.full(shape, NO_LABEL, self.dtype)
        for cell in cells.T:
            value = block.draws[cell - block.cells.start]
            insert(best, value, codes, self.view.code[cell, None])
        return best, codes

    def _split(
        self, best: np.ndarray, codes: np.ndarray, mass: np.ndarray, members: "_Members"
    ) -> None:
        """Insert the largest members of OTHER, where its whole mass exceeds the last of the best."""
        concentration = self.view.other_concentration
        assert concentration is not None
        top, _, n_samples = best.shape
        best, codes, mass = best.reshape(top, -1), codes.reshape(top, -1), mass.ravel()
        where = np.flatnonzero(mass > best[-1])
        floor = best[-1].take(where)
        law = (top, members.size, concentration, members.rng)
        value = largest_members(mass.take(where), floor, *law)
        enters = np.flatnonzero(value[0] > floor)
        where, value = where.take(enters), value.take(enters, axis=1)
        columns, labels = best.take(where, axis=1), codes.take(where, axis=1)
        for one, label in zip(value, self._labels(members, where // n_samples, top), strict=True):
            insert(columns, one, labels, label)
        for code, label in zip(codes, labels, strict=True):
            code[where] = label

    def _labels(
        self, members: "_Members", item: np.ndarray, top: int
    ) -> Iterator[np.ndarray | int]:
        if not self.identify:
            yield from [self.n_codes] * top
            return
        named = members.named[item]
        for member in distinct_members(top, members.size, len(item), members.rng):
            yield category_of_member(member, named).astype(self.dtype)


@dataclass(frozen=True)
class _Members:
    """The members of OTHER of items alike: how many, what is named instead, and who draws."""

    size: int
    named: np.ndarray
    rng: np.random.Generator
