"""Sampler of models of label counts: independent draws from the Dirichlet posterior."""

from itertools import product

import numpy as np
import pymc as pm
import xarray as xr
from pytensor.tensor.variable import TensorVariable

from ...models.distributions.counted_labels import CountedLabelsRV
from ...models.labels.dirichlet import SPEC as DIRICHLET
from ...posterior.schema import SAMPLE
from ..runs.run import Draws, Run, Sampler, Tuning, in_threads, item_keys, streams_of_items
from ..runs.trees import as_dataset
from .kernels.item_states import DirichletDraws, DirichletItems, draw_dirichlet_items
from .recognition import read_counted_labels

BLOCK = 256  # items per task


def begin_counted_labels(
    law: tuple[TensorVariable, np.ndarray, np.ndarray, np.ndarray],
    model: pm.Model,
    plan: Draws,
    found: Tuning | None = None,
) -> Run:
    """Set up independent draws of plausibilities from their Dirichlet posterior.

    Each item has its own random stream, and so depends on no other item. `law` is that of `read_counted_labels`.
    """
    plausibility, alpha, counts, reliability = law
    # Dirichlet posterior of item i: alpha + r_i n_i
    concentration = alpha + reliability[..., None] * counts
    alpha = np.ascontiguousarray(np.broadcast_to(alpha, counts.shape), np.float64)
    laws = DirichletItems(concentration, counts.astype(np.float64), alpha)
    items = np.asarray(model.coords.get("item", range(len(counts))))
    streams = streams_of_items(item_keys(items), plan.chains, plan.seed)
    names = str(model.observed_RVs[0].name), str(plausibility.name)

    def draw(drawn: int, n: int) -> dict[str, xr.Dataset]:
        draws = _draw(laws, streams, n, plan)
        groups = {"posterior": as_dataset(model, {names[1]: draws.plausibility}, SAMPLE)}
        if plan.densities:
            by_item = (*SAMPLE, "item")
            groups["log_likelihood"] = xr.Dataset({names[0]: (by_item, draws.log_p)})
            groups["log_prior"] = xr.Dataset({names[1]: (by_item, draws.log_prior)})
        return groups

    return Run({}, {"stream": streams}, draw)


def _draw(laws: DirichletItems, streams: np.ndarray, n: int, plan: Draws) -> DirichletDraws:
    """Draw all items of all chains, multi-threaded over blocks of items; streams (chain, 4, item) are advanced in place."""
    size = (plan.chains, n, len(laws.counts))
    shapes = ((*size, laws.counts.shape[1]), size, size)
    draws = DirichletDraws(*(np.empty(shape, plan.dtype) for shape in shapes))

    def run(chain: int, first: int) -> None:
        own = slice(first, first + BLOCK)
        block = DirichletItems(*(array[own] for array in laws))
        out = DirichletDraws(*(array[chain, :, own] for array in draws))
        draw_dirichlet_items(streams[chain, :, own], block, out)

    in_threads(run, product(range(plan.chains), range(0, len(laws.counts), BLOCK)), plan.cores)
    return draws


def _numbers_by_item(model: pm.Model) -> dict[str, tuple[str, np.ndarray]]:
    """Return concentration and reliability of each item."""
    _, alpha, _, power = read_counted_labels(model)
    return {"concentration": ("item", alpha), "reliability": ("item", power)}


SAMPLER = Sampler(
    law=CountedLabelsRV,
    read=read_counted_labels,
    begin=begin_counted_labels,
    reason="counts of labels and a Dirichlet prior are conjugate",
    method="exact",
    name=DIRICHLET.name,
    numbers_by_item=_numbers_by_item,
)
