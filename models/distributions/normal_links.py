"""Normal likelihoods of one comparison: Thurstone, threshold ties. Signatures: see `pair_links`."""

import numba as nb

from .vector_math import EXACT, erfcx, exp, log

__all__ = [
    "normal_counts",
    "normal_information",
    "normal_score",
    "threshold_counts",
    "threshold_information",
]

SQRT_HALF, DENSITY_AT_0 = 0.7071067811865476, 0.3989422804014327


@nb.njit(**EXACT)
def _normal_parts(x):
    """Return Phi(-|x|) e^(x^2 / 2), Phi(|x|), and the slopes phi / Phi at -|x| and at |x|."""
    u = abs(x)
    bell = exp(-0.5 * u * u)
    tail = 0.5 * erfcx(u * SQRT_HALF)
    body = 1.0 - tail * bell
    return tail, body, DENSITY_AT_0 / tail, DENSITY_AT_0 * bell / body


@nb.njit(**EXACT)
def normal_counts(x, a, b, c, tie):
    """Thurstone: log likelihood of counts and its slopes."""
    tail, body, steep, flat = _normal_parts(x)
    likely = a if x > 0.0 else b
    unlikely = b if x > 0.0 else a
    slope = likely * flat - unlikely * steep
    log_p = likely * log(body) + unlikely * (log(tail) - 0.5 * x * x)
    return log_p, (slope if x > 0.0 else -slope), 0.0


@nb.njit(**EXACT)
def normal_information(x, tie):
    """Thurstone: Fisher information phi^2 / (Phi (1 - Phi)), the product of the two slopes."""
    _, _, steep, flat = _normal_parts(x)
    return steep * flat, 0.0, 0.0


@nb.njit(**EXACT)
def normal_score(x, a, b):
    """Thurstone: derivative, minus second derivative and information of a log Phi(x) + b log Phi(-x)."""
    _, _, steep, flat = _normal_parts(x)
    u = abs(x)
    likely = a if x > 0.0 else b
    unlikely = b if x > 0.0 else a
    slope = likely * flat - unlikely * steep
    observed = likely * flat * (flat + u) + unlikely * steep * (steep - u)
    return (slope if x > 0.0 else -slope), observed, (a + b) * steep * flat


@nb.njit(**EXACT)
def _threshold_parts(x, t):
    """Return the quantities that the three outcomes share at u = |x|, with scale factors taken out.

    ``far`` = u - t. If it is positive a tie is unlikely and ``middle``, its probability, lacks the factor
    e^(-far^2 / 2); else ``near``, the favourite's probability, lacks it. ``tail`` is the probability of the
    other side over e^(-(u + t)^2 / 2).
    """
    u = abs(x)
    far = u - t
    bell = exp(-0.5 * far * far)
    inner = 0.5 * erfcx(abs(far) * SQRT_HALF)
    tail = 0.5 * erfcx((u + t) * SQRT_HALF)
    y = 2.0 * u * t
    ratio = exp(-y)  # of the normal densities at u + t and u - t
    small = y * (
        1.0 - y / 2.0 * (1.0 - y / 3.0 * (1.0 - y / 4.0 * (1.0 - y / 5.0 * (1.0 - y / 6.0))))
    )
    gap = small if y < 0.02 else 1.0 - ratio
    near = 1.0 - inner * bell if far > 0.0 else inner
    wide = inner - tail * ratio if far > 0.0 else 1.0 - bell * (inner + tail * ratio)
    # narrow ties: Phi(u + t) - Phi(u - t) as a series in t, where the difference would cancel
    t2, u2 = t * t, u * u
    series = 1.0 + t2 * ((u2 - 1.0) / 6.0 + t2 * (u2 * (u2 - 6.0) + 3.0) / 120.0)
    narrow = 2.0 * t * DENSITY_AT_0 * series * exp(0.5 * t2 - u * t if far > 0.0 else -0.5 * u2)
    middle = narrow if t * (1.0 + u) < 0.02 else wide
    return far, bell, near, middle, tail, ratio, gap


@nb.njit(**EXACT)
def _threshold_slopes(x, t, a, b, c):
    """Return the slopes in x and t, and the counts of the favourite and of the other side."""
    far, bell, near, middle, tail, ratio, gap = _threshold_parts(x, t)
    likely = a if x > 0.0 else b
    unlikely = b if x > 0.0 else a
    rise = likely * DENSITY_AT_0 * (bell if far > 0.0 else 1.0) / near
    fall = unlikely * DENSITY_AT_0 / tail
    weight = c * DENSITY_AT_0 * (1.0 if far > 0.0 else bell) / middle
    slope = rise - fall - weight * gap
    return (slope if x > 0.0 else -slope), weight * (1.0 + ratio) - rise - fall, likely, unlikely


@nb.njit(**EXACT)
def threshold_counts(x, a, b, c, tie):
    """Threshold ties: log likelihood of counts and its slopes."""
    far, _, near, middle, tail, _, _ = _threshold_parts(x, tie)
    slope, tie_slope, likely, unlikely = _threshold_slopes(x, tie, a, b, c)
    high = abs(x) + tie
    scaled = c if far > 0.0 else likely
    linear = -0.5 * (scaled * far * far + unlikely * high * high)
    return linear + likely * log(near) + c * log(middle) + unlikely * log(tail), slope, tie_slope


@nb.njit(**EXACT)
def threshold_information(x, tie):
    """Threshold ties: Fisher information in x and t.

    Sum over outcomes of products of the derivatives of p, divided by p.
    """
    far, bell, near, middle, tail, ratio, gap = _threshold_parts(x, tie)
    favourite = bell * (bell if far > 0.0 else 1.0) / near
    tied = bell * (1.0 if far > 0.0 else bell) / middle
    other = bell * ratio / tail
    square = DENSITY_AT_0 * DENSITY_AT_0
    cross = square * (other - favourite - tied * gap * (1.0 + ratio))
    return (
        square * (favourite + other + tied * gap * gap),
        (cross if x > 0.0 else -cross),
        square * (favourite + other + tied * (1.0 + ratio) * (1.0 + ratio)),
    )
