"""Which question a metric of predictions answers: agreement with what raters leave open, or accuracy against the truth.

A posterior of the raters alone is blurred by their errors, which predictions do not share: against it the metric of a good
classifier is below its accuracy, however many items there are. A posterior that has the predictions among its answers is
one of the truth given both. A classifier is known by its name among the raters of the tree and by its answers there, so
that no sampler and no file must mark anything.

References
----------
Stutz et al. (2025), arXiv:2307.02191, section 2.5: the former. Hui and Walter (1980), Biometrics 36(1), 167-171,
doi:10.2307/2530508: the latter.
"""

import warnings
from typing import NamedTuple

import numpy as np
import xarray as xr
from scipy.stats import rankdata

from ..._messages import first_reprs, short_repr, warn_user
from ...posterior.plausibility import Plausibility, UnknownTruth, of_rankings, plausibility_of, truth_of
from ...posterior.schema import ALONE, SeenAnswers, answers_of, classifier_in_prior
from .alignment import align, align_items
from .predicted_features import labels_in_features

OPEN = "agreement with what the raters leave open"
TO_TRUTH = "accuracy against the truth needs a posterior of Labels.with_predictions"
RATERS = f"{OPEN}; {TO_TRUTH}"
OF_DISTRIBUTION = (
    f"{OPEN}; accuracy against the truth needs labels of one true category, see Labels.with_predictions"
)
RANKINGS_WITH_PREDICTIONS = "PartialRankings.with_predictions and hierarchical_plackett_luce"
COMMANDS = {  # what the sentences below call by Python, on the command line
    RANKINGS_WITH_PREDICTIONS: "raterzoo fit --model hierarchical_plackett_luce --predictions",
    "Labels.with_predictions": "raterzoo fit --predictions",
}
TO_CONSENSUS = f"accuracy against the consensus needs {RANKINGS_WITH_PREDICTIONS}"
OF_RANKINGS = f"{OPEN}; {TO_CONSENSUS}"
PERHAPS_ITSELF = (
    "agreement with raters of whom one gave exactly these lists: if that is the classifier, they agree with themselves; "
    f"{TO_CONSENSUS}"
)
CONSENSUS = (
    f"accuracy against the consensus, the truth behind rankings, as the posterior has seen these lists; {OPEN} needs one that "
    "has not"
)
TRUTH = (
    f"accuracy against the truth, as the posterior has seen these predictions; {OPEN} needs one that has not"
)
OF_FEATURES = (
    "agreement with what the features leave open of items that no rater answered; accuracy against the truth needs answers to "
    "them"
)
BY_ITSELF = (
    "accuracy as the predictions tell it themselves: they are features by which these items, which no rater answered, were "
    "predicted, and answers to other items say how far to believe them; accuracy against the truth needs answers to these items"
)
OF_ARRAY = f"{OPEN}, unless the posterior has seen the predictions, which its tree tells; {TO_TRUTH}"
OF_ESTIMATE = (
    "agreement with one estimate of the truth, taken for certain; draws of a posterior say what is left open"
)


def question_of(tree: xr.DataTree | xr.Dataset | xr.DataArray, predictions: xr.DataArray) -> str:
    """Return the question that a metric of predictions against a posterior answers, in one line; by classifier if they differ."""
    if not {*plausibility_of(tree).dims} - {"candidate", "item", "category"}:
        return OF_ESTIMATE
    if not isinstance(tree, xr.DataTree):
        return OF_ARRAY
    answers, names = answers_of(tree), _names_of(predictions)
    if (seen := classifier_in_prior(tree)) is not None:
        return _question_of_prior(seen, names, named="classifier" in predictions.coords)
    if tree.attrs.get("predicted_from") == "features":
        return _by_classifier(names, [_question_of_predicted(tree, predictions, name) for name in names])
    if answers is None:
        raters = _raters_of(tree)
        if {*names} & {*raters}:
            return _by_classifier(names, [_question_of_lists(tree, predictions, name) for name in names])
        if not of_rankings(tree):
            return _question_of_raters(tree)
        if raters:
            return OF_RANKINGS
        own = [is_rater_without_name(tree, _of_one(predictions, name)) for name in names]
        return _by_classifier(names, [PERHAPS_ITSELF if same else OF_RANKINGS for same in own])
    return _by_classifier(names, [_question(tree, predictions, name, answers) for name in names])


