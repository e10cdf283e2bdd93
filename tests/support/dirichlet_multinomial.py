"""Exact posterior of the strength of predictions, where every answer is one draw of a category: quadrature over the strength."""

import numpy as np
from scipy.special import gammaln


def exact_strength(base, slope, counts, scale, most=80.0):
    """Posterior means of the strength and of the plausibilities (item, category); arrays (item, category)."""
    strength = np.linspace(0, most, 20_001)[:, None, None]
    concentration, (n, total) = base + strength * slope, (counts, counts.sum(axis=-1))
    log_p = (gammaln(concentration + n) - gammaln(concentration)).sum(axis=-1)
    log_p += gammaln(concentration.sum(axis=-1)) - gammaln(concentration.sum(axis=-1) + total)
    log_p = log_p.sum(axis=-1) - 0.5 * (strength[:, 0, 0] / scale) ** 2
    weight = np.exp(log_p - log_p.max())
    weight[[0, -1]] /= 2
    weight /= weight.sum()
    mean = (concentration + n) / (concentration + n).sum(axis=-1, keepdims=True)
    return weight @ strength[:, 0, 0], np.einsum("s,sik->ik", weight, mean)
