"""Worth of a judge: the number of typical raters whose answers are as informative as the judge's.

A judge may be a person, a language model, or a group of either. One answer of the judge is compared with k =
0, 1, 2 and more answers of typical raters of a reference group. These answer independently given the truth,
by the mean confusion matrix of the group: that of a member picked anew for every answer, whose identity is
unknown. The judge is worth the k with the same information about the truth, or the same accuracy of the best
guess; the curve is interpolated linearly between integers k.

The two measures differ. Information counts all that an answer tells about the truth, an adversary's too, and
grows with every answer. Accuracy counts only changes of the best guess: it may be constant from one k to the
next (two answers that contradict each other change nothing), and an answer that never changes the guess is
worth 0.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from functools import cache
from itertools import combinations
from math import comb, factorial

import numpy as np
import xarray as xr
from scipy.special import softmax

from ...posterior.errors import EvaluationError
from ...posterior.groups import tree_like
from ...posterior.plausibility import generator_of, in_threads
from ...posterior.summaries import with_shared_draws
from ..argument_checks import check_whole
from .joint_answers import joint_information, joint_law
from .quality import of_raters

MEASURES = ("information", "accuracy")
MOST_ANSWERS = 20
MOST_COUNTS = 1_000  # vectors of counts of the largest panel by default
TOO_MANY_COUNTS = 200_000
PANEL_BLOCK_SIZE = 200_000  # probabilities in one block, which stays in the cache
GROUPS = "group_of_raters"
MEASURES_OF_RATERS = ("accuracy", "balanced_accuracy", "information", "guess_accuracy")
BLOCK_SIZE = 500_000  # probabilities in one block
ROUNDING = 1e-12  # rounding error of sums of probabilities; closer values are equal


def largest_panel(largest: int | None, labels: int) -> int:
    """Return the number of answers of the largest panel, by default 20 or as many as 1,000 vectors of counts allow, or raise."""
    if largest is None:
        sizes = range(1, MOST_ANSWERS + 1)
        return max((k for k in sizes if comb(k + labels - 1, k) <= MOST_COUNTS), default=1)
    check_whole("largest", largest, 1)
    if (many := comb(int(largest) + labels - 1, labels - 1)) > TOO_MANY_COUNTS:
        raise EvaluationError(
            f"largest={largest} answers with {labels} labels have {many:,} vectors of counts, more than {TOO_MANY_COUNTS:,}: "
            "ask for a smaller panel"
        )
    return int(largest)


def information_and_accuracy(joint: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Information in bits and accuracy of the best guess about the truth, from joint probabilities (..., truth, seen)."""
    truth, seen = joint.sum(axis=-1), joint.sum(axis=-2)
    together = _entropy_terms(joint).sum(axis=(-2, -1))
    nats = _entropy_terms(truth).sum(axis=-1) + _entropy_terms(seen).sum(axis=-1) - together
    return nats / np.log(2), joint.max(axis=-2).sum(axis=-1)


def _entropy_terms(probability: np.ndarray) -> np.ndarray:
    """Entropy term -x log x, which is 0 at 0."""
    return -probability * np.log(np.where(probability > 0, probability, 1))


def panel_curves(prevalence: np.ndarray, confusion: np.ndarray, largest: int) -> np.ndarray:
    """Information in bits and accuracy of 0, 1, ... `largest` answers of like raters, summed over label counts.

        q_jc = p_j k! / prod_l c_l! prod_l pi_jl^c_l      p(truth j, counts c)
        information   sum_jc q_jc log2(q_jc / (p_j q_c)),  q_c = sum_j q_jc
        accuracy      sum_c max_j q_jc                    of the most probable truth given the answers

    Without answers the information is 0 and the accuracy max_j p_j; neither decreases as answers are added
    (Cover and Thomas 2006, Elements of information theory, equations 2.28 and 2.36: counts are sufficient).

    Shapes: prevalence (sample, category); confusion (sample, category, answer); result (measure, sample,
    answers).
    """
    samples, categories, labels = confusion.shape
    curves = np.empty((len(MEASURES), samples, largest + 1))
    curves[0, :, 0], curves[1, :, 0] = 0, prevalence.max(axis=1)
    for k in range(1, largest + 1):
        counts, ways = _counts(k, labels)
        step = max(1, PANEL_BLOCK_SIZE // (len(ways) * categories))
        for first in range(0, samples, step):
            block = slice(first, first + step)
            # q_jc, (sample, category, vector)
            joint = prevalence[block, :, None] * ways
            powers = confusion[block, :, :, None] ** np.arange(k + 1)
            for label in range(labels):
                joint *= powers[:, :, label, counts[:, label]]
            curves[0, block, k], curves[1, block, k] = information_and_accuracy(joint)
    return curves


@cache
def _counts(answers: int, labels: int) -> tuple[np.ndarray, np.ndarray]:
    """All vectors of counts (vector, label), and their multinomial coefficients (vector,)."""
    bars = combinations(range(answers + labels - 1), labels - 1)
    ends = np.array(list(bars), np.int64).reshape(-1, labels - 1)
    edges = np.pad(ends, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, answers + labels - 1)))
    counts = np.diff(edges, axis=1) - 1
    factorials = np.array([float(factorial(c)) for c in range(answers + 1)])
    return counts, factorials[answers] / factorials[counts].prod(axis=1)