def _by_classifier(names: list[object], asked: list[str]) -> str:
    """Return the questions of all classifiers in one line, by classifier if they differ."""
    if len({*asked}) == 1:
        return asked[0]
    by = {text: [name for name, own in zip(names, asked, strict=True) if own == text] for text in asked}
    return ". ".join(f"Of {first_reprs(own)}: {text}" for text, own in by.items())


def _question_of_prior(seen: str, names: list[object], named: bool) -> str:
    """Return the question where the prior has seen a classifier, with a warning if that is or may be the one in question."""
    own = [name for name in names if str(name) == seen]
    if named and not own:
        return f"{OPEN}, given the probabilities of another classifier, {short_repr(seen)}, as a prior; {TO_TRUTH}"
    if own:
        others = len(names) > len(own)
        whose = f"Of {short_repr(seen)}: agreement" if others else "agreement"
        text = f"{whose} with a posterior whose prior has seen these predictions, which so agree with themselves; {TO_TRUTH}"
        text += f". Of the others: {OPEN}, given that prior" if others else ""
    else:
        text = (
            f"agreement with a posterior whose prior has seen predictions of {short_repr(seen)}: if these are its, they agree "
            f"with themselves; {TO_TRUTH}"
        )
    warn_user(f"the metric is {text}", UserWarning)
    return text


def _question_of_predicted(tree: xr.DataTree, predictions: xr.DataArray, name: object) -> str:
    """Return the question of one classifier about items that were predicted from features; warn if it is among these."""
    if not _is_of_category(tree) or labels_in_features(tree, _of_one(predictions, name), name) is None:
        return OF_FEATURES
    warn_user(f"the metric is {BY_ITSELF}", UserWarning)
    return BY_ITSELF


def is_of_truth(question: str) -> bool:
    """Whether a question is accuracy against the truth, or the consensus of rankings, of all classifiers and items."""
    return question in (TRUTH, CONSENSUS)


def is_of_raters(question: str) -> bool:
    """Whether a question is agreement with what raters leave open, of all classifiers and items."""
    return question.startswith(OPEN)


def _question_of_raters(tree: xr.DataTree) -> str:
    """Return the question by raters of anything but rankings, none of whom is the classifier."""
    return RATERS if _is_of_category(tree) else OF_DISTRIBUTION


def _question_of_lists(tree: xr.DataTree, predictions: xr.DataArray, name: object) -> str:
    """Return the question of the metrics of one classifier where the answers of a tree are no labels."""
    if name not in _raters_of(tree):
        given = f"{OPEN}, given lists of another classifier; {TO_CONSENSUS}"
        return given if of_rankings(tree) else _question_of_raters(tree)
    found = lists_seen(tree, _of_one(predictions, name), _raters_of(tree).index(name))
    if found is None:
        return (
            f"agreement with raters of whom {short_repr(name)} is one: if that gave these predictions, they agree with "
            "themselves"
        )
    if found.differ.any():
        return (
            f"{OPEN}, among them other lists of {short_repr(name)}, which differ for {found.differ.sum():,} items; "
            f"{TO_CONSENSUS}, and these lists"
        )
    if "reliability" not in tree["posterior"] or "rater" not in tree["posterior"]["reliability"].dims:
        return (
            f"agreement with raters of whom {short_repr(name)} is one, as reliable as is said or as the others, so that these "
            f"lists agree with themselves; {TO_CONSENSUS}"
        )
    if not found.seen.all():
        return (
            f"accuracy against the consensus where the posterior has seen the list, for {(found.seen & found.listed).sum():,} of "
            f"{found.listed.sum():,}, and {OPEN} for the rest"
        )
    return CONSENSUS


