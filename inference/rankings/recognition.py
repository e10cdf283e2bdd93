"""Reader of ranking models: rankings and Gamma priors from the PyMC graph, and their distinct annotations as flat arrays.

The likelihood of an item is a product over its annotations, so that identical ones, or one raised to an
integer power, differ from a single one by their multiplicity only. Blocks are laid end to end (CSR).
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pymc as pm
from pytensor.graph.basic import Variable
from pytensor.graph.traversal import ancestors
from pytensor.tensor.math import log as log_of
from pytensor.tensor.random.basic import GammaRV
from pytensor.tensor.subtensor import AdvancedSubtensor
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.partial_ranking import PartialRankingRV
from ..runs.model_graph import (
    MOST_COPIES,
    NotConjugate,
    constant_value,
    only_observed,
    positive_constant,
    shape_of,
)
from .kernels.race import WorthPosterior


@dataclass(frozen=True, eq=False)
class RankingLikelihood:
    """Observed rankings of a model, and the worths they depend on."""

    worth: TensorVariable  # free random variable
    candidate: np.ndarray  # int (annotation, place), index into the raveled worths
    block: np.ndarray  # int (annotation, place), observed block numbers
    reliability: np.ndarray  # () or (annotation,), power of the likelihood
    start: (
        np.ndarray | None
    )  # int64 (item + 1,), first candidate of each item; None if only the rankings tell


def read_rankings(model: pm.Model) -> RankingLikelihood:
    """Read a Plackett-Luce likelihood, one observed `PartialRanking` of ``log(worth)[index]``; NotConjugate for others."""
    observed = only_observed(model, PartialRankingRV)
    log_worth, _, reliability = observed.owner.op.dist_params(observed.owner)
    worth, candidate = _gathered(log_worth, model)
    block = constant_value(model.rvs_to_values[observed], "the observed rankings")
    power = constant_value(reliability, "reliability")
    repeated = "the Gibbs sampler repeats every annotation that many times"
    if (wrong := (power < 1) | (power != np.floor(power))).any():
        raise NotConjugate(f"reliability={power[wrong].flat[0]:g} is not a whole number from 1: {repeated}")
    if (power > MOST_COPIES).any():
        raise NotConjugate(f"reliability={power.max():g} is above {MOST_COPIES:,}: {repeated}")
    return RankingLikelihood(worth, candidate, block, power, item_starts(model, worth))


def item_starts(model: pm.Model, worth: TensorVariable) -> np.ndarray | None:
    """Return the first candidate of each item in the layouts of `models.rankings`, int64 (item + 1,); None in others."""
    shape = shape_of(worth)
    if len(shape) == 2:
        return np.arange(shape[0] + 1) * shape[1]
    if "candidate_item" not in model.named_vars or "item" not in model.coords:
        return None
    item = constant_value(model["candidate_item"], "the item of each candidate")
    n_items = len(model.coords["item"] or ())
    fits = (
        item.shape == shape and (np.unique(item) == np.arange(n_items)).all() and (np.diff(item) >= 0).all()
    )
    return np.searchsorted(item, np.arange(n_items + 1)) if fits else None


def _gathered(log_worth: Variable, model: pm.Model) -> tuple[TensorVariable, np.ndarray]:
    """Return worth of ``log(worth)[index]``, and the candidate of each place (annotation, place), or raise."""
    gather = log_worth.owner
    source, *index = (
        gather.inputs if gather is not None and isinstance(gather.op, AdvancedSubtensor) else (log_worth,)
    )
    if len(index) not in (1, 2) or source.owner is None or source.owner.op != log_of:
        raise NotConjugate(
            "the rankings do not depend on log(worth)[index] but on another function of the worths"
        )
    worth = source.owner.inputs[0]
    if worth not in model.free_RVs:
        raise NotConjugate("the worths are not a free random variable of the model")
    if children := [rv.name for rv in model.free_RVs if rv is not worth and worth in ancestors([rv])]:
        raise NotConjugate(f"{children[0]!r} depends on the worths, too")
    if not isinstance(worth.owner.op, GammaRV):
        raise NotConjugate(f"the prior of {worth.name!r} is {worth.owner.op}, not a Gamma")
    row, *column = (constant_value(own, "the index of the worths") for own in index)
    shape = shape_of(worth)
    if len(shape) != (2 if column else row.ndim % 2 + 1):
        raise NotConjugate("the index of the worths does not select the candidates of each ranking")
    if column:
        return worth, row * shape[1] + column[0]
    return worth, row[:, None] * shape[1] + np.arange(shape[1]) if row.ndim == 1 else row


def gamma_parameters(worth: TensorVariable) -> tuple[np.ndarray, np.ndarray]:
    """Return shape and rate, (candidate,) each, of a Gamma prior; raise NotConjugate if one is random."""
    alpha, scale = (
        positive_constant(p, f"a parameter of the prior of {worth.name!r}")
        for p in worth.owner.op.dist_params(worth.owner)
    )
    shape, rate = (np.broadcast_to(p, shape_of(worth)).ravel() for p in (alpha, 1 / scale))
    return shape, rate


# --- Distinct annotations: identical rankings of an item are stored once, with a multiplicity ---


class DistinctAnnotations(NamedTuple):
    """Distinct annotations of every item, in compressed sparse rows.

    The members of an annotation's blocks are the candidates shown, of most designs all of its item. The last block holds the
    unranked candidates or, if there are none, the last ranked block: the likelihood is the same, as nothing comes after.
    """

    candidate_start: np.ndarray  # int64 (item + 1,); first candidate of each item
    annotation_start: np.ndarray  # int64 (item + 1,); distinct annotations of each item
    multiplicity: np.ndarray  # int64 (distinct,); number of times given, times reliability
    block_start: np.ndarray  # int64 (distinct + 1,); blocks of each annotation, best first
    member_start: np.ndarray  # int64 (block + 1,); members of each block
    member: np.ndarray  # int64 (member,); candidate, counted from the first of its item
    # float64 (candidate,); annotations, times reliability, that rank it above the last block
    wins: np.ndarray
    leader: np.ndarray  # int64 (item,); candidate most often in a first block (ties shared), as in member
    # bool (item,); behind >= 2 (in front + 1), counting places relative to the leader: the worths behind it
    # then mix slowly without `draw_leader_factor`
    settled: np.ndarray
    partly: np.ndarray  # bool (item,); whether some annotation was shown some of its candidates only


def distinct_annotations(
    block: np.ndarray,
    candidate: np.ndarray,
    reliability: np.ndarray | float,
    n_candidates: int,
    start: np.ndarray | None = None,
) -> DistinctAnnotations:
    """Merge identical annotations of an item and lay out their blocks.

    Shapes: block, candidate (annotation, place); reliability () or (annotation,); start (item + 1,). `block`: 0 = best, the
    largest = unranked, -1 beyond the candidates shown, where `candidate` is ignored; the candidates of an
    item are contiguous. The result is sorted by item, then block numbers: independent of the other items and
    of the order of raters. Raises ValueError unless reliabilities are whole numbers from 1 and every row
    holds candidates of one item in ascending order: without `start` all of them.
    """
    block, candidate = np.asarray(block), np.asarray(candidate)
    copies = _whole_reliability(reliability, len(block))
    if start is None:
        start = _item_starts(block, candidate, n_candidates)
    item = _items_of_rows(block, candidate, start)
    width = (block >= 0).sum(axis=1)
    is_partial = width < np.diff(start)[item]

    keys = block
    if is_partial.any():  # rankings that are alike may be of other candidates
        keys = np.hstack([block, np.where(block >= 0, candidate - start[item][:, None], -1)])
    order, is_new = _sorted_distinct(keys, item)
    kept = order[is_new]
    multiplicity = np.add.reduceat(copies[order], np.flatnonzero(is_new))
    rows, item = block[kept], item[kept]

    # A stable sort by (row, block number) turns every row into its blocks, laid end to end.
    row, place = np.nonzero(rows >= 0)
    number, member = rows[row, place].astype(np.int64), candidate[kept][row, place].astype(np.int64)
    by_block = np.lexsort((number, row))
    row, number, member = row[by_block], number[by_block], member[by_block]
    opens = (np.diff(row, prepend=-1) != 0) | (np.diff(number, prepend=-1) != 0)
    is_ranked = number < rows.max(axis=1)[row]
    wins = np.bincount(member[is_ranked], multiplicity[row[is_ranked]], minlength=n_candidates)
    leader, settled = _leaders((row, number, member, is_ranked), multiplicity, item, start)
    return DistinctAnnotations(
        candidate_start=start,
        annotation_start=np.searchsorted(item, np.arange(len(start))),
        multiplicity=multiplicity,
        block_start=np.searchsorted(row[opens], np.arange(len(kept) + 1)),
        member_start=np.append(np.flatnonzero(opens), len(row)),
        member=member - start[item][row],
        wins=wins.astype(np.float64),
        leader=leader,
        settled=settled,
        partly=np.bincount(item, is_partial[kept], len(start) - 1) > 0,
    )


def _leaders(
    entries: tuple[np.ndarray, ...], multiplicity: np.ndarray, item: np.ndarray, start: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each item's candidate with the largest share of first blocks, and whether it is settled.

    Shapes: entries, row, block number, candidate and whether it is ranked (member,); multiplicity and item (distinct,);
    result (item,).
    """
    row, number, member, is_ranked = entries
    in_front = number == 0
    size = np.bincount(row, in_front, len(item))
    share = np.bincount(member[in_front], (multiplicity / size)[row[in_front]], start[-1])
    of_item = np.repeat(np.arange(len(start) - 1), np.diff(start))
    largest = np.flatnonzero(share == np.maximum.reduceat(share, start[:-1])[of_item])
    leader = largest[np.unique(of_item[largest], return_index=True)[1]]
    # block of the leader in each row; a row without it says nothing of who is behind it
    is_leader = member == leader[item][row]
    of_leader = np.full(len(item), -1)
    of_leader[row[is_leader]] = number[is_leader]
    is_other = is_ranked & ~is_leader & (of_leader[row] >= 0)
    row, lead = row[is_other], np.sign(number[is_other] - of_leader[row[is_other]])
    # a place tied with the leader counts half behind it and half in front
    behind, before = (
        np.bincount(item[row], (1 + side * lead) * multiplicity[row] / 2, len(leader)) for side in (1, -1)
    )
    return leader - start[:-1], behind >= 2 * (before + 1)


