"""Strips: the posterior plausibility of every category of some items."""

from collections.abc import Mapping, Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from ..plausibility import plausibility_of
from .draws import draws_of_item
from .style import COLOURS, GREY, plain, tidy

__all__ = ["plausibility_strips"]

MOST_CATEGORIES = 10


def plausibility_strips(
    tree: xr.DataTree | xr.DataArray,
    items: Sequence[str | int] | None = None,
    *,
    point: Mapping[str, xr.DataArray] | None = None,
) -> Figure:
    """Draw the plausibilities of each item's categories: median, 50 % and 90 % intervals.

    Parameters
    ----------
    tree : DataTree or DataArray
        Posterior, flat or dense.
    items : sequence, optional
        Which items; by default the first six.
    point : mapping of str to DataArray, optional
        Point estimates by name (IRN, maximum likelihood), in the flat layout; drawn as marks.

    Returns
    -------
    matplotlib.figure.Figure
        One panel for each item; the categories by mean plausibility, ten at the most. OTHER, the categories that nobody ranked,
        is grey.

    References
    ----------
    Stutz et al. (2025), figure 5.
    """
    plausibility = plausibility_of(tree)
    every = list(dict.fromkeys(plausibility["item"].to_numpy().tolist()))
    shown = every[:6] if items is None else list(items)
    if missing := [i for i in shown if i not in every]:
        raise ValueError(f"no item {missing[0]!r}; the items are such as {every[0]!r}")
    chosen = [draws_of_item(plausibility, item) for item in shown]
    heights = [min(len(names), MOST_CATEGORIES) + 1.4 for names, _ in chosen]
    figure = Figure(figsize=(6.4, 0.27 * sum(heights) + 0.4), layout="constrained")
    axes = figure.subplots(len(shown), 1, squeeze=False, sharex=True, height_ratios=heights)[:, 0]
    for ax, item, (names, draws) in zip(axes, shown, chosen, strict=True):
        _strip(ax, names, draws)
        ax.set_title(plain(item), loc="left", fontsize=9, fontweight="bold")
        marks = {name: draws_of_item(p, item) for name, p in (point or {}).items()}
        _mark(ax, marks, names[_best(draws)])
    axes[-1].set(xlabel="plausibility", xlim=(0, 1))
    if point:
        axes[0].legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def _best(draws: np.ndarray) -> np.ndarray:
    """Return the categories to show, the most plausible last."""
    return np.argsort(-draws.mean(axis=0), kind="stable")[:MOST_CATEGORIES][::-1]


def _strip(ax: Axes, names: np.ndarray, draws: np.ndarray) -> None:
    """Draw median and intervals of one item's categories."""
    best = _best(draws)
    low, first, median, third, high = np.quantile(
        draws[:, best], [0.05, 0.25, 0.5, 0.75, 0.95], axis=0
    )
    colours = [GREY if name == "OTHER" else COLOURS[0] for name in names[best]]
    rows = np.arange(len(best))
    ax.hlines(rows, low, high, color=colours, linewidth=1.2)
    ax.hlines(rows, first, third, color=colours, linewidth=5, alpha=0.6)
    ax.scatter(median, rows, color=colours, s=18, zorder=3)
    ax.set_yticks(rows, [plain(_short(str(name))) for name in names[best]], fontsize=8)
    ax.set_ylim(-0.6, len(best) - 0.4)
    tidy(ax)


def _mark(ax: Axes, marks: dict[str, tuple[np.ndarray, np.ndarray]], shown: np.ndarray) -> None:
    """Mark the point estimates of the categories that are shown."""
    rows = {name: row for row, name in enumerate(shown.tolist())}
    for (estimate, (names, value)), marker in zip(marks.items(), "xd+^" * len(marks), strict=False):
        at = [(value[0, k], rows[n]) for k, n in enumerate(names.tolist()) if n in rows]
        look = {"marker": marker, "color": COLOURS[1], "s": 30, "zorder": 4}
        ax.scatter(*zip(*at, strict=True), label=plain(estimate), **look)


def _short(name: str) -> str:
    """Shorten a label that would push the picture aside."""
    return name if len(name) <= 34 else f"{name[:33]}…"
