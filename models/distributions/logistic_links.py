"""Logistic likelihoods of one comparison: Bradley-Terry, Davidson. Signatures: see `pair_links`."""

import numba as nb

from .vector_math import EXACT, exp, log

__all__ = [
    "davidson_counts",
    "davidson_information",
    "logistic_counts",
    "logistic_information",
    "logistic_score",
]


@nb.njit(**EXACT)
def _logistic_parts(x):
    """Return F(x), F(-x) and e^-|x|."""
    t = exp(-abs(x))
    likely = 1.0 / (1.0 + t)
    unlikely = t * likely
    return (likely if x > 0.0 else unlikely), (unlikely if x > 0.0 else likely), t


@nb.njit(**EXACT)
def logistic_counts(x, a, b, c, tie):
    """Bradley-Terry: log likelihood of counts and its slopes."""
    p, q, t = _logistic_parts(x)
    # log F(x) = min(x, 0) - log(1 + e^-|x|); slope a F(-x) - b F(x)
    return a * min(x, 0.0) - b * max(x, 0.0) - (a + b) * log_1p(t), a * q - b * p, 0.0


@nb.njit(**EXACT)
def log_1p(t):
    """Return log(1 + t) for 0 <= t <= 1 as 2 artanh(t / (2 + t)); exact for the smallest t."""
    s = t / (2.0 + t)
    z = s * s
    p = 1.0 / 31.0
    p = p * z + 1.0 / 29.0
    p = p * z + 1.0 / 27.0
    p = p * z + 1.0 / 25.0
    p = p * z + 1.0 / 23.0
    p = p * z + 1.0 / 21.0
    p = p * z + 1.0 / 19.0
    p = p * z + 1.0 / 17.0
    p = p * z + 1.0 / 15.0
    p = p * z + 1.0 / 13.0
    p = p * z + 1.0 / 11.0
    p = p * z + 1.0 / 9.0
    p = p * z + 1.0 / 7.0
    p = p * z + 1.0 / 5.0
    p = p * z + 1.0 / 3.0
    p = p * z + 1.0
    return 2.0 * s * p


@nb.njit(**EXACT)
def logistic_information(x, tie):
    """Bradley-Terry: Fisher information F(x) F(-x)."""
    p, q, _ = _logistic_parts(x)
    return p * q, 0.0, 0.0


@nb.njit(**EXACT)
def logistic_score(x, a, b):
    """Bradley-Terry: derivative, minus second derivative and Fisher information of a log F(x) + b log F(-x).

    The last two are equal.
    """
    p, q, _ = _logistic_parts(x)
    information = (a + b) * p * q
    return a * q - b * p, information, information


@nb.njit(**EXACT)
def _davidson_parts(x, tie):
    """Return p(first), p(second), p(tie) / nu, and D e^(-|x| / 2)."""
    e = exp(-0.5 * abs(x))
    d = 1.0 + e * e + tie * e
    likely, unlikely = 1.0 / d, e * e / d
    return (likely if x > 0.0 else unlikely), (unlikely if x > 0.0 else likely), e / d, d


@nb.njit(**EXACT)
def davidson_counts(x, a, b, c, tie):
    """Davidson: log likelihood of counts and its slopes."""
    p, q, share, d = _davidson_parts(x, tie)
    # Davidson (1970), equation 2.1, numerators and D multiplied by e^(-|x| / 2)
    n, half = a + b + c, 0.5 * tie * share
    linear = a * min(x, 0.0) - b * max(x, 0.0) + c * (log(tie) - 0.5 * abs(x))
    slope = a * (q + half) - b * (p + half) - 0.5 * c * (p - q)
    return linear - n * log(d), slope, c / tie - n * share


@nb.njit(**EXACT)
def davidson_information(x, tie):
    """Davidson: Fisher information in x and nu.

    With P the three probabilities: P1 P2 + P3 (1 - P3) / 4, -(P1 - P2) P3 / 2 nu, and P3 (1 - P3) / nu^2.
    """
    p, q, share, _ = _davidson_parts(x, tie)
    return p * q + 0.25 * tie * share * (p + q), -0.5 * (p - q) * share, share * (p + q) / tie