def rater_worth(
    tree: xr.DataTree, by: str | None = None, reference: object = None, *, largest: int | None = None
) -> xr.Dataset:
    """Return quality measures of every rater's answer, and the number of typical raters it is worth.

    Parameters
    ----------
    tree : DataTree
        Posterior with ``prevalence`` (category) and ``confusion`` (rater, category, answer).
    by : str, optional
        Coordinate along ``rater`` with the group of each rater, such as ``"kind"``.
    reference : str or int, optional
        Reference whose typical rater is the unit: one of the groups, or without `by` one of the raters. By
        default all raters.
    largest : int, optional
        Number of answers of the largest panel; by default 20, or fewer if more than 1,000 vectors of counts
        would have to be summed.

    Returns
    -------
    Dataset
        With the sample dims of the tree, over ``rater``: ``accuracy`` of the label, ``balanced_accuracy``
        (its mean over the true categories), ``information`` of the answer about the truth in bits,
        ``guess_accuracy`` (of the most probable truth given the answer), and by ``measure`` ("information" or
        "accuracy") ``worth`` and ``censored``, whether the rater is worth more than the largest panel, whose
        size is then the worth. ``panel`` (answers, measure) is the curve of the reference group. With `by`,
        over ``group_of_raters``, the means over the members of each group as ``group_accuracy`` ...
        ``group_worth``, and ``group_censored``, whether any member is censored; for posteriors of
        `shared_guess` also ``group_together``, the number of typical raters whose answers have the same
        information as one answer of each member, by their joint law, and ``group_together_censored``. The mean worth of the
        reference group itself is one only if its members are alike: an answer of an identified rater is more
        informative than one of an unidentified rater.

    Raises
    ------
    EvaluationError
        If the tree has no confusion matrices of raters, a draw of them is NaN, or a coordinate, a group or a
        rater is missing.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> prevalence = xr.DataArray([[[0.5, 0.5]]], dims=("chain", "draw", "category"))
    >>> right = xr.DataArray([0.9, 0.7, 0.7], {"rater": ["model", "r", "s"]})
    >>> eye = xr.DataArray([[1.0, 0.0], [0.0, 1.0]], dims=("category", "answer"))
    >>> confusion = (right * eye + (1 - right) * (1 - eye)).expand_dims(chain=1, draw=1)
    >>> tree = xr.DataTree.from_dict({"posterior": xr.Dataset({"prevalence": prevalence, "confusion": confusion})})
    >>> evaluation.rater_worth(tree, reference="r")["worth"].sel(measure="information").values.round(2)
    array([[[6.51, 1.  , 1.  ]]])
    """
    tree = with_shared_draws(tree)
    confusion = of_raters(tree, "confusion", ("rater", "category", "answer"))
    sample = tuple(d for d in confusion.dims if d not in ("rater", "category", "answer"))
    confusion = confusion.transpose(*sample, "rater", "category", "answer")
    prevalence = of_raters(tree, "prevalence", (*map(str, sample), "category"))
    prevalence = prevalence.transpose(*sample, "category")
    kinds = None if by is None else groups_of_raters(confusion, by)
    members = _members(confusion, kinds, reference)
    largest = largest_panel(largest, confusion.sizes["answer"])
    parts = list(_by_blocks(confusion, prevalence, members, largest))
    found = _dataset(confusion, [np.concatenate(p, axis=1) for p in zip(*parts, strict=True)])
    found.attrs = {"by": by or "", "reference": "" if reference is None else str(reference)}
    if kinds is None:
        return found
    found = found.assign(_by_group(found, kinds))
    return found.assign(_together(tree, found, kinds)) if "guess" in tree["posterior"] else found


