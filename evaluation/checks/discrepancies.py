"""Discrepancies of the annotations against those of replicates: tail probabilities, and one verdict on all checks together.

A discrepancy is a number computed from a table of annotations, such as the mean correlation of the residuals of two raters.
It is computed in the same way for the observed annotations and for n replicates, drawn by the model at draws of its
posterior. If the model is right the n + 1 tables are nearly exchangeable, so that the rank of the observed one is uniform.

All n + 1 values of a check are standardised by their common mean and standard deviation. The adjusted tail probability of a
check is the share of tables whose largest score over all checks is at least the observed score of this check (the
single-step max-T method), so that the probability of any false alarm is at most the level, however the checks depend on
each other. Where some checks are the main ones, .8 of the level is for these, .2 for the others: shares of tables are those
of the largest score among the main ones, divided by .8, or among the others, divided by .2.

References
----------
Gelman, Meng and Stern (1996), Posterior predictive assessment of model fitness via realized discrepancies, Statistica
Sinica 6. Westfall and Young (1993), Resampling-based multiple testing, section 2.3. Benjamini and Hochberg (1995),
Controlling the false discovery rate, JRSS B 57(1), doi:10.1111/j.2517-6161.1995.tb02031.x.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import xarray as xr
from scipy.stats import false_discovery_control, norm

from ...posterior.errors import EvaluationError

LEVEL = 0.05  # of the verdict, and probability outside the predictive interval on either side
MAIN_SHARE = 0.8  # of the level, for the main checks if there are others
FEWEST_REPLICATES = 99  # with which every check can fail: (1 / 100) / (1 - MAIN_SHARE) = LEVEL
DISTANCE = 2.0  # standard deviations by which the score of what is off is expected to be larger
ROUNDING = 1e-10  # relative difference up to which values are equal


@dataclass(frozen=True)
class Check:
    """One discrepancy, of the observed annotations and of each replicate."""

    name: str
    observed: float
    replicated: np.ndarray  # (replicate,)
    low: str = ""  # meaning if the observed value is too low, a clause that follows "the data say that"
    high: str = ""  # and if too high
    side: Literal["both", "upper", "lower"] = "both"  # side on which the model can fail
    effect: float | None = None  # in units of the subject; by default observed less mean of the replicates
    is_main: bool = False  # the main checks have most of the level of the verdict


@dataclass(frozen=True)
class Family:
    """Discrepancies of the same kind, such as one for each rater, that are judged together.

    They are judged by their mean squared score, or by the mean likelihood ratio that one of them is off.
    """

    name: str
    dim: str  # of the members in the Dataset, such as "rater"
    members: Sequence[Any]
    observed: np.ndarray  # (member,)
    replicated: np.ndarray  # (replicate, member)
    found: str  # meaning if the members differ from the replicates
    is_judged: bool = True  # False: only a table, with the false-discovery rate over the members
    is_main: bool = False  # as of a check
    of_one: bool = False  # judged by the likelihood ratio: a single member may be off


def check_number(replicates: int) -> None:
    """Raise EvaluationError if the replicates of a tree are too few for any check to fail."""
    if replicates < FEWEST_REPLICATES:
        raise EvaluationError(
            f"model_checks: the tree has {replicates} replicates; {FEWEST_REPLICATES} are the fewest with which a check can "
            f"fail: inference.predict(tree, model, draws={2 * FEWEST_REPLICATES})"
        )


def standard_scores(observed: np.ndarray, replicated: np.ndarray) -> np.ndarray:
    """Standardise the observed value, first, and the replicates by their common mean and standard deviation.

    Values that do not vary have the score 0. Shapes: observed (...), replicated (replicate, ...), result (1 + replicate, ...).
    """
    values = np.concatenate([np.asarray(observed, float)[None], replicated])
    largest = np.maximum(values.max(axis=0), -values.min(axis=0))
    values -= values.mean(axis=0)
    sd = np.sqrt(np.einsum("r...,r...->...", values, values) / len(values))
    varies = sd > ROUNDING * (1 + largest)
    values /= np.where(varies, sd, 1)
    values[..., ~varies] = 0
    return values


def log_mean_ratio(scores: np.ndarray) -> np.ndarray:
    """Return the log of the mean over sets of the likelihood ratios at their scores (table, set)."""
    largest = scores.max(axis=1, keepdims=True)
    shares = np.exp(DISTANCE * (scores - largest)).mean(axis=1)
    return np.log(shares) + DISTANCE * largest[:, 0] - DISTANCE**2 / 2


def log_ratio_of_some(scores: np.ndarray) -> np.ndarray:
    """Return the log likelihood ratio that members are off, by scores of either sign (table, member).

    One of them with probability 1/2, else each with probability 1/2, independently: a few far off show, and many a little.
    """
    both = np.stack([scores, -scores])
    one = log_mean_ratio(np.concatenate(both, axis=1))
    off = np.logaddexp(*DISTANCE * both) - np.log(2) - DISTANCE**2 / 2
    each = (np.logaddexp(0, off) - np.log(2)).sum(axis=1)
    return np.logaddexp(one, each) - np.log(2)


def judged(
    checks: Sequence[Check], families: Sequence[Family] = (), attrs: Mapping[str, Any] | None = None
) -> xr.Dataset:
    """Return the table of all checks, those of the members of families, and the verdict.

    Shapes: over ``check`` ``observed``, ``lower``, ``upper``, ``fails_below``, ``fails_above``, ``tail_probability``,
    ``adjusted``, ``effect``, ``fails`` and the coordinate ``meaning``;
    over the dim of each family the same with its name in front. Attributes ``fits`` (0 or 1),
    ``sentences``, ``replicates`` and `attrs`. A family whose values are not finite, or that has no members, is left out.
    """
    families = [own for own in families if len(own.members)]
    together = [*checks, *(_as_check(own) for own in families if own.is_judged)]
    together = [own for own in together if np.isfinite([own.observed, *own.replicated]).all()]
    scores = np.stack([_one_sided(own) for own in together], axis=1)  # (1 + replicate, check)
    main = np.array([own.is_main for own in together])
    below, above = _limits(together, _critical(scores, main))
    columns = {
        "observed": [own.observed for own in together],
        "lower": [np.quantile(own.replicated, LEVEL) for own in together],
        "upper": [np.quantile(own.replicated, 1 - LEVEL) for own in together],
        "fails_below": below,
        "fails_above": above,
        "tail_probability": (scores >= scores[0] - ROUNDING).mean(axis=0),
        "adjusted": _adjusted(scores, main),
        "effect": [_effect(own) for own in together],
    }
    fails = columns["adjusted"] <= LEVEL + ROUNDING
    meaning = [own.high if own.observed > own.replicated.mean() else own.low for own in together]
    names = [own.name for own in together]
    values = {name: ("check", np.asarray(of_checks, float)) for name, of_checks in columns.items()}
    coords: dict[str, Any] = {"check": names, "meaning": ("check", np.array(meaning, dtype=str))}
    values["fails"] = "check", fails
    for own in families:
        values |= _members(own)
        coords[own.dim] = list(own.members)
    table = xr.Dataset(values, coords)
    order = np.argsort(columns["adjusted"], kind="stable")
    sentences = [_sentence(table.isel(check=c)) for c in order if fails[c]]
    if not sentences:
        sentences = [f"The data look as the model expects: none of {len(together)} checks fails."]
    return table.assign_attrs(
        {"fits": int(not fails.any()), "sentences": sentences, "replicates": len(scores) - 1}
        | dict(attrs or {})
    )


def _one_sided(check: Check) -> np.ndarray:
    """Return the scores (1 + replicate,) whose large values speak against the model."""
    scores = standard_scores(np.asarray(check.observed), check.replicated)
    return {"both": np.abs(scores), "upper": scores, "lower": -scores}[check.side]


def _adjusted(scores: np.ndarray, main: np.ndarray) -> np.ndarray:
    """Return the tail probabilities (check,) for all checks together; `scores` (1 + replicate, check), the observed first."""
    adjusted = np.empty(len(main))
    for own, share in ((main, MAIN_SHARE), (~main, 1 - MAIN_SHARE)):
        if own.any():
            largest = scores[:, own].max(axis=1, keepdims=True)
            tail = (largest >= scores[0, own] - ROUNDING).mean(axis=0)
            adjusted[own] = np.minimum(tail / (1.0 if own.all() else share), 1)
    return adjusted


def _critical(scores: np.ndarray, main: np.ndarray) -> np.ndarray:
    """Return the scores (check,) above which a check fails, by the replicates' largest scores over all checks."""
    critical = np.empty(len(main))
    for own, share in ((main, MAIN_SHARE), (~main, 1 - MAIN_SHARE)):
        if own.any():
            allowed = int(LEVEL * (1.0 if own.all() else share) * len(scores) + ROUNDING)
            critical[own] = np.sort(scores[1:, own].max(axis=1))[-allowed]
    return critical


