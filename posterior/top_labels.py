"""Most plausible labels of every draw: ordered by plausibility, ties by the order of the categories.

Labels are codes 0, 1, ... of one numbering of the categories for all items. OTHER, the pool of the categories
that nobody named, is split into its members, excluded, or kept as one label; a member has the code of its
category.

Splitting OTHER divides its mass among the exchangeable categories that no rater of the item ranked. Given the
mass of OTHER, its members' shares are Dirichlet(concentration, ..., concentration), independent of everything
else, so they can be drawn after sampling; and a top-j set needs only the largest j. Members are exchangeable,
so the identities of the largest are a uniform draw without replacement, made once per draw and item and common
to all predictions of that item. The sizes matter only in comparison with named labels: those below the least of
these that has a place need not be drawn.

Notation: M members, concentration a. In size-biased order the shares are sticks, V_i ~ Beta(1 + a, (M - i) a)
for i = 1, 2 and so on; no remaining member can be larger than the remaining mass, so stick breaking stops as
soon as that is below the values of interest. This is exact. For large M a all M gammas are drawn instead.

References
----------
Pitman (1996), Random discrete distributions invariant under size-biased permutation, Advances in
Applied Probability 28, doi:10.2307/1428070.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import numpy as np

from .errors import EvaluationError
from .plausibility import REMEDY, Block, Plausibility
from .schema import OTHER
from .summaries import one_category

OtherAs = Literal["split", "exclude", "label"]
NO_LABEL = -1
MANY = 32.0  # total concentration above which drawing every gamma is cheaper than breaking sticks
BATCH = 262_144  # gammas in one batch
# largest plausibilities of named categories, and their codes (top, item, sample)
Named = tuple[np.ndarray, np.ndarray]
MOST_RANKED = 40  # labels whose ranks are counted, pair by pair, rather than inserted one by one
IN_CACHE = 50_000  # values of one position processed at a time, to stay in the CPU cache


def treatment_of_other(view: Plausibility, other: OtherAs | None) -> OtherAs:
    """Return the treatment of OTHER: as requested, or as the tree implies; raise if the two contradict.

    The default is "split" if the tree stores the size and concentration of OTHER, and "exclude" if it says
    that OTHER has no members (``unranked="single"``, concentration NaN), that its members have no fixed
    concentration (a random one is NaN, too), or no item has OTHER.
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
            f'other="split": {OTHER} cannot be divided (other_concentration is NaN): the model has it as one pseudo-category '
            'without members, or the concentration of its members is random; use other="exclude" or "label"'
        )
    return "exclude"


