"""Laws of sets of tags and of the answers to them, of numbers and of tensors."""

from itertools import combinations
from typing import Any

import numpy as np

from ..data.reading.tag_sets import bits_of_sets

TAG_PRIOR, PAIR_PRIOR = (0.0, 2.0), (0.0, 1.5)  # mean and sd of log odds, and of log odds ratios


def features_of_sets(n_tags: int) -> np.ndarray:
    """Return what weights and log odds ratios are the factors of in the log odds of a set, (tag and pair, set)."""
    bits = bits_of_sets(n_tags).T.astype(float)
    return np.array([*bits, *((bits[t] - 0.5) * (bits[v] - 0.5) for t, v in combinations(range(n_tags), 2))])


def log_odds_of_sets(weight: Any, ratio: Any, n_tags: int) -> Any:
    """Return the log probability of each set (set,) up to a constant, given weights (tag,) and log odds ratios (pair,)."""
    own = features_of_sets(n_tags)
    return (weight[:, None] * own[:n_tags]).sum(axis=0) + (ratio[:, None] * own[n_tags:]).sum(axis=0)


def concentrations_of_rates(skill: Any, strength: Any) -> tuple[Any, Any]:
    """Return the Beta concentrations of sensitivities and specificities, (rater, 1) each, given skill and strength (rater,)."""
    return (strength * (1 + skill) / 2)[:, None], (strength * (1 - skill) / 2)[:, None]


def confusion_of_sets(sensitivity: Any, specificity: Any, n_tags: int) -> Any:
    """Return p(set answered | rater, true set) (..., rater, set, set), a product over the tags; rates (..., rater, tag)."""
    found: Any = 1.0
    for t, bit in enumerate(bits_of_sets(n_tags).T):
        yes, no = (rate[..., t, None, None] for rate in (sensitivity, specificity))
        has, said = bit[:, None], bit[None, :]
        found = found * (
            yes * (has & said) + (1 - yes) * (has & ~said) + (1 - no) * (~has & said) + no * (~has & ~said)
        )
    return found
