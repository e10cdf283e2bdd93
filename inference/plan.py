"""Options of a sampling run."""

from dataclasses import dataclass
from typing import Literal

__all__ = ["Draws"]


@dataclass(frozen=True)
class Draws:
    """Options of `sample`: length, seed, threads and storage of a run."""

    draws: int  # kept draws of each chain
    tune: int | None  # draws before the first kept one; None: default of the sampler
    chains: int
    cores: int | None  # None: all cores
    seed: int
    progressbar: bool
    thin: int | Literal["pilot"]  # draws or sweeps per kept draw; "pilot": chosen by the sampler
    dtype: Literal["float32", "float64"]  # storage; the arithmetic is in double precision
    densities: bool  # whether to store log likelihood and log prior
