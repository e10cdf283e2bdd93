"""Counts of labels by item, from counts, a tree, or a table of named raters; probabilities of classifiers for the items.

In a table, blanks are NaN, None, NA and white space. Whole numbers are read as decimal text however they are
stored: 1, 1.0 and "1" are one category.
"""

from dataclasses import dataclass, replace

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ...posterior.matching import ROUNDING, ids_of, places_of, rescaled, with_complement
from ..truth.containers import Labels

BLANK = -1
LabelSource = xr.DataArray | xr.DataTree | Labels
WHOLE = 2.0**53  # above it, floats do not represent all integers
EXPECTED = "expected text or a whole number, or a blank where the rater gave no label"
MOST = 2**31  # upper bound of a count


def codes_of(given: xr.DataArray, items: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return names of categories, and codes (item, rater), -1 for a blank; raise if a cell is no label, or all are blank."""
    table = given.transpose("item", "rater")
    cells = table.to_numpy()
    if cells.dtype.kind not in "OUTSbiuf":
        raise EvaluationError(f"{what}: dtype {cells.dtype}; expected labels as text or numbers")
    if cells.dtype.kind == "S":
        try:
            cells = np.strings.decode(cells, "utf-8")
        except UnicodeDecodeError as error:
            raise EvaluationError(
                f"{what}: bytes {error.object!r} are not UTF-8; decode them, and pass text"
            ) from None
    labels = [_label(cell) for cell in cells.ravel().tolist()]
    blank, wrong = (np.reshape([label == of for label in labels], cells.shape) for of in ("", None))
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        rater = table["rater"].to_numpy()[j] if "rater" in table.coords else j
        raise EvaluationError(
            f"{what}: item {items[i]!s}, rater {rater!s}: {cells[i, j]!s} is no label; {EXPECTED}"
        )
    if blank.all():
        raise EvaluationError(f"{what}: every cell is blank; expected labels")
    present = [label for label in labels if label != ""]
    # numeric labels are sorted as numbers
    whole = all(isinstance(label, int) for label in present)
    names, code = np.unique(np.array(present, object if whole else str), return_inverse=True)
    codes = np.full(cells.shape, BLANK)
    codes[~blank] = code
    return names.astype(str), codes


def _label(cell: object) -> str | int | None:
    """Return a label, empty text for a blank, None for an invalid cell."""
    if isinstance(cell, str):
        return cell if cell.strip() else ""
    if isinstance(cell, bool | np.bool_):
        return str(cell)
    if isinstance(cell, int | np.integer):
        return int(cell)
    if isinstance(cell, float | np.floating):
        if cell != cell:
            return ""
        return int(float(cell)) if abs(cell) <= WHOLE and float(cell).is_integer() else None
    # pandas' NA and NaT, by name: this package does not import pandas
    return "" if cell is None or str(cell) in ("<NA>", "NaT") else None


@dataclass(frozen=True)
class LabelCounts:
    """Counts of labels by item, and the label of each rater if raters are named."""

    items: np.ndarray  # (item,), text or integers
    categories: np.ndarray  # (category,), text
    counts: np.ndarray  # (item, category), int64
    labels: np.ndarray | None = None  # (item, rater), codes, -1 for a blank; None if raters are anonymous

    @property
    def size(self) -> np.ndarray:
        """Number of labels (item,) of each item."""
        return self.counts.sum(axis=1)

    @classmethod
    def of(cls, given: object, what: str = "counts") -> "LabelCounts":
        """Read labels from any `LabelSource`; raise if there are none, an item twice, or negative, fractional or NaN counts."""
        if isinstance(given, xr.DataTree):
            return _of_tree(given)
        if isinstance(given, Labels):
            named = (np.asarray(given.items), np.asarray(given.categories).astype(str))
            codes = (np.asarray(given.annotation_item), np.asarray(given.label_code))
            return cls(*named, _counted(codes, np.asarray(given.count), (len(named[0]), len(named[1]))))
        if isinstance(given, xr.DataArray) and {*given.dims} == {"item", "category"}:
            return _of_counts(given, what)
        if isinstance(given, xr.DataArray) and {*given.dims} == {"item", "rater"}:
            return _of_raters(given, what)
        found = given.dims if isinstance(given, xr.DataArray) else type(given).__name__
        raise EvaluationError(
            f"{what}: expected a DataArray (item, category) of counts or (item, rater) of labels, Labels, or the tree of a model "
            f"of labels; found {found}"
        )

    def select(self, which: np.ndarray) -> "LabelCounts":
        """Return some of the items, by index or mask."""
        labels = None if self.labels is None else self.labels[which]
        return replace(self, items=self.items[which], counts=self.counts[which], labels=labels)

    def with_categories(self, categories: np.ndarray, what: str) -> "LabelCounts":
        """Return the counts over other categories, in their order; raise if a category would be lost."""
        place = {name: i for i, name in enumerate(categories.tolist())}
        lost = [name for name in self.categories.tolist() if name not in place]
        if lost:
            raise EvaluationError(
                f"{what}: no category {lost[0]!r}, which raters can give; add it, with 0 where it does not occur"
            )
        to = np.array([place[name] for name in self.categories.tolist()])
        counts = np.zeros((len(self.items), len(categories)), np.int64)
        counts[:, to] = self.counts
        labels = self.labels
        if labels is not None:
            labels = np.where(labels == BLANK, BLANK, to[labels])
        return replace(self, categories=categories, counts=counts, labels=labels)

    def aligned_to(self, items: np.ndarray, what: tuple[str, str]) -> "LabelCounts":
        """Return the given items, each of which must occur."""
        return self.select(places_of(items, self.items, what))


def _of_counts(given: xr.DataArray, what: str) -> LabelCounts:
    items, categories = coordinate_of(given, "item", what), coordinate_of(given, "category", what)
    table = given.transpose("item", "category").to_numpy()
    if table.dtype.kind not in "iufb":
        raise EvaluationError(
            f"{what}: dtype {table.dtype}; expected whole numbers: convert by astype(int), with 0 where nobody gave the label"
        )
    number = table.astype(float)
    # NaN fails the range check, too
    wrong = np.argwhere(~((number >= 0) & (number < MOST)) | (number != np.floor(number)))
    if len(wrong):
        i, j = wrong[0]
        raise EvaluationError(
            f"{what}: item {items[i]!s}, category {categories[j]!s}: {number[i, j]:g}; expected a whole number from 0, "
            "and 0 where nobody gave the label"
        )
    return LabelCounts(items, categories.astype(str), table.astype(np.int64))


def _of_raters(given: xr.DataArray, what: str) -> LabelCounts:
    items = coordinate_of(given, "item", what)
    names, labels = codes_of(given, items, what)
    item, rater = np.nonzero(labels != BLANK)
    counts = _counted((item, labels[item, rater]), None, (len(items), len(names)))
    return LabelCounts(items, names, counts, labels)


def _of_tree(tree: xr.DataTree) -> LabelCounts:
    """Return the labels that a model was fitted to."""
    try:
        observed = tree["observed_data"]["observed_label"]
        posterior = tree["posterior"]
        items, categories = (posterior[dim].to_numpy() for dim in ("item", "category"))
        if observed.ndim == 2:
            return _of_counts(observed.assign_coords(item=items, category=categories), "counts")
        item = tree["constant_data"]["annotation_item"].to_numpy()
    except KeyError as missing:
        raise EvaluationError(
            f"counts: the tree lacks {missing}; pass the tree of a model of labels that inference.sample returned, or the counts"
        ) from None
    shape = (len(items), len(categories))
    return LabelCounts(items, categories.astype(str), _counted((item, observed.to_numpy()), None, shape))


def _counted(
    codes: tuple[np.ndarray, np.ndarray], times: np.ndarray | None, shape: tuple[int, int]
) -> np.ndarray:
    flat = np.ravel_multi_index(codes, shape)
    counts = np.zeros(shape[0] * shape[1], np.int64)
    np.add.at(counts, flat, 1 if times is None else times)
    return counts.reshape(shape)


def coordinate_of(given: xr.DataArray, dim: str, what: str) -> np.ndarray:
    """Return the ids along a dim; raise if there are none or one occurs twice."""
    if dim not in given.coords:
        raise EvaluationError(f"{what}: dim {dim} has no coordinate; name its {dim}s")
    values = ids_of(given[dim].to_numpy())
    if not len(values):
        raise EvaluationError(f"{what}: no {dim}; expected at least one")
    unique, times = np.unique(values, return_counts=True)
    if (times > 1).any():
        raise EvaluationError(
            f"{what}: {dim} {unique[times > 1][0]!s} is duplicated; keep one, or add their labels"
        )
    return values


# --- Predictions of classifiers for the items of a survey ---


@dataclass(frozen=True)
class Classifiers:
    """Validated predictions of classifiers for the items of a survey."""

    names: np.ndarray  # of the classifiers; one empty text without a dim classifier
    probability: np.ndarray  # (classifier, item, category), sums to one
    named: bool  # whether the predictions had a dim classifier
    categories: np.ndarray  # (category,), those of the labels, then those of the predictions alone

    @classmethod
    def of(cls, predictions: xr.DataArray) -> tuple["Classifiers", np.ndarray]:
        """Validate predictions; return them and the ids of their items."""
        _check_shape(predictions)
        items, names = (coordinate_of(predictions, dim, "predictions") for dim in ("item", "category"))
        named = "classifier" in predictions.dims
        several = predictions if named else predictions.expand_dims("classifier")
        values = several.transpose("classifier", "item", "category").to_numpy().astype(float)
        wrong = np.argwhere(np.isnan(values))
        if len(wrong):
            _, i, j = wrong[0]
            raise EvaluationError(
                f"predictions: item {items[i]!s}, category {names[j]!s} is NaN; give a probability, or drop "
                "the item from predictions and counts"
            )
        wrong = np.argwhere((values < -ROUNDING) | (values > 1 + ROUNDING))
        if len(wrong):
            c, i, j = wrong[0]
            raise EvaluationError(
                f"predictions: item {items[i]!s}, category {names[j]!s}: {values[c, i, j]:g} is no probability; divide "
                "percentages by 100, or take the softmax of scores; for a hard classifier pass 1 for its label and 0 for the "
                "others"
            )
        exact = rescaled(values)
        values = values if exact is None else exact
        total = values.sum(axis=2)
        wrong = np.argwhere(np.abs(total - 1) > ROUNDING)
        if len(wrong):
            c, i = wrong[0]
            raise EvaluationError(
                f"predictions: the probabilities of item {items[i]!s} sum to {total[c, i]:.7g}, expected 1; divide by the sum, "
                "or add the categories that are missing"
            )
        values = np.clip(values, 0, 1) / np.clip(values, 0, 1).sum(axis=2, keepdims=True)
        labels = coordinate_of(predictions, "classifier", "predictions") if named else np.array([""])
        return cls(labels.astype(str), values, named, names.astype(str)), items

    @classmethod
    def aligned_to(cls, predictions: xr.DataArray, labels: LabelCounts) -> "Classifiers":
        """Return predictions for the items of the labels, the categories of the labels first, those of predictions alone last."""
        given, items = cls.of(with_complement(predictions, labels.categories))
        named, known = given.categories.tolist(), labels.categories.tolist()
        more = [name for name in named if name not in known]
        if more and labels.labels is None:
            raise EvaluationError(
                f"predictions: category {more[0]!r} is not in counts, which have {', '.join(known)}; add it to the counts, "
                "with 0 where nobody gave it, or correct the spelling"
            )
        lost = [name for name in known if name not in named]
        if lost:
            raise EvaluationError(
                f"predictions have no category {lost[0]!r}, which raters can give; add it, with probability 0 if "
                "the classifier never predicts it"
            )
        categories = np.array([*known, *more])
        column = [named.index(name) for name in categories.tolist()]
        place = places_of(labels.items, items, ("counts", "predictions"))
        probability = given.probability[:, place][..., column]
        return replace(given, probability=probability, categories=categories)


def _check_shape(predictions: object) -> None:
    if not isinstance(predictions, xr.DataArray):
        raise EvaluationError(
            f"predictions: expected a DataArray (item, category) of probabilities, found {type(predictions).__name__}"
        )
    if {*predictions.dims} - {"classifier"} != {"item", "category"}:
        raise EvaluationError(
            f"predictions: expected dims (item, category), and classifier where there are several; found {predictions.dims}"
        )
    if predictions.dtype.kind not in "biuf" or not predictions.size:
        raise EvaluationError(
            f"predictions: {predictions.size} values of dtype {predictions.dtype}; expected probabilities, at least one"
        )
