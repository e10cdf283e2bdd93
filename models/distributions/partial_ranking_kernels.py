"""Numba kernels of partial rankings, row by row: log probability, gradient and replicates.

A row whose log worths span less than ``MODERATE`` is computed in worths relative to the largest; a row that
spans more in logs throughout.
"""

import math

import numpy as np

from .compiling import cached_njit, inner_njit
from .vector_math import copy_into, log_add

LARGEST_RECURSION = 8  # beyond, the race is faster
STEP = 0.125  # trapezoid step in log t, for blocks whose integrand is not narrower than that
RELATIVE_STEP = 0.55  # of the integrand's width at its mode
NEGLIGIBLE = -38.0  # log of a negligible term, relative to the largest
TINY = -37.0  # log a below which 1 - exp(-a) is a


@inner_njit(error_model="numpy")
def single(w, z):
    """Return p of a block of one, w / (w + z), and d log p / dw, d log p / dz."""
    inverse = 1.0 / (z + w)
    return w * inverse, 1.0 / w - inverse, -inverse


@inner_njit(error_model="numpy")
def pair(v, w, z):
    """Return p of a block of two, both orders summed, and d log p / dv, / dw, / dz."""
    iv, iw, both = 1.0 / (z + v), 1.0 / (z + w), 1.0 / (z + v + w)
    either = iv + iw
    dv = 1.0 / v - iv * iv / either - both
    dw = 1.0 / w - iw * iw / either - both
    return v * w * either * both, dv, dw, -(iv * iv + iw * iw) / either - both


@inner_njit(error_model="numpy")
def recursion(w, z, table, d_w):
    r"""Return log p of a block and d log p / dz by recursion over subsets; overwrite `d_w` with d log p / dw.

        p(B before the rest) = prod_B w_k R(B),   R(A) = sum_{a in A} R(A \ a) / (Z + w(A)),   R(empty) = 1

    The sum is over all orders of the block; the derivatives are by backward differentiation.

    Shapes: w and d_w (member,); table (3, 2 ** member), work space; z is the total worth after the block.
    """
    p, mass, adjoint = table[0], table[1], table[2]
    n = len(w)
    full = (1 << n) - 1
    p[0], mass[0] = 1.0, z
    for subset in range(1, full + 1):
        total, member = 0.0, 0
        for j in range(n):
            if subset >> j & 1:
                total += w[j] * p[subset ^ (1 << j)]
                member = j
        mass[subset] = mass[subset ^ (1 << member)] + w[member]  # Z + w(A)
        p[subset] = total / mass[subset]  # prod_A w_k R(A)
        adjoint[subset] = 0.0
    # backwards: adjoint of A is d log p / d p(A)
    adjoint[0] = 0.0
    adjoint[full] = 1.0 / p[full]
    d_w[:n] = 0.0
    d_z = 0.0
    for subset in range(full, 0, -1):
        flow = adjoint[subset] / mass[subset]
        d_mass = -flow * p[subset]
        d_z += d_mass
        for j in range(n):
            if subset >> j & 1:
                before = subset ^ (1 << j)
                adjoint[before] += flow * w[j]
                d_w[j] += flow * p[before] + d_mass
    return math.log(p[full]), d_z


@inner_njit(error_model="numpy")
def race(log_ratio, slope, mean_slope):
    """Return log p of a block by an integral over the next arrival; overwrite `mean_slope` with the gradient.

        p(B before the rest) = integral_0^inf  Z exp(-Z t) prod_B (1 - exp(-w_k t)) dt

    Every candidate arrives after an exponential time of rate w_k; the block wins if its members arrive before
    t, the first arrival of the rest. In x = log t the integrand is log-concave and its mode lies in [0,
    log(|B| + 1)] - log Z, so that the trapezoid rule converges geometrically. All is in logs: worths may be
    of any size.

    Shapes: log_ratio = log w_k - log Z, slope (work space) and mean_slope = d log p / d log w_k (member,);
    the sum of the gradient is -d log p / d log Z.
    """
    mode, curvature = _mode(log_ratio)
    # trapezoid rule from the mode outwards, until terms are negligible
    step = min(STEP, RELATIVE_STEP / math.sqrt(curvature))
    peak = _log_integrand(mode, log_ratio, slope)
    copy_into(mean_slope, slope)
    total = 1.0
    for direction in (-1.0, 1.0):
        node = 1
        while True:
            height = _log_integrand(mode + direction * node * step, log_ratio, slope) - peak
            if not height >= NEGLIGIBLE:
                break
            weight = math.exp(height)
            total += weight
            for k in range(len(slope)):
                mean_slope[k] += weight * slope[k]
            node += 1
    below = 0.0
    for k in range(len(slope)):
        mean_slope[k] /= total
        below += min(log_ratio[k], 0.0)
    return peak + math.log(step * total) + below


