"""Effective number of correlated votes on an item, and their correlation in public studies of labels."""

import numpy as np

__all__ = ["PUBLIC", "PUBLIC_MEAN", "effective_power"]

# Beta distribution of the correlation of two raters' votes: on 14 public studies of labels with known truth one correlation for
# all is chosen as .35 to .40 whichever study is left out, and each study's own spreads about it with a standard deviation of .22
PUBLIC = (1.4, 2.6)
PUBLIC_MEAN = PUBLIC[0] / sum(PUBLIC)


def effective_power(votes: np.ndarray, correlation: np.ndarray | float) -> np.ndarray:
    """Return effective votes by votes, the power of each of n votes on an item: 1 / (1 + (n - 1) rho) (Kish)."""
    return 1 / (1 + np.maximum(votes - 1, 0) * correlation)
