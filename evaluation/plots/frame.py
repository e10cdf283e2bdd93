"""Frame of a panel: title, axes and ticks, for any of ArviZ's plotting backends."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal

import numpy as np
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from .style import plain

__all__ = ["PIXELS", "Axis", "Frame"]

Axis = Literal["x", "y"]
PIXELS = 1.35  # pixels per point of font size


@dataclass(frozen=True)
class Frame:
    """Panel without its data, and the backend that draws it."""

    backend: str
    target: Any

    def _draw(self, primitive: str, *values: object, **look: Any) -> Any:
        library = import_module(f"arviz_plots.backend.{self.backend}")
        return getattr(library, primitive)(*values, self.target, **look)

    def _dash(self, dash: int) -> str:
        library = import_module(f"arviz_plots.backend.{self.backend}")
        return str(library.get_default_aes("linestyle", dash + 1)[dash])

    def _text(self, label: object) -> str:
        return plain(label, self.backend)

    def title(self, text: object, side: str = "left") -> None:
        """Write a bold title; plotly and bokeh always at the left."""
        if self.backend == "matplotlib":
            self._draw("title", self._text(text), loc=side, size=9, fontweight="bold")
        elif self.backend == "bokeh":
            self._draw("title", self._text(text))
        else:
            look = {"x": 0, "y": 1.0, "xanchor": "left", "yanchor": "bottom", "showarrow": False}
            bold = f"<b>{self._text(text)}</b>"
            self.target.add_annotation(text=bold, xref="x domain", yref="y domain", **look)

    def labels(self, x: object = "", y: object = "") -> None:
        """Label the axes."""
        self._draw("xlabel", self._text(x))
        self._draw("ylabel", self._text(y))

    def limits(self, axis: Axis, low: float, high: float) -> None:
        """Set the range of an axis."""
        self._draw(f"{axis}lim", (float(low), float(high)))

    def ticks(
        self, axis: Axis, at: Any, names: Sequence[object], *, size: float = 8, turn: int = 0
    ) -> None:
        """Label positions of an axis; `size` in points, `turn` in degrees."""
        shown = [self._text(name) for name in names]
        look: dict[str, Any] = {"size": size if self.backend == "matplotlib" else size * PIXELS}
        look |= {"rotation": turn} if turn else {}
        self._draw(f"{axis}ticks", list(at), shown, **look)

    def percent(self, axis: Axis, low: float = 0.0, high: float = 1.0) -> None:
        """Format shares as percentages."""
        if self.backend == "bokeh" or high > 1:  # no ticks beyond 100 %
            at = [t for t in MaxNLocator(6).tick_values(low, high) if low <= t <= min(high, 1)]
            self.ticks(axis, at, [_percentage(t) for t in at])
        elif self.backend == "matplotlib":
            getattr(self.target, f"{axis}axis").set_major_formatter(_percentage)
        else:
            getattr(self.target, f"update_{axis}axes")(tickformat="~%")

    def logarithmic(self, ticks: np.ndarray) -> None:
        """Make the x axis logarithmic with these ticks; bokeh sets the scale when the panel is made."""
        if self.backend == "matplotlib":
            self.target.set_xscale("log")
            self.target.set_xticks(ticks)
            self.target.xaxis.set_major_formatter(ScalarFormatter())
            self.target.minorticks_off()
            return
        if self.backend == "plotly":
            self.target.update_xaxes(type="log")
        self.ticks("x", ticks.tolist(), [f"{t:g}" for t in ticks])

    def bare(self) -> None:
        """Remove the axes and set an equal aspect ratio."""
        if self.backend == "matplotlib":
            self.target.set_aspect("equal")
            self.target.set_axis_off()
            return
        self._draw("remove_axis", axis="both")
        if self.backend == "bokeh":
            self.target.grid.visible = False
            self.target.match_aspect = True
        else:
            self.target.update_yaxes(scaleanchor="x", scaleratio=1)

    def hide_names(self, axis: Axis) -> None:
        """Hide the tick labels of an axis that a neighbouring panel shares."""
        self._draw("set_ticklabel_visibility", axis=axis, visible=False)

    def clear_grid(self) -> None:
        """Remove the grid, which would cross a matrix."""
        if self.backend == "matplotlib":
            self.target.grid(False)
            self.target.spines[:].set_visible(False)
            self.target.tick_params(length=0)
        elif self.backend == "plotly":
            self.target.update_xaxes(showgrid=False, showline=False)
            self.target.update_yaxes(showgrid=False, showline=False)
        else:
            self.target.grid.visible = False


def _percentage(share: float, _: object = None) -> str:
    """Return a share in percent, without trailing zeros."""
    return f"{round(100 * share, 6):g}%"