@inner_njit(error_model="numpy")
def _log_integrand(x, log_ratio, slope):
    """Return the log integrand at x = log(Z t) minus the negative log ratios, and its `slope`.

    The log ratios are added later because one of -1e20 would absorb x.
    """
    height = x - math.exp(x)  # log of Z t exp(-Z t)
    for k in range(len(log_ratio)):
        log_a = x + log_ratio[k]
        if log_a < TINY:
            height += x
            slope[k] = 1.0
        elif log_a > 6.6:  # exp(-exp(6.6)) < 1e-300
            slope[k] = 0.0
        else:
            a = math.exp(log_a)
            arrived = -math.expm1(-a)
            height += math.log(arrived) - min(log_ratio[k], 0.0)  # log(1 - exp(-w_k t))
            slope[k] = a * (1.0 - arrived) / arrived
    return height


@inner_njit(error_model="numpy")
def _mode(log_ratio):
    """Return the mode of the log integrand and its curvature there, by bracketed Newton steps."""
    low, high = 0.0, math.log(len(log_ratio) + 1.0)
    x, curvature = high, math.exp(high)
    for _ in range(50):
        slope, curvature = 1.0 - math.exp(x), math.exp(x)
        for k in range(len(log_ratio)):
            log_a = x + log_ratio[k]
            if log_a < TINY:
                slope += 1.0
            elif log_a < 6.6:
                a = math.exp(log_a)
                growth = math.expm1(a)
                share = a / growth
                slope += share
                curvature += share * (a + share - 1.0)
        if slope > 0.0:
            low = x
        else:
            high = x
        proposal = x + slope / curvature
        if not low < proposal < high:
            proposal = 0.5 * (low + high)
        if abs(proposal - x) < 1e-3:
            break
        x = proposal
    return x, curvature


# --- Numba kernels of partial rankings, row by row: log probability, gradient and replicates ---

MODERATE = 300.0  # span of log worths
SAFE = 600.0  # log range within which a product of a block's worths neither under- nor overflows


@cached_njit(nogil=True, error_model="numpy")
def rankings_log_p(log_worth, block, log_p, gradient):
    """Overwrite `log_p` and `gradient` with log p of every row and d log p / d log worth.

    A log worth of -inf is a candidate without worth; NaN or inf makes the row NaN. Blocks are numbered from
    0, the largest is unranked, and -1 marks the places after the candidates.

    Shapes: log_worth, block and gradient (row, place); log_p (row,).
    """
    n_places = block.shape[1]
    order = np.empty(n_places, np.int64)
    start = np.empty(n_places + 2, np.int64)
    work = np.empty((4, n_places + 1))
    table = np.empty((3, 1 << LARGEST_RECURSION))
    for row in range(len(block)):
        gradient[row] = 0.0
        n_ranked, n_blocks, n = _sort_by_block(block[row], order, start)
        smallest, largest = np.inf, -np.inf
        possible, finite = True, True
        for q in range(n):
            value = log_worth[row, order[q]]
            finite &= value < np.inf  # nor is NaN
            largest = max(largest, value)
            if value > -np.inf:
                smallest = min(smallest, value)
            elif q < n_ranked:
                possible = False
        if not finite:
            log_p[row], gradient[row, :n] = np.nan, np.nan
        elif not possible:
            log_p[row] = -np.inf
        elif largest - smallest < MODERATE:
            log_p[row] = _row_in_worths(
                log_worth[row], order[:n], start[: n_blocks + 1], largest, work, table, gradient[row]
            )
        else:
            log_p[row] = _row_in_logs(log_worth[row], order[:n], start[: n_blocks + 1], work, gradient[row])


@inner_njit(error_model="numpy")
def _sort_by_block(block, order, start):
    """Sort the places by block; return the numbers of ranked places, ranked blocks and candidates."""
    n, last = len(block), -1
    for k in range(len(block)):
        if block[k] < 0:
            n = k
            break
        last = max(last, block[k])
    filled = 0
    for b in range(last + 1):
        start[b] = filled
        for k in range(n):
            if block[k] == b:
                order[filled] = k
                filled += 1
    return start[last], last, n


