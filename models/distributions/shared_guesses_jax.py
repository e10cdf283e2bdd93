"""JAX dispatch of the likelihood of labels by raters who share guesses; the answers must be constants."""

import jax
import jax.numpy as jnp
import numpy as np

from .marginal_labels_jax import constant_answers


def jax_guess_log_p(op, node, **kwargs):
    """Return the JAX implementation of `GuessLogP`, in logs."""
    return _log_p(*map(constant_answers, node.inputs[4:]), by_item=_by_item(node.inputs[0]))


def jax_expected_guesses(op, node, **kwargs):
    """Return the JAX implementation of `ExpectedGuesses`: the gradient of log p in the logs of the parameters."""
    log_p = _log_p(*map(constant_answers, node.inputs[5:]), by_item=_by_item(node.inputs[1]))

    def expected_guesses(weight, *inputs):
        return jax.vjp(lambda *logs: log_p(*logs)[0], *inputs[:4])[1](weight)

    return expected_guesses


def _by_item(first) -> bool:
    """Whether the first log parameter is a log prior (item, category), which is then normalised."""
    return first.type.ndim == 2


def _log_p(start, rater, label, group, gold_category, by_item):
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
