"""Embedded data: differential diagnoses printed in Stutz et al. (2025), and results on three of them."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from ..rankings import PartialRankings
from ..reading.files import read_file


def published_ddx_cases() -> PartialRankings:
    """Load the differential diagnoses of the seven printed cases.

    Returns
    -------
    PartialRankings
        7 items and 29 annotations, named by figure; only ``fig17c`` is printed in figure 18. The closed set
        holds every printed label, including those that only a classifier predicted.

    Examples
    --------
    >>> from raterzoo import models
    >>> len(models.published_ddx_cases())
    29

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    Medical Image Analysis, figures 3, 17 and 18, arXiv:2307.02191.
    """
    cases = _columns("cases")
    labels = sorted({*cases["category"].tolist(), *_columns("predictions")["category"].tolist()})
    return PartialRankings.from_table(cases, categories=labels)


def published_ddx_predictions() -> dict[str, np.ndarray]:
    """Load the printed top-3 predictions of classifiers A, B and D on three of the cases.

    Returns
    -------
    dict of str to ndarray, shape (prediction,)
        Columns item, classifier, category and rank. The order within a top 3 is not printed: ranks are
        alphabetical, so treat them as a set of three. A classifier predicts some of the items.

    Examples
    --------
    >>> from raterzoo import models
    >>> table = models.published_ddx_predictions()
    >>> list(table), sorted(set(table["classifier"].tolist()))
    (['item', 'classifier', 'category', 'rank'], ['A', 'B', 'D'])

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    Medical Image Analysis, arXiv:2307.02191.
    """
    columns = _columns("predictions")
    return columns | {"rank": columns["rank"].astype(np.int64)}


def published_ddx_accuracies() -> dict[str, np.ndarray]:
    """Load the printed uncertainty-adjusted top-3 accuracies of the classifiers, at medium reliability.

    The items are the published cases of differential diagnoses, see `published_ddx_cases`.

    Returns
    -------
    dict of str to ndarray, shape (number,)
        Columns figure, item, classifier, model (``plackett_luce``: 3 repetitions; ``prirn``: gamma about 30)
        and accuracy, printed to two decimals.

    Examples
    --------
    >>> from raterzoo import models
    >>> table = models.published_ddx_accuracies()
    >>> sorted(set(table["figure"].tolist()))
    [5, 17]

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
    Medical Image Analysis, figures 5 and 17, arXiv:2307.02191.
    """
    columns = _columns("accuracies")
    figure, accuracy = columns["figure"].astype(np.int64), columns["accuracy"].astype(float)
    return columns | {"figure": figure, "accuracy": accuracy}


def _columns(what: str) -> dict[str, np.ndarray]:
    """Columns of one of the CSV files beside this module."""
    columns = read_file(Path(__file__).with_name(f"ddx_{what}.csv")).columns
    return {name: np.array(cells) for name, cells in columns.items()}


# Arguments of the builders by which the paper printed its accuracies: Plackett-Luce with one pseudo-category of shape 1 for all
# unranked categories and three repetitions; PrIRN at gamma 30 with the undivided weights of tied categories of the authors' code.
PUBLISHED_ARGUMENTS: Mapping[str, Mapping[str, Any]] = {
    "plackett_luce": {"concentration": 1.0, "unranked": "single", "reliability": 3},
    "prirn": {"reliability": 30, "tie_weight": "full"},
}
