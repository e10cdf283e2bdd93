"""Shared parts of the models of comparisons: coordinates, counts of answers, observed winners."""

import warnings
from typing import NamedTuple

import numpy as np
import pymc as pm

from ..data.comparison_tables import NOBODY, TIE
from ..data.comparisons import Comparisons
from ..data.connectivity import components_in_words, connected_components
from ..data.container import expect
from ..data.errors import BUILDERS, DataWarning
from ..distributions.paired_comparisons import PairedComparisons
from ..distributions.paired_comparisons_kernels import Link
from .priors import Strength

OUTCOMES = ("left", "right", "tie")


class Answers(NamedTuple):
    """Votes counted by ordered pair and rater; one annotation each."""

    left: np.ndarray  # int64 (annotation,)
    right: np.ndarray  # int64 (annotation,)
    rater: np.ndarray  # int64 (annotation,); -1 if anonymous
    counts: np.ndarray  # int64 (annotation, outcome): left, right, tie


def require_votes(pairs: Comparisons) -> Comparisons:
    """Return the comparisons, or raise if there are fewer than two items or no vote.

    Warns (DataWarning) if the comparisons do not connect all items.
    """
    expect(pairs, Comparisons)
    if len(pairs.items) < 2 or not len(pairs):
        raise ValueError(
            f"these comparisons have {len(pairs.items)} items and {len(pairs)} votes; a model needs a vote between two items"
        )
    component = connected_components(len(pairs.items), pairs.left, pairs.right)
    if component.any():
        warnings.warn(
            f"no chain of comparisons joins the {component.max() + 1:,} components of the items: "
            f"{components_in_words(pairs.items, component)}; the prior alone places them relative to each other. "
            "pairs.largest_component() keeps what was compared",
            DataWarning,
            skip_file_prefixes=BUILDERS,
        )
    return pairs


def answers_of(pairs: Comparisons, ties: bool) -> Answers:
    """Count the outcomes by ordered pair and rater; rows ascend by left, then right, then rater."""
    key = np.stack([pairs.left, pairs.right, pairs.annotation_rater]).astype(np.int64)
    new = np.r_[True, (key[:, 1:] != key[:, :-1]).any(axis=0)]  # the votes are sorted by this key
    annotation = np.cumsum(new) - 1
    counts = np.zeros((new.sum(), 3 if ties else 2), np.int64)
    np.add.at(counts, (annotation, pairs.outcome), pairs.count)
    left, right, rater = key[:, new]
    return Answers(left, right, rater, counts)


def ties_are_modelled(pairs: Comparisons, ties: str, name: str) -> bool:
    """Return whether a tie is an outcome of the model: for "auto", whether the votes contain one.

    ``ties`` is "auto", "none" or `name`, the model's word for its ties; else, or for "none" despite ties in
    the votes, raises ValueError.
    """
    if ties not in ("auto", name, "none"):
        raise ValueError(f"ties={ties!r} is not one of 'auto', {name!r}, 'none'")
    if ties == "none" and pairs.has_ties:
        tied = int(pairs.count[pairs.outcome == TIE].sum())
        raise ValueError(
            f"ties='none', but {tied:,} of the {len(pairs):,} votes are ties; use ties={name!r} or 'auto', "
            "or leave the rows out of the table"
        )
    return pairs.has_ties if ties == "auto" else ties == name


def coords_of(pairs: Comparisons, ties: bool) -> dict[str, np.ndarray]:
    """Return the coordinates of a model of comparisons; rater attributes are named ``rater_...``."""
    said = {f"rater_{name}": values for name, values in pairs.rater_attributes.items()}
    return said | {
        "item": pairs.items,
        "rater": pairs.raters,
        "annotation": np.arange(len(answers_of(pairs, ties).counts)),
        "outcome": np.array(OUTCOMES[: 3 if ties else 2]),
    }


def observe_winners(
    pairs: Comparisons, strength: Strength, link: Link, *, ties: bool, left_bias: bool
) -> None:
    """Register ``observed_winner``, pointwise by annotation, and, if asked, ``tie`` and ``left_bias``."""
    answers = answers_of(pairs, ties)
    for name in ("left", "right", "rater"):
        codes = getattr(answers, name).astype(np.int32)
        pm.Data(f"annotation_{name}", codes, dims="annotation")
    own = np.where(answers.rater == NOBODY, 0, answers.rater)
    PairedComparisons(
        "observed_winner",
        *strength,
        (answers.left, answers.right, own),
        answers.counts.sum(axis=1),
        left_bias=pm.Normal("left_bias", 0.0, 1.0) if left_bias else 0.0,
        tie=pm.LogNormal("tie", 0.0, 1.0) if ties else None,
        link=link,
        observed=answers.counts,
        dims=("annotation", "outcome"),
    )
