"""Answers that arrive: draws of a posterior are reweighted by new labels without a refit, and items that are done are retired."""

from typing import Literal

import numpy as np
import xarray as xr
from scipy.special import logsumexp

from .._messages import short_repr, warn_user
from ..models import Labels
from ..models._prior_arguments import effective_power
from ..models.data.errors import DataError, refused_argument
from ..posterior.groups import tree_like
from ..posterior.plausibility import generator_of
from ..posterior.schema import CORRELATION, INDEPENDENT, SAMPLE, SKILL, SeenAnswers, answers_of
from ..posterior.summaries import expected_plausibility, mean_plausibility
from .diagnostics import ConvergenceWarning

FEW = 0.25  # effective draws by draws, below which a warning says to fit again
CHUNK = 2_000_000  # numbers at once


def update(
    tree: xr.DataTree,
    new: Labels,
    *,
    items: Literal["all", "answered"] = "all",
    random_seed: int | np.random.Generator | None = None,
) -> xr.DataTree:
    """Return a posterior of labels given a few new answers, too, by its draws, without a refit.

        w_s  proportional to  prod_i sum_j p_s(T_i = j | old answers) prod_a pi_s,k(a),j[y_a]

    The draws of what items share are resampled with these weights, and the plausibilities of the answered items are computed
    anew, exactly given each draw. The result is the posterior of all answers up to the error of its effective draws,
    attribute ``effective_draws``: these are nearly all if the new answers are few beside the old ones. With few of them a warning
    says to fit again. Populations of raters and correlations of votes keep their draws, reweighted, too; the prior of the
    correlation by residuals is that of the old answers.

    Parameters
    ----------
    tree : DataTree
        Posterior of `dawid_skene`, `correlated_votes` or another model of labels with prevalence and confusion matrices.
    new : Labels
        New answers only, by raters of the tree. Items that the tree lacks begin at the prevalence.
    items : {"all", "answered"}, default "all"
        Items of the result. With "answered" those of the new answers alone, which copies nothing else of a large posterior.
    random_seed : int or numpy.random.Generator, optional
        Seed of the resampling; by default derived from the tree.

    Returns
    -------
    DataTree
        With the new answers among its own, so that it can be updated further; without log likelihoods.

    Raises
    ------
    DataError
        If a rater or category is unknown, the tree has an answer of the rater to the item, or new gold labels are given.
    ValueError
        If the tree has no draws of prevalence, confusion matrices of raters and items, or `items` is no choice.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> rows = models.simulators.labels(items=50, raters=4, answers=4, random_seed=1).data.to_table()
    >>> late = (rows["item"] < 2) & (rows["rater"] == 3)
    >>> parts = [{name: cells[own] for name, cells in rows.items()} for own in (~late, late)]
    >>> first, then = (models.Labels.from_table(own, categories=range(3)) for own in parts)
    >>> tree = inference.sample(models.dawid_skene(first), random_seed=1, progressbar=False)
    >>> updated = inference.update(tree, then)
    >>> updated["posterior"].sizes["item"], updated.attrs["effective_draws"] > 3000
    (50, True)

    References
    ----------
    Chopin (2002), A sequential particle filter method for static models, Biometrika 89, doi:10.1093/biomet/89.3.539: the
    reweighting step of iterated batch importance sampling; the moves are left to a refit.
    """
    if items not in ("all", "answered"):
        raise ValueError(f"items={items!r} must be 'all' or 'answered'")
    answers = _checked(tree, new)
    posterior = tree["posterior"].to_dataset()
    names = posterior["item"].to_numpy()
    asked = np.unique(new.annotation_item)
    ids = new.items[asked]
    position = posterior.indexes["item"].get_indexer(ids)
    if (position < 0).any() and "feature_effect" in posterior:
        raise refused_argument(
            "new",
            "it has items that the tree lacks, and their features are unknown",
            remedy="fit again with their features",
        )
    rater, label = _codes(tree, new, answers)
    item = np.searchsorted(asked, new.annotation_item)
    _refuse_repeated(new, answers, (position[item], rater))
    values, log_weight = given_answers(posterior, (position, item, rater, label), new.count)
    weight = np.exp(log_weight - logsumexp(log_weight))
    effective, n = 1 / np.square(weight).sum(), len(weight)
    if effective < FEW * n:
        warn_user(
            f"update: the new answers leave {effective:.0f} effective draws of {n:,}; fit again with all answers",
            ConvergenceWarning,
        )
    rng = generator_of(random_seed, tree)
    chosen = np.searchsorted(weight.cumsum(), (rng.random() + np.arange(n)) / n).clip(0, n - 1)
    gold = (
        tree["constant_data"]["gold"].to_numpy()
        if "gold" in tree["constant_data"]
        else np.full(len(names), -1)
    )
    places = np.arange(len(names)) if items == "all" else position[position >= 0]
    of = np.append(places, np.full((position < 0).sum(), -1))  # places in the tree of the items of the result
    at = np.full(len(names) + 1, -1)
    at[places] = np.arange(len(places))
    target = np.where(position >= 0, at[position], len(places) + np.cumsum(position < 0) - 1)
    kept = at[answers.item] >= 0
    codes = {
        "annotation_item": np.append(at[answers.item[kept]], np.repeat(target[item], new.count)),
        "annotation_rater": np.append(answers.rater[kept], np.repeat(rater, new.count)),
    }
    labels = np.append(answers.label[kept], np.repeat(label, new.count))
    votes = np.bincount(codes["annotation_item"], minlength=len(of))[target]
    result = _resampled(posterior, chosen, of, np.append(names[places], ids[position < 0]))
    result = _with_items(result, values[chosen], votes, target)
    constant = tree["constant_data"].to_dataset()
    attributes = constant[[name for name in constant.data_vars if constant[name].dims == ("rater",)]]
    own = {name: ("annotation", code) for name, code in codes.items()} | {
        "gold": ("item", np.append(gold, -1)[of])
    }
    groups = {"posterior": result, "constant_data": attributes.assign(own)}
    groups["observed_data"] = xr.Dataset({"observed_label": ("annotation", labels)})
    return tree_like(tree, groups, effective_draws=float(effective))


