"""Partial rankings by brute force, written independently of the package: every ranking, every order of a tied block."""

from itertools import permutations, product

import numpy as np


def all_partial_rankings(n):
    """Yield the block numbers of every partial ranking of `n` candidates that ranks at least one, the largest = unranked.

    The unranked block is never empty: a ranking of all candidates says the same as the one that leaves its last block unranked.
    """
    for numbers in product(range(n), repeat=n):
        block = np.array(numbers)
        if block.max() > 0 and np.array_equal(np.unique(block), np.arange(block.max() + 1)):
            yield block


def log_p_by_enumeration(log_worth, block):
    """Sum the Plackett-Luce probability over every order of the tied blocks."""
    worth = np.exp(log_worth - log_worth.max())
    blocks = [np.flatnonzero(block == b) for b in range(block.max())]
    total = 0.0
    for orders in product(*[permutations(members) for members in blocks]):
        left, probability = worth.sum(), 1.0
        for candidate in (k for order in orders for k in order):
            probability *= worth[candidate] / left
            left -= worth[candidate]
        total += probability
    return np.log(total)


def random_block(rng, n):
    """Draw block numbers of a partial ranking of `n` candidates."""
    while True:
        block = np.unique(rng.integers(0, rng.integers(2, n + 1), n), return_inverse=True)[1]
        if block.max() > 0:
            return block
