"""Posterior predictive distribution: replicate answers of the same raters to the same items, and the truth of new items."""

import math
from collections.abc import Mapping
from hashlib import blake2b
from typing import Any

import numpy as np
import pymc as pm
import xarray as xr
from pymc.backends.arviz import find_observations

from .._messages import compiled_step
from ..models.distributions.counted_labels import CountedLabelsRV
from ..models.distributions.marginal_labels import RaterLabelsRV
from ..models.distributions.mixed_counts import MixedCountsRV
from ..models.distributions.partial_ranking import NO_REPLICATES, RankedCandidatesRV
from ..models.distributions.shared_guesses import SharedGuessRV
from ..models.distributions.vote_counts import VoteCountsRV
from ..posterior.groups import tree_like
from ..posterior.schema import SAMPLE
from .kept_draws import ALLOWED, allowed_memory
from .runs.model_graph import graph_lock, refuse_part
from .runs.new_items import NewItems
from .runs.run import check_options
from .runs.trees import constant_groups, has_observation

DRAWS = 200  # by default, unless they take more bytes than this
MOST_BYTES_OF_REPLICATES = 500e6
MOST_BYTES = 400e6  # of log likelihoods by answer, unless they are asked for


def predict(
    tree: xr.DataTree,
    model: pm.Model | Any = None,
    *,
    features: Any = None,
    draws: int | None = None,
    random_seed: int | None = None,
    log_likelihood: bool | None = None,
    progressbar: bool = True,
) -> xr.DataTree:
    """Predict: replicates of the data, given a model, or the truth of items that nobody annotated, given their features.

    **Given a model**, replicates of the data are drawn from the posterior predictive distribution. A replicate has an answer
    wherever the data have one: of the same rater to the same item, drawn from the law of the answers at one posterior draw of
    the parameters. What the model sums out is drawn anew in each replicate: the true category of an item without a gold label,
    the effects of items, and the guesses that raters share. So the answers of a replicate to an item differ from the observed
    ones as those of a new item of the same raters would. Locations of items (scores), qualities (comparisons), worths
    (rankings) and plausibilities of labels (`raterzoo.models.dirichlet`) are parameters, and stay those of the item. Rankings
    keep the sizes of the observed blocks. Replicates are at power one, whatever the reliability.

    **Given features** of items, of a tree whose model was built with ``features=``, the truth of the items follows from their
    features alone: in every draw the plausibility of the categories is softmax(log prevalence + x W), and the location of
    scores is drawn from Normal(mean + x beta, spread^2). Features are standardised as those of the fit were. Items of the fit may
    be among them; their answers do not count here.

    Parameters
    ----------
    tree : DataTree
        Posterior of the model, from `sample` or `pymc.sample`.
    model : pymc.Model, optional
        Model with a law of its answers, of `raterzoo.models` or any other. Models of rankings must be built with
        ``candidates="all"``. Features may stand in its place.
    features : DataArray, frame or mapping of str to sequence, optional
        Features of new items: DataArray (item, feature), or a table with a column of item ids and one column of numbers for each
        feature of the fit, matched by name. Exactly one of model and features.
    draws : int, optional
        Draws in all, the same number from each chain, at least one, evenly spaced; by default 200 replicates, or as many fewer
        as take 500 MB, and with features all draws.
    random_seed : int, optional
        Seed of the replicates, and of the locations of scores; by default derived from that of the tree.
    log_likelihood : bool, optional
        For replicates: whether to add log likelihoods in the shape of the answers, for `arviz.loo_pit`; by default where they
        take at most 400 MB.
    progressbar : bool, default True
        Whether to show progress.

    Returns
    -------
    DataTree
        Given features: ``posterior`` with ``plausibility`` (chain, draw, item, category), or of scores ``location`` (chain,
        draw, item), of the new items, and with all variables that are not of items, such as ``confusion``. `raterzoo.evaluation`
        takes it as any other tree, and so does `raterzoo.inference.design.next_to_ask`. The attribute ``predicted_from`` says
        "features".

        Given a model: evenly spaced draws of the tree, and no others, in all groups: ``posterior_predictive`` with the
        replicates, which have the name, dims and ids of the observed variable, ``log_likelihood``, and the other groups of the
        tree. `arviz.plot_ppc_dist`, `arviz.plot_ppc_pit` and `arviz.loo_pit` take it as it is.

        The log likelihood of an answer is that of all that the model's pointwise likelihood takes together with it: of
        all answers to the item for models of labels and `raterzoo.models.normal_scores`, else of the annotation. So
        `arviz.loo_pit` leaves that out whole. For `arviz.loo` use the given tree, in which each item counts once.

    Raises
    ------
    DataError
        If features lack a column of the fit, or hold a missing value or a repeated item.
    ValueError
        If model and features are both given, or neither; if the model of the tree has no features; if the model has no law of
        its answers, the tree is of another model or of other data, a free variable of the model is missing from the
        posterior, or the replicates need more memory than the machine has available.

    Examples
    --------
    >>> import arviz as az
    >>> from raterzoo import inference, models
    >>> labels = models.simulators.labels(items=50, raters=5, random_seed=1).data
    >>> model = models.dawid_skene(labels)
    >>> tree = inference.sample(model, random_seed=1, progressbar=False)
    >>> predicted = inference.predict(tree, model, progressbar=False)
    >>> dict(predicted["posterior_predictive"].sizes) == {"chain": 4, "draw": 50, "annotation": len(labels)}
    True
    >>> az.loo_pit(predicted)["observed_label"].dims
    ('annotation',)

    References
    ----------
    Gelman, Meng and Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies, Statistica
    Sinica 6, 733-807. Marshall and Spiegelhalter (2003), Approximate cross-validatory predictive checks in disease mapping
    models, Statistics in Medicine 22, doi:10.1002/sim.1403 (what is drawn anew).
    """
    check_options("float64", draws=draws, random_seed=random_seed)
    if (model is None) == (features is None):
        raise ValueError(
            "give either the model, for replicates of its data, or the features of new items: predict(tree, model), or "
            "predict(tree, features)"
        )
    if not isinstance(model, pm.Model):
        return _of_new_items(tree, features if model is None else model, draws, random_seed)
    require_replicates(model)
    observed = _observed(tree, model)
    whole = _posterior(tree)
    _check_posterior(whole, model)
    types = _types(whole, model, observed)
    if draws is None:
        size = sum(values.size * types[name].itemsize for name, values in observed.items())
        draws = min(DRAWS, max(1, int(MOST_BYTES_OF_REPLICATES / size)))
    if random_seed is None:
        random_seed = _derived_seed(tree)
    kept = _evenly_spaced(tree, draws)
    empty = _room_for(kept, observed, types)
    replicates = _drawn(kept, model, (empty, random_seed, progressbar))
    found = kept.copy()
    found["posterior_predictive"] = replicates
    pointwise = _by_answer(kept, replicates, log_likelihood)
    if pointwise is not None:
        found["log_likelihood"] = pointwise
    elif "log_likelihood" in found.children:
        del found["log_likelihood"]
    return found