def _whole_reliability(reliability: np.ndarray | float, n_annotations: int) -> np.ndarray:
    """Return the reliability of every annotation as int64, or raise unless it is a whole number from 1."""
    power = np.asarray(reliability, np.float64)
    wrong = ~((power >= 1) & (power == np.floor(power)) & (power < 2**31))
    if wrong.any():
        raise ValueError(
            f"reliability={power[wrong].flat[0]:g} must be a whole number from 1: the Gibbs sampler "
            "counts every annotation that many times; sample other powers with method='nuts'"
        )
    return np.broadcast_to(power.astype(np.int64), n_annotations)


def _item_starts(block: np.ndarray, candidate: np.ndarray, n_candidates: int) -> np.ndarray:
    """Return the first candidate of each item, (item + 1,), or raise unless every row covers all candidates of one."""
    start, index = np.unique(candidate[:, 0], return_index=True)
    start = np.append(start, n_candidates).astype(np.int64)
    if start[0] != 0:
        raise _refused_layout(int(index[0]), n_candidates)
    width = (block >= 0).sum(axis=1)
    broken = width != np.diff(start)[np.searchsorted(start[:-1], candidate[:, 0])]
    if broken.any():
        raise _refused_layout(int(broken.argmax()), n_candidates)
    return start


def _items_of_rows(block: np.ndarray, candidate: np.ndarray, start: np.ndarray) -> np.ndarray:
    """Return the item of each row (annotation,), or raise unless its candidates are of one item, once each and in order."""
    inside = block >= 0
    item = np.searchsorted(start, candidate[:, 0], side="right") - 1
    ascends = (np.diff(candidate.astype(np.int64), axis=1) > 0) | ~inside[:, 1:]
    left_aligned = inside[:, :-1] | ~inside[:, 1:]
    last = np.maximum(inside.sum(axis=1) - 1, 0)
    fits = candidate[np.arange(len(block)), last] < start[np.minimum(item + 1, len(start) - 1)]
    broken = ~(ascends.all(axis=1) & left_aligned.all(axis=1) & inside[:, 0] & fits)
    if broken.any() or len(np.unique(item)) < len(start) - 1:
        raise _refused_layout(int(broken.argmax()), int(start[-1]))
    return item


