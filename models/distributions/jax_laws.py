"""Likelihoods in JAX: labels, guesses that raters share, comparisons and partial rankings; answers must be constants."""

from collections import defaultdict

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy.special import erf, log_ndtr
from pytensor.graph.basic import Constant

from ...posterior.links import PROBIT
from .partial_ranking_kernels import NEGLIGIBLE, RELATIVE_STEP, STEP


def _constant(variable, answers: str = "answers") -> np.ndarray:
    """Return the value of a graph constant; `answers` names it in the error."""
    if not isinstance(variable, Constant):
        raise NotImplementedError(f"in JAX the {answers} must be constants, not pm.Data")
    return np.asarray(variable.data)


# --- Labels ---


def jax_label_log_p(op, node, **kwargs):
    """Return the JAX implementation of `LabelLogP`."""
    start, code, gold_category = map(_constant, node.inputs[2:])
    nodes = op.nodes
    item, n_items = np.repeat(np.arange(len(gold_category)), np.diff(start)), len(gold_category)

    def label_log_p(log_prevalence, log_table, *_):
        possible = (gold_category < 0)[:, None] | (
            gold_category[:, None] == np.arange(log_table.shape[1]) // nodes
        )
        joint = jax.ops.segment_sum(log_table[code], item, n_items) + log_prevalence
        joint = jnp.where(possible, joint, -jnp.inf)
        return jax.nn.logsumexp(joint, axis=1), jax.nn.softmax(joint, axis=1)

    return label_log_p


def jax_label_log_p_by_item(op, node, **kwargs):
    """Return the JAX implementation of `LabelLogPByItem`."""
    start, code, gold_category = map(_constant, node.inputs[2:])
    nodes = op.nodes
    item, n_items = np.repeat(np.arange(len(gold_category)), np.diff(start)), len(gold_category)

    def label_log_p_by_item(log_prior, log_table, *_):
        possible = (gold_category < 0)[:, None] | (
            gold_category[:, None] == np.arange(log_table.shape[1]) // nodes
        )
        joint = jax.ops.segment_sum(log_table[code], item, n_items) + jax.nn.log_softmax(log_prior, axis=1)
        joint = jnp.where(possible, joint, -jnp.inf)
        plausibility = jax.nn.softmax(joint, axis=1)
        return jax.nn.logsumexp(joint, axis=1), plausibility, plausibility - jax.nn.softmax(log_prior, axis=1)

    return label_log_p_by_item


def jax_expected_answers(op, node, **kwargs):
    """Return the JAX implementation of `ExpectedAnswers`."""
    start, code = map(_constant, node.inputs[2:4])
    item = np.repeat(np.arange(len(start) - 1), np.diff(start))

    def expected_answers(plausibility, weight, start, _, table):
        return jax.ops.segment_sum((weight[:, None] * plausibility)[item], code, len(table))

    return expected_answers


# --- Guesses that raters share ---


def jax_guess_log_p(op, node, **kwargs):
    """Return the JAX implementation of `GuessLogP`, in logs."""
    return _log_p_of_items(*map(_constant, node.inputs[4:]), by_item=_by_item(node.inputs[0]))


def jax_expected_guesses(op, node, **kwargs):
    """Return the JAX implementation of `ExpectedGuesses`: the gradient of log p in the logs of the parameters."""
    log_p = _log_p_of_items(*map(_constant, node.inputs[5:]), by_item=_by_item(node.inputs[1]))

    def expected_guesses(weight, *inputs):
        return jax.vjp(lambda *logs: log_p(*logs)[0], *inputs[:4])[1](weight)

    return expected_guesses


def _by_item(first) -> bool:
    """Whether the first log parameter is a log prior (item, category), which is then normalised."""
    return first.type.ndim == 2


def _log_p_of_items(start, rater, label, group, gold_category, by_item):
    """Return the function of the logs of the parameters to log p of each item and p(true category | answers)."""
    n_items = len(gold_category)
    item, copies = np.repeat(np.arange(n_items), np.diff(start)), group[rater] >= 0

    def log_p_of_guesses(prevalence, own, guess, shared, *_):
        n_groups, n = guess.shape[:2]
        row = rater * n + label
        prior = jax.nn.log_softmax(prevalence, axis=1) if by_item else prevalence
        joint = jax.ops.segment_sum(own[row], item, n_items) + prior
        # log (1 + s / own) of the answers that may be copied, summed by item, group and label
        ratio = jax.nn.softplus(shared[rater[copies], None] - own[row[copies]])
        cell = (item[copies] * n_groups + group[rater[copies]]) * n + label[copies]
        of_guess = jax.ops.segment_sum(ratio, cell, n_items * n_groups * n)
        of_guess = of_guess.reshape(n_items, n_groups, n, n).swapaxes(2, 3) + guess
        seen = np.zeros((n_items, n_groups, 1), bool)
        seen[item[copies], group[rater[copies]]] = True
        joint += jnp.where(seen, jax.nn.logsumexp(of_guess, axis=3), 0.0).sum(axis=1)
        possible = (gold_category < 0)[:, None] | (gold_category[:, None] == np.arange(n))
        joint = jnp.where(possible, joint, -jnp.inf)
        return jax.nn.logsumexp(joint, axis=1), jax.nn.softmax(joint, axis=1)

    return log_p_of_guesses


# --- Comparisons ---

# A threshold tie is the normal probability of an interval of width 2 t, computed in three forms that keep its
# digits: a sum of two error functions if the interval contains zero; else a difference of two tails, or a
# six-point integral where the tails nearly cancel.
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


def log_p_of_pairs(op, x, tie, counts):
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
    left, right, rater = (_constant(code, "codes") for code in node.inputs[4:7])

    def pair_log_p(quality, reliability, left_bias, tie, _left, _right, _rater, counts):
        x = reliability[rater] * (quality[left] - quality[right]) + left_bias[rater]
        log_p, pull = jax.vjp(lambda x, t: log_p_of_pairs(op, x, t, counts), x, tie[rater])
        return log_p, *pull(jnp.ones_like(log_p))

    return pair_log_p


def jax_pair_gradient(op, node, **kwargs):
    """Return the JAX implementation of `PairGradient`."""
    left, right, rater = (_constant(code, "codes") for code in node.inputs[4:7])

    def pair_gradient(quality, reliability, left_bias, tie, *answers):
        *_, slope, tie_slope, weight = answers
        s = weight * slope
        steep, apart = s * reliability[rater], s * (quality[left] - quality[right])
        of_quality = jnp.zeros_like(quality).at[left].add(steep).at[right].add(-steep)
        sums = (jnp.zeros_like(reliability).at[rater].add(v) for v in (apart, s, weight * tie_slope))
        return of_quality, *sums

    return pair_gradient


# --- Partial rankings ---

# Blocks of one and two have closed forms; larger ones are integrated on a fixed grid of log t, as in
# `tied_block.race`.


def jax_partial_ranking(op, node, **kwargs):
    """Return the JAX implementation of the Op: log p, and its gradient where that is used."""
    groups = _blocks_by_size(_constant(node.inputs[1], "observed rankings"))

    def partial_ranking(log_worth, block):
        log_p, pullback = jax.vjp(lambda x: _log_p_of_blocks(x, groups), log_worth)
        return log_p, jax.lax.stop_gradient(pullback(jnp.ones_like(log_p))[0])

    return partial_ranking


def _blocks_by_size(block: np.ndarray) -> dict[int, tuple[np.ndarray, np.ndarray, np.ndarray]]:
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


def _log_p_of_blocks(log_worth, groups):
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
