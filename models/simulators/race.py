"""The Plackett-Luce race in log space: worths may span hundreds of orders of magnitude.

References
----------
Caron and Doucet (2012), Efficient Bayesian inference for generalized Bradley-Terry models,
doi:10.1080/10618600.2012.638220: categories arrive at Exponential(worth) times, the first is best.
"""

import numpy as np

__all__ = ["log_gamma", "normalised", "race_order", "ranked_entries"]


def log_gamma(shape: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw log Gamma(shape, 1), also where the draw itself would be zero in floating point.

    Parameters
    ----------
    shape : ndarray of float, shape (...)
        Shapes; a shape of zero gives the logarithm of zero.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray, shape (...)
        log Gamma(shape + 1) + log(U) / shape, with -log(U) ~ Exponential(1).
    """
    with np.errstate(divide="ignore"):
        return np.log(rng.standard_gamma(shape + 1)) - rng.standard_exponential(shape.shape) / shape


def normalised(log_worth: np.ndarray) -> np.ndarray:
    """Return worths that sum to one.

    Parameters
    ----------
    log_worth : ndarray, shape (..., category)
        Log worths.

    Returns
    -------
    ndarray, shape (..., category)
        Plausibilities.
    """
    worth = np.exp(log_worth - log_worth.max(axis=-1, keepdims=True))
    return worth / worth.sum(axis=-1, keepdims=True)


def race_order(log_worth: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """Draw full rankings: the order of log worth plus Gumbel noise.

    Parameters
    ----------
    log_worth : ndarray, shape (annotation, category)
        Log worths by which each annotation goes.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    ndarray of int, shape (annotation, category)
        Categories, best first.
    """
    return np.argsort(-log_worth - rng.gumbel(size=log_worth.shape), axis=-1)


def ranked_entries(
    order: np.ndarray, sizes: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Cut full rankings into blocks, and drop what comes after the last block.

    Parameters
    ----------
    order : ndarray of int, shape (annotation, category)
        Categories, best first.
    sizes : ndarray of int, shape (annotation, block)
        Block sizes; zeros after the last block.

    Returns
    -------
    annotation, category, rank : ndarray of int, shape (entry,)
        The ranked entries, in order.
    """
    named = sizes.sum(axis=1)
    annotation = np.repeat(np.arange(len(order)), named)
    place = np.arange(named.sum()) - np.repeat(np.cumsum(named) - named, named)
    number = np.broadcast_to(np.arange(1, sizes.shape[1] + 1), sizes.shape)
    return annotation, order[annotation, place], np.repeat(number.ravel(), sizes.ravel())
