"""Expected information in one more answer, from posterior draws.

    information  =  H[E p] - E H[p]        p: probabilities of the outcomes given a draw, H: entropy in nats

is the mutual information of the answer and the parameters. For a function of the draws, such as the order o
of two items, it is H[E p] - sum over o of P(o) H[E(p | o)].
"""

import math

import numpy as np

from ....models.distributions.compiling import cached_njit, inner_njit
from ....models.distributions.paired_comparisons_kernels import (
    BRADLEY_TERRY,
    DAVIDSON,
    THURSTONE,
    davidson_counts,
    logistic_counts,
    normal_counts,
    threshold_counts,
)
from ....models.distributions.vector_math import FAST, exp


@cached_njit(nogil=True, **FAST)
def answer_information(law, distance, reliability, tie, bias):
    """Return the expected information, in nats, in one answer of every rater on one pair.

    Shapes: distance (draw,), first item (on the left) less second; reliability (rater, draw); tie, bias
    (draw,), tie ignored by laws without ties; result (2, rater): about all parameters, and about the order.
    """
    n_draws, found = len(distance), np.empty((2, len(reliability)))
    above = np.empty(n_draws)
    for s in range(n_draws):
        above[s] = 1.0 if distance[s] > 0.0 else 0.0
    n_above = above.sum()
    x = np.empty(n_draws)
    for k in range(len(reliability)):
        for s in range(n_draws):
            x[s] = reliability[k, s] * distance[s] + bias[s]
        if law == BRADLEY_TERRY or law == THURSTONE:
            sums = _two_outcomes(law, x, above)
        else:
            sums = _three_outcomes(law, x, tie, above)
        first, tied, first_above, tied_above, entropy = sums
        whole = _entropy(first / n_draws, tied / n_draws)
        rest = n_draws - n_above
        by_order = 0.0
        if n_above > 0.0:
            by_order += n_above * _entropy(first_above / n_above, tied_above / n_above)
        if rest > 0.0:
            by_order += rest * _entropy((first - first_above) / rest, (tied - tied_above) / rest)
        found[0, k] = whole - entropy / n_draws  # H[E p] - E H[p]
        found[1, k] = whole - by_order / n_draws  # H[E p] - sum of P(o) H[E(p | o)]
    return found


@inner_njit(error_model="numpy")
def _entropy(first, tied):
    """Return the entropy of the outcomes first, tie and second, in nats."""
    total = 0.0
    for p in (first, tied, 1.0 - first - tied):
        if p > 0.0:
            total -= p * math.log(p)
    return total


@cached_njit(**FAST)
def _two_outcomes(law, x, above):
    """Return sums over draws: p(first), 0, p(first) where the first item is above, 0, entropy."""
    first = first_above = entropy = 0.0
    if law == BRADLEY_TERRY:
        for s in range(len(x)):
            a = logistic_counts(x[s], 1.0, 0.0, 0.0, 0.0)[0]
            b = logistic_counts(x[s], 0.0, 1.0, 0.0, 0.0)[0]
            p = exp(a)
            first += p
            first_above += p * above[s]
            entropy -= p * a + exp(b) * b
    else:
        for s in range(len(x)):
            a = normal_counts(x[s], 1.0, 0.0, 0.0, 0.0)[0]
            b = normal_counts(x[s], 0.0, 1.0, 0.0, 0.0)[0]
            p = exp(a)
            first += p
            first_above += p * above[s]
            entropy -= p * a + exp(b) * b
    return first, 0.0, first_above, 0.0, entropy


@cached_njit(**FAST)
def _three_outcomes(law, x, tie, above):
    """Return sums over draws: p(first), p(tie), the same where the first item is above, entropy."""
    first = tied = first_above = tied_above = entropy = 0.0
    for s in range(len(x)):
        if law == DAVIDSON:
            a = davidson_counts(x[s], 1.0, 0.0, 0.0, tie[s])[0]
            b = davidson_counts(x[s], 0.0, 1.0, 0.0, tie[s])[0]
            c = davidson_counts(x[s], 0.0, 0.0, 1.0, tie[s])[0]
        else:
            a = threshold_counts(x[s], 1.0, 0.0, 0.0, tie[s])[0]
            b = threshold_counts(x[s], 0.0, 1.0, 0.0, tie[s])[0]
            c = threshold_counts(x[s], 0.0, 0.0, 1.0, tie[s])[0]
        p, r = exp(a), exp(c)
        first += p
        tied += r
        first_above += p * above[s]
        tied_above += r * above[s]
        entropy -= p * a + exp(b) * b + r * c
    return first, tied, first_above, tied_above, entropy
