"""Starting points of EM and of chains: vote shares of the items, and random draws near them."""

import numpy as np

from ...models.distributions.answer_sweep import Answers

__all__ = ["jittered_vote", "vote_share"]

VOTE_WEIGHT, VOTE_JITTER = 20.0, 0.3


def jittered_vote(answers: Answers, n_categories: int, rng: np.random.Generator) -> np.ndarray:
    """Draw p(true category) of every item from Dirichlet(20 vote share + .3).

    Shapes: result (item, category), one for the true category of gold items.
    """
    share = vote_share(answers, n_categories)
    jitter = rng.standard_gamma(VOTE_WEIGHT * share + VOTE_JITTER)
    jitter /= jitter.sum(axis=1, keepdims=True)
    return np.where(answers.known[:, None] < 0, jitter, share)


def vote_share(answers: Answers, n_categories: int) -> np.ndarray:
    """Return the share of each label among the answers of an item, or its gold label.

    Shapes: result (item, category), rows sum to one, uniform without answers.
    """
    n_items = len(answers.known)
    item = np.repeat(np.arange(n_items), np.diff(answers.start))
    cell = item * n_categories + answers.code % n_categories
    votes = np.bincount(cell, minlength=n_items * n_categories).reshape(n_items, n_categories)
    total = votes.sum(axis=1, keepdims=True)
    share = np.where(total > 0, votes / np.maximum(total, 1), 1 / n_categories)
    gold = np.flatnonzero(answers.known >= 0)
    share[gold] = np.eye(n_categories)[answers.known[gold]]
    return share
