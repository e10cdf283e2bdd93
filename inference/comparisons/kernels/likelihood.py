"""Log likelihood of comparisons, its slopes and its information, by one pass over pairs and raters.

    dl/dd_e = sum_k rho_k l'(x_ek),     dl/drho_k = sum_e d_e l'(x_ek),     x_ek = rho_k d_e + bias,     d_e = q_first - q_second

A tile has a cell for every rater and pair, empty if the rater did not answer, so that no rater is looked up.
A sparse table lists the raters of each pair. Either is read in blocks of cells. With covariates of votes,
x_c = rho_k d_e + bias + z_c theta, a cell holds equal votes: of one pair, rater and row z_c of covariates.
"""

from typing import NamedTuple

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.paired_comparisons_kernels import (
    LAWS,
    Law,
    information_in_answer,
    log_p_of_counts,
    logistic_score,
    normal_score,
)
from ....models.distributions.vector_math import FAST


@inner_njit(**FAST)
def answers_of_block(law, x, tie, answers, low, slope):
    """Return log p and its slopes in a shift of all x and in the tie parameter; overwrite the slopes in each x.

    Shapes: x, slope (cell of the block,); answers: wins, losses, ties, float32 (cell,).
    x = rho (q_first - q_second) + bias; `low` is the first cell of the block.
    """
    a, b, c = answers
    total, of_bias, of_tie = 0.0, 0.0, 0.0
    for m in range(len(x)):
        log_p, of_x, of_t = log_p_of_counts(
            law, x[m], float(a[low + m]), float(b[low + m]), float(c[low + m]), tie
        )
        total += log_p
        slope[m] = of_x
        of_bias += of_x
        of_tie += of_t
    return total, of_bias, of_tie


# --- Gradient of the log likelihood of comparisons in all distances of pairs and all reliabilities ---


@cached_njit(nogil=True, **FAST)
def joint_gradient(thurstone, votes, distance, reliability):
    """Differentiate the sum of a log F(x) + b log F(-x), x = rho_k d_e, in distances and reliabilities.

    Shapes: distance (pair,), reliability (rater,); derivatives likewise. `votes` are grouped by pair; F is
    the normal cdf if `thurstone`, otherwise the logistic function.
    """
    by_distance, by_reliability = np.zeros(len(distance)), np.zeros(len(reliability))
    residual = np.empty(np.diff(votes.start).max())
    for e in range(len(distance)):
        first, n = votes.start[e], votes.start[e + 1] - votes.start[e]
        for c in range(n):
            residual[c] = reliability[votes.other[first + c]] * distance[e]
        a, b = votes.wins[first : first + n], votes.losses[first : first + n]
        if thurstone:
            for c in range(n):
                residual[c] = normal_score(residual[c], a[c], b[c])[0]
        else:
            for c in range(n):
                residual[c] = logistic_score(residual[c], a[c], b[c])[0]
        for c in range(n):
            k = votes.other[first + c]
            by_distance[e] += reliability[k] * residual[c]  # sum_k rho_k l'(x)
            by_reliability[k] += distance[e] * residual[c]  # sum_e d_e l'(x)
    return by_distance, by_reliability


# --- Cells of pairs and raters; likelihood, slopes and information in one pass ---

TILE_PAYS_FROM = 0.7  # share of filled cells
BLOCK = 256  # cells


class PairCells(NamedTuple):
    """Answers by pair and rater, in arrays for compiled code."""

    law: Law
    tile: bool  # whether every pair has a cell for every rater
    first: np.ndarray  # int64 (pair,), item
    second: np.ndarray  # int64 (pair,), item
    # int64 (pair + 1,); cells of pair e: start[e]:start[e + 1], in a tile all raters in order
    start: np.ndarray
    rater: np.ndarray  # int32 (cell,)
    wins: np.ndarray  # float32 (cell,), times that the rater preferred the first item
    losses: np.ndarray  # float32 (cell,), the second
    ties: np.ndarray  # float32 (cell,), neither
    covariate: np.ndarray  # float64 (covariate, cell), first minus second


