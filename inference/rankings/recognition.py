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


def read_rankings(model: pm.Model) -> RankingLikelihood:
    """Read a Plackett-Luce likelihood, one observed `PartialRanking` of ``log(worth)[index]``; NotConjugate for others."""
    observed = only_observed(model, PartialRankingRV)
    log_worth, _, reliability = observed.owner.op.dist_params(observed.owner)
    worth, index = _gathered(log_worth, model)
    width = int(np.prod(shape_of(worth)[1:]))  # of a row, when whole rows are gathered
    candidate = index[:, None] * width + np.arange(width) if index.ndim == 1 else index
    block = constant_value(model.rvs_to_values[observed], "the observed rankings")
    power = constant_value(reliability, "reliability")
    repeated = "the Gibbs sampler repeats every annotation that many times"
    if (wrong := (power < 1) | (power != np.floor(power))).any():
        raise NotConjugate(f"reliability={power[wrong].flat[0]:g} is not a whole number from 1: {repeated}")
    if (power > MOST_COPIES).any():
        raise NotConjugate(f"reliability={power.max():g} is above {MOST_COPIES:,}: {repeated}")
    return RankingLikelihood(worth, candidate, block, power)


def _gathered(log_worth: Variable, model: pm.Model) -> tuple[TensorVariable, np.ndarray]:
    """Return worth and index of ``log(worth)[index]``, or raise."""
    gather = log_worth.owner
    source, *index = (
        gather.inputs if gather is not None and isinstance(gather.op, AdvancedSubtensor) else (log_worth,)
    )
    if len(index) != 1 or source.owner is None or source.owner.op != log_of:
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
    return worth, constant_value(index[0], "the index of the worths")


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

    The members of an annotation's blocks are all candidates of its item. The last block holds the unranked
    candidates or, if there are none, the last ranked block: the likelihood is the same, as nothing comes after.
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


def distinct_annotations(
    block: np.ndarray, candidate: np.ndarray, reliability: np.ndarray | float, n_candidates: int
) -> DistinctAnnotations:
    """Merge identical annotations of an item and lay out their blocks.

    Shapes: block, candidate (annotation, place); reliability () or (annotation,). `block`: 0 = best, the
    largest = unranked, -1 beyond the item's candidates, where `candidate` is ignored; the candidates of an
    item are contiguous. The result is sorted by item, then block numbers: independent of the other items and
    of the order of raters. Raises ValueError unless reliabilities are whole numbers from 1 and every row
    covers all candidates of one item.
    """
    block = np.asarray(block)
    copies = _whole_reliability(reliability, len(block))
    width = (block >= 0).sum(axis=1)
    first = np.asarray(candidate)[:, 0].astype(np.int64)
    candidate_start = _item_starts(block, candidate, width, n_candidates)

    order, is_new = _sorted_distinct(block, first)
    kept = order[is_new]
    multiplicity = np.add.reduceat(copies[order], np.flatnonzero(is_new))
    rows, width, first = block[kept], width[kept], first[kept]

    # A stable sort by (row, block number) turns every row into its blocks, laid end to end.
    row, place = np.nonzero(rows >= 0)
    number = rows[row, place].astype(np.int64)
    by_block = np.lexsort((number, row))
    row, place, number = row[by_block], place[by_block], number[by_block]
    opens = (np.diff(row, prepend=-1) != 0) | (np.diff(number, prepend=-1) != 0)
    is_ranked = (rows < rows.max(axis=1, keepdims=True)) & (rows >= 0)
    in_row, at = np.nonzero(is_ranked)
    wins = np.bincount(first[in_row] + at, multiplicity[in_row], minlength=n_candidates)
    item_row = np.searchsorted(first, candidate_start)
    leader, settled = _leaders(rows, is_ranked, multiplicity, item_row)
    return DistinctAnnotations(
        candidate_start=candidate_start,
        annotation_start=item_row,
        multiplicity=multiplicity,
        block_start=np.searchsorted(row[opens], np.arange(len(kept) + 1)),
        member_start=np.append(np.flatnonzero(opens), len(row)),
        member=place,
        wins=wins.astype(np.float64),
        leader=leader,
        settled=settled,
    )


def _leaders(
    rows: np.ndarray, is_ranked: np.ndarray, multiplicity: np.ndarray, item_row: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return each item's candidate with the largest share of first blocks, and whether it is settled.

    Shapes: rows, is_ranked (distinct, place); multiplicity (distinct,); item_row (item + 1,); result (item,).
    """
    in_front = rows == 0
    share = in_front * (multiplicity / in_front.sum(axis=1))[:, None]
    leader = np.add.reduceat(share, item_row[:-1]).argmax(axis=1)
    of_leader = np.repeat(leader, np.diff(item_row))[:, None]
    lead = np.sign(rows - np.take_along_axis(rows, of_leader, axis=1))
    is_other = is_ranked & (np.arange(rows.shape[1]) != of_leader)
    # a place tied with the leader counts half behind it and half in front
    behind = (is_other * (1 + lead)).sum(axis=1) * multiplicity / 2
    before = (is_other * (1 - lead)).sum(axis=1) * multiplicity / 2
    behind, before = (np.add.reduceat(count, item_row[:-1]) for count in (behind, before))
    return leader, behind >= 2 * (before + 1)


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


def _item_starts(
    block: np.ndarray, candidate: np.ndarray, width: np.ndarray, n_candidates: int
) -> np.ndarray:
    """Return the first candidate of each item, (item + 1,), or raise if the rows have another layout."""
    column = np.arange(block.shape[1])
    inside = column < width[:, None]
    first = np.asarray(candidate)[:, :1].astype(np.int64)
    row_is_whole = ((block >= 0) == inside) & ((candidate == first + column) | ~inside)
    start, index = np.unique(first[:, 0], return_index=True)
    start = np.append(start, n_candidates).astype(np.int64)
    broken = ~row_is_whole.all(axis=1) | (width != np.diff(start)[np.searchsorted(start[:-1], first[:, 0])])
    if broken.any() or start[0] != 0:
        row = int(np.flatnonzero(broken)[0]) if broken.any() else int(index[0])
        raise ValueError(
            f"annotation {row} does not cover all candidates of its item, once each and in order, "
            f"or a candidate of the {n_candidates} belongs to no annotated item; the Gibbs sampler "
            "reads the layouts of models.plackett_luce"
        )
    return start


def _sorted_distinct(block: np.ndarray, first: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Order of the rows by (first candidate, blocks), mask of first ones; big-endian bytes sort as one key of eight numbers."""
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
