"""Small designs of labels, and their exact posteriors by enumeration, written independently of the package."""

from dataclasses import replace
from itertools import product

import numpy as np
from raterzoo.models import Labels
from scipy.special import gammaln

# Ragged, with a repeat (rater r answers item a twice), an item without an answer, and gold for one.
TINY = {
    "item": ["a", "a", "a", "b", "b", "c", "d", "d", "e"],
    "rater": ["r", "r", "s", "r", "s", "s", "r", "t", "t"],
    "label": ["x", "x", "y", "y", "y", "x", "y", "x", "x"],
    "count": [1, 1, 1, 1, 1, 1, 1, 1, 0],
    "gold": ["", "", "", "", "", "", "y", "y", ""],
}


def tiny_labels():
    return Labels.from_table(TINY, count="count", gold="gold")


def tiny_tag_sets(labels=None):
    """Labels, by default the tiny ones, whose categories are the sets of two tags, and theirs the first of these."""
    return replace(labels or tiny_labels(), categories=np.array(["none", "a", "b", "a|b"]))


def exact_means(labels, alpha, beta):
    """Posterior means of prevalence, confusion and p(true category) by enumerating all true categories.

    alpha (category,), beta (rater, category, answer) are Dirichlet concentrations: given the true categories all is conjugate.
    """
    n, n_categories = len(labels.items), len(alpha)
    choices = [[g] if g >= 0 else range(n_categories) for g in labels.gold.tolist()]
    log_weight, prevalence, confusion, truth = [], [], [], []
    for category in product(*choices):
        category = np.array(category)
        own_alpha = alpha + np.bincount(category, minlength=n_categories)
        own_beta = beta.copy()
        at = (labels.annotation_rater, category[labels.annotation_item], labels.label_code)
        np.add.at(own_beta, at, labels.count)
        log_weight.append(log_beta(own_alpha) + log_beta(own_beta).sum())
        prevalence.append(own_alpha / own_alpha.sum())
        confusion.append(own_beta / own_beta.sum(axis=-1, keepdims=True))
        truth.append(np.eye(n_categories)[category])
    weight = np.exp(np.array(log_weight) - max(log_weight))
    weight /= weight.sum()
    return {
        "prevalence": np.tensordot(weight, prevalence, 1),
        "confusion": np.tensordot(weight, confusion, 1),
        "plausibility": np.tensordot(weight, truth, 1).reshape(n, n_categories),
    }


def log_beta(concentration):
    """Return the log of the Beta function of concentrations (..., category)."""
    return gammaln(concentration).sum(axis=-1) - gammaln(concentration.sum(axis=-1))


def favoured(n, total=8.0, diagonal=4.8):
    beta = np.full((n, n), (total - diagonal) / (n - 1))
    np.fill_diagonal(beta, diagonal)
    return beta
