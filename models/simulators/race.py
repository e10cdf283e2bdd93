"""Plackett-Luce draws in log space: worths may span hundreds of orders of magnitude.

Categories arrive at Exponential(worth) times; the first is best. Reference: Caron and Doucet (2012),
Efficient Bayesian inference for generalized Bradley-Terry models, doi:10.1080/10618600.2012.638220.
"""

import numpy as np

__all__ = ["log_gamma", "normalised", "race_order", "ranked_entries"]


def log_gamma(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw log Gamma(shape, 1) as log Gamma(shape + 1) + log(U) / shape, which does not underflow.

    A shape of zero gives -inf. Shapes: result as `shape`.
    """
    with np.errstate(divide="ignore"):
        return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape


def normalised(log_worth: np.ndarray) -> np.ndarray:
    """Return worths normalised to sum to one over the last axis.

    Shapes: log_worth and result (..., category).
    """
    worth = np.exp(log_worth - log_worth.max(axis=-1, keepdims=True))
    return worth / worth.sum(axis=-1, keepdims=True)


def race_order(log_worth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw full rankings, best first: the order of log worth plus Gumbel noise.

    Shapes: log_worth and result (annotation, category).
    """
    return np.argsort(-log_worth - rng.gumbel(size=log_worth.shape), axis=-1)


def ranked_entries(
    order: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut full rankings into blocks; return annotation, category and rank (from 1) of the ranked entries.

    Shapes: order (annotation, category), best first; sizes (annotation, block), zeros after the last block;
    results (entry,), in order.
    """
    named = sizes.sum(axis=1)
    annotation = np.repeat(np.arange(len(order)), named)
    place = np.arange(named.sum()) - np.repeat(np.cumsum(named) - named, named)
    number = np.broadcast_to(np.arange(1, sizes.shape[1] + 1), sizes.shape)
    return annotation, order[annotation, place], np.repeat(number.ravel(), sizes.ravel())