def _limits(checks: Sequence[Check], critical: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the numbers (check,) below and above which each check fails, infinite where it cannot."""
    values = np.stack([[own.observed, *own.replicated] for own in checks], axis=1)  # (1 + replicate, check)
    middle, reach = values.mean(axis=0), critical * values.std(axis=0)
    side = np.array([own.side for own in checks])
    return (
        np.where(side == "upper", -np.inf, middle - reach),
        np.where(side == "lower", np.inf, middle + reach),
    )


def _effect(check: Check) -> float:
    """Return the size of a discrepancy."""
    return check.observed - check.replicated.mean() if check.effect is None else check.effect


def _as_check(family: Family) -> Check:
    """Return the mean squared score over the members of a family as one check, or its root if it is a main one.

    Its effect is beyond that of the replicates.
    """
    scores = standard_scores(family.observed, family.replicated)
    scores = log_mean_ratio(np.abs(scores)) if family.of_one else (scores**2).mean(axis=1)
    if family.is_main:  # less skewed, so that it leaves more of the level to the other main checks
        scores = np.sqrt(scores)
    main = family.is_main
    return Check(family.name, float(scores[0]), scores[1:], high=family.found, side="upper", is_main=main)


def _members(family: Family) -> dict[str, tuple[str, np.ndarray]]:
    """Return the variables of the table of the members of a family, with the false-discovery rate over them."""
    score = standard_scores(family.observed, family.replicated)[0]
    tail = 2 * norm.sf(np.abs(score))
    columns = {
        "observed": family.observed,
        "lower": np.quantile(family.replicated, LEVEL, axis=0),
        "upper": np.quantile(family.replicated, 1 - LEVEL, axis=0),
        "tail_probability": tail,
        "adjusted": false_discovery_control(tail),
        "effect": family.observed - family.replicated.mean(axis=0),
    }
    return {
        f"{family.dim}_{name}": (family.dim, np.asarray(values, float)) for name, values in columns.items()
    }


def _sentence(row: xr.Dataset) -> str:
    """Return a failed check in words."""
    meaning = str(row["meaning"].item())
    figures = f"{_number(row['observed'])}, where the model expects {_number(row['lower'])} to {_number(row['upper'])}"
    return f"{meaning[:1].upper()}{meaning[1:]}: {row['check'].item()} {figures}."


def _number(value: xr.DataArray) -> str:
    """Return a number with three significant digits, and thousands in full."""
    number = float(value)
    return f"{number:,.0f}" if abs(number) >= 1000 else f"{number:.3g}"
