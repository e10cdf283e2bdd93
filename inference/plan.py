"""What `sample` was asked for."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Draws"]


@dataclass(frozen=True)
class Draws:
    """How many draws of how many chains, and what is stored of them."""

    draws: int
    tune: int | None
    chains: int
    cores: int | None
    seed: int
    progressbar: bool
    thin: int | Literal["pilot"]
    dtype: Literal["float32", "float64"]
    densities: bool
