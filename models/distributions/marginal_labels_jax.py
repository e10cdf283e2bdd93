"""JAX dispatch of the likelihood of labels; the answers must be constants."""

import jax
import jax.numpy as jnp
import numpy as np
from pytensor.graph.basic import Constant


def jax_label_log_p(op, node, **kwargs):
    """Return the JAX implementation of `LabelLogP`."""
    start, code, gold_category = map(constant_answers, node.inputs[2:])
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
    start, code, gold_category = map(constant_answers, node.inputs[2:])
    item, n_items = np.repeat(np.arange(len(gold_category)), np.diff(start)), len(gold_category)

    def label_log_p_by_item(log_prior, log_table, *_):
        possible = (gold_category < 0)[:, None] | (gold_category[:, None] == np.arange(log_table.shape[1]))
        joint = jax.ops.segment_sum(log_table[code], item, n_items) + jax.nn.log_softmax(log_prior, axis=1)
        joint = jnp.where(possible, joint, -jnp.inf)
        plausibility = jax.nn.softmax(joint, axis=1)
        return jax.nn.logsumexp(joint, axis=1), plausibility, plausibility - jax.nn.softmax(log_prior, axis=1)

    return label_log_p_by_item


def jax_expected_answers(op, node, **kwargs):
    """Return the JAX implementation of `ExpectedAnswers`."""
    start, code = map(constant_answers, node.inputs[2:4])
    item = np.repeat(np.arange(len(start) - 1), np.diff(start))

    def expected_answers(plausibility, weight, start, _, table):
        return jax.ops.segment_sum((weight[:, None] * plausibility)[item], code, len(table))

    return expected_answers


def constant_answers(variable) -> np.ndarray:
    """Return the value of a graph constant."""
    if not isinstance(variable, Constant):
        raise NotImplementedError("in JAX the answers must be constants, not pm.Data")
    return np.asarray(variable.data)
