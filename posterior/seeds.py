"""Seeds derived from a posterior, so that the same call gives the same result twice."""

from hashlib import blake2b

import numpy as np
import xarray as xr

from .errors import EvaluationError

Seed = int | np.random.Generator | None
Source = xr.DataTree | xr.Dataset | xr.DataArray
CORNER = 16  # values read along each dim to derive a seed: cheap also for arrays on disk


def default_seed(source: Source) -> int:
    """Return a seed derived from the one that a tree was sampled with, or else from some values of a tree or array."""
    sampled = source.attrs.get("seed")
    # never the seed of the sampler itself, whose random numbers made the draws
    digest = blake2b(b"evaluation", digest_size=8)
    if isinstance(sampled, int | np.integer):
        digest.update(str(int(sampled)).encode())
        return int.from_bytes(digest.digest()) >> 1
    if isinstance(source, xr.DataTree):
        source = source["posterior"].to_dataset() if "posterior" in source.children else source.to_dataset()
    arrays = [source] if isinstance(source, xr.DataArray) else list(source.data_vars.values())
    for array in arrays:
        corner = array.isel({dim: slice(CORNER) for dim in array.dims}).to_numpy()
        digest.update(str(array.sizes.values()).encode())
        digest.update(corner.tobytes() if corner.dtype.kind in "biuf" else b"")
    return int.from_bytes(digest.digest()) >> 1


def generator_of(random_seed: Seed, source: Source | int) -> np.random.Generator:
    """Return a generator for a seed, by default for that of a tree or array; raise if the seed is invalid."""
    if isinstance(random_seed, bool) or not isinstance(random_seed, int | np.integer):
        if not (random_seed is None or isinstance(random_seed, np.random.Generator)):
            raise EvaluationError(f"random_seed={random_seed!r}: expected an integer, a Generator or None")
    elif random_seed < 0:
        raise EvaluationError(f"random_seed={random_seed}: expected an integer from 0 on")
    if random_seed is None:
        random_seed = source if isinstance(source, int) else default_seed(source)
    return np.random.default_rng(random_seed)


def fixed_seed(random_seed: Seed, source: Source | int) -> int:
    """Return an integer seed, so that the same draws can be made twice; by default that of a tree or array."""
    rng = generator_of(random_seed, source)
    if isinstance(random_seed, int | np.integer):
        return int(random_seed)
    return int(rng.integers(np.iinfo(np.int64).max))
