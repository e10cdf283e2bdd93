"""Scores of classifiers in every draw of a mixture of item states, on the population of the power curve.

Item i has label counts n_i of N_i, and its expected score against one of its raters is
T_i = sum_c (n_ic / N_i) S(f_i, c). In a draw with weights w and probabilities theta, an item with these
counts is in state j with probability r_ij, and

    x_ijc = r_ij n_ic / N_i        has mean        X_jc = w_j theta_jc

over the population of the draw. With B the coefficients of a linear regression of T on x, first on its sums
over the states (the label frequencies) and then of the residuals, the score of the draw is

    sum_jc B_jc X_jc  +  sum_i u_i (T_i - sum_jc B_jc x_ijc),        u ~ Dirichlet(1, ..., 1)

The part of the score that the counts explain thus follows the draw's own item states, and shares its errors
with the curve: a constant prediction has the score of the draw's label frequencies, without an error of its
own. The residuals are uncorrelated with that part, and have the Bayesian bootstrap of the items, with the
same weights for all classifiers. A classifier's predictions never inform the state of an item. If all items
have as many labels, x spans the score vector of the mixture, and the two parts are independent to first
order.

References
----------
Rubin (1981), The Bayesian bootstrap, doi:10.1214/aos/1176345338. Deville and Särndal (1992), Calibration
estimators in survey sampling, JASA 87, doi:10.1080/01621459.1992.10475217 (regression weights that reproduce
known means).
"""

import numpy as np

from .state_curves import ItemStates, parts

__all__ = ["classifier_scores"]

CUTOFF = 1e-2  # relative cutoff of singular values: patterns that hardly occur


def classifier_scores(
    states: ItemStates, counts: np.ndarray, by_label: np.ndarray, rng: np.random.Generator
) -> np.ndarray:
    """Draw the scores (sample, classifier) of classifiers jointly with the item states.

    Shapes: counts (item, category), at least one label for each item; by_label (classifier, item, category),
    the score that each label would give; `rng` draws the weights of the items.
    """
    distinct, pattern, items = np.unique(counts, axis=0, return_inverse=True, return_counts=True)
    share = counts / counts.sum(axis=1, keepdims=True)
    heard = np.multiply(share, by_label, out=np.zeros(by_label.shape), where=counts > 0)
    own = heard.sum(axis=2)  # T (classifier, item)
    mean = np.stack([np.bincount(pattern, t) / items for t in own], axis=1)  # (pattern, classifier)
    within = own.T - mean[pattern]
    known = np.empty((len(states.weight), len(own)))
    rest = np.empty((len(states.weight), len(own), len(distinct)))
    for part in parts(states, distinct.size):
        known[part], rest[part] = _regressed(states.taken(part), distinct, items, mean)
    drawn = np.empty_like(known)
    for s in range(len(drawn)):
        u = rng.standard_exponential(len(counts))
        u /= u.sum()
        by_pattern = np.bincount(pattern, u, len(distinct))
        # einsum, not @: BLAS threads on a busy machine cost a hundred times the sum
        drawn[s] = known[s] + rest[s] @ by_pattern + np.einsum("i,ic->c", u, within)
    return drawn


def _regressed(
    states: ItemStates, counts: np.ndarray, items: np.ndarray, mean: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the regression part and the residuals of the scores in each draw.

    Shapes: counts (pattern, category); items (pattern,); mean (pattern, classifier); regression part
    (sample, classifier); residuals (sample, classifier, pattern).
    """
    joint = states.log_probability(counts) + np.log(np.maximum(states.weight, 1e-300))[..., None]
    joint = np.exp(joint - joint.max(axis=1, keepdims=True))
    state = np.swapaxes(joint / joint.sum(axis=1, keepdims=True), 1, 2)
    share = counts / counts.sum(axis=1, keepdims=True)
    x = (state[..., None] * share[:, None]).reshape(len(state), len(counts), -1)
    root = np.sqrt(items)[:, None]  # weighted least squares: pattern p stands for items[p] items
    of_labels = np.linalg.pinv(share * root) @ (mean * root)
    mean = mean - share @ of_labels
    coefficient = np.linalg.pinv(x * root, rcond=CUTOFF) @ (mean * root)
    expected = states.weight[..., None] * states.probability  # X_jc
    known = expected.sum(axis=1) @ of_labels
    known += (expected.reshape(len(state), 1, -1) @ coefficient)[:, 0]
    return known, np.swapaxes(mean - x @ coefficient, 1, 2)