@inner_njit(error_model="numpy")
def _row_in_worths(log_worth, order, start, largest, work, table, gradient):
    """Compute one row in worths relative to its largest."""
    n, n_ranked = len(order), start[-1]
    w, d_w, members, slope = work[0, :n], work[1, :n], work[2], work[3]
    z = 0.0
    for q in range(n):
        w[q] = math.exp(log_worth[order[q]] - largest)
        d_w[q] = 0.0
        if q >= n_ranked:
            z += w[q]
    log_p = 0.0
    d_rest = np.empty(len(start))
    # from the last ranked block to the first; z is the total worth after block b
    for b in range(len(start) - 2, -1, -1):
        first, size = start[b], start[b + 1] - start[b]
        d_rest[b] = 0.0
        if z == 0.0:  # no worth after the block: it comes first with probability one
            pass
        elif size == 1:
            factor, d_w[first], d_rest[b] = single(w[first], z)
            log_p += math.log(factor)
        elif size == 2:
            factor, d_w[first], d_w[first + 1], d_rest[b] = pair(w[first], w[first + 1], z)
            log_p += math.log(factor)
        elif size <= LARGEST_RECURSION and size * _log_range(w[first : first + size], z) < SAFE:
            added, d_rest[b] = recursion(w[first : first + size], z, table, d_w[first : first + size])
            log_p += added
        else:
            for j in range(size):
                members[j] = log_worth[order[first + j]] - largest - math.log(z)
            log_p += race(members[:size], slope[:size], d_w[first : first + size])
            for j in range(size):
                d_rest[b] -= d_w[first + j] / z
                d_w[first + j] /= w[first + j]
        for q in range(first, first + size):
            z += w[q]
    # d log p / d log w = w (derivative in its own block + derivatives in z of all earlier blocks)
    passed = 0.0
    for b in range(len(start) - 1):
        for q in range(start[b], start[b + 1]):
            gradient[order[q]] = w[q] * (d_w[q] + passed)
        passed += d_rest[b]
    for q in range(n_ranked, n):
        gradient[order[q]] = w[q] * passed
    return log_p


@inner_njit(error_model="numpy")
def _log_range(w, z):
    """Return the log ratio of largest to smallest among the block's worths and the rest."""
    smallest, largest = z, z
    for value in w:
        smallest = min(smallest, value)
        largest = max(largest, value)
    return math.log(largest / smallest)


@inner_njit(error_model="numpy")
def _row_in_logs(log_worth, order, start, work, gradient):
    """Compute one row in logs."""
    n = len(order)
    members, slope, d_log = work[0], work[1], work[2]
    log_z = -np.inf
    for q in range(start[-1], n):
        log_z = log_add(log_z, log_worth[order[q]])
    log_p = 0.0
    for b in range(len(start) - 2, -1, -1):
        first, size = start[b], start[b + 1] - start[b]
        if log_z > -np.inf:
            for j in range(size):
                members[j] = log_worth[order[first + j]] - log_z
            if size == 1:
                added = -log_add(0.0, -members[0])  # log w / (w + z)
                log_p += added
                d_log[0] = -math.expm1(added)
            else:
                log_p += race(members[:size], slope[:size], d_log[:size])
            d_rest = 0.0
            for j in range(size):
                gradient[order[first + j]] += d_log[j]
                d_rest -= d_log[j]
            for q in range(start[b + 1], n):
                gradient[order[q]] += d_rest * math.exp(log_worth[order[q]] - log_z)
        for q in range(first, first + size):
            log_z = log_add(log_z, log_worth[order[q]])
    return log_p


# --- Log probability alone, of many draws of the worths ---


