"""Whether a judge changed between two runs: which part of a drift of its labels is the judge's, and which the items'."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import xarray as xr

from ..._messages import first_reprs
from ...posterior.errors import EvaluationError
from ...posterior.groups import with_truth_of_confusion
from ...posterior.plausibility import Block, Plausibility, generator_of, kept_in_words
from ...posterior.schema import (
    INDEPENDENT,
    JUDGE,
    VERSION,
    VERSIONS,
    SeenAnswers,
    answers_of,
    posterior_with_attributes,
)
from ...posterior.top_labels import TopLabels

FALSE_ALARM = 0.02  # probability outside the interval by which a judge has changed
MOVES = 20  # of the truth and the answers of both versions given it
TINY = 1e-300
SWEEPS = 200  # of EM for the shares of the true categories of a run
# prior items of each true category: both versions right, equally wrong, and differing; over all true categories the last are one
# that gets and one that loses each label, whatever their number: with far fewer one item that differs looks like a change
RIGHT, WRONG, DIFFER = 1.0, 0.5, 1.0


def judge_change(
    tree: xr.DataTree,
    values: Mapping[Any, float] | None = None,
    *,
    random_seed: int | np.random.Generator | None = None,
) -> xr.Dataset:
    """Return how the labels of a judge drifted between two runs, and which part of that is the judge's, in every draw.

        Theta_tab  ~ Dirichlet(prior + N_tab)      answers a and b of the versions to an item of true category t
        pi_1, pi_2 = sum_b Theta_tab, sum_a Theta_tab                  confusion of the old and the new version
        f_r        ~ Dirichlet(1 / K + answers of version r to the items of run r alone)
        p_r        : f_r = p_r pi_r                                    share of each true category in run r
        drift      = p_2 pi_2 - p_1 pi_1
        by_judge   = (p_1 + p_2) / 2 (pi_2 - pi_1)
        by_items   = (p_2 - p_1) (pi_1 + pi_2) / 2

    N counts the items that both versions labelled, by their truth, which is drawn in turn with Theta given the answers of others
    and the confusion matrices of these in each draw of the tree; versions need not err independently of each other. Where nobody
    else labelled such an item the truth is that of the tree. The prior of Theta are 2.5 items of each true category:
    one that both label rightly, one whose labels differ, and half a one that both label alike and wrongly. So one item that
    differs, among a hundred, is no change. A run are the items that one version alone labelled; if there are none, those of both.

    Parameters
    ----------
    tree : DataTree
        Posterior of a model of `models.two_runs`, whose items have one true category.
    values : mapping of category to float, optional
        Value of each category, such as {"bad": 0, "good": 1}: drift of the mean value. By default that of each share.
    random_seed : int or numpy.random.Generator, optional
        Seed; by default derived from the tree, as in `annotation_certainty`.

    Returns
    -------
    Dataset
        By (chain, draw, judge, category), the last without `values`: ``drift``, the sum of ``by_judge`` and ``by_items``.
        ``observed`` (judge, category), the drift of the labels as they are. ``changed`` (judge, category): whether the 98 %
        interval of ``by_judge``, wider with more categories, leaves out 0. ``in_common`` (judge), the items of both versions.

    Raises
    ------
    EvaluationError
        If the tree has no versions of a judge, no answers of others, or no truth of one category; or values lack a category.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> from raterzoo.models.simulators import labels
    >>> rows = labels(items=300, raters=4, answers=4, random_seed=1).data.to_table()
    >>> both = (rows["rater"] == 0) & (rows["item"] < 150) | (rows["rater"] == 1) & (rows["item"] >= 75) | (rows["rater"] > 1)
    >>> data = models.Labels.from_table({name: own[both] for name, own in rows.items()})
    >>> old = data.select(items=range(150))
    >>> new = data.select(items=range(75, 300))
    >>> tree = inference.sample(models.dawid_skene(models.two_runs(old, new, {0: 1})), random_seed=1, progressbar=False)
    >>> change = evaluation.judge_change(tree)
    >>> change["in_common"].values.tolist(), change["changed"].dims
    ([75], ('judge', 'category'))

    References
    ----------
    Kitagawa (1955), Components of a difference between two rates, JASA 50, 1168-1194, doi:10.1080/01621459.1955.10501299: the
    decomposition. Rogan and Gladen (1978), doi:10.1093/oxfordjournals.aje.a112510: shares by confusion.
    """
    independent = isinstance(tree, xr.DataTree) and INDEPENDENT in tree["posterior"]
    view = Plausibility.of(with_truth_of_confusion(tree) if independent else tree)
    answers = answers_of(tree) if isinstance(tree, xr.DataTree) else None
    if answers is None or not view.is_of_category:
        raise EvaluationError(
            "judge_change needs a posterior of labels by named raters, such as dawid_skene of two_runs"
        )
    pairs = _versions_of(tree)
    _require_others(tree, answers, pairs)
    categories = tree["posterior"]["plausibility"]["category"].to_numpy()
    weight = _weights(values, categories)
    rng = generator_of(random_seed, tree)
    runs = [_two_runs(answers, own, (len(view.items), len(categories))) for own in pairs.values()]
    truths = _drawn_truth(view, [own.both for own in runs], rng)
    found = []
    for own, pair, truth in zip(runs, pairs.values(), truths, strict=True):
        joint = _joint_of(rng, own.both, truth, _told_by_others(tree, answers, pair, own.both.item))
        found.append(_decomposed(rng, own, joint, weight))
    dims = (*view.sample_dims, "judge", *(["category"] if values is None else []))
    parts = {}
    for name, arrays in zip(("drift", "by_judge"), zip(*found, strict=True), strict=True):
        stacked = np.moveaxis(np.stack(arrays), 1, -1)  # (judge, score, sample)
        parts[name] = (dims, view.unstack(stacked if values is None else stacked[:, 0]))
    rest = parts["drift"][1] - parts["by_judge"][1]
    alpha = FALSE_ALARM / max(weight.shape[1] - 1, 1)
    ends = np.quantile(np.stack([own[1] for own in found]), [alpha / 2, 1 - alpha / 2], axis=1)
    changed, observed = (ends[0] > 0) | (ends[1] < 0), np.stack([own.observed @ weight for own in runs])
    short = dims[len(view.sample_dims) :]
    if values is not None:
        changed, observed = changed[:, 0], observed[:, 0]
    coords: dict[str, Any] = {**view.sample_coords(), "judge": list(pairs)}
    if values is None:
        coords["category"] = categories
    common = np.array([len(own.both.item) for own in runs])
    whole = {"observed": (short, observed), "changed": (short, changed), "in_common": ("judge", common)}
    return xr.Dataset(parts | {"by_items": (dims, rest)} | whole, coords, kept_in_words(tree))


class _Both(NamedTuple):
    """Items that both versions labelled: positions (n,), and the share of each pair of labels (n, category, category)."""

    item: np.ndarray
    pair: np.ndarray


class _Runs(NamedTuple):
    """Answers of the versions of a judge."""

    both: _Both
    alone: tuple[
        np.ndarray, np.ndarray
    ]  # answers (category,) of the old and new version to items of their run
    observed: np.ndarray  # (category,)


def _versions_of(tree: xr.DataTree) -> dict[str, tuple[int, int]]:
    """Return the codes of the old and new version of each judge, or raise."""
    raters = posterior_with_attributes(tree)
    if not {JUDGE, VERSION} <= {*raters.coords}:
        raise EvaluationError(
            "judge_change: the raters of the tree are no versions of judges; fit models.two_runs(old, new, judges)"
        )
    judge, version = (raters[name].to_numpy().astype(str) for name in (JUDGE, VERSION))
    names = sorted({*judge.tolist()} - {""})
    found = {}
    for name in names:
        own = [np.flatnonzero((judge == name) & (version == which)) for which in VERSIONS]
        if any(len(one) != 1 for one in own):
            raise EvaluationError(
                f"judge_change: judge {name!r} needs one rater of version old and one of version new"
            )
        found[name] = (int(own[0][0]), int(own[1][0]))
    return found


def _require_others(tree: xr.DataTree, answers: SeenAnswers, pairs: Mapping[str, tuple[int, int]]) -> None:
    """Raise if nothing but the versions of one judge tells the truth."""
    gold = tree["constant_data"].get("gold")
    known = gold is not None and bool((gold.to_numpy() >= 0).any())
    if len(pairs) == 1 and not known and not len({*answers.rater.tolist()} - {*next(iter(pairs.values()))}):
        raise EvaluationError(
            "judge_change: nobody but the versions of one judge labelled anything, and what is true rests on them; have people "
            "label some of the items that both versions labelled"
        )


def _weights(values: Mapping[Any, float] | None, categories: np.ndarray) -> np.ndarray:
    """Return the value of each category in each score (category, score), or raise."""
    if values is None:
        return np.eye(len(categories))
    names = categories.tolist()
    if {*values} != {*names} or not np.isfinite([*map(float, values.values())]).all():
        raise EvaluationError(
            f"values={dict(values)!r}: expected a finite number for each category, {first_reprs(names)}"
        )
    return np.array([[float(values[name])] for name in names])


def _two_runs(answers: SeenAnswers, pair: tuple[int, int], shape: tuple[int, int]) -> _Runs:
    """Return the answers of both versions; several answers to an item are a part of one each. `shape`: items, categories."""
    share = np.zeros((2, *shape))
    for table, rater in zip(share, pair, strict=True):
        own = answers.rater == rater
        np.add.at(table, (answers.item[own], answers.label[own]), 1.0)
    number = share.sum(axis=2, keepdims=True)
    share = np.divide(share, number, where=number > 0, out=share)
    answered = number[..., 0] > 0
    item = np.flatnonzero(answered.all(axis=0))
    if not len(item):
        raise EvaluationError("judge_change: the versions of a judge have no item in common, which ties them")
    pairs = share[0, item, :, None] * share[1, item, None, :]
    alone = [
        table[own & ~answered.all(axis=0)].sum(axis=0) for table, own in zip(share, answered, strict=True)
    ]
    margins = pairs.sum(axis=0).sum(axis=1), pairs.sum(axis=0).sum(axis=0)
    before, after = (own if own.any() else margin for own, margin in zip(alone, margins, strict=True))
    return _Runs(_Both(item, pairs), (before, after), after / after.sum() - before / before.sum())


def _drawn_truth(view: Plausibility, several: list[_Both], rng: np.random.Generator) -> list[np.ndarray]:
    """Return draws of the truth of the items of both versions (sample, n) of each judge."""
    labels, found = (
        TopLabels(view, "exclude"),
        [np.empty((view.n_samples, len(own.item)), np.int64) for own in several],
    )

    def draw(block: Block, own_rng: np.random.Generator) -> None:
        truth = labels.draw(block, 1, own_rng)[0]  # (item, sample)
        for both, own in zip(several, found, strict=True):
            inside = (both.item >= block.items.start) & (both.item < block.items.stop)
            own[:, inside] = truth[both.item[inside] - block.items.start].T

    view.map_blocks(draw, rng)
    return found


def _told_by_others(
    tree: xr.DataTree, answers: SeenAnswers, pair: tuple[int, int], item: np.ndarray
) -> np.ndarray | None:
    """Return log p(answers of others | truth) of the items of both versions (sample, n, category); None if nobody answered."""
    own = np.isin(answers.item, item) & ~np.isin(answers.rater, pair)
    if not own.any() or not {"chain", "draw", "rater"} <= {*tree["posterior"]["confusion"].dims}:
        return None
    confusion = (
        tree["posterior"]["confusion"].transpose("chain", "draw", "rater", "answer", "category").to_numpy()
    )
    log = np.log(confusion.reshape(-1, *confusion.shape[2:]))
    place = np.searchsorted(item, answers.item[own])
    order = np.argsort(place, kind="stable")
    start = np.flatnonzero(np.diff(place[order], prepend=-1))
    found = np.zeros((len(log), len(item), log.shape[-1]))
    told = log[:, answers.rater[own][order], answers.label[own][order]]
    found[:, place[order][start]] = np.add.reduceat(told, start, axis=1)
    gold = tree["constant_data"].get("gold")
    if gold is not None:
        known = gold.to_numpy()[item]
        found[:, known >= 0] = np.where(np.eye(log.shape[-1])[known[known >= 0]] > 0, 0.0, -np.inf)
    return found


def _joint_of(
    rng: np.random.Generator, both: _Both, truth: np.ndarray, others: np.ndarray | None
) -> np.ndarray:
    """Return draws of Theta (sample, truth, old, new), by Gibbs with the truth (sample, n) if others answered these items."""
    n_samples, n = len(truth), both.pair.shape[1]
    same = np.eye(n) > 0
    prior = np.tile(np.where(same, WRONG / max(n - 1, 1), DIFFER / max(n * (n - 1), 1)), (n, 1, 1))
    prior[range(n), range(n), range(n)] = RIGHT
    pair = both.pair.reshape(len(both.item), n * n)

    def given(truth: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Draw Theta and the shares of the true categories of these items given their truth."""
        known = truth[..., None] == np.arange(n)
        counts = (known.swapaxes(1, 2) @ pair).reshape(n_samples, n, n, n)
        joint = np.maximum(rng.standard_gamma(counts + prior), TINY)
        share = rng.standard_gamma(known.sum(axis=1) + 1.0)
        return joint / joint.sum(axis=(2, 3), keepdims=True), share / share.sum(axis=1, keepdims=True)

    joint, share = given(truth)
    if others is None:
        return joint
    for _ in range(MOVES):
        log = (np.log(joint.reshape(n_samples, n, -1)) @ pair.T).swapaxes(1, 2) + others
        truth = (log + np.log(share)[:, None] + rng.gumbel(size=log.shape)).argmax(axis=2)
        joint, share = given(truth)
    return joint