def _refused_layout(row: int, n_candidates: int) -> ValueError:
    return ValueError(
        f"annotation {row} does not cover all candidates of its item, once each and in order, "
        f"or a candidate of the {n_candidates} belongs to no annotated item; the Gibbs sampler "
        "reads the layouts of models.plackett_luce"
    )


def _sorted_distinct(block: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order of the rows by (item, blocks), mask of first ones; big-endian bytes sort as one key of eight numbers."""
    bits = 8 if block.max() < 255 else 16 if block.max() < 65535 else 32
    padded = np.pad(block, ((0, 0), (0, -block.shape[1] % 8)), constant_values=-1)
    keys = (padded + np.int64(1)).astype(f">u{bits // 8}").view(">u8").astype(np.uint64)
    order = np.lexsort((*keys.T[::-1], first))
    is_new = np.ones(len(order), bool)
    is_new[1:] = (np.diff(keys[order], axis=0) != 0).any(axis=1) | (np.diff(first[order]) != 0)
    return order, is_new


def worth_posterior(
    annotations: DistinctAnnotations, shape: np.ndarray | float, rate: np.ndarray | float = 1.0
) -> WorthPosterior:
    """Join annotations and Gamma priors, () or (candidate,); ValueError unless shape and rate are positive and finite."""
    for name, value in (("shape", np.asarray(shape)), ("rate", np.asarray(rate))):
        wrong = ~((value > 0) & (value < np.inf))
        if wrong.any():
            raise ValueError(
                f"{name}={value[wrong].flat[0]:g} of the Gamma prior must be positive and finite"
            )
    n = len(annotations.wins)
    return WorthPosterior(*annotations, *(np.array(np.broadcast_to(p, n), np.float64) for p in (shape, rate)))