@cached_njit(nogil=True, error_model="numpy")
def draws_log_p(log_worth, candidate, block, log_p):
    """Overwrite `log_p` with log p of every row at every draw, the numbers of `rankings_log_p`.

    Rows that follow each other and have the same candidates, such as those of one item, share their worths.

    Shapes: log_worth (draw, candidate); candidate and block (row, place); log_p (draw, row).
    """
    n_rows, n_places = block.shape
    order = np.empty((n_rows, n_places), np.int64)
    start = np.empty((n_rows, n_places + 2), np.int64)
    size = np.empty((n_rows, 3), np.int64)  # ranked places, ranked blocks, candidates
    for row in range(n_rows):
        size[row, 0], size[row, 1], size[row, 2] = _sort_by_block(block[row], order[row], start[row])
    own, worth = np.empty(n_places), np.empty(n_places)
    work, gradient = np.empty((4, n_places + 1)), np.empty(n_places)
    table = np.empty(1 << LARGEST_RECURSION), np.empty(1 << LARGEST_RECURSION)
    first = 0
    while first < n_rows:
        n, last = size[first, 2], first + 1
        while last < n_rows and size[last, 2] == n and _same(candidate[last], candidate[first], n):
            last += 1
        for draw in range(len(log_worth)):
            smallest, largest, finite = np.inf, -np.inf, True
            for k in range(n):
                value = np.float64(log_worth[draw, candidate[first, k]])
                own[k] = value
                finite &= value < np.inf  # nor is NaN
                largest = max(largest, value)
                if value > -np.inf:
                    smallest = min(smallest, value)
            moderate = finite and largest - smallest < MODERATE
            if moderate:
                for k in range(n):
                    worth[k] = math.exp(own[k] - largest)
            for row in range(first, last):
                possible = True
                for q in range(size[row, 0]):
                    possible &= own[order[row, q]] > -np.inf
                starts = start[row, : size[row, 1] + 1]
                if not finite:
                    log_p[draw, row] = np.nan
                elif not possible:
                    log_p[draw, row] = -np.inf
                elif moderate:
                    for q in range(n):
                        work[0, q] = worth[order[row, q]]
                    log_p[draw, row] = _log_p_in_worths(own, order[row, :n], starts, largest, work, table)
                else:
                    gradient[:n] = 0.0
                    log_p[draw, row] = _row_in_logs(own, order[row, :n], starts, work, gradient)
        first = last


@inner_njit(error_model="numpy")
def _same(first, second, n):
    """Return whether the first n entries are the same."""
    for k in range(n):
        if first[k] != second[k]:
            return False
    return True


@inner_njit(error_model="numpy")
def _log_p_in_worths(log_worth, order, start, largest, work, table):
    """Compute log p of one row as `_row_in_worths` does, from its worths in order, the first row of `work`."""
    n, n_ranked = len(order), start[-1]
    w = work[0, :n]
    z = 0.0
    for q in range(n_ranked, n):
        z += w[q]
    log_p = 0.0
    for b in range(len(start) - 2, -1, -1):
        first, size = start[b], start[b + 1] - start[b]
        if z == 0.0:  # no worth after the block: it comes first with probability one
            pass
        elif size == 1:
            log_p += math.log(w[first] * (1.0 / (z + w[first])))
        elif size == 2:
            v, u = w[first], w[first + 1]
            log_p += math.log(v * u * (1.0 / (z + v) + 1.0 / (z + u)) * (1.0 / (z + v + u)))
        elif size <= LARGEST_RECURSION and size * _log_range(w[first : first + size], z) < SAFE:
            log_p += _recursion_log_p(w[first : first + size], z, table)
        else:
            for j in range(size):
                work[2, j] = log_worth[order[first + j]] - largest - math.log(z)
            log_p += race(work[2, :size], work[3, :size], work[1, :size])
        for q in range(first, first + size):
            z += w[q]
    return log_p


@inner_njit(error_model="numpy")
def _recursion_log_p(w, z, table):
    """Return log p of a block as `recursion` does, without its derivatives; table: two arrays (2 ** member,), work space."""
    p, mass = table
    n = len(w)
    p[0], mass[0] = 1.0, z
    for subset in range(1, 1 << n):
        total, member = 0.0, 0
        for j in range(n):
            if subset >> j & 1:
                total += w[j] * p[subset ^ (1 << j)]
                member = j
        mass[subset] = mass[subset ^ (1 << member)] + w[member]  # Z + w(A)
        p[subset] = total / mass[subset]  # prod_A w_k R(A)
    return math.log(p[(1 << n) - 1])


@cached_njit(error_model="numpy")
def draw_ranking(rng, log_worth, sizes, block):
    """Draw an order of arrival of the candidates and overwrite `block` with it, cut at the block sizes.

    A candidate of worth w arrives after an exponential time of rate w. The sizes sum to the number of
    candidates; later places are -1.

    Shapes: log_worth and block (place,); sizes (block,).
    """
    n = 0
    for size in sizes:
        n += size
    log_time = np.empty(n)
    for k in range(n):
        log_time[k] = math.log(rng.standard_exponential()) - log_worth[k]
    order = np.argsort(log_time)
    block[n:] = -1
    arrived = 0
    for b in range(len(sizes)):
        for _ in range(sizes[b]):
            block[order[arrived]] = b
            arrived += 1