def _of_new_items(tree: xr.DataTree, features: Any, draws: int | None, seed: int | None) -> xr.DataTree:
    """Return the tree of items that nobody annotated, given their features."""
    if isinstance(features, xr.DataTree):
        raise ValueError(
            "a DataTree is not a pymc.Model; give the model of the posterior, or features of items"
        )
    _posterior(tree)
    new = NewItems.of(tree if draws is None else _evenly_spaced(tree, draws), features)
    _check_memory(8 * new.size, "draws of the truth of the new items", "")
    return new.predicted(_derived_seed(tree) if seed is None else seed)


def require_replicates(model: pm.Model) -> None:
    """Raise ValueError unless all observed variables of the model have a law from which replicates can be drawn."""
    if not isinstance(model, pm.Model):
        raise ValueError(f"a {type(model).__name__} is not a pymc.Model; give the model of the posterior")
    refuse_part(model)
    if not model.observed_RVs:
        raise ValueError(
            "the model observes nothing, so there is nothing to replicate: in models.prirn the annotations are in the prior, "
            "without a law of their own. models.plackett_luce(rankings, candidates='all') has one"
        )
    if any(isinstance(rv.owner.op, RankedCandidatesRV) for rv in model.observed_RVs):
        raise ValueError(NO_REPLICATES)


