"""What a simulator returns: data in a container, and the truth they were drawn from."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

__all__ = ["Simulated"]


@dataclass(frozen=True, eq=False)
class Simulated[Data]:
    """Simulated annotations with the truth behind them.

    Attributes
    ----------
    data : PartialRankings or another container
        What the raters said.
    truth : mapping of str to ndarray
        What the simulator says it holds; rows and columns follow ``data.items`` and
        ``data.categories``.
    """

    data: Data
    truth: Mapping[str, np.ndarray]
