"""JAX dispatch of the likelihood of partial rankings; the observed blocks must be constants.

Blocks of one and two have closed forms; larger ones are integrated on a fixed grid of log t, as in
`tied_block.race`.
"""

from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
from pytensor.graph.basic import Constant

from .partial_ranking_kernels import NEGLIGIBLE, RELATIVE_STEP, STEP


def jax_partial_ranking(op, node, **kwargs):
    """Return the JAX implementation of the Op: log p, and its gradient where that is used."""
    if not isinstance(node.inputs[1], Constant):
        raise NotImplementedError("in JAX the observed rankings must be constants, not pm.Data")
    groups = blocks_by_size(np.asarray(node.inputs[1].data))

    def partial_ranking(log_worth, block):
        log_p, pullback = jax.vjp(lambda x: _log_p(x, groups), log_worth)
        return log_p, jax.lax.stop_gradient(pullback(jnp.ones_like(log_p))[0])

    return partial_ranking


def blocks_by_size(block: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Group ranked blocks by size, except those with nothing after them.

    Shapes: block (row, place); each group holds row (block,), members (block, size) and the mask of later
    places (block, place).
    """
    found: dict[int, list] = defaultdict(list)
    for row, numbers in enumerate(block):
        for b in range(numbers.max()):
            after = numbers > b
            members = np.flatnonzero(numbers == b)
            found[len(members)].append((row, members, after))
    return {
        size: (
            np.array([r for r, _, _ in own]),
            np.array([m for _, m, _ in own]),
            np.array([a for _, _, a in own]),
        )
        for size, own in found.items()
    }


def _log_p(log_worth, groups):
    """Return the log probability of every row, summed over its blocks."""
    log_p = jnp.zeros(log_worth.shape[0], log_worth.dtype)
    for size, (row, members, after) in groups.items():
        own = log_worth[row]
        rest = jax.nn.logsumexp(jnp.where(after, own, -jnp.inf), axis=1, keepdims=True)
        ratio = jnp.take_along_axis(own, members, axis=1) - rest
        law = {1: _single, 2: _pair}.get(size, _race)
        log_p = log_p.at[row].add(law(ratio))
    return log_p


def _single(ratio):
    """Return log w / (w + z), from log ratios log w - log z (block, 1)."""
    return -jnp.logaddexp(0.0, -ratio[:, 0])


def _pair(ratio):
    """Return log of v w (1 / (z + v) + 1 / (z + w)) / (z + v + w), at z = 1."""
    v, w = ratio[:, 0], ratio[:, 1]
    either = jnp.logaddexp(-jnp.logaddexp(0.0, v), -jnp.logaddexp(0.0, w))
    return v + w + either - jnp.logaddexp(jnp.logaddexp(0.0, v), w)


def _race(ratio):
    """Integrate over the first arrival after the block, by the trapezoid rule in log t."""
    size = ratio.shape[1]
    step = min(STEP, RELATIVE_STEP / np.sqrt(size + 1.0))
    x = jnp.arange(NEGLIGIBLE, np.log(size + 1.0) + 5.0, step)
    log_a = x + ratio[:, :, None]
    height = x - jnp.exp(x) + _log_arrived(log_a).sum(axis=1)
    return np.log(step) + jax.nn.logsumexp(height, axis=1)


def _log_arrived(log_a):
    """Return log(1 - exp(-a)), with finite gradients in the branches not taken."""
    tiny, huge = log_a < -37.0, log_a > 6.6
    a = jnp.exp(jnp.where(tiny | huge, 0.0, log_a))
    return jnp.where(tiny, log_a, jnp.where(huge, 0.0, jnp.log(-jnp.expm1(-a))))
