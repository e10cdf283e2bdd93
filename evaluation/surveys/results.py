"""Results of a survey as a Dataset: curve, classifiers, their differences, and intervals."""

from dataclasses import dataclass

import numpy as np
import xarray as xr

from .resampling import SurveyScores
from .survey import Survey

ROUNDING = 1e-12  # relative to the scores, or to one
BOUNDS = ["lower", "upper"]


def crossing(curve: np.ndarray, score: np.ndarray) -> np.ndarray:
    """Return the equivalence (...) of scores (..., k) on curves (..., k).

        equivalence = k - (c_k - s_k) / ((c_k - s_k) - (c_{k-1} - s_{k-1})),  k the smallest with c_k > s_k

    -inf if the curve starts above the score, inf if it never is above, NaN if either is NaN at k = 0. s_k is
    the score on the items of c_k: one number if all items have as many labels.
    """
    gap = signed_gap(curve, score)
    above = gap > 0
    k = above.argmax(axis=-1)
    here = np.take_along_axis(gap, k[..., None], -1)[..., 0]
    before = np.take_along_axis(gap, np.maximum(k - 1, 0)[..., None], -1)[..., 0]
    with np.errstate(invalid="ignore", divide="ignore"):
        inside = k - np.where(np.isinf(here), 1.0, here / (here - before))
    found = np.where(above.any(axis=-1), np.where(k == 0, -np.inf, inside), np.inf)
    return np.where(np.isnan(gap[..., 0]), np.nan, found)