def _of_one(predictions: xr.DataArray, name: object) -> xr.DataArray:
    """Return the predictions of one classifier."""
    if "classifier" in predictions.dims and "classifier" in predictions.coords:
        return predictions.isel(classifier=[_names_of(predictions).index(name)])
    return predictions


def _raters_of(tree: xr.DataTree) -> list[object]:
    """Return the ids of the raters of a posterior, if it has any."""
    coords = tree["posterior"].to_dataset().coords if "posterior" in tree.children else {}
    return coords["rater"].to_numpy().tolist() if "rater" in coords else []


def _is_of_category(tree: xr.DataTree) -> bool:
    """Whether a tree says that there is one true category."""
    try:
        return truth_of(tree, plausibility_of(tree)) == "category"
    except UnknownTruth:
        return False


def _names_of(predictions: xr.DataArray) -> list[object]:
    """Names of the classifiers; that of single predictions without one is the default of the rater."""
    if "classifier" not in predictions.coords:
        return [ALONE] * predictions.sizes.get("classifier", 1)
    return np.atleast_1d(predictions["classifier"].to_numpy()).tolist()


def _question(tree: xr.DataTree, predictions: xr.DataArray, name: object, answers: SeenAnswers) -> str:
    """Return the question of the metrics of one classifier."""
    in_features = None
    if name not in answers.raters:
        in_features = labels_in_features(tree, _of_one(predictions, name), name)
    if name not in answers.raters and in_features is None:
        others = first_reprs(answers.classifiers, 3)
        among = f", among them the classifiers {others}, but not this one" if answers.classifiers else ""
        return f"{OPEN}{among}; {TO_TRUTH}"
    best = _best_labels(tree, predictions, name)
    if in_features is None:
        own = answers.rater == answers.raters.index(name)
        item, differ = answers.item[own], best[answers.item[own]] != answers.label[own]
    else:
        item = np.arange(len(best))
        differ = (best < 0) | ~in_features[item, best]
    if differ.any():
        return (
            f"{OPEN}, among them other predictions of {short_repr(name)}, which differ for {len({*item[differ].tolist()}):,} "
            f"items; {TO_TRUTH} with these"
        )
    if (seen := len({*item.tolist()})) < len(best):
        return (
            f"accuracy against the truth for {seen:,} items, whose predictions the posterior has seen, and {OPEN} for the other "
            f"{len(best) - seen:,}"
        )
    return TRUTH


def _best_labels(tree: xr.DataTree, predictions: xr.DataArray, name: object) -> np.ndarray:
    """Return codes of the best label of each item (item,) by one classifier, -2 for none and for sets of several labels."""
    predictions = _of_one(predictions, name)
    if predictions.dtype.kind == "b":
        alone = predictions.sum("category") == 1
        predictions = predictions & alone
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the metric has warned of the same predictions
        aligned = align(Plausibility.of(tree), predictions, 1, "exclude", ordered=True)
    return aligned.predicted[0, :, 0]


# --- Ranked lists of classifiers among the rankings of a posterior: whether it has seen them ---

ABSENT = -1


class SeenLists(NamedTuple):
    """Lists of one classifier, as a posterior of rankings has seen them."""

    listed: np.ndarray  # (item,): whether there is a list in question
    seen: np.ndarray  # (item,): whether one of its lists is among the rankings, or there is none to see
    differ: np.ndarray  # (item,): whether that is another list than the one in question


