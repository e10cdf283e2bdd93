"""The seven differential diagnoses that the paper prints, and what it prints about three of them.

References
----------
Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth,
Medical Image Analysis, arXiv:2307.02191: cases of figures 3, 17 and 18, accuracies of figures 5
and 17.
"""

from pathlib import Path
from typing import Any

import numpy as np

from .rankings import PartialRankings
from .readers import read_columns

__all__ = ["published_ddx_accuracies", "published_ddx_cases", "published_ddx_predictions"]


def published_ddx_cases() -> PartialRankings:
    """Return the differential diagnoses of the seven printed cases.

    Returns
    -------
    PartialRankings
        7 items and 29 annotations, named as the figures are; the closed set is every printed label,
        those that only a classifier predicted included.
    """
    cases = _columns("cases")
    labels = sorted({*cases["category"], *_columns("predictions")["category"]})
    return PartialRankings.from_table(cases, categories=labels)


def published_ddx_predictions() -> dict[str, np.ndarray]:
    """Return the printed top-3 predictions of classifiers A, B and D on three of the cases.

    Returns
    -------
    dict of str to ndarray, shape (prediction,)
        Columns item, classifier, category and rank. The order within a top 3 is not printed: ranks
        follow the alphabet, so read them as a set of three. A classifier predicts some of the
        items.
    """
    columns = {name: np.array(cells) for name, cells in _columns("predictions").items()}
    return columns | {"rank": columns["rank"].astype(np.int64)}


def published_ddx_accuracies() -> dict[str, np.ndarray]:
    """Return the printed uncertainty-adjusted top-3 accuracies, at medium reliability.

    Returns
    -------
    dict of str to ndarray, shape (number,)
        Columns figure, item, classifier, model (``plackett_luce``: 3 repetitions; ``prirn``: gamma
        about 30) and accuracy, printed to two decimals.
    """
    columns = {name: np.array(cells) for name, cells in _columns("accuracies").items()}
    return columns | {
        "figure": columns["figure"].astype(np.int64),
        "accuracy": columns["accuracy"].astype(float),
    }


def _columns(what: str) -> dict[str, list[Any]]:
    return read_columns(Path(__file__).with_name(f"published_ddx_{what}.csv"))