def _dataset(confusion: xr.DataArray, arrays: list[np.ndarray]) -> xr.Dataset:
    """Build the dataset from the arrays of the blocks, (quantity or measure, sample, place) each."""
    quality, worth, censored, curves = arrays
    sample = tuple(str(d) for d in confusion.dims[:-3])
    sizes = confusion.shape[:-3]
    result: dict[str, tuple[tuple[str, ...], np.ndarray]] = {
        name: ((*sample, "rater"), values.reshape(*sizes, -1))
        for name, values in zip(MEASURES_OF_RATERS, quality, strict=True)
    }
    places = {"worth": ("rater", worth), "censored": ("rater", censored), "panel": ("answers", curves)}
    for name, (place, values) in places.items():
        last = np.moveaxis(values, 0, -1).reshape(*sizes, values.shape[2], len(MEASURES))
        result[name] = ((*sample, place, "measure"), last)
    coords = {k: c for k, c in confusion.coords.items() if {"category", "answer"}.isdisjoint(c.dims)}
    coords |= {"answers": np.arange(curves.shape[2]), "measure": list(MEASURES)}
    return xr.Dataset(result, coords)


def groups_of_raters(confusion: xr.DataArray, by: str) -> xr.DataArray:
    """Return the coordinate with the group of every rater, or raise."""
    for name in (by, f"rater_{by}"):
        if name in confusion.coords and confusion[name].dims == ("rater",):
            return confusion[name]
    there = [str(k) for k, c in confusion.coords.items() if c.dims == ("rater",) and k != "rater"]
    raise EvaluationError(
        f"by={by!r} is no coordinate along rater; {_known(by, there)}. Attributes of raters are read with "
        "Labels.from_table(..., rater_attributes=[...])"
    )


def _members(confusion: xr.DataArray, kinds: xr.DataArray | None, reference: object) -> np.ndarray:
    """Positions of the raters of the reference group, or raise."""
    if reference is None:
        return np.arange(confusion.sizes["rater"])
    names = kinds if kinds is not None else confusion["rater"]
    members = np.flatnonzero(names.to_numpy().astype(str) == str(reference))
    if not len(members):
        what = "raters" if kinds is None else "groups"
        known = list(dict.fromkeys(names.to_numpy().astype(str).tolist()))
        raise EvaluationError(
            f"reference={reference!r} is none of the {what}; {_known(str(reference), known)}"
        )
    return members


def _known(name: str, there: list[str]) -> str:
    """Nearest name, or the first existing names, for an error message."""
    if near := get_close_matches(name, there, n=1):
        return f"the nearest is {near[0]!r}"
    return f"there are {', '.join(map(repr, there[:5]))}" if there else "there is none"