def _checked(tree: xr.DataTree, new: Labels) -> SeenAnswers:
    """Return the answers of a tree that can be updated, or raise."""
    posterior = tree["posterior"].to_dataset() if "posterior" in tree.children else xr.Dataset()
    dims = {
        "prevalence": {"category"},
        "confusion": {"rater", "category", "answer"},
        "plausibility": {"item", "category"},
    }
    answers = answers_of(tree)
    if answers is None or any(
        name not in posterior or {*SAMPLE} | own != {*posterior[name].dims} for name, own in dims.items()
    ):
        raise ValueError(
            "update needs draws of prevalence, confusion (rater) and plausibility (item), such as dawid_skene's, and the answers "
            'of named raters; sampled with keep="all" or "thinned"'
        )
    if "response_rate" in posterior:
        raise ValueError(
            "the posterior has learnt from who gave no answer, which update does not weigh; fit again with all answers, or fit "
            'with no_answer="ignored" before'
        )
    if SKILL in posterior:
        raise ValueError(
            "the raters of the posterior change in time, and update weighs answers by their mean skill; fit again with all "
            "answers"
        )
    if new.anonymous or new.has_gold:
        problem = "its raters are anonymous" if new.anonymous else "it has gold labels"
        raise refused_argument(
            "new", problem, remedy="give answers of named raters; with gold labels fit again"
        )
    return answers


def _codes(tree: xr.DataTree, new: Labels, answers: SeenAnswers) -> tuple[np.ndarray, np.ndarray]:
    """Return codes of raters and labels of the new answers in the tree, or raise."""
    categories = tree["posterior"]["category"].to_numpy().tolist()
    found = []
    for name, known, ids, code in (
        ("rater", answers.raters, new.raters, new.annotation_rater),
        ("label", categories, new.categories, new.label_code),
    ):
        table = {own: k for k, own in enumerate(known)}
        own = np.array([table.get(value, -1) for value in ids.tolist()], np.int64)[code]
        if (own < 0).any():
            value = ids[code[own < 0][0]].item()
            raise DataError(
                f"{short_repr(value)} is no {name} of the posterior",
                column=name,
                value=value,
                allowed=f"those of the posterior, {len(known):,}",
                remedy="correct it, or fit again with all answers",
            )
        found.append(own)
    return found[0], found[1]


def _refuse_repeated(new: Labels, answers: SeenAnswers, codes: tuple[np.ndarray, np.ndarray]) -> None:
    """Raise if the tree has an answer of a rater to an item already; codes of items, -1 for new ones, and raters."""
    n, asked = (
        len(answers.raters),
        np.zeros(max(int(answers.item.max(initial=0)), int(codes[0].max(initial=0))) + 2, bool),
    )
    asked[codes[0]] = True  # the place of new items is the last, of no item
    asked[-1] = False
    own = asked[answers.item]
    there = np.isin(codes[0] * n + codes[1], answers.item[own] * n + answers.rater[own]) & (codes[0] >= 0)
    if there.any():
        row = int(there.argmax())
        rater, item = (
            short_repr(ids[code[row]].item())
            for ids, code in ((new.raters, new.annotation_rater), (new.items, new.annotation_item))
        )
        raise DataError(
            f"the posterior has an answer of {rater} to {item} already",
            column="item",
            value=new.items[new.annotation_item[row]].item(),
            allowed="answers that the posterior has not seen",
            remedy="leave out the answers of before; where a rater answers again, fit again",
        )


