"""Splitting OTHER: its mass is divided among the exchangeable categories that no rater of the item ranked.

Given the mass of OTHER, its members' shares are Dirichlet(concentration, ..., concentration), independent of
everything else, so they can be drawn after sampling; and a top-j set needs only the largest j. Members are
exchangeable, so the identities of the largest are a uniform draw without replacement, made once per draw and
item and common to all predictions of that item. The sizes matter only in comparison with named labels: those
below the least of these that has a place need not be drawn.

Notation: M members, concentration a. In size-biased order the shares are sticks, V_i ~ Beta(1 + a, (M - i) a)
for i = 1, 2 and so on; no remaining member can be larger than the remaining mass, so stick breaking stops as
soon as that is below the values of interest. This is exact. For large M a all M gammas are drawn instead.

References
----------
Pitman (1996), Random discrete distributions invariant under size-biased permutation, Advances in
Applied Probability 28, doi:10.2307/1428070.
"""

from collections.abc import Iterator

import numpy as np

MANY = 32.0  # total concentration above which drawing every gamma is cheaper than breaking sticks
BATCH = 262_144  # gammas in one batch


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