def _by_blocks(
    confusion: xr.DataArray, prevalence: xr.DataArray, members: np.ndarray, largest: int
) -> Iterator[tuple[np.ndarray, ...]]:
    """Yield quality and worth, its censoring (measure, sample, rater), and panel curves (measure, sample, answers), by blocks."""
    raters, categories, labels = confusion.shape[-3:]
    pi = confusion.to_numpy().reshape(-1, raters, categories, labels)
    p = prevalence.to_numpy().reshape(-1, categories)
    step = max(1, BLOCK_SIZE // pi[0].size)

    def block(first: int) -> tuple[np.ndarray, ...]:
        own = slice(first, first + step)
        law, share = pi[own].astype(float), p[own].astype(float)
        law /= law.sum(axis=-1, keepdims=True)  # stored in single precision they are not quite one
        share /= share.sum(axis=-1, keepdims=True)
        bad = ~np.isfinite(law).all(axis=(0, 2, 3))
        if bad.any() or not np.isfinite(share).all():
            rater = confusion["rater"].to_numpy().tolist()[int(bad.argmax())]
            what = f"confusion of rater {rater!r}" if bad.any() else "prevalence"
            raise EvaluationError(f"{what} is NaN or infinite: a draw failed; sample again")
        curves = panel_curves(share, law[:, members].mean(axis=1), largest)
        right = np.diagonal(law, axis1=-2, axis2=-1)
        information, guess = information_and_accuracy(share[:, None, :, None] * law)
        quality = [(share[:, None] * right).sum(axis=-1), right.mean(axis=-1), information, guess]
        pairs = zip(curves, (information, guess), strict=True)
        worth, censored = zip(*(interpolated_worth(curve, value) for curve, value in pairs), strict=True)
        return np.stack(quality), np.stack(worth), np.stack(censored), curves

    yield from in_threads(block, range(0, len(pi), step))


def interpolated_worth(curve: np.ndarray, value: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Interpolated k at which rising curves (sample, answers) reach each value (sample, rater), and whether they never do."""
    last = curve.shape[1] - 1
    step = np.stack([np.searchsorted(c[1:], v - ROUNDING) for c, v in zip(curve, value, strict=True)])
    below = np.take_along_axis(curve, np.minimum(step, last - 1), axis=1)
    gain = np.take_along_axis(curve, np.minimum(step + 1, last), axis=1) - below
    flat = gain <= ROUNDING
    share = np.where(flat, 0, (value - below) / np.where(flat, 1, gain))
    censored = step == last
    return np.where(censored, last, step + np.clip(share, 0, 1)), censored


def _by_group(found: xr.Dataset, kinds: xr.DataArray) -> dict[str, xr.DataArray]:
    """Means over the members of each group."""
    of_rater = kinds.to_numpy().astype(str)
    names = list(dict.fromkeys(of_rater.tolist()))
    own = xr.DataArray(of_rater == np.array(names)[:, None], {GROUPS: names}, (GROUPS, "rater"))
    share = own / own.sum("rater")
    bare = found.drop_vars([k for k, c in found.coords.items() if c.dims == ("rater",)])
    measures = (*MEASURES_OF_RATERS, "worth")
    means = {f"group_{name}": xr.dot(bare[name], share, dim="rater") for name in measures}
    means["group_censored"] = xr.dot(bare["censored"].astype(int), own.astype(int), dim="rater") > 0
    sample = found["accuracy"].dims[:-1]
    return {name: mean.transpose(*sample, GROUPS, ...) for name, mean in means.items()}


def _together(tree: xr.DataTree, found: xr.Dataset, kinds: xr.DataArray) -> dict[str, xr.DataArray]:
    """Worth by information of the answers of all members of each group together, who copy a guess."""
    law, of_rater = joint_law(tree), kinds.to_numpy().astype(str)
    curve = found["panel"].sel(measure="information").to_numpy().reshape(len(law.own), -1)
    rng = generator_of(None, tree)
    names = found[GROUPS].to_numpy().tolist()
    information = [joint_information(law, np.flatnonzero(of_rater == name), rng) for name in names]
    parts = interpolated_worth(curve, np.stack(information, axis=1))
    mean = found["group_accuracy"]
    return {
        name: mean.copy(data=part.reshape(mean.shape))
        for name, part in zip(("group_together", "group_together_censored"), parts, strict=True)
    }


def new_raters(tree: xr.DataTree, random_seed: int | np.random.Generator | None = None) -> xr.DataTree:
    """Draw the confusion matrices of unseen raters, one of each group in every posterior draw.

        beta_jl ~ Normal(mean_jl, spread_jl)        log odds of a new rater, around the mean of the group or population
        pi_j    = softmax(beta_j)                   row of the confusion matrix for true category j

    Parameters
    ----------
    tree : DataTree
        Posterior of a hierarchical model: ``population_spread`` with ``group_mean``, or without groups with
        ``population_mean``.
    random_seed : int or numpy.random.Generator, optional
        Seed of the draws; by default derived from the tree, as in `annotation_certainty`.

    Returns
    -------
    DataTree
        Posterior with ``prevalence`` and ``confusion`` (rater, category, answer); raters are named after their
        groups, or "new rater". `rater_worth` and `rater_quality` accept it.

    Raises
    ------
    EvaluationError
        If the tree has no population of raters.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> dims = ("chain", "draw", "category", "answer")
    >>> coords = {"category": ["no", "yes"], "answer": ["no", "yes"]}
    >>> posterior = xr.Dataset(
    ...     {
    ...         "population_mean": (dims, np.tile(np.eye(2), (1, 3, 1, 1))),
    ...         "population_spread": (dims, np.ones((1, 3, 2, 2))),
    ...         "prevalence": (dims[:3], np.full((1, 3, 2), 0.5)),
    ...     },
    ...     coords,
    ... )
    >>> tree = xr.DataTree.from_dict({"posterior": posterior})
    >>> evaluation.new_raters(tree, random_seed=1)["posterior"]["rater"].values.tolist()
    ['new rater']

    References
    ----------
    Paun et al. (2018), Comparing Bayesian models of annotation, TACL 6, section 3.3,
    doi:10.1162/tacl_a_00040.
    """
    dims = ("category", "answer")
    tree = with_shared_draws(tree)
    spread = of_raters(tree, "population_spread", dims)
    mean = of_raters(tree, "population_mean", dims)
    if "group_mean" in tree["posterior"]:
        mean = of_raters(tree, "group_mean", (GROUPS, *dims)).rename({GROUPS: "rater"})
    else:
        mean = mean.expand_dims(rater=["new rater"])
    sample = [d for d in mean.dims if d not in ("rater", *dims)]
    mean = mean.transpose(*sample, "rater", *dims)
    spread = spread.transpose(*sample, *dims).to_numpy()[..., None, :, :]
    log_odds = mean + spread * generator_of(random_seed, tree).standard_normal(mean.shape)
    confusion = log_odds.copy(data=softmax(log_odds.to_numpy(), axis=-1))
    prevalence = of_raters(tree, "prevalence", ("category",))
    posterior = xr.Dataset({"prevalence": prevalence, "confusion": confusion})
    return tree_like(tree, {"posterior": posterior})