@dataclass(frozen=True)
class TopLabels:
    """Most plausible labels of every draw."""

    view: Plausibility
    other: OtherAs
    identify: bool = True  # whether members of OTHER get their own codes; if not, that of OTHER

    @property
    def n_codes(self) -> int:
        """Number of category codes; the next code stands for OTHER as a label."""
        known = len(self.view.categories)
        return max(known, self.view.declared_count() or 0) if self.other == "split" else known

    @property
    def dtype(self) -> type[np.signedinteger]:
        """Smallest signed integer type that holds every code."""
        return np.int16 if self.n_codes < np.iinfo(np.int16).max else np.int32

    @cached_property
    def from_rows(self) -> bool:
        """Whether all items name the same number of labels, and nothing is drawn at random."""
        count = self.view.named_count()
        return not (self.view.is_of_category or self.view.has_other.any() or (count != count[0]).any())

    def draw(
        self, block: Block, top: int, rng: np.random.Generator, named: Named | None = None
    ) -> np.ndarray:
        """Return the top labels of every draw, or the true category if plausibilities are its probabilities.

        Shapes: result (top, item, sample), codes with the best first, -1 where fewer than `top` are positive.
        `rng` draws the members of a split OTHER, and the true category. `named` are the `largest_named` of as many or more.
        """
        if self.view.is_of_category:
            return self._true_category(block, top, rng)
        if self.from_rows:
            return self._of_rows(block, top)
        if named is None:
            best, codes = self.largest_named(block, top)
        else:
            best, codes = named[0][:top], named[1][:top].copy()
        with_other = np.flatnonzero(self.view.has_other[block.items])
        if len(with_other) and self.other != "exclude":
            last = self.view.start[1:][block.items][with_other] - 1 - block.cells.start
            n_pieces = len(last) * block.draws.shape[1] // IN_CACHE + 1
            for piece in np.array_split(np.arange(len(last)), n_pieces):
                items, mass = with_other[piece], block.draws[last[piece]]
                of_items = best.take(items, axis=1), codes.take(items, axis=1)
                if self.other == "label":
                    insert(of_items[0], mass, of_items[1], self.n_codes)
                else:
                    self._split(*of_items, mass, block.items.start + items, rng)
                codes[:, items] = of_items[1]
        return codes

    def _true_category(self, block: Block, top: int, rng: np.random.Generator) -> np.ndarray:
        """Draw one category (1, item, sample) from the probabilities of every draw."""
        if top > 1:
            raise EvaluationError(one_category(top))
        n, samples = int(self.view.start[1]), block.draws.shape[1]
        reached = block.draws.reshape(-1, n, samples).cumsum(axis=1, dtype=float)
        point = rng.random((len(reached), 1, samples)) * reached[:, -1:]
        return (reached <= point).sum(axis=1).astype(self.dtype)[None]

    def _of_rows(self, block: Block, top: int) -> np.ndarray:
        """Return the codes (top, item, sample) from the draws as they are stored."""
        n_samples, n_items = len(block.rows), block.items.stop - block.items.start
        rows = block.rows.reshape(n_samples, n_items, -1)
        n = rows.shape[2]
        code = self.view.code[block.cells].reshape(n_items, n)
        same = (code == code[0]).all()
        codes = np.empty((top, n_samples, n_items), self.dtype)
        width = min(n_items, IN_CACHE)
        height = min(max(IN_CACHE // width, 1), n_samples)
        buffer = np.empty((n, height, width), rows.dtype)
        for items in (slice(first, first + width) for first in range(0, n_items, width)):
            names = code[:1].T[:, None] if same else code[items].T[:, None]
            for samples in (slice(first, first + height) for first in range(0, n_samples, height)):
                piece, found = rows[samples, items], codes[:, samples, items]
                values = buffer[:, : piece.shape[0], : piece.shape[1]]
                np.copyto(values, piece.transpose(2, 0, 1))
                if top == 1:
                    self._first_of(values, names, found[0])
                elif n <= MOST_RANKED:
                    self._best_of(values, names, found)
                else:
                    best = np.zeros(found.shape, rows.dtype)
                    best_codes = np.full(found.shape, NO_LABEL, self.dtype)
                    for value, name in zip(values, names, strict=True):
                        insert(best, value, best_codes, name)
                    found[...] = best_codes
        return codes.transpose(0, 2, 1)

    def _first_of(self, values: np.ndarray, names: np.ndarray, found: np.ndarray) -> None:
        """Overwrite `found` (...) with the code of the largest of the values (label, ...); names (label, 1, item or 1)."""
        best = values.max(axis=0)
        found[...] = self._named_at(_place_of(values, best), names)
        if not best.all():
            found[best == 0] = NO_LABEL

    def _best_of(self, values: np.ndarray, names: np.ndarray, found: np.ndarray) -> None:
        """Overwrite `found` (top, ...) with the codes of the largest values (label, ...), by ranks; names as in `_first_of`."""
        rank, least = _ranks(values), values.min()
        hit, product = np.empty(rank.shape[1:], bool), np.empty(rank.shape[1:], np.uint8)
        positive = (values > 0).sum(axis=0) if least == 0 else None
        for q, codes in enumerate(found):
            place = np.zeros(rank.shape[1:], np.uint8)
            for label, own in enumerate(rank[1:], 1):
                np.equal(own, q, out=hit)
                np.multiply(hit.view(np.uint8), np.uint8(label), out=product)
                np.add(place, product, out=place)
            codes[...] = self._named_at(place, names)
            if positive is not None:
                codes[positive <= q] = NO_LABEL
            if q >= len(values):
                codes[...] = NO_LABEL

    def _named_at(self, place: np.ndarray, names: np.ndarray) -> np.ndarray:
        """Return the codes at places (sample, item) among names (label, 1, item or 1)."""
        if names.shape[2] == 1:
            return names.ravel().astype(self.dtype).take(place)
        return np.take_along_axis(names, place[None].astype(np.intp), axis=0)[0]

    def largest_named(self, block: Block, top: int) -> Named:
        """Return the largest plausibilities of named categories, and their codes: (top, item, sample)."""
        view, start = self.view, self.view.start[block.items]
        shape = (top, len(start), block.draws.shape[1])
        best, codes = np.empty(shape, block.draws.dtype), np.empty(shape, self.dtype)
        count = view.named_count()[block.items]
        # items with the same number of labels are processed as one array
        for n in np.unique(count).tolist():
            of_count = np.flatnonzero(count == n)
            for items in np.array_split(of_count, len(of_count) * shape[2] // IN_CACHE + 1):
                cells = start[items] + np.arange(n)[:, None]
                values = [block.draws[_evenly(cell - block.cells.start)] for cell in cells]
                of_items = np.zeros((top, len(items), shape[2]), best.dtype)
                codes_of_items = np.full(of_items.shape, NO_LABEL, self.dtype)
                self._largest(values, start[items], of_items, codes_of_items)
                best[:, items], codes[:, items] = of_items, codes_of_items
        return best, codes

    def _largest(
        self, values: list[np.ndarray], start: np.ndarray, best: np.ndarray, codes: np.ndarray
    ) -> None:
        """Write the largest positive values and their codes, the largest first; ties by the order of the categories.

        Shapes: values (item, sample) each; start (item,), first cells of the items; best and codes (top, item, sample),
        which hold 0 and no label before, and stay so where fewer values are positive.
        """
        # copies of several, in which those that were found are crossed out
        copies = np.stack(values) if len(best) > 1 and values else None
        left = values if copies is None else [*copies]
        for q in range(min(len(best), len(left))):
            np.copyto(best[q], left[0])
            for value in left[1:]:
                np.maximum(best[q], value, out=best[q])
            place = _place_of(left, best[q])
            codes[q] = self.view.code.take(start[:, None] + place)
            if not best[q].min(initial=1) > 0:
                none = best[q] <= 0
                best[q][none], codes[q][none] = 0, NO_LABEL
            if copies is not None:
                copies.reshape(len(copies), -1)[place.ravel(), np.arange(place.size)] = -1

    def _split(
        self, best: np.ndarray, codes: np.ndarray, mass: np.ndarray, of: np.ndarray, rng: np.random.Generator
    ) -> None:
        """Insert the largest members of OTHER into `codes`, which are overwritten in place.

        The order of the members by size is a uniform permutation, whatever the sizes. These are drawn only as far as they
        exceed the least of the best named labels; the places after it are for the next members of the permutation.
        Shapes: best and codes (top, item, sample); mass (item, sample); of (item,), the items.
        """
        size, concentration = self.view.other_size, self.view.other_concentration
        assert size is not None and concentration is not None
        top, _, n_samples = best.shape
        best, codes, mass = best.reshape(top, -1), codes.reshape(top, -1), mass.ravel()
        where = np.flatnonzero(mass > best[-1])
        best, mass, size = best.take(where, axis=1), mass.take(where), size[of].take(where // n_samples)
        named = (best > 0).sum(axis=0)
        least = best[np.maximum(named, 1) - 1, np.arange(len(where))]
        sized = np.flatnonzero((mass > least) & (named > 0))
        value, above = np.zeros_like(best), np.zeros_like(named)
        law = mass.take(sized), least.take(sized), size.take(sized), concentration
        value[:, sized] = largest_members(*law, top, rng)
        above[sized] = (value[:, sized] > law[1]).sum(axis=0)
        last = np.maximum(above, np.minimum(top - named, size))  # members that enter
        enters = np.flatnonzero(last)
        where, named, above, last, size = (own.take(enters) for own in (where, named, above, last, size))
        columns, value = best.take(enters, axis=1), value.take(enters, axis=1)
        labels = codes.take(where, axis=1)
        for rank, label in enumerate(
            self._members(int(last.max(initial=0)), size, where // n_samples, of, rng)
        ):
            by_size = np.flatnonzero(rank < above)
            own = columns.take(by_size, axis=1), labels.take(by_size, axis=1)
            insert(own[0], value[rank].take(by_size), own[1], label.take(by_size))
            columns[:, by_size], labels[:, by_size] = own
            after = np.flatnonzero((rank >= above) & (rank < last))
            labels[named.take(after) + rank, after] = label.take(after)
        codes[:, where] = labels

    def _members(
        self, top: int, size: np.ndarray, item: np.ndarray, of: np.ndarray, rng: np.random.Generator
    ) -> Iterator[np.ndarray]:
        """Yield the codes of `top` members in random order, (draw,): of OTHER of the draws' items, size and item (draw,)."""
        if not self.identify:
            yield from (np.full(len(size), self.n_codes, self.dtype) for _ in range(top))
            return
        codes, first = self._unnamed_codes(of)
        first = first.take(item)
        for member in distinct_members(top, size, rng):
            yield codes.take(first + member, mode="clip")  # past the last member arbitrary: it does not enter

    def _unnamed_codes(self, items: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the codes that items do not name, ascending within each item, and where each item's codes start (item,)."""
        start, unnamed = self.view.start, np.ones((len(items), self.n_codes), bool)
        for row, item in zip(unnamed, items.tolist(), strict=True):
            code = self.view.code[start[item] : start[item + 1]]
            row[code[code >= 0]] = False
        count = unnamed.sum(axis=1)
        return np.nonzero(unnamed)[1].astype(self.dtype), count.cumsum() - count


def _place_of(values: Sequence[np.ndarray] | np.ndarray, best: np.ndarray) -> np.ndarray:
    """Return the number of values, (label, ...), before the first that is `best` (...): ties by the order of the categories."""
    place = np.zeros(best.shape, np.min_scalar_type(len(values)))
    before, differs = np.ones(best.shape, bool), np.empty(best.shape, bool)
    for value in values[:-1]:
        np.not_equal(value, best, out=differs)
        np.logical_and(before, differs, out=before)
        np.add(place, before.view(np.uint8), out=place)
    return place


def _ranks(values: np.ndarray) -> np.ndarray:
    """Return the number of labels before each, (label, ...): larger values, and equal ones that come earlier."""
    rank = np.empty(values.shape, np.uint8)
    rank[:] = np.arange(len(values), dtype=np.uint8).reshape(-1, *[1] * (values.ndim - 1))
    above = np.empty(values.shape[1:], bool)
    for second in range(1, len(values)):
        for first in range(second):
            np.greater(values[second], values[first], out=above)
            np.add(rank[first], above.view(np.uint8), out=rank[first])
            np.subtract(rank[second], above.view(np.uint8), out=rank[second])
    return rank


def _evenly(rows: np.ndarray) -> np.ndarray | slice:
    """Return evenly spaced rows as a slice, which avoids a copy."""
    step = np.diff(rows)
    if len(step) and (step == step[0]).all():
        return slice(int(rows[0]), int(rows[-1]) + 1, int(step[0]))
    return rows


# --- Members of OTHER ---


def largest_members(
    mass: np.ndarray, floor: np.ndarray, size: np.ndarray, a: float, top: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw the plausibilities of the largest members of OTHER, as far as they exceed the floor.

    Shapes: mass (draw,), plausibility of OTHER as a whole; floor (draw,); size (draw,), number M of members;
    result (top, draw), largest first, in the precision of `mass`. Those not above the floor are arbitrary.
    """
    largest = np.empty((top, len(mass)), mass.dtype)
    many = size * a > MANY
    for draw, which in ((_sticks, ~many), (_all_gammas, many)):
        chosen = np.flatnonzero(which)
        step = BATCH if draw is _sticks else max(BATCH // int(size.max(initial=1)), 1)
        for first in range(0, len(chosen), step):
            batch = chosen[first : first + step]
            left = mass.take(batch).astype(float), floor.take(batch).astype(float), size.take(batch)
            largest[:, batch] = draw(*left, a, top, rng)
    return largest


def distinct_members(top: int, size: np.ndarray, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield `top` members (draw,), uniform on 0 ... size - 1 without replacement; after the last, numbers from size on."""
    earlier: list[np.ndarray] = []
    kind = np.int16 if size.max(initial=1) + top < np.iinfo(np.int16).max else np.int64  # small ones are fast
    for i in range(top):
        member = rng.integers(0, np.maximum(size - i, 1)).astype(kind)
        for taken in earlier:
            member += member >= taken
        yield member
        # insert it among the earlier ones, ascending
        for place, taken in enumerate(earlier):
            earlier[place], member = np.minimum(taken, member), np.maximum(taken, member)
        earlier.append(member)


def category_of_member(member: np.ndarray, named: np.ndarray) -> np.ndarray:
    """Convert numbers (draw,) among the categories that are not named to category codes (draw,).

    Named codes (place, draw or 1) are ascending, padded with numbers larger than any code.
    """
    code = member.copy()
    for taken in named:
        code += code >= taken
    return code


def _sticks(
    left: np.ndarray, floor: np.ndarray, size: np.ndarray, a: float, top: int, rng: np.random.Generator
) -> np.ndarray:
    """Break sticks in size-biased order until the rest cannot change the result; shapes: `largest_members`."""
    largest = np.empty((top, len(left)))
    where, found = np.arange(len(left)), np.zeros((top, len(left)))
    while len(where):
        size = size - 1
        stick = rng.standard_gamma(1 + a, len(left))
        # V_i = stick / (stick + rest); a gamma of shape 0 is 0, so the last member gets all the remaining mass
        rest = rng.standard_gamma(size * a)
        left = left / (stick + rest)
        stick *= left
        left *= rest
        for best in found:
            smaller = np.minimum(best, stick)
            np.maximum(best, stick, out=best)
            stick = smaller
        goes_on = left > np.maximum(found[-1], floor)
        ended, alive = np.flatnonzero(~goes_on), np.flatnonzero(goes_on)
        largest[:, where.take(ended)] = found.take(ended, axis=1)
        where, left, floor = where.take(alive), left.take(alive), floor.take(alive)
        size, found = size.take(alive), found.take(alive, axis=1)
    return largest


def _all_gammas(
    mass: np.ndarray, floor: np.ndarray, size: np.ndarray, a: float, top: int, rng: np.random.Generator
) -> np.ndarray:
    """Draw all members as normalised gammas, whatever the floor. Shapes as `largest_members`."""
    del floor
    members = int(size.max())
    worth = rng.standard_gamma(a, (len(mass), members))
    if size.min() < members:
        worth[np.arange(members) >= size[:, None]] = 0
    worth *= (mass / worth.sum(axis=1))[:, None]
    kept = min(top, members)
    worth.partition(members - kept, axis=1)
    largest = np.zeros((top, len(mass)))
    largest[:kept] = np.sort(worth[:, members - kept :], axis=1)[:, ::-1].T
    return largest


def insert(best: np.ndarray, value: np.ndarray, codes: np.ndarray | None = None, code: object = None) -> None:
    """Insert a value by draw (...) into the descending columns `best` (top, ...), in place, after equal ones; its code too."""
    above = value > best[-1]
    for q in range(len(best) - 1, -1, -1):
        np.copyto(best[q], value, where=above)
        if codes is not None:
            np.copyto(codes[q], code, where=above)  # pyright: ignore[reportArgumentType]
        if q:
            # where the value belongs further up, the entry above moves down and overwrites it here
            above = value > best[q - 1]
            np.copyto(best[q], best[q - 1], where=above)
            if codes is not None:
                np.copyto(codes[q], codes[q - 1], where=above)
