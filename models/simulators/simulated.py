"""Result of a simulator: data and the truth behind them."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["Simulated"]


@dataclass(frozen=True, eq=False)
class Simulated[Data]:
    """Simulated annotations and the parameters that generated them.

    Attributes
    ----------
    data : PartialRankings, Labels, Comparisons or Scores
        The annotations.
    truth : mapping of str to ndarray
        True parameters, as listed by the simulator; rows and columns follow ``data.items`` and
        ``data.categories``.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.labels(model="dirichlet", items=20, random_seed=1)
    >>> len(simulated.data.items), simulated.truth["plausibility"].shape
    (20, (20, 3))
    """

    data: Data
    truth: Mapping[str, np.ndarray]