def pair_cells(
    law: int,
    codes: tuple[np.ndarray, np.ndarray, np.ndarray],
    counts: np.ndarray,
    n_raters: int,
    oriented: bool = False,
    covariate: np.ndarray | None = None,
) -> PairCells:
    """Arrange answers by pair, rater and covariates, as a tile if there are none and enough cells are filled.

    Shapes: codes: left item, right item, rater (annotation,); counts (annotation, outcome): left, right and,
    with ties, tie; covariate (annotation, covariate), left minus right. `oriented` keeps the two orders of a pair
    apart, as a left bias needs.
    """
    left, right, rater = (np.asarray(x, np.int64) for x in codes)
    has_data = counts.sum(axis=1) > 0
    left, right, rater, counts = left[has_data], right[has_data], rater[has_data], counts[has_data]
    values = np.empty((len(left), 0)) if covariate is None else covariate[has_data]
    turned = (left > right) & (not oriented)  # otherwise the smaller code is first
    first, second = np.where(turned, right, left), np.where(turned, left, right)
    n_items = int(max(first.max(), second.max())) + 1
    values = np.where(turned[:, None], -values, values)
    key = (first * n_items + second) * n_raters + rater
    cell, sample = _rank_rows(key, values)
    pair, rater = np.divmod(key[sample], n_raters)
    start = np.flatnonzero(np.r_[True, pair[1:] != pair[:-1]])
    distinct, answers = pair[start], np.zeros((3, len(sample)), np.float32)
    for outcome, own in enumerate(counts.T.astype(np.float32)):
        place = np.where(turned, 1 - outcome, outcome) if outcome < 2 else 2
        np.add.at(answers.reshape(-1), place * len(sample) + cell, own)  # fast with one index
    start = np.r_[start, len(sample)].astype(np.int64)
    tile = covariate is None and len(sample) > TILE_PAYS_FROM * len(distinct) * n_raters
    if tile:
        place = np.repeat(np.arange(len(distinct)), np.diff(start)) * n_raters + rater
        full = np.zeros((3, len(distinct) * n_raters), np.float32)
        full[:, place] = answers
        start = np.arange(len(distinct) + 1) * n_raters
        rater, answers = np.tile(np.arange(n_raters), len(distinct)), full
    first, second = np.divmod(distinct, n_items)
    of_cells = np.ascontiguousarray(values[sample].T)
    wins, losses, ties = answers
    return PairCells(
        LAWS[law], tile, first, second, start, rater.astype(np.int32), wins, losses, ties, of_cells
    )


