"""Isotonic calibration of a classifier's probabilities, cross-fitted over folds of items."""

import numpy as np
import xarray as xr

from ...posterior.errors import EvaluationError
from ..argument_checks import check_whole
from .counts import Classifiers, LabelCounts, LabelSource


def calibrated(
    predictions: xr.DataArray, counts: LabelSource, *, folds: int = 10, random_seed: int = 1
) -> xr.DataArray:
    """Return predictions as they are, and calibrated by isotonic regression on the labels of other items.

    Parameters
    ----------
    predictions : DataArray (item, category) or (classifier, item, category)
        Probabilities.
    counts : DataArray, Labels or DataTree
        Labels, as in `survey_power_curve`. Items without labels are left out.
    folds : int
        Number of folds; the items of each fold are calibrated on the others.
    random_seed : int
        Seed of the folds.

    Returns
    -------
    DataArray (classifier, item, category)
        The given predictions, a single classifier under the name "classifier", then the calibrated ones, with
        ", calibrated" appended to their names. `survey_equivalence` scores both.

    Raises
    ------
    EvaluationError
        If predictions do not match the labels, folds exceed the items, or scikit-learn is not installed.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import papers
    >>> items = {"item": range(6), "category": ["no", "yes"]}
    >>> counts = xr.DataArray([[3, 0], [2, 1], [3, 0], [1, 2], [0, 3], [0, 3]], items, ("item", "category"))
    >>> yes = xr.DataArray([0.1, 0.3, 0.2, 0.6, 0.7, 0.9], {"item": range(6)}, ("item",))
    >>> predictions = xr.concat([1 - yes, yes], "category").assign_coords(category=["no", "yes"])
    >>> found = papers.calibrated(predictions, counts, folds=2)
    >>> found["classifier"].values.tolist()
    ['classifier', 'classifier, calibrated']

    References
    ----------
    Zadrozny and Elkan (2002), Transforming classifier scores into accurate multiclass probability estimates,
    doi:10.1145/775047.775151 (isotonic regression; with several categories one against the rest, normalised).
    Resnick, Kong, Schoenebeck and Weninger (2021), arXiv:2106.01254, section 9.1.
    """
    labels = LabelCounts.of(counts)
    given = Classifiers.aligned_to(predictions, labels)
    labelled = labels.size > 0
    labels = labels.with_categories(given.categories, "counts").select(labelled)
    before = given.probability[:, labelled]
    check_whole("folds", folds, 2)
    check_whole("random_seed", random_seed, 0)
    if folds > len(labels.items):
        raise EvaluationError(
            f"folds={folds!r}: expected a whole number from 2 to the {len(labels.items)} items with labels"
        )
    fold = np.random.default_rng([random_seed, 5]).permutation(len(labels.items)) % folds
    after = np.array([_calibrated(law, labels, fold) for law in before])
    names = given.names if given.named else np.array(["classifier"])
    return xr.DataArray(
        np.concatenate([before, after]),
        {
            "classifier": [*names.tolist(), *(f"{name}, calibrated" for name in names.tolist())],
            "item": labels.items,
            "category": given.categories,
        },
        ("classifier", "item", "category"),
    )


def _calibrated(law: np.ndarray, labels: LabelCounts, fold: np.ndarray) -> np.ndarray:
    """Return calibrated probabilities (item, category), each fold calibrated on the others."""
    try:
        from sklearn.isotonic import IsotonicRegression
    except ImportError as error:
        raise EvaluationError("calibration needs scikit-learn: pip install raterzoo[agreement]") from error
    size, found = labels.size, np.empty(law.shape)
    first = 1 if law.shape[1] == 2 else 0  # with two categories one regression is enough
    for own in np.unique(fold):
        here, others = fold == own, fold != own
        for category in range(first, law.shape[1]):
            share = labels.counts[others, category] / size[others]
            curve = IsotonicRegression(y_min=0, y_max=1, out_of_bounds="clip")
            curve.fit(law[others, category], share, sample_weight=size[others])
            found[here, category] = curve.predict(law[here, category])
        if first:
            found[here, 0] = 1 - found[here, 1]
        shares = labels.counts[others].sum(axis=0) / size[others].sum()
        total = found[here].sum(axis=1, keepdims=True)
        found[here] = np.where(total > 0, found[here] / np.where(total > 0, total, 1), shares)
    return found
