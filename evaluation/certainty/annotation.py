"""Annotation certainty of items, and their plausible labels.

Symbols: lambda ``plausibility``; Y_top-j(lambda) the set of its j most plausible labels.
"""

from collections.abc import Mapping
from itertools import chain

import numpy as np
import xarray as xr

from ..._messages import warn_user
from ...posterior.certainties import alternatives, largest_counts
from ...posterior.errors import EvaluationError
from ...posterior.plausibility import BLOCK_SIZE, Block, Plausibility, plausibility_of, truth_of
from ...posterior.schema import OTHER
from ...posterior.summaries import (
    by_probability,
    is_of_category,
    mean_plausibility,
    refuse_sets_of_categories,
    stored_alternatives,
    stored_certainty,
)
from ...posterior.top_labels import NO_LABEL, OtherAs, TopLabels, treatment_of_other
from ..argument_checks import check_whole
from ..truth.groups import group_by_code

POINT_ESTIMATE = (
    "the posterior has one draw, a point estimate, of which every certainty is 1: it says nothing of the uncertainty; draw the "
    "posterior by inference.sample"
)


def truth_certainty(tree: xr.DataTree | xr.Dataset | xr.DataArray) -> xr.Dataset:
    """Return the most probable true category of each item, and its probability max_j E[p_j].

    In Dawid-Skene and related models the truth is one draw from p(true category | draw). Where plausibilities are
    themselves the truth, `annotation_certainty` is the frequency with which one label is the most plausible.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``plausibility`` (chain, draw, item, category), a point estimate, or that array.

    Returns
    -------
    Dataset
        ``label`` (item), the most probable category, ties by the order of the categories; ``certainty``
        (item), its probability, in (0, 1]; ``probability`` (item, category) (Dawid and Skene, 1979, equation
        2.5, doi:10.2307/2346806).

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
    """
    mean = mean_plausibility(tree)
    if mean is not None and is_of_category(mean):
        return _most_probable(mean)  # of all draws, also of those that were not kept
    plausibility = plausibility_of(tree) if mean is None else mean
    if "item" not in plausibility.dims:
        raise EvaluationError(
            "the tree has no plausibility (item, category); truth_certainty reads posteriors of models of labels"
        )
    said = "truth" in plausibility.attrs or isinstance(tree, xr.DataTree)  # an array may leave it out
    drawn = "draw" in plausibility.dims or mean is not None
    if said and drawn and truth_of(tree, plausibility) != "category":
        raise EvaluationError(
            "the plausibilities of this model are the truth itself, not the probability of one category; use annotation_certainty"
        )
    # by blocks of items: a posterior on disk is never loaded whole
    n_items, samples = plausibility.sizes["item"], [d for d in ("chain", "draw") if d in plausibility.dims]
    step = max(BLOCK_SIZE * n_items // max(plausibility.size, 1), 1)
    blocks = [
        plausibility.isel(item=slice(first, first + step)).mean(samples, dtype=float)
        for first in range(0, n_items, step)
    ]
    return _most_probable(xr.concat(blocks, "item") if len(blocks) > 1 else blocks[0])


def _most_probable(probability: xr.DataArray) -> xr.Dataset:
    """Return the most probable category of each item, and the probabilities of all (item, category)."""
    values = probability.transpose("item", "category").to_numpy()
    names = probability["category"].to_numpy()[values.argmax(axis=1)]
    found = {"label": ("item", names), "certainty": ("item", values.max(axis=1))}
    coords = {dim: probability[dim] for dim in ("item", "category") if dim in probability.coords}
    return xr.Dataset({**found, "probability": (("item", "category"), values)}, coords)


def annotation_certainty(
    tree: xr.DataTree | xr.Dataset | xr.DataArray,
    top: int = 1,
    groups: Mapping[object, object] | None = None,
    *,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.DataArray:
    """Return the posterior probability of the most probable top-j set of each item.

    Parameters
    ----------
    tree : DataTree, Dataset or DataArray
        Posterior with ``plausibility`` (chain, draw, candidate) or (chain, draw, item, category), or a point
        estimate. Draws in an array have the attribute ``truth``, "category" or "distribution".
    top : int
        Size j of the sets; smaller if fewer labels have positive plausibility.
    groups : mapping of label to group, optional
        Use the group of each draw's top-1 label, such as the risk of a condition, instead of the label. With
        OTHER split, the mapping must contain every declared category.
    other : {"split", "exclude", "label"}, optional
        Treatment of OTHER, as in `uncertainty_adjusted`; by default as stored in the tree.
    random_seed : int or numpy.random.Generator, optional
        Seed for drawing the members of OTHER, if it is split. By default it is derived from the tree: from the
        seed with which it was sampled or, where that is not stored, from its values. So a call gives the same
        result twice; for other draws pass another seed, for a state of your own a Generator.

    Returns
    -------
    DataArray, shape (item,)
        Certainty in (0, 1]. If the truth is one category, as in Dawid-Skene, it equals that of
        `truth_certainty` (Stutz et al., 2025, arXiv:2307.02191, eq. 7-11). With `groups`, the coordinate
        ``group`` (item) names the group that it is of. The attribute ``note`` is there for a point estimate.

    Raises
    ------
    EvaluationError
        If `groups` lacks a category or is combined with top > 1, or the tree lacks a variable.

    Warns
    -----
    UserWarning
        If there is one draw, such as a point estimate.

    Notes
    -----
    Certainty counts draws. Of a point estimate, which is one draw, the certainty is 1 for every item, whatever
    its plausibilities: it says nothing of the uncertainty.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[[0.6, 0.4]], [[0.7, 0.3]], [[0.2, 0.8]], [[0.9, 0.1]]]]
    >>> coords = {"item": ["a"], "category": ["x", "y"]}
    >>> truth = xr.DataArray(draws, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"})
    >>> evaluation.annotation_certainty(truth).values
    array([0.75])
    """
    check_whole("top", top, 1, remark=": a set has at least one label")
    if groups is None and random_seed is None:
        mean = mean_plausibility(tree)
        if mean is not None and top == 1 and is_of_category(mean):
            return truth_certainty(tree)["certainty"].rename("annotation_certainty")
        if (counted := stored_certainty(tree, top, other)) is not None:
            return counted
    refuse_sets_of_categories(tree, top)
    view = Plausibility.of(tree)
    other = treatment_of_other(view, other)
    if groups is not None and top != 1:
        raise EvaluationError(f"top={top} with groups=: groups are of the top-1 label")
    if groups is None and view.is_of_category and top == 1:
        return truth_certainty(tree)["certainty"].rename("annotation_certainty")
    if view.n_samples == 1:
        warn_user(POINT_ESTIMATE, UserWarning)
    note = {"note": POINT_ESTIMATE} if view.n_samples == 1 else {}
    if groups is not None:
        return _certainty_of_groups(view, groups, other, random_seed).assign_attrs(note)
    labels = TopLabels(view, other)

    def of_block(block: Block, rng: np.random.Generator) -> np.ndarray:
        return largest_counts(labels, block, top, rng)

    certainty = np.concatenate(view.map_blocks(of_block, random_seed)) / view.n_samples
    return xr.DataArray(certainty, {"item": view.items}, ("item",), "annotation_certainty", note)


def _certainty_of_groups(
    view: Plausibility,
    groups: Mapping[object, object],
    other: OtherAs,
    random_seed: int | np.random.Generator | None,
) -> xr.DataArray:
    """Return the probability of the most probable group of the top-1 label, with that group as a coordinate."""
    view, group_of_code, names = group_by_code(view, groups, other)
    labels = TopLabels(view, other)
    names = np.append(names.astype(str), "")  # "" if no draw has a label

    def counts(block: Block, rng: np.random.Generator) -> np.ndarray:
        group = group_of_code[labels.draw(block, 1, rng)[0]]
        return np.stack([(group == k).sum(axis=-1) for k in (*range(len(names) - 1), NO_LABEL)], axis=-1)

    count = np.concatenate(view.map_blocks(counts, random_seed))
    coords = {"item": view.items, "group": ("item", names[count.argmax(axis=1)])}
    certainty = count.max(axis=1) / view.n_samples
    return xr.DataArray(certainty, coords, ("item",), name="annotation_certainty")


def plausible_labels(
    tree: xr.DataTree | xr.Dataset | xr.DataArray,
    top: int = 1,
    *,
    other: OtherAs | None = None,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Return the top-j sets of each item that occur in the draws, with their posterior probabilities.

    With OTHER split, its members are exchangeable and all appear as ``"OTHER"``: an alternative that contains
    OTHER stands for one set for each choice of members, all equally probable.

    Parameters
    ----------
    tree, top, other, random_seed
        As in `annotation_certainty`.

    Returns
    -------
    Dataset
        ``probability`` (item, alternative), most probable first, padded with 0; ``label`` (item, alternative,
        position), in the order of the categories, padded with "" (Stutz et al., 2025, arXiv:2307.02191, eq.
        7-11). If the truth is one category, as in Dawid-Skene, the probabilities are those of `truth_certainty`, and `other`
        and the seed have no part in them. Of another posterior that does not keep all draws the ten most probable of all
        draws, or with other `top`, `other` or a seed those of the draws that are kept.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> draws = [[[[0.6, 0.4]], [[0.7, 0.3]], [[0.2, 0.8]], [[0.9, 0.1]]]]
    >>> coords = {"item": ["a"], "category": ["x", "y"]}
    >>> truth = xr.DataArray(draws, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"})
    >>> found = evaluation.plausible_labels(truth)
    >>> found["label"].values.tolist(), found["probability"].values
    ([[['x'], ['y']]], array([[0.75, 0.25]]))
    """
    check_whole("top", top, 1, remark=": a set has at least one label")
    if top == 1 and random_seed is None and (counted := stored_alternatives(tree, other)) is not None:
        return counted
    refuse_sets_of_categories(tree, top)
    view = Plausibility.of(tree)
    if top == 1 and view.is_of_category:
        return by_probability(truth_certainty(tree)["probability"])
    labels = TopLabels(view, treatment_of_other(view, other), identify=False)

    def of_block(block: Block, rng: np.random.Generator) -> list[tuple[np.ndarray, np.ndarray]]:
        return alternatives(labels, block, top, rng)

    found = list(chain.from_iterable(view.map_blocks(of_block, random_seed)))
    unnamed = labels.n_codes + 1 - len(view.categories)
    names = np.array([*view.categories.tolist(), *[OTHER] * unnamed, ""])
    probability = np.zeros((len(found), max(len(count) for _, count in found)))
    label = np.full((*probability.shape, top), "", names.dtype)
    for i, (sets, count) in enumerate(found):
        probability[i, : len(count)] = count / view.n_samples
        label[i, : len(count)] = names[sets]
    dims = ("item", "alternative")
    variables = {"probability": (dims, probability), "label": ((*dims, "position"), label)}
    return xr.Dataset(variables, {"item": view.items})
