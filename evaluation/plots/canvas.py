"""Figures of one or more panels, made without a window, and the drawing primitives of a panel."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from .style import INK, LETTER, Picture, plain, tidy

Axis = Literal["x", "y"]
MANY = 2000  # more points are rasterised
DASHES = ("-", "--", ":", "-.")


@dataclass(frozen=True)
class Panel:
    """Axes with drawing primitives, whose labels are literal text."""

    ax: Axes

    def title(self, text: object, side: Literal["left", "center"] = "left") -> None:
        """Write a bold title."""
        self.ax.set_title(plain(text), loc=side, fontsize=9, fontweight="bold")

    def labels(self, x: object = "", y: object = "") -> None:
        """Label the axes."""
        self.ax.set(xlabel=plain(x), ylabel=plain(y))

    def limits(self, x: tuple[float, float] | None = None, y: tuple[float, float] | None = None) -> None:
        """Set the ranges of the axes."""
        self.ax.set(**{name: ends for name, ends in (("xlim", x), ("ylim", y)) if ends is not None})

    def ticks(self, axis: Axis, at: Any, names: Sequence[object], *, size: float = 8, turn: int = 0) -> None:
        """Label positions of an axis; `size` in points, `turn` in degrees."""
        label = self.ax.set_xticks if axis == "x" else self.ax.set_yticks
        label(list(at), [plain(name) for name in names], fontsize=size, rotation=turn)

    def percent(self, axis: Axis, low: float = 0.0, high: float = 1.0) -> None:
        """Format shares as percentages; `low` and `high` are the ends of an axis beyond 100 %, which has no ticks there."""
        if high > 1:
            at = [t for t in MaxNLocator(6).tick_values(low, high) if low <= t <= 1]
            self.ticks(axis, at, [_percentage(t) for t in at])
        else:
            (self.ax.xaxis if axis == "x" else self.ax.yaxis).set_major_formatter(_percentage)

    def logarithmic(self, ticks: np.ndarray) -> None:
        """Make the x axis logarithmic with these ticks."""
        self.ax.set_xscale("log")
        self.ax.set_xticks(ticks)
        self.ax.xaxis.set_major_formatter(ScalarFormatter())
        self.ax.minorticks_off()

    def line(
        self,
        x: Any,
        y: Any,
        *,
        colour: str,
        width: float = 2,
        dash: int = 0,
        alpha: float = 1.0,
        label: str | None = None,
        **more: Any,
    ) -> None:
        """Draw a line."""
        look = {"color": colour, "linewidth": width, "linestyle": DASHES[dash], "alpha": alpha, "zorder": 2}
        self.ax.plot(np.asarray(x, float), np.asarray(y, float), **look, **_named(label), **more)

    def points(
        self,
        x: Any,
        y: Any,
        *,
        colour: str | Sequence[str],
        mark: str = "o",
        area: float = 20,
        alpha: float = 1.0,
        width: float | None = None,
        label: str | None = None,
        hollow: bool = False,
    ) -> None:
        """Draw marks with an area in square points, of one colour or one for each."""
        x, y = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(y, float))
        fillable = mark in "osD^vd"
        look: dict[str, Any] = {
            "marker": mark,
            "s": area,
            "alpha": alpha,
            "zorder": 3,
            "rasterized": len(x) > MANY,
        }
        look["linewidths"] = (0 if fillable and not hollow else 1.7) if width is None else width
        look |= {"color": "none" if hollow else colour} | (
            {"edgecolors": colour} if fillable or hollow else {}
        )
        self.ax.scatter(x, y, **look, **_named(label))

    def spans(
        self,
        ends: tuple[Any, Any],
        place: Any,
        *,
        along: Axis,
        colour: str,
        width: float = 2,
        alpha: float = 1.0,
        label: str | None = None,
    ) -> None:
        """Draw intervals along an axis, all of them as one artist."""
        low, high, place = (np.atleast_1d(np.asarray(a, float)) for a in (*ends, place))
        draw = self.ax.hlines if along == "x" else self.ax.vlines
        look: dict[str, Any] = {"rasterized": len(low) > MANY, **_named(label)}
        draw(place, low, high, color=colour, linewidth=width, alpha=alpha, **look)

    def band(self, x: Any, low: Any, high: Any, *, colour: str, alpha: float = 0.18) -> None:
        """Fill the area between two curves."""
        self.ax.fill_between(x, low, high, color=colour, alpha=alpha, linewidth=0)

    def rule(self, at: float, *, axis: Axis, colour: str = INK, dash: int = 1, width: float = 1.2) -> None:
        """Draw a line across the panel at a value of an axis."""
        look: dict[str, Any] = {"color": colour, "linestyle": DASHES[dash], "linewidth": width}
        if axis == "x":
            self.ax.axvline(at, **look, zorder=0)
        else:
            self.ax.axhline(at, **look, zorder=2)

    def write(
        self,
        x: Any,
        y: Any,
        text: Sequence[object],
        *,
        colour: str = INK,
        size: float = 8,
        align: tuple[str, str] = ("center", "center"),
        over_lines: bool = False,
    ) -> None:
        """Write texts; `align` is (horizontal, vertical), `over_lines` adds a white box."""
        look: dict[str, Any] = {"color": colour, "fontsize": size, "ha": align[0], "va": align[1]}
        if over_lines:
            look["bbox"] = {"facecolor": "white", "alpha": 0.9, "linewidth": 0, "pad": 0.5}
        for across, up, words in zip(np.atleast_1d(x), np.atleast_1d(y), text, strict=True):
            self.ax.text(across, up, plain(words), **look)


def _named(label: str | None) -> dict[str, Any]:
    """Return the argument for an entry of the legend."""
    return {"label": plain(label)} if label else {}


def _percentage(share: float, _: object = None) -> str:
    """Return a share in percent, without trailing zeros."""
    return f"{round(100 * share, 6):g} %"


Look = tuple[str, int, str]  # colour, dash and mark
COLOURS_THEN_MARKS = "osD^"


def look_of(place: int, colours: Sequence[str]) -> Look:
    """Return colour, dash and mark of a curve; after the last colour the next dash and mark."""
    turn = place // len(colours)
    return colours[place % len(colours)], turn % 4, COLOURS_THEN_MARKS[turn % 4]


def canvas(
    size: tuple[float, float], shape: tuple[int, int] = (1, 1), *, ratios: Sequence[float] | None = None
) -> tuple[Figure, tuple[Panel, ...]]:
    """Return an empty figure and its panels in reading order.

    `size` is in inches, `shape` rows and columns of panels, of which one must be 1, `ratios` the relative heights or widths.
    """
    rows, columns = shape
    share: dict[str, Any] = {"height_ratios" if columns == 1 else "width_ratios": ratios}
    figure = Picture(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.1))
    axes = figure.subplots(rows, columns, squeeze=False, **share).ravel()
    return figure, tuple(Panel(tidy(ax)) for ax in axes)


def panel_of(ax: Axes | None, size: tuple[float, float]) -> Panel:
    """Return the panel of `ax`, or that of a new figure."""
    return canvas(size)[1][0] if ax is None else Panel(tidy(ax))


def legend(panel: Panel, where: Literal["over", "right", "above"] = "over", *, title: str = "") -> None:
    """Show a legend over the panel, right of it, or above the figure, never on the data."""
    ax = panel.ax
    shown, names = ax.get_legend_handles_labels()
    look: dict[str, Any] = {"frameon": False, "fontsize": 8, "title": title or None}
    if not names:
        return
    if where == "above" and isinstance(ax.figure, Figure):
        look |= {"loc": "outside upper center", "ncols": min(len(names), 4)}
        ax.figure.legend(shown, names, **look)
        return
    if where == "right":
        ax.legend(**look, loc="upper left", bbox_to_anchor=(1.05, 1.0))
        return
    root = ax.get_figure(root=True)
    letters = (root.get_figwidth() if root else 0) / LETTER
    columns = max(1, min(len(names), int(letters / (max(map(len, names)) + 8))))
    ax.legend(**look, loc="lower left", bbox_to_anchor=(0.0, 1.01), borderaxespad=0.0, ncols=columns)