def _rank_rows(key: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the rank of every row, equal for equal rows, and a row of each rank. Shapes: key (row,), values (row, column)."""
    if not values.shape[1] and (np.diff(key) > 0).all():
        return np.arange(len(key)), np.arange(len(key))
    rank, sample = np.unique(key, return_index=True, return_inverse=True)[2:0:-1]
    for column in values.T:
        distinct, code = np.unique(column, return_inverse=True)
        _, sample, rank = np.unique(rank * len(distinct) + code, return_index=True, return_inverse=True)
    return rank, sample


@inner_njit(**FAST)
def _see(cells, parameters, bias, span, x):
    """Write x = rho d + bias + z theta for the cells of a block; return the pair in which the next block begins."""
    quality, rho, effect = parameters
    e, low, high = span
    m = low
    while m < high:
        d = quality[cells.first[e]] - quality[cells.second[e]]
        stop = min(cells.start[e + 1], high)
        if cells.tile:
            by, seen = rho[m - cells.start[e] : stop - cells.start[e]], x[m - low : stop - low]
            for k in range(len(by)):
                seen[k] = by[k] * d + bias
        elif len(rho) == 1:
            for c in range(m - low, stop - low):
                x[c] = rho[0] * d + bias
        else:
            for cell in range(m, stop):
                x[cell - low] = rho[cells.rater[cell]] * d + bias
        m = stop
        e += m == cells.start[e + 1]
    for p in range(len(effect)):
        own, by_one = cells.covariate[p, low:high], effect[p]
        for c in range(len(own)):
            x[c] += by_one * own[c]
    return e


@inner_njit(**FAST)
def _add_slopes(cells, parameters, span, slope, sums):
    """Add the slopes of a block in x to those in quality, reliability and effects of covariates."""
    (quality, rho, effect), (of_quality, of_rho, of_effect) = parameters, sums
    e, low, high = span
    m = low
    while m < high:
        i, j = cells.first[e], cells.second[e]
        d, of_d = quality[i] - quality[j], 0.0
        stop = min(cells.start[e + 1], high)
        if cells.tile:
            row = slice(m - cells.start[e], stop - cells.start[e])
            by, sums_of_row, own = rho[row], of_rho[row], slope[m - low : stop - low]
            for k in range(len(by)):
                of_d += by[k] * own[k]  # dl/dd_e
                sums_of_row[k] += d * own[k]  # dl/drho_k
        elif len(rho) == 1:
            own = slope[m - low : stop - low]
            for c in range(len(own)):
                of_d += own[c]
            of_rho[0] += d * of_d
            of_d *= rho[0]
        else:
            for cell in range(m, stop):
                k = cells.rater[cell]
                of_d += rho[k] * slope[cell - low]
                of_rho[k] += d * slope[cell - low]
        of_quality[i] += of_d
        of_quality[j] -= of_d
        m = stop
        e += m == cells.start[e + 1]
    for p in range(len(effect)):
        own, total = cells.covariate[p, low:high], 0.0
        for c in range(len(own)):
            total += own[c] * slope[c]
        of_effect[p] += total


@cached_njit(nogil=True, **FAST)
def pair_log_p(
    cells: PairCells,
    parameters: tuple[np.ndarray, np.ndarray, np.ndarray],
    shared: tuple[float, float],
    sums: tuple[np.ndarray, np.ndarray, np.ndarray],
) -> tuple[float, float, float]:
    """Return the log likelihood without multinomial coefficients, and its slopes in bias and tie parameter.

    Shapes: parameters: quality (item,), reliability (rater,), effects (covariate,); sums, overwritten with the
    slopes in these, likewise. `shared`: bias and tie parameter. Every pair has an answer.
    """
    bias, tie = shared
    answers = (cells.wins, cells.losses, cells.ties)
    total, of_bias, of_tie = 0.0, 0.0, 0.0
    for own_sums in sums:
        own_sums[:] = 0.0
    x, slope = np.empty(BLOCK), np.empty(BLOCK)
    e, n_cells = cells.start[0], cells.start[-1]  # not the literal 0: functions are compiled for each literal
    for low in range(0, n_cells, BLOCK):
        high = min(low + BLOCK, n_cells)
        span, own = (e, low, high), x[: high - low]
        e = _see(cells, parameters, bias, span, own)
        parts = answers_of_block(cells.law, own, tie, answers, low, slope)
        _add_slopes(cells, parameters, span, slope, sums)
        total += parts[0]
        of_bias += parts[1]
        of_tie += parts[2]
    return total, of_bias, of_tie


@inner_njit(**FAST)
def add_information(
    cells: PairCells,
    parameters: tuple[np.ndarray, np.ndarray, np.ndarray],
    shared: tuple[float, float],
    observed: bool,
    information: np.ndarray,
) -> None:
    """Add the information in the answers about quality, reliability, bias, tie parameter and effects, in this order.

    Shapes: parameters: quality (item,), reliability (rater,), effects (covariate,); information (sum of these + 2,
    sum of these + 2), symmetric. `observed`: the blocks of quality by reliability are those of the observed information,
    which the slope enters because x = rho d is not linear. Curvature in x is the expected one either way.
    """
    (quality, rho, effect), (bias, tie) = parameters, shared
    n = len(quality)
    at_bias = n + len(rho)
    at_tie = at_bias + 1
    at_effect = at_bias + 2
    h = information
    for e in range(len(cells.first)):
        i, j = cells.first[e], cells.second[e]
        d, of_dd, of_db, of_dt = quality[i] - quality[j], 0.0, 0.0, 0.0
        for m in range(cells.start[e], cells.start[e + 1]):
            a, b, c = float(cells.wins[m]), float(cells.losses[m]), float(cells.ties[m])
            total = a + b + c
            if total == 0.0:
                continue
            k = cells.rater[m]
            x = rho[k] * d + bias
            for p in range(len(effect)):
                x += effect[p] * cells.covariate[p, m]
            xx, xt, tt = information_in_answer(cells.law, x, tie)  # pyright: ignore[reportArgumentType]
            xx, xt, tt = total * xx, total * xt, total * tt
            # -d2l / dd drho = rho d I_xx, less l'(x) if observed
            cross = xx * rho[k] * d
            if observed:
                cross -= log_p_of_counts(cells.law, x, a, b, c, tie)[1]  # pyright: ignore[reportArgumentType]
            of_dd += rho[k] * rho[k] * xx  # sum_k rho_k^2 I_xx
            of_db += rho[k] * xx
            of_dt += rho[k] * xt
            h[i, n + k] += cross
            h[j, n + k] -= cross
            h[n + k, n + k] += d * d * xx
            h[n + k, at_bias] += d * xx
            h[n + k, at_tie] += d * xt
            h[at_bias, at_bias] += xx
            h[at_bias, at_tie] += xt
            h[at_tie, at_tie] += tt
            for p in range(len(effect)):
                z = cells.covariate[p, m]
                own = at_effect + p
                h[i, own] += z * rho[k] * xx
                h[j, own] -= z * rho[k] * xx
                h[n + k, own] += z * d * xx
                h[at_bias, own] += z * xx
                h[at_tie, own] += z * xt
                for other in range(p, len(effect)):
                    h[own, at_effect + other] += z * cells.covariate[other, m] * xx
        h[i, i] += of_dd
        h[j, j] += of_dd
        h[i, j] -= of_dd
        h[j, i] -= of_dd
        h[i, at_bias] += of_db
        h[j, at_bias] -= of_db
        h[i, at_tie] += of_dt
        h[j, at_tie] -= of_dt
    for row in range(len(h)):
        for column in range(row):
            if row >= n:
                h[row, column] = h[column, row]