def lists_seen(tree: xr.DataTree, predictions: xr.DataArray, rater: int) -> SeenLists | None:
    """Return which lists of a classifier, the only one of the predictions, are the rankings of a rater of a tree, by its code.

    None if the tree does not hold the rankings of its raters.
    """
    if not _holds_rankings(tree):
        return None
    constant, view = tree["constant_data"].to_dataset(), Plausibility.of(tree)
    names, listed = _blocks(align_items(view, predictions)[0].isel(classifier=0))
    is_listed = (listed >= 0).any(axis=1)
    seen, differ = ~is_listed, np.zeros(len(view.items), bool)
    own = np.flatnonzero(constant["annotation_rater"].to_numpy() == rater)
    item = constant["annotation_item"].to_numpy()[own].astype(np.int64)
    block = tree["observed_data"]["observed_ranking"].to_numpy()[own].astype(np.int64)
    column = _columns_of_places(tree, own, names)
    asked = np.where(column == ABSENT, ABSENT, listed[item[:, None], column])
    unlisted = listed[item].max(axis=1, keepdims=True, initial=ABSENT) + 1  # block of all others
    inside = block >= 0
    same = (np.where(asked == ABSENT, unlisted, asked) == block) | ~inside
    among = ((asked >= 0) & inside).sum(axis=1) == (listed[item] >= 0).sum(axis=1)
    seen[item] = True
    # a rater may have ranked an item several times
    np.logical_or.at(differ, item, ~(same.all(axis=1) & among))
    return SeenLists(is_listed, seen, differ)


def is_rater_without_name(tree: xr.DataTree, predictions: xr.DataArray) -> bool:
    """Whether a rater gave the lists of a classifier, the only one of the predictions, and no others, in a tree without names."""
    if not _holds_rankings(tree):
        return False
    constant = tree["constant_data"].to_dataset()
    view = Plausibility.of(tree)
    rater, item = (constant[f"annotation_{of}"].to_numpy().astype(np.int64) for of in ("rater", "item"))
    n_items = len(view.items)
    raters, items = np.unique(np.unique(rater * n_items + item) // n_items, return_counts=True)
    _, blocks = _blocks(align_items(view, predictions)[0].isel(classifier=0))
    listed = (blocks >= 0).any(axis=1).sum()
    found = (lists_seen(tree, predictions, rater) for rater in raters[(items == listed) & (listed > 0)])
    return any(own is not None and own.seen.all() and not own.differ.any() for own in found)


def _holds_rankings(tree: xr.DataTree) -> bool:
    """Whether a tree holds rankings, with the item and the rater of each."""
    codes = {"annotation_item", "annotation_rater"}
    return (
        of_rankings(tree) and "constant_data" in tree.children and codes <= {*tree["constant_data"].data_vars}
    )


def _blocks(array: xr.DataArray) -> tuple[np.ndarray, np.ndarray]:
    """Return names of categories, and the block of each in the list of an item, 0 = first, -1 = not listed.

    Shapes: names (category,); blocks (item, category). Equal scores and the members of a set are tied.
    """
    if "category" in array.dims:
        array = array.transpose("item", "category")
        scores = array.to_numpy()
        if scores.dtype.kind == "b":
            scores = np.where(scores, 0.0, -np.inf)
        block = rankdata(-scores.astype(float), "dense", axis=1).astype(np.int64) - 1
        return array["category"].to_numpy().astype(str), np.where(scores > -np.inf, block, ABSENT)
    labels = array.transpose("item", "position").to_numpy().astype(str)
    names, code = np.unique(labels, return_inverse=True)
    block = np.full((len(labels), len(names)), ABSENT, np.int64)
    item, place = np.nonzero(labels != "")
    block[item, code.reshape(labels.shape)[item, place]] = place
    return names, block


def _columns_of_places(tree: xr.DataTree, annotation: np.ndarray, names: np.ndarray) -> np.ndarray:
    """Return the place among `names` of the category at each place of some annotations (annotation, place), -1 for none."""
    place = {name: code for code, name in enumerate(names.tolist())}
    categories = tree["posterior"]["plausibility"]["category"].to_numpy().astype(str).tolist()
    code = np.array([place.get(name, ABSENT) for name in categories], np.int64)
    constant = tree["constant_data"].to_dataset()
    if "candidate_of_place" in constant:
        return code[constant["candidate_of_place"].to_numpy()[annotation]]
    if "category_of_place" in constant:
        return code[constant["category_of_place"].to_numpy()[annotation]]
    return np.broadcast_to(code, (len(annotation), len(code)))
