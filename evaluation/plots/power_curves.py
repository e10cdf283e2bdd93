"""Survey power curve: the score of k raters, and the equivalences of classifiers."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from ...posterior.errors import EvaluationError
from ..argument_checks import check_whole
from ..surveys.item_states.equivalence import survey_summary
from ..surveys.results import equivalence_in_words
from .canvas import Panel, legend, look_of, panel_of
from .style import COLOURS, INK, in_words, letters_wide, one_or_more, shortened

FEW = 12  # up to so many raters each has a tick
WIDTH, HEIGHT = 5.2, 3.8  # inches, without the legend
FAR = 0.4  # heights of the curves beyond which a score is moved to the edge
STEP = 0.06  # of the height, between scores at the edge
BAR = 0.03  # of the height, between intervals of equivalences


@dataclass(frozen=True)
class Drop:
    """Path of a classifier along its score to the curve, and down to its equivalence."""

    label: str  # entry of the legend
    x: np.ndarray  # (point,), numbers of raters
    y: np.ndarray  # (point,), scores
    worth: float  # equivalence, infinite where censored
    ends: tuple[float, float] | None  # its interval


@dataclass(frozen=True)
class Curve:
    """Power curve with its band, the classifiers on it, and its asymptote."""

    name: str
    x: np.ndarray  # (k,)
    y: np.ndarray  # (k,)
    ends: np.ndarray | None  # (bound, k)
    drops: tuple[Drop, ...] = ()
    limit: tuple[float, np.ndarray | None] | None = None  # asymptote and its interval (bound,)
    observed: tuple[np.ndarray, np.ndarray] | None = None  # k and curve of the data


def power_curve(
    result: xr.Dataset | Mapping[str, xr.Dataset],
    *,
    centred: bool = False,
    most: int | None = None,
    ax: Axes | None = None,
) -> Axes:
    """Draw the score of k raters against one more rater, and the number of raters classifiers are worth.

    Parameters
    ----------
    result : Dataset or mapping of str to Dataset
        Result of `evaluation.survey_power_curve`, `evaluation.survey_equivalence` or
        `papers.rater_equivalence`, or several by name. Draws of a posterior are summarised by
        `papers.survey_summary`, whose result is accepted, too.
    centred : bool
        Whether the vertical axis starts from the score of no labels: the information gain.
    most : int, optional
        Largest number of raters to show; by default all.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        A curve with its band. From each classifier's score a line to the curve and down to its equivalence,
        with the interval at the bottom. A classifier better than the longest curve ends in a triangle at the
        right, one worse than no labels in a triangle at the left. For a posterior, the asymptote is dashed,
        and circles are the curve of the data. Amateurs have their own curve (Resnick et al., 2021,
        arXiv:2106.01254).

    Raises
    ------
    EvaluationError
        If there is no power curve, or `most` is not a whole number from 1.

    Examples
    --------
    >>> from raterzoo import evaluation, models
    >>> labels = models.simulators.urn_items(items=50, raters=5, random_seed=1).data
    >>> axes = evaluation.plots.power_curve(evaluation.survey_power_curve(labels, bootstrap=50))
    >>> axes.get_xlabel()
    'raters who are combined'
    """
    if most is not None:
        check_whole("most", most, 1, "a whole number of raters")
    results = one_or_more(result, ("power_curve", "information_gain"), "survey_power_curve", "")
    for name, own in results.items():
        if "draw" in own["power_curve"].dims:
            results[name] = survey_summary(own)
        elif own["power_curve"].dims != ("k",):
            raise EvaluationError(
                f"power_curve has dims {own['power_curve'].dims}, expected ('k',): pick one curve by result.sel(...)"
            )
    curves = [c for name, own in results.items() for c in _curves(own, name, centred)]
    labels = [d.label for c in curves for d in c.drops] + [c.name for c in curves]
    named = any(labels) or any(c.limit for c in curves)
    panel = panel_of(ax, (WIDTH + (letters_wide(labels) + 0.4 if named else 0), HEIGHT))
    last = max(c.x[-1] for c in curves)
    last = last if most is None else min(last, most)
    low, high = _limits(panel, curves, last)
    for place, curve in enumerate(curves):
        _draw_curve(panel, curve, (INK, 0) if len(curves) == 1 else look_of(place, COLOURS)[:2])
    first = len(curves) if len(curves) > 1 else 0  # colour after those of the curves
    for k, drop in enumerate(drop for curve in curves for drop in curve.drops):
        foot = low, low + (k + 1) * BAR * (high - low), last  # each interval in a row of its own
        _draw_drop(panel, drop, look_of(first + k, COLOURS)[:2], foot)
    attrs = next(iter(results.values())).attrs
    scorer = str(attrs.get("scorer", "score"))
    unit = " in bits" if scorer == "cross_entropy" and attrs.get("base") == 2 else ""
    what = "information gain" if centred else "score against one more rater"
    panel.labels("raters who are combined", f"{what}\n({in_words(scorer)}{unit})")
    if named:
        legend(panel, "right")
    return panel.ax


def _curves(own: xr.Dataset, name: str, centred: bool) -> list[Curve]:
    """Return the curve of a Dataset, and that of the amateurs if there are any."""
    shown = "information_gain" if centred else "power_curve"
    at, height, ends = own["k"].to_numpy(), own[shown].to_numpy(), _ends(own, shown)
    zero = float(own["baseline"]) if centred else 0.0
    drops = _drops(own, name, zero, (height, ends)) if "score" in own else []
    limit, observed = None, None
    if "asymptote" in own:
        band = _ends(own, "asymptote_gain" if centred else "asymptote")
        limit = float(own["asymptote"]) - zero, band
    if "observed_curve" in own:
        seen = own["observed_curve"].to_numpy()
        observed = own["checked_k"].to_numpy(), seen - (seen[0] if centred else 0.0)
    if "amateurs" not in own.dims:
        return [Curve(name, at, height, ends, tuple(drops), limit, observed)]
    score = "classifier_gain" if centred else "score"
    amateurs = own["amateurs"].to_numpy(), own[score].to_numpy(), _ends(own, score)
    of = f"{name}: " if name else ""
    # one path, of the largest number of amateurs, which starts at their number
    last, most = drops[-1], float(own["amateurs"][-1])
    label = f"{most:g} amateurs: {str(own['words'].to_numpy()[-1]).replace('rater', 'expert')}"
    x = np.array([most, last.worth]) if np.isfinite(last.worth) else np.array([most])
    path = Drop(label, x, np.repeat(last.y[-1], len(x)), last.worth, last.ends)
    return [Curve(f"{of}experts", at, height, ends), Curve(f"{of}amateurs", *amateurs, (path,))]


def _ends(own: xr.Dataset, name: str) -> np.ndarray | None:
    """Return the bounds (bound, ...) of a variable, or None."""
    found = own.get(f"{name}_interval")
    return None if found is None else found.transpose("bound", ...).to_numpy()


def _drops(
    own: xr.Dataset, title: str, zero: float, curve: tuple[np.ndarray, np.ndarray | None]
) -> list[Drop]:
    """Return the drops of all classifiers; scores far from the curve are moved to the edge and printed."""
    dim = "amateurs" if "amateurs" in own.dims else "classifier"
    several = own if dim in own["score"].dims else own.expand_dims({dim: ["classifier"]})
    names = shortened(several[dim].to_numpy())
    of = f"{title}: " if title else ""
    inked = np.concatenate([np.ravel(part) for part in curve if part is not None])
    low, high = inked[np.isfinite(inked)].min(), inked[np.isfinite(inked)].max()
    room = FAR * ((high - low) or 1.0)
    at, drops, outside = own["k"].to_numpy(), [], 0
    for place, name in enumerate(names):
        one = several.isel({dim: place})
        censored = {"below": -np.inf, "above": np.inf}
        worth = censored.get(str(one["censored"].item()), float(one["equivalence"]))
        bounds = _ends(one, "equivalence")
        ends = None if bounds is None or np.isnan(bounds).any() else (float(bounds[0]), float(bounds[1]))
        score = one.get("score_of_same_items", one["score"]).to_numpy()
        height = np.broadcast_to(score, at.shape) - zero
        if "words" in one:
            words = str(one["words"].item())
        else:
            words = equivalence_in_words(worth, int(at[-1]), None if ends is None else np.array(ends))
        label = f"{of}{name}: {words}"
        if not low - room <= height[0] <= high + room:
            label += f" (score {float(one['score']):.3g})"
            outside += 1  # separate heights, so that none hides another
        edge = room + STEP * ((high - low) or 1.0) * max(outside - 1, 0)
        height = np.clip(height, low - edge, high + edge)
        to = at[-1] if np.isnan(worth) else np.clip(worth, at[0], at[-1])
        x = np.append(at[at < to], to)
        drops.append(Drop(label, x, np.interp(x, at, height), worth, ends))
    return drops


def _limits(panel: Panel, curves: list[Curve], last: float) -> tuple[float, float]:
    """Fit the axes to the curves, with room for the intervals at the bottom; return the y range."""
    inked = [np.ravel(part) for c in curves for part in (c.y, c.ends) if part is not None]
    inked += [drop.y for c in curves for drop in c.drops]
    for c in curves:
        inked += [np.ravel(part) for part in c.limit or () if part is not None]
        inked += [c.observed[1]] if c.observed is not None else []
    finite = np.concatenate(inked)
    finite = finite[np.isfinite(finite)]
    low, high = finite.min(), finite.max()
    span = (high - low) or 0.1
    rows = sum(len(c.drops) for c in curves)
    low, high = low - span * (0.05 + BAR * (rows + 1)), high + 0.05 * span
    panel.limits((-0.02 * last, 1.02 * last), (low, high))
    if last <= FEW:
        panel.ticks("x", range(int(last) + 1), range(int(last) + 1))
    return float(low), float(high)


def _draw_curve(panel: Panel, curve: Curve, look: tuple[str, int]) -> None:
    """Draw a curve with its band and asymptote, and the curve of the data for comparison."""
    colour, dash = look
    seen = np.isfinite(curve.y)
    x, y = curve.x[seen], curve.y[seen]
    if curve.ends is not None:
        panel.band(x, *curve.ends[:, seen], colour=colour)
    of = f"{curve.name}: " if curve.name else ""
    if curve.limit is not None:
        height, ends = curve.limit
        edges = np.array([curve.x[0], curve.x[-1]], float)
        if ends is not None:
            panel.band(edges, *np.repeat(ends[:, None], 2, axis=1), colour=colour, alpha=0.1)
        panel.line(edges, [height] * 2, colour=colour, dash=1, width=1.2, label=f"{of}asymptote")
    panel.line(x, y, colour=colour, dash=dash, label=curve.name or None)
    panel.points(x, y, colour=colour, area=9)
    if curve.observed is not None:
        panel.points(*curve.observed, colour=colour, area=40, hollow=True, label=f"{of}the data")


def _draw_drop(panel: Panel, drop: Drop, look: tuple[str, int], foot: tuple[float, float, float]) -> None:
    """Draw a classifier's path to the curve and down to the x axis, and its interval above that."""
    (colour, dash), (low, row, last) = look, foot
    inside = np.isfinite(drop.worth)
    x, y = (np.append(drop.x, drop.x[-1]), np.append(drop.y, low)) if inside else (drop.x, drop.y)
    line = len(x) > 1
    if line:
        panel.line(x, y, colour=colour, dash=dash, width=1.4, label=drop.label)
    if not np.isnan(drop.worth):
        mark = "v" if drop.worth < 0 else "o" if drop.worth <= last else "^"
        end = min(drop.x[-1], last)
        style = {"mark": mark, "area": 36, "label": None if line else drop.label}
        panel.points([end], [np.interp(end, drop.x, drop.y)], colour=colour, **style)
    if drop.ends is not None and drop.ends[0] < drop.ends[1]:
        first, end = np.clip(drop.ends, 0, last)
        panel.spans(([first], [end]), [row], along="x", colour=colour, width=3.5, alpha=0.6)
