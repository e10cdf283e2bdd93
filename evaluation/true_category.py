"""Certainty of the true category, in models whose plausibility is its probability given a draw.

In Dawid-Skene and related models every draw gives each item a probability p(true category | draw), and the
truth is one draw from it. The certainty of the truth is therefore max_j E[p_j]. (`annotation_certainty` is
the frequency with which one label is the most plausible: for models whose plausibilities are themselves the
truth, as for rankings.)
"""

import xarray as xr

from .errors import EvaluationError
from .plausibility import BLOCK_SIZE, plausibility_of

__all__ = ["truth_certainty"]


def truth_certainty(tree: xr.DataTree | xr.DataArray) -> xr.Dataset:
    """Return the most probable true category of each item, and its probability max_j E[p_j].

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior of a model of labels with ``plausibility`` (chain, draw, item, category), or that array.

    Returns
    -------
    Dataset
        ``label`` (item), the most probable category, ties by the order of the categories; ``certainty``
        (item), its probability, in (0, 1]; ``probability`` (item, category).

    Raises
    ------
    EvaluationError
        If the tree has no such plausibility.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> plausibility = xr.DataArray(
    ...     [[[[0.9, 0.1]], [[0.6, 0.4]]]],
    ...     {"item": ["x1"], "category": ["no", "yes"]},
    ...     ("chain", "draw", "item", "category"),
    ... )
    >>> found = evaluation.truth_certainty(plausibility)
    >>> found["label"].item(), round(found["certainty"].item(), 2)
    ('no', 0.75)

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
    """Return the mean over draws by blocks of items; a posterior on disk is never loaded whole."""
    n_items = plausibility.sizes["item"]
    step = max(BLOCK_SIZE * n_items // max(plausibility.size, 1), 1)
    blocks = [
        plausibility.isel(item=slice(first, first + step)).mean(("chain", "draw"), dtype=float)
        for first in range(0, n_items, step)
    ]
    return xr.concat(blocks, "item") if len(blocks) > 1 else blocks[0]
