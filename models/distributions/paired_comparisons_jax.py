"""JAX dispatch of the likelihood of comparisons; the codes must be constants.

A threshold tie is the normal probability of an interval of width 2 t, computed in three forms that keep its
digits: a sum of two error functions if the interval contains zero; else a difference of two tails, or a
six-point integral where the tails nearly cancel.
"""

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf, log_ndtr
from pytensor.graph.basic import Constant

from ...posterior.links import PROBIT

NODES, WEIGHTS = np.polynomial.legendre.leggauss(6)
SERIES = 12  # terms of the far tail; JAX's default of three has an error of 4e-9 at 20 sigma
NARROW = 0.5  # bound on 2 |x| t below which a difference of tails cancels


def _log_cdf(x):
    """Return log Phi(x), exact in the far tail."""
    return log_ndtr(x, SERIES)


def _log_tie(x, t):
    """Return log [Phi(x + t) - Phi(x - t)], by symmetry at u = |x|."""
    u = jnp.where(x < 0, -x, x)
    inside, narrow = u <= t, 2 * u * t < NARROW
    # each form sees only arguments that it can differentiate
    low, high = jnp.where(inside, t - u, 1.0), jnp.where(inside, t + u, 1.0)
    sum_of_two = 0.5 * (erf(low / np.sqrt(2)) + erf(high / np.sqrt(2)))
    beyond = jnp.exp(_log_cdf(-low)) + jnp.exp(_log_cdf(-high))
    of_sum = jnp.where(sum_of_two > 0.5, jnp.log1p(-beyond), jnp.log(sum_of_two))
    few = ~inside & narrow
    s = 0.5 * (NODES + 1) * jnp.where(few, t, 0.1)[:, None]
    v = jnp.where(few, u, 0.2)
    bells = jnp.exp(-0.5 * s * s) * jnp.cosh(s * v[:, None])
    of_integral = jnp.log(bells @ WEIGHTS) + jnp.log(t / np.sqrt(2 * np.pi)) - 0.5 * v * v
    apart = ~inside & ~narrow
    near = _log_cdf(jnp.where(apart, t - u, -1.0))
    far = _log_cdf(jnp.where(apart, -t - u, -2.0))
    of_tails = near + jnp.log1p(-jnp.exp(far - near))
    return jnp.where(inside, of_sum, jnp.where(narrow, of_integral, of_tails))


def _log_p(op, x, tie, counts):
    """Return the log likelihood of the counts; outcomes with count zero add nothing."""
    if op.link == PROBIT:
        shift = tie if op.n_outcomes == 3 else 0.0
        terms = [_log_cdf(x - shift), _log_cdf(-x - shift)]
        if op.n_outcomes == 3:
            terms.append(_log_tie(x, tie))
    elif op.n_outcomes == 2:
        terms = [-jax.nn.softplus(-x), -jax.nn.softplus(x)]
    else:
        parts = [0.5 * x, -0.5 * x, jnp.log(tie)]
        total = jax.nn.logsumexp(jnp.stack(parts), axis=0)
        terms = [part - total for part in parts]
    return sum(jnp.where(counts[:, o] > 0, counts[:, o] * term, 0.0) for o, term in enumerate(terms))


def jax_pair_log_p(op, node, **kwargs):
    """Return the JAX implementation of `PairLogP`."""
    left, right, rater = map(_constant, node.inputs[4:7])

    def pair_log_p(quality, reliability, left_bias, tie, _left, _right, _rater, counts):
        x = reliability[rater] * (quality[left] - quality[right]) + left_bias[rater]
        log_p, pull = jax.vjp(lambda x, t: _log_p(op, x, t, counts), x, tie[rater])
        return log_p, *pull(jnp.ones_like(log_p))

    return pair_log_p


def jax_pair_gradient(op, node, **kwargs):
    """Return the JAX implementation of `PairGradient`."""
    left, right, rater = map(_constant, node.inputs[4:7])

    def pair_gradient(quality, reliability, left_bias, tie, *answers):
        *_, slope, tie_slope, weight = answers
        s = weight * slope
        steep, apart = s * reliability[rater], s * (quality[left] - quality[right])
        of_quality = jnp.zeros_like(quality).at[left].add(steep).at[right].add(-steep)
        sums = (jnp.zeros_like(reliability).at[rater].add(v) for v in (apart, s, weight * tie_slope))
        return of_quality, *sums

    return pair_gradient


def _constant(variable) -> np.ndarray:
    """Return the value of a graph constant."""
    if not isinstance(variable, Constant):
        raise NotImplementedError("in JAX the codes must be constants, not pm.Data")
    return np.asarray(variable.data)