def signed_gap(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return value - other; 0 where they agree up to rounding or are the same infinity."""
    with np.errstate(invalid="ignore"):
        gap = value - other
        size = np.maximum(1, np.maximum(np.abs(value), np.abs(other)))
        # rounding applies to finite gaps only
        tied = (value == other) | (np.isfinite(gap) & (np.abs(gap) <= ROUNDING * size))
    return np.where(tied, 0.0, gap)


def probability_above(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return the share of draws (..., draw) in which value exceeds other, ties counted half."""
    gap = signed_gap(value, other)
    return (gap > 0).mean(axis=-1) + (gap == 0).mean(axis=-1) / 2


def interval_of(draws: np.ndarray, probability: float) -> np.ndarray:
    """Return the equal-tailed interval (..., 2) of draws (..., draw), NaN ignored; with infinite draws the bounds are draws."""
    tails = [(1 - probability) / 2, (1 + probability) / 2]
    if np.isfinite(draws).all():
        return np.moveaxis(np.quantile(draws, tails, axis=-1), 0, -1)
    bounds = np.full((*draws.shape[:-1], 2), np.nan)
    for place in np.ndindex(draws.shape[:-1]):
        own = draws[place][~np.isnan(draws[place])]
        if len(own):
            method = "linear" if np.isfinite(own).all() else "closest_observation"
            bounds[place] = np.quantile(own, tails, method=method)
    return bounds


def equivalence_in_words(equivalence: float, largest: int, interval: np.ndarray | None) -> str:
    """Return the equivalence as text, such as "2.3 raters (1.8 to 3.0)"; "no rater" below the score of no labels."""
    if np.isnan(equivalence):
        return "unknown"
    text = "no rater"
    if not np.isneginf(equivalence):
        text = _number(equivalence, largest)
        text += " rater" if text == "1.0" or (np.isposinf(equivalence) and largest == 1) else " raters"
    if interval is None or np.isnan(interval).any():
        return text
    low, high = (_number(bound, largest) for bound in interval)
    return text if np.isinf(equivalence) and low == high else f"{text} ({low} to {high})"


def _number(equivalence: float, largest: int) -> str:
    if np.isneginf(equivalence):
        return "none"
    return f"more than {largest}" if np.isposinf(equivalence) else f"{equivalence:.1f}"


@dataclass(frozen=True)
class SurveyDataset:
    """Layout of survey scores as a Dataset."""

    survey: Survey
    scores: SurveyScores
    probability: float  # of the intervals
    draws: bool  # whether to return the resamples

    @property
    def resampled(self) -> bool:
        """Whether there are resamples, and so intervals."""
        return self.scores.curve_draws.shape[-1] > 0

    def curve(self) -> xr.Dataset:
        """Return the Dataset of the power curve."""
        scores, survey = self.scores, self.survey
        gain = _above(scores.curve, scores.curve[0])
        gain_draws = _above(scores.curve_draws, scores.curve_draws[:1])
        found = xr.Dataset(
            {
                "power_curve": ("k", scores.curve),
                "baseline": ((), scores.curve[0]),
                "information_gain": ("k", gain),
                "items": ("k", survey.eligible.sum(axis=1)),
                "monte_carlo_error": ("k", scores.curve_error),
            },
            {"k": np.arange(survey.largest + 1)},
            self._attributes(),
        )
        drawn = {"power_curve": (("k",), scores.curve_draws), "information_gain": (("k",), gain_draws)}
        return self._with_intervals(found, drawn)

    def classifiers(self, names: np.ndarray, dim: str = "classifier") -> xr.Dataset:
        """Return the Dataset of the power curve and of classifiers, named along `dim`."""
        scores = self.scores
        equivalence = crossing(scores.curve, scores.classifier)
        drawn = crossing(scores.curve_draws.T, np.moveaxis(scores.classifier_draws, -2, -1))
        score, score_draws = scores.classifier[:, 0], scores.classifier_draws[:, 0]
        variables = {
            "score": (dim, score),
            "score_of_same_items": ((dim, "k"), scores.classifier),
            "classifier_gain": (dim, _above(score, scores.curve[0])),
            "score_monte_carlo_error": (dim, scores.classifier_error[:, 0]),
        }
        found = self.curve().assign_coords({dim: names})
        found = found.assign(variables | self._equivalences(equivalence, drawn, dim))
        if self.resampled:
            above = probability_above(scores.classifier_draws, scores.curve_draws)
            found["probability_above"] = ((dim, "k"), above)
        gain = _above(score_draws, scores.curve_draws[0])
        by_name = {"score": score_draws, "classifier_gain": gain, "equivalence": drawn}
        found = self._with_intervals(found, {name: ((dim,), d) for name, d in by_name.items()})
        return self._differences(found, equivalence, drawn, dim) if len(names) > 1 else found

    def _equivalences(
        self, equivalence: np.ndarray, drawn: np.ndarray, dim: str
    ) -> dict[str, tuple[str, np.ndarray]]:
        """Return the variables of equivalences (classifier,), infinite where censored, and of drawn ones, and their text."""
        inside = np.where(np.isinf(equivalence), np.nan, equivalence)
        below, above = np.isneginf(equivalence), np.isposinf(equivalence)
        intervals = interval_of(drawn, self.probability) if self.resampled else None
        ends = [None] * len(drawn) if intervals is None else intervals
        pairs = zip(equivalence.tolist(), ends, strict=True)
        words = [equivalence_in_words(value, self.survey.largest, interval) for value, interval in pairs]
        return {
            "equivalence": (dim, inside),
            "integer_equivalence": (dim, np.ceil(inside)),
            "censored": (dim, np.where(below, "below", np.where(above, "above", ""))),
            "words": (dim, np.array(words)),
        }

    def _differences(
        self, found: xr.Dataset, equivalence: np.ndarray, drawn: np.ndarray, dim: str
    ) -> xr.Dataset:
        """Add the pairwise differences of the classifiers in score and equivalence."""
        found, dims = found.assign_coords(versus=found[dim].to_numpy()), (dim, "versus")
        score, score_draws = self.scores.classifier[:, 0], self.scores.classifier_draws[:, 0]
        # unknown if both are censored on the same side
        more, more_draws = _above(equivalence[:, None], equivalence), _above(drawn[:, None], drawn)
        found["score_difference"] = (dims, _above(score[:, None], score))
        found["equivalence_difference"] = (dims, np.where(np.isfinite(more), more, np.nan))
        difference = _above(score_draws[:, None], score_draws)
        if self.resampled:
            found["probability_better"] = (dims, probability_above(score_draws[:, None], score_draws))
            unknown = np.isnan(more_draws).any(axis=-1, keepdims=True)
            more_draws = np.where(unknown, np.nan, more_draws)
        pairs = {"score_difference": difference, "equivalence_difference": more_draws}
        return self._with_intervals(found, {name: (dims, d) for name, d in pairs.items()})

    def _with_intervals(
        self, found: xr.Dataset, drawn: dict[str, tuple[tuple[str, ...], np.ndarray]]
    ) -> xr.Dataset:
        """Add intervals from resamples (*dims, resample), and the resamples themselves if requested."""
        if not self.resampled:
            return found
        found = found.assign_coords(bound=BOUNDS)
        for name, (dims, draws) in drawn.items():
            found[f"{name}_interval"] = ((*dims, "bound"), interval_of(draws, self.probability))
            if self.draws:
                found[f"{name}_draw"] = ((*dims, "resample"), draws)
        return found

    def _attributes(self) -> dict[str, object]:
        rules, survey = self.survey.rules, self.survey
        sizes = survey.left_out.size
        unanimous = (survey.labels.counts.max(axis=1) == survey.labels.size).all()
        note = "all labels of every item are the same, so that from k = 1 on more raters add nothing to the curve"
        return {
            "combiner": _name(rules.combiner),
            "scorer": _name(rules.scorer),
            "clip": rules.clip,
            "item_rule": rules.items,
            **{name: getattr(rules, name) for name in ("estimand", "learn", "base", "reference")},
            "probability": self.probability,
            "left_out": len(sizes),
            "left_out_without_label": int((sizes == 0).sum()),
            "left_out_with_one_label": int((sizes == 1).sum()),
            "note": note if unanimous else "",
        }


def _above(value: np.ndarray, other: np.ndarray) -> np.ndarray:
    """Return value - other; NaN between two equal infinities."""
    with np.errstate(invalid="ignore"):
        return value - other


def _name(value: object) -> str:
    return value if isinstance(value, str) else str(getattr(value, "__name__", type(value).__name__))
