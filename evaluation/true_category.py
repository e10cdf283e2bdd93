"""How certain the true category of an item is, where the plausibility is its probability given a draw.

In Dawid-Skene and its relatives every draw gives each item a probability p(true category | draw), and the truth is one draw from
it. The certainty of the truth is therefore max_j E[p_j]. (`annotation_certainty` asks how often one label is the most plausible:
the question where the plausibilities themselves are the truth, as in rankings.)
"""

import xarray as xr

from .errors import EvaluationError
from .plausibility import BLOCK_SIZE, plausibility_of

__all__ = ["truth_certainty"]


def truth_certainty(tree: xr.DataTree | xr.DataArray) -> xr.Dataset:
    """Return the most probable true category of each item, and its probability.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior of a model of labels, with ``plausibility`` (chain, draw, item, category), or that.

    Returns
    -------
    Dataset
        ``label`` (item), the most probable category, ties by the order of the categories; ``certainty`` (item), its probability
        in (0, 1]; ``probability`` (item, category).

    Raises
    ------
    EvaluationError
        If the tree has no such plausibility.

    References
    ----------
    Dawid and Skene (1979), equation 2.5, doi:10.2307/2346806.
    """
    plausibility = plausibility_of(tree)
    if "item" not in plausibility.dims:
        raise EvaluationError(
            "the tree has no plausibility (item, category); truth_certainty reads posteriors of models of labels"
        )
    if plausibility.attrs.get("truth") == "plausibility":
        raise EvaluationError(
            "the plausibilities of this model are the truth itself, not the probability of one category; use annotation_certainty"
        )
    probability = _mean(plausibility)
    best = probability.argmax("category")
    names = probability["category"].to_numpy()[best.to_numpy()]
    values = probability.transpose("item", "category").to_numpy()
    return xr.Dataset(
        {
            "label": ("item", names),
            "certainty": ("item", values.max(axis=1)),
            "probability": (("item", "category"), values),
        },
        {dim: probability[dim] for dim in ("item", "category") if dim in probability.coords},
    )


def _mean(plausibility: xr.DataArray) -> xr.DataArray:
    """Return the mean over draws, by blocks of items: a posterior on disk is never loaded as a whole."""
    n_items = plausibility.sizes["item"]
    step = max(BLOCK_SIZE * n_items // max(plausibility.size, 1), 1)
    blocks = [
        plausibility.isel(item=slice(first, first + step)).mean(("chain", "draw"), dtype=float)
        for first in range(0, n_items, step)
    ]
    return xr.concat(blocks, "item") if len(blocks) > 1 else blocks[0]