def _decomposed(
    rng: np.random.Generator, runs: _Runs, joint: np.ndarray, weight: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return drift and the judge's part of it, each (sample, score), by draws of Theta (sample, truth, old, new)."""
    n_samples, n = joint.shape[:2]
    confusion, shares = (joint.sum(axis=3), joint.sum(axis=2)), []
    for alone, own in zip(runs.alone, confusion, strict=True):
        given = rng.standard_gamma(alone + 1 / n, (n_samples, n))
        shares.append(_true_shares(given / given.sum(axis=1, keepdims=True), own))
    given = [np.einsum("st,sta->sa", p, own) @ weight for p, own in zip(shares, confusion, strict=True)]
    by_judge = np.einsum("st,sta->sa", (shares[0] + shares[1]) / 2, confusion[1] - confusion[0]) @ weight
    return given[1] - given[0], by_judge


def _true_shares(given: np.ndarray, confusion: np.ndarray) -> np.ndarray:
    """Return the shares p of true categories with p confusion nearest to shares of labels, by EM; (sample, category) both."""
    share = np.full_like(given, 1 / given.shape[1])
    for _ in range(SWEEPS):
        expected = np.einsum("st,sta->sa", share, confusion)
        share *= np.einsum("sta,sa->st", confusion, given / expected)
    return share
