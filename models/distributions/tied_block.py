"""Plackett-Luce probability of one tied block: its members, in any order, come before all later candidates.

Two algorithms: `recursion` over the 2^|B| subsets of the block, and `race`, an integral of |B| terms a node.

References
----------
Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models, JCGS 21(1),
doi:10.1080/10618600.2012.638220, section 2. Stutz et al. (2025), Evaluating medical AI systems in dermatology
under uncertain ground truth, appendix B, arXiv:2307.02191.
"""

import numpy as np

from .compiling import kept

__all__ = ["LARGEST_RECURSION", "pair", "race", "recursion", "single"]

LARGEST_RECURSION = 8  # beyond, the race is faster
STEP = 0.125  # trapezoid step in log t, for blocks whose integrand is not narrower than that
RELATIVE_STEP = 0.55  # of the integrand's width at its mode
NEGLIGIBLE = -38.0  # log of a negligible term, relative to the largest
TINY = -37.0  # log a below which 1 - exp(-a) is a


@kept(error_model="numpy", inline="always")
def single(w, z):
    """Return p of a block of one, w / (w + z), and d log p / dw, d log p / dz."""
    inverse = 1.0 / (z + w)
    return w * inverse, 1.0 / w - inverse, -inverse


@kept(error_model="numpy", inline="always")
def pair(v, w, z):
    """Return p of a block of two, both orders summed, and d log p / dv, / dw, / dz."""
    iv, iw, both = 1.0 / (z + v), 1.0 / (z + w), 1.0 / (z + v + w)
    either = iv + iw
    dv = 1.0 / v - iv * iv / either - both
    dw = 1.0 / w - iw * iw / either - both
    return v * w * either * both, dv, dw, -(iv * iv + iw * iw) / either - both


@kept(error_model="numpy")
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
    return np.log(p[full]), d_z


@kept(error_model="numpy")
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
    step = min(STEP, RELATIVE_STEP / np.sqrt(curvature))
    peak = _log_integrand(mode, log_ratio, slope)
    mean_slope[:] = slope
    total = 1.0
    for direction in (-1.0, 1.0):
        node = 1
        while True:
            height = _log_integrand(mode + direction * node * step, log_ratio, slope) - peak
            if not height >= NEGLIGIBLE:
                break
            weight = np.exp(height)
            total += weight
            for k in range(len(slope)):
                mean_slope[k] += weight * slope[k]
            node += 1
    mean_slope /= total
    return peak + np.log(step * total) + np.minimum(log_ratio, 0.0).sum()


@kept(error_model="numpy")
def _log_integrand(x, log_ratio, slope):
    """Return the log integrand at x = log(Z t) minus the negative log ratios, and its `slope`.

    The log ratios are added later because one of -1e20 would absorb x.
    """
    height = x - np.exp(x)  # log of Z t exp(-Z t)
    for k in range(len(log_ratio)):
        log_a = x + log_ratio[k]
        if log_a < TINY:
            height += x
            slope[k] = 1.0
        elif log_a > 6.6:  # exp(-exp(6.6)) < 1e-300
            slope[k] = 0.0
        else:
            a = np.exp(log_a)
            arrived = -np.expm1(-a)
            height += np.log(arrived) - min(log_ratio[k], 0.0)  # log(1 - exp(-w_k t))
            slope[k] = a * (1.0 - arrived) / arrived
    return height


@kept(error_model="numpy")
def _mode(log_ratio):
    """Return the mode of the log integrand and its curvature there, by bracketed Newton steps."""
    low, high = 0.0, np.log(len(log_ratio) + 1.0)
    x, curvature = high, np.exp(high)
    for _ in range(50):
        slope, curvature = 1.0 - np.exp(x), np.exp(x)
        for k in range(len(log_ratio)):
            log_a = x + log_ratio[k]
            if log_a < TINY:
                slope += 1.0
            elif log_a < 6.6:
                a = np.exp(log_a)
                growth = np.expm1(a)
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
