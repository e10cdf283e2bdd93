"""Posterior of Plackett-Luce worths as flat arrays for compiled code."""

from typing import NamedTuple

import numpy as np

from .annotations import DistinctAnnotations

__all__ = ["WorthPosterior", "worth_posterior"]


class WorthPosterior(NamedTuple):
    """Fields of `DistinctAnnotations`, and the Gamma(shape, rate) priors of the worths.

    Flat, because compiled code copies a tuple that it takes out of a tuple.
    """

    candidate_start: np.ndarray
    annotation_start: np.ndarray
    multiplicity: np.ndarray
    block_start: np.ndarray
    member_start: np.ndarray
    member: np.ndarray
    wins: np.ndarray
    leader: np.ndarray
    settled: np.ndarray
    shape: np.ndarray  # (candidate,)
    rate: np.ndarray  # (candidate,)


def worth_posterior(
    annotations: DistinctAnnotations, shape: np.ndarray | float, rate: np.ndarray | float = 1.0
) -> WorthPosterior:
    """Join annotations and Gamma priors, broadcast to the candidates.

    Shapes: shape, rate () or (candidate,). Raises ValueError unless they are positive and finite.
    """
    n_candidates = len(annotations.wins)
    for name, value in (("shape", np.asarray(shape)), ("rate", np.asarray(rate))):
        wrong = ~((value > 0) & (value < np.inf))
        if wrong.any():
            raise ValueError(
                f"{name}={value[wrong].flat[0]:g} of the Gamma prior must be positive and finite"
            )
    return WorthPosterior(
        *annotations,
        np.array(np.broadcast_to(shape, n_candidates), np.float64),
        np.array(np.broadcast_to(rate, n_candidates), np.float64),
    )