def _posterior(tree: xr.DataTree) -> xr.Dataset:
    """Return the posterior of a tree, or raise ValueError if it has no draws."""
    if "posterior" not in tree.children or not all(tree["posterior"].sizes.get(dim) for dim in SAMPLE):
        raise ValueError("the tree has no posterior with draws; draw one by inference.sample(model)")
    return tree["posterior"].to_dataset()


def _evenly_spaced(tree: xr.DataTree, draws: int) -> xr.DataTree:
    """Return every so many draws of the tree, in the middle of each stretch, as views; `draws` of all chains together."""
    sizes = tree["posterior"].sizes
    each = min(max(1, draws // sizes["chain"]), sizes["draw"])
    step = sizes["draw"] // each
    first = (sizes["draw"] - 1 - step * (each - 1)) // 2
    thinned = slice(first, first + step * (each - 1) + 1, step)
    groups = {name: node.to_dataset() for name, node in tree.children.items()}
    of_draws = {n: g.isel(draw=thinned) for n, g in groups.items() if g.sizes.get("draw") == sizes["draw"]}
    fixed = {n: g for n, g in groups.items() if "draw" not in g.dims}
    return tree_like(tree, of_draws | fixed)


def _observed(tree: xr.DataTree, model: pm.Model) -> dict[str, xr.DataArray]:
    """Return the observed variables, in dims and coordinates of the tree; raise unless they are those of the model."""
    with graph_lock:
        own = {name: np.asarray(values) for name, values in find_observations(model).items()}
    if "observed_data" not in tree.children:
        group = constant_groups(model)["observed_data"]
        return {name: group[name] for name in own}
    group = tree["observed_data"].to_dataset()
    for name, values in own.items():
        if name not in group or not np.array_equal(group[name].to_numpy(), values):
            raise ValueError(
                f"{name!r} of the tree differs from that of the model: the tree is of other data or of another model; give the "
                "model that it was sampled from"
            )
    return {name: group[name] for name in own}


def _check_posterior(posterior: xr.Dataset, model: pm.Model) -> None:
    """Raise ValueError unless the posterior has every free variable of the model, in its shape."""
    lengths = {dim: len(names) for dim, names in model.coords.items() if names is not None}
    for rv in model.free_RVs:
        name = str(rv.name)
        if name not in posterior:
            raise ValueError(
                f"the posterior lacks {name!r}, a free variable of the model; give the model that the tree was sampled from"
            )
        dims = model.named_vars_to_dims.get(name) or (None,) * rv.type.ndim
        known = [lengths.get(str(d), n) for d, n in zip(dims, rv.type.shape, strict=True)]
        own = posterior[name].transpose(*SAMPLE, ...).shape[len(SAMPLE) :]
        if len(own) != len(known) or any(n not in (None, m) for n, m in zip(known, own, strict=True)):
            raise ValueError(
                f"{name!r} has shape {own} in a draw of the posterior and {tuple(known)} in the model; give the model that the "
                "tree was sampled from"
            )


def _derived_seed(tree: xr.DataTree) -> int:
    """Return a seed that follows from that of the tree, and differs from it."""
    text = f"posterior predictive {tree.attrs.get('seed')}"
    return int.from_bytes(blake2b(text.encode(), digest_size=4).digest())


def _room_for(
    kept: xr.DataTree, observed: Mapping[str, xr.DataArray], types: Mapping[str, np.dtype]
) -> xr.Dataset:
    """Return empty replicates of the observed variables, with their ids; raise ValueError if the machine lacks the memory."""
    sample = {dim: kept["posterior"].sizes[dim] for dim in SAMPLE}
    each = sum(values.size * types[name].itemsize for name, values in observed.items())
    _check_memory(math.prod(sample.values()) * each, "replicates", "")
    coords = {dim: kept["posterior"][dim] for dim in SAMPLE if dim in kept["posterior"].coords}
    for values in observed.values():
        coords |= dict(values.coords)
    arrays = {
        name: ((*sample, *values.dims), np.empty((*sample.values(), *values.shape), types[name]))
        for name, values in observed.items()
    }
    return xr.Dataset(arrays, coords)


def _drawn(kept: xr.DataTree, model: pm.Model, settings: tuple[xr.Dataset, int, bool]) -> xr.Dataset:
    """Fill replicates at every kept draw, one after the other; `settings`: the empty replicates, seed, progress bar."""
    replicates, seed, shown = settings
    posterior = kept["posterior"].to_dataset()
    free = {str(rv.name): posterior[str(rv.name)].transpose(*SAMPLE, ...).to_numpy() for rv in model.free_RVs}
    arrays = [values.to_numpy() for values in replicates.data_vars.values()]
    size = tuple(replicates.sizes[dim] for dim in SAMPLE)
    with compiled_step("Drawing replicates", math.prod(size), shown=shown) as bar:
        with graph_lock:
            outputs = [model[str(name)] for name in replicates.data_vars]
            options: dict[str, Any] = {"random_seed": seed, "on_unused_input": "ignore"}
            function: Any = model.compile_fn(outputs, inputs=model.free_RVs, **options)
        for index in np.ndindex(size):
            drawn = function({name: values[index] for name, values in free.items()})
            for array, replicate in zip(arrays, drawn, strict=True):
                array[index] = replicate
            bar.advance()
    return replicates


def _types(
    posterior: xr.Dataset, model: pm.Model, observed: Mapping[str, xr.DataArray]
) -> dict[str, np.dtype]:
    """Return the types of replicates: of real numbers the precision of the draws, of codes and counts the smallest type."""
    drawn = [posterior[str(rv.name)].dtype for rv in model.free_RVs]
    real = np.result_type(np.float32, *(dtype for dtype in drawn if dtype.kind == "f"))
    found = {}
    for rv in model.observed_RVs:
        law, own = rv.owner.op, np.dtype(rv.type.dtype)
        if isinstance(law, RaterLabelsRV | SharedGuessRV):
            own = np.min_scalar_type(-len(model.coords["category"] or ()))
        elif isinstance(law, CountedLabelsRV | MixedCountsRV | VoteCountsRV):
            totals = observed[str(rv.name)].to_numpy().sum(axis=-1)
            own = np.min_scalar_type(-int(totals.max(initial=0)) - 1)
        found[str(rv.name)] = real if own.kind == "f" else own
    return found


def _check_memory(needed: float, what: str, remedy: str) -> None:
    """Raise ValueError if the machine lacks the bytes that something needs."""
    if needed > (allowed := allowed_memory()):
        raise ValueError(
            f"the {what} take {needed / 1e9:.1f} GB of memory, and {allowed / 1e9:.1f} GB are available; {remedy}ask for fewer "
            f"draws=, or set the environment variable {ALLOWED} to the gigabytes that may be used"
        )


# --- Log likelihood in the shape of the answers ---


def _by_answer(kept: xr.DataTree, replicates: xr.Dataset, asked: bool | None) -> xr.Dataset | None:
    """Return log likelihoods in the dims of the replicates, of the item or annotation that each belongs to; None without any."""
    if asked is False:
        return None
    group = kept["log_likelihood"].to_dataset() if "log_likelihood" in kept.children else xr.Dataset()
    found = {}
    for name, answers in replicates.data_vars.items():
        own = group.get(name)
        sizes = dict(answers.sizes)
        if own is None or any(d != "item" and own.sizes[d] != sizes.get(d) for d in own.dims):
            if asked:
                raise ValueError(
                    f"log_likelihood=True, but the tree has no log likelihoods of {name!r}, or without ids; sample with "
                    "log_likelihood=True, or label the tree by inference.label(tree, data)"
                )
            return None
        if "item" in own.dims and "item" not in answers.dims:
            needed = answers.size * own.dtype.itemsize
            if asked is None and needed > MOST_BYTES:
                return None
            _check_memory(needed, "log likelihoods by answer", "leave out log_likelihood=True, ")
            own = own.drop_vars("item", errors="ignore").isel(item=_row_of_answers(kept, own.sizes["item"]))
        found[name] = own.variable.set_dims(sizes)  # a view, where an annotation has several numbers
    return xr.Dataset(found, replicates.coords)


def _row_of_answers(kept: xr.DataTree, rows: int) -> xr.DataArray:
    """Return the row of each answer among the `rows` of items, which may lack those without an answer, shape (annotation,)."""
    item = kept["constant_data"]["annotation_item"].to_numpy()
    observed = has_observation(kept)
    if observed is not None and rows == observed.sum():
        item = (np.cumsum(observed) - 1)[item]
    return xr.DataArray(item, dims="annotation")