def given_answers(
    posterior: xr.Dataset, codes: tuple[np.ndarray, ...], count: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return plausibilities of answered items given all answers (sample, item, category), and log weights (sample,).

    Codes: place of each answered item, -1 for new ones; of each answer item among these, rater and label. Answers are sorted.
    """
    position, item, rater, label = codes
    prevalence = posterior["prevalence"].transpose(*SAMPLE, "category").to_numpy()
    n = prevalence.shape[-1]
    prevalence = prevalence.reshape(-1, n)
    name = INDEPENDENT if INDEPENDENT in posterior else "plausibility"
    before = posterior[name].transpose(*SAMPLE, "item", "category").isel(item=position.clip(0)).to_numpy()
    before = np.where((position >= 0)[:, None], before.reshape(-1, len(position), n), prevalence[:, None])
    confusion = posterior["confusion"].transpose(*SAMPLE, "rater", "answer", "category").to_numpy()
    confusion = confusion.reshape(len(prevalence), -1, n)
    code, start = rater * n + label, np.flatnonzero(np.diff(item, prepend=-1))
    log_weight, step = np.empty(len(prevalence)), max(CHUNK // (len(code) * n), 1)
    for first in range(0, len(prevalence), step):
        own = slice(first, first + step)
        told = np.log(confusion[own, code]) * count[:, None]
        with np.errstate(divide="ignore"):
            joint = np.log(before[own]) + np.add.reduceat(told, start, axis=1)
        largest = joint.max(axis=2)
        joint -= largest[..., None]
        np.exp(joint, out=joint)
        total = joint.sum(axis=2)
        np.divide(joint, total[..., None], out=before[own])
        log_weight[own] = (np.log(total) + largest).sum(axis=1)
    return before, log_weight


def _resampled(posterior: xr.Dataset, chosen: np.ndarray, of: np.ndarray, names: np.ndarray) -> xr.Dataset:
    """Return chosen draws, and the items `of` places in the tree, -1 for new ones, of the variables that have items."""
    found, shape = {}, (posterior.sizes["chain"], posterior.sizes["draw"])
    for name, own in posterior.data_vars.items():
        if "item" in own.dims and name not in ("plausibility", INDEPENDENT):
            continue
        own = own.transpose(*SAMPLE, ...)
        array = own.to_numpy()
        array = array.reshape(-1, *array.shape[2:])
        array = array[chosen[:, None], of.clip(0)] if "item" in own.dims else array[chosen]
        found[name] = (own.dims, array.reshape(*shape, *array.shape[1:]), own.attrs)
    coords = {name: own for name, own in posterior.coords.items() if "item" not in own.dims}
    return xr.Dataset(found, coords | {"item": names}, posterior.attrs)


def _with_items(result: xr.Dataset, values: np.ndarray, votes: np.ndarray, target: np.ndarray) -> xr.Dataset:
    """Return a posterior with new plausibilities (sample, item, category) of the items at `target`; votes (item,)."""
    shape = (result.sizes["chain"], result.sizes["draw"])

    def put(name: str, own: np.ndarray) -> None:
        result[name].to_numpy()[:, :, target] = own.reshape(*shape, *own.shape[1:])

    if CORRELATION not in result:
        put("plausibility", values)
        return result
    put(INDEPENDENT, values)
    put("plausibility", tempered(values, votes, result[CORRELATION]))
    return result


def tempered(values: np.ndarray, votes: np.ndarray, correlation: xr.DataArray) -> np.ndarray:
    """Return plausibilities (sample, item, category) of correlated votes from those of independent ones; votes (item,)."""
    power = effective_power(votes, correlation.to_numpy().reshape(-1, 1))
    with np.errstate(divide="ignore"):
        log = power[..., None] * np.log(values)
    return np.exp(log - logsumexp(log, axis=2, keepdims=True))


def retire(tree: xr.DataTree, cost: float) -> xr.DataArray:
    """Return which items need no more answers: those whose expected cost of an error is at most the price of one answer.

    The claim of a retired item stays what it was: a posterior does not depend on when one stops asking, if its model holds.
    Where raters err together take `correlated_votes`: the claims of `dawid_skene` are too high, and stop too early. Hard items
    then get most of the answers, so that later posteriors find the raters more correlated, and claim less of retired items.

    Parameters
    ----------
    tree : DataTree
        Posterior of labels or rankings.
    cost : float
        Cost of a wrong label, in prices of an answer.

    Returns
    -------
    DataArray, shape (item,)
        Whether cost (1 - certainty) <= 1, where the certainty is the probability of the most plausible label.

    Raises
    ------
    ValueError
        If the cost is not positive and finite, or the tree has no plausibilities of items.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> labels = models.simulators.labels(items=50, random_seed=1).data
    >>> tree = inference.sample(models.correlated_votes(labels), random_seed=1, progressbar=False)
    >>> int(inference.retire(tree, cost=5).sum()) >= int(inference.retire(tree, cost=20).sum())
    True
    """
    if not 0 < cost < np.inf:
        raise ValueError(
            f"cost={cost!r} must be positive and finite: prices of answers that a wrong label costs"
        )
    posterior = tree.children.get("posterior", xr.DataTree())
    drawn = "plausibility" in posterior and "item" in posterior["plausibility"].dims
    if not drawn and mean_plausibility(tree) is None:
        raise ValueError(
            "retire needs plausibilities of items and categories, such as those of correlated_votes"
        )
    return (cost * (1 - expected_plausibility(tree).max("category")) <= 1).rename("retired")
