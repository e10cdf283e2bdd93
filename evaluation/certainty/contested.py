"""Contested items: those on which populations of raters have different truths, and what each says."""

import xarray as xr

from ...posterior.errors import EvaluationError
from .annotation import truth_certainty

NEEDED = ("contested", "population_plausibility")


def contested_items(tree: xr.DataTree) -> xr.Dataset:
    """Return the probability that the truths of populations of raters differ, and the truth of each, most contested items first.

    Parameters
    ----------
    tree : DataTree
        Posterior of `raterzoo.models.cultural_consensus`.

    Returns
    -------
    Dataset
        ``contested`` (item), the posterior probability that the truths are not all the same, largest first; ``label`` and
        ``certainty`` (item, population), the most probable truth of each population and its probability, as in
        `truth_certainty`.

    Raises
    ------
    EvaluationError
        If the posterior has no populations with truths of their own.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> dims = ("chain", "draw", "item", "population", "category")
    >>> truths = xr.DataArray([[[[[0.9, 0.1], [0.8, 0.2]], [[0.9, 0.1], [0.3, 0.7]]]]], dims=dims)
    >>> posterior = xr.Dataset({"population_plausibility": truths, "contested": (dims[:3], [[[0.2, 0.7]]])})
    >>> posterior = posterior.assign_coords(item=["a", "b"], population=[1, 2], category=["no", "yes"])
    >>> found = evaluation.contested_items(xr.DataTree.from_dict({"posterior": posterior}))
    >>> found["item"].values.tolist(), found["label"].values.tolist()
    (['b', 'a'], [['no', 'yes'], ['no', 'no']])
    """
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    if missing := [name for name in NEEDED if name not in posterior]:
        raise EvaluationError(
            f"the posterior has no variable {missing[0]}: contested_items reads posteriors of models.cultural_consensus, "
            "in which populations of raters have truths of their own"
        )
    plausibility = posterior["population_plausibility"].drop_attrs()
    each = [truth_certainty(plausibility.isel(population=g)) for g in range(plausibility.sizes["population"])]
    found = xr.concat(each, plausibility["population"])[["label", "certainty"]].transpose(
        "item", "population"
    )
    contested = posterior["contested"].mean(("chain", "draw"), dtype=float)
    found = found.assign(contested=contested)
    return found.isel(item=(-contested.to_numpy()).argsort(kind="stable"))
