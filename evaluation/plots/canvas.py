"""Figures of one or more panels, made without a window by matplotlib, plotly or bokeh.

A panel has drawing primitives that work with all of ArviZ's plotting backends. These share their primitives. Their
differences are handled here: names of marks and dashes, areas or diameters, legends, hover text, logarithms,
many intervals at once, and matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
from matplotlib import colormaps
from matplotlib.axes import Axes
from matplotlib.colors import to_hex
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine
from matplotlib.ticker import MaxNLocator, ScalarFormatter

from ..calls import EvaluationError
from .style import GREY, INK, LETTER, Picture, plain, tidy

Axis = Literal["x", "y"]
PIXELS = 1.35  # pixels per point of font size
MATRIX = "PuOr"  # colours of a matrix of probabilities
MANY = 2000  # more points are rasterised by matplotlib
READ = '<div style="white-space: pre-line">@hover</div>'
# matplotlib's marks in plotly and bokeh
MARKS = {
    "o": ("circle", "circle"),
    "s": ("square", "square"),
    "D": ("diamond", "hex"),
    "^": ("triangle-up", "triangle"),
    "v": ("triangle-down", "inverted_triangle"),
    "x": ("x-thin-open", "x"),
    "+": ("cross-thin-open", "cross"),
    "d": ("diamond-tall", "diamond"),
}


@dataclass(frozen=True)
class Panel:
    """Panel and the backend that draws on it."""

    backend: str
    target: Any

    def _library(self) -> Any:
        return import_module(f"arviz_plots.backend.{self.backend}")

    def _draw(self, primitive: str, *values: object, **look: Any) -> Any:
        return getattr(self._library(), primitive)(*values, self.target, **look)

    def _dash(self, dash: int) -> str:
        return str(self._library().get_default_aes("linestyle", dash + 1)[dash])

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
            look |= {"text": f"<b>{self._text(text)}</b>", "xref": "x domain", "yref": "y domain"}
            self.target.add_annotation(**look)

    def labels(self, x: object = "", y: object = "") -> None:
        """Label the axes."""
        self._draw("xlabel", self._text(x))
        self._draw("ylabel", self._text(y))

    def limits(self, x: tuple[float, float] | None = None, y: tuple[float, float] | None = None) -> None:
        """Set the ranges of the axes."""
        for axis, ends in (("x", x), ("y", y)):
            if ends is not None:
                self._draw(f"{axis}lim", (float(ends[0]), float(ends[1])))

    def ticks(self, axis: Axis, at: Any, names: Sequence[object], *, size: float = 8, turn: int = 0) -> None:
        """Label positions of an axis; `size` in points, `turn` in degrees."""
        look: dict[str, Any] = {"size": size if self.backend == "matplotlib" else size * PIXELS}
        look |= {"rotation": turn} if turn else {}
        self._draw(f"{axis}ticks", list(at), [self._text(name) for name in names], **look)

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

    def _named(self, label: str | None, hover: Sequence[str] | None = None) -> dict[str, Any]:
        """Return a backend's arguments for the legend entry and the hover text."""
        if self.backend == "matplotlib":
            return {"label": self._text(label)} if label else {}
        if self.backend == "bokeh":
            return {"legend_label": self._text(label)} if label else {}
        read = [self._text(h) for h in hover] if hover is not None else None
        named = {"name": self._text(label), "showlegend": True, "legendgroup": label}
        return {"hovertext": read, "hoverinfo": "text" if read else "skip", **(named if label else {})}

    def _readable(self, drawn: Any, hover: Sequence[str] | None) -> None:
        if self.backend == "bokeh" and hover is not None:
            drawn.data_source.add([str(h) for h in hover], "hover")
            self.target.add_tools("hover")
            tool = self.target.tools[-1]
            tool.renderers, tool.tooltips = [drawn], READ

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
        hover: Sequence[str] | None = None,
        **more: Any,
    ) -> None:
        """Draw a line; `more` goes to matplotlib only."""
        look = {"color": colour, "width": width, "linestyle": self._dash(dash), "alpha": alpha}
        look |= self._named(label, hover) | (more if self.backend == "matplotlib" else {})
        x, y = np.asarray(x, float), np.asarray(y, float)
        self._readable(self._draw("line", x, y, **look), hover)

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
        hover: Sequence[str] | None = None,
        hollow: bool = False,
    ) -> None:
        """Draw marks with an area in square points, of one colour or one for each."""
        x, y = np.atleast_1d(np.asarray(x, float)), np.atleast_1d(np.asarray(y, float))
        own, colour = colour, colour if isinstance(colour, str) or self.backend != "bokeh" else INK
        filled = mark in "osD^vd" and not hollow
        look: dict[str, Any] = {"color": colour, "alpha": alpha, "marker": mark, "size": area}
        look["width"] = (0 if filled else 1.7) if width is None else width
        if self.backend == "matplotlib":
            look |= {"zorder": 3, "rasterized": len(x) > MANY}
        elif self.backend == "plotly":
            look |= {"marker": MARKS[mark][0] + ("-open" if hollow else ""), "size": 2 * area}
        else:  # a diameter instead of an area
            look |= {"marker": MARKS[mark][1], "size": (area * (3.2 if mark in "x+" else 2)) ** 0.5}
        if hollow and self.backend != "plotly":
            look |= {"facecolor": None if self.backend == "bokeh" else "none", "edgecolor": colour}
        look |= self._named(label, hover)
        drawn = self._draw("scatter", x, y, **look)
        if own is not colour:
            drawn.data_source.add(list(own), "colour")
            drawn.glyph.update(fill_color="colour", line_color="colour")
        self._readable(drawn, hover)

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
        if self.backend == "matplotlib":
            draw = self.target.hlines if along == "x" else self.target.vlines
            look = self._named(label) | {"rasterized": len(low) > MANY}
            draw(place, low, high, color=colour, linewidth=width, alpha=alpha, **look)
            return
        if not len(low):
            return
        run = np.stack([low, high, np.full(len(low), np.nan)], 1).ravel()  # NaN: gaps between intervals
        across = np.repeat(place, 3)
        x, y = (run, across) if along == "x" else (across, run)
        self.line(x, y, colour=colour, width=width, alpha=alpha, label=label)

    def band(self, x: Any, low: Any, high: Any, *, colour: str, alpha: float = 0.18) -> None:
        """Fill the area between two curves."""
        look = {"hoverinfo": "skip"} if self.backend == "plotly" else {}
        self._draw("fill_between_y", x, low, high, color=colour, alpha=alpha, **look)

    def stairs(
        self,
        height: np.ndarray,
        edges: np.ndarray,
        *,
        colour: str,
        dash: int = 0,
        fill: bool = False,
        label: str | None = None,
        hover: Sequence[str] | None = None,
    ) -> None:
        """Draw a step function, or with `fill` a histogram; heights (bin,), edges (bin + 1,)."""
        if self.backend == "matplotlib":
            look = {"fill": True, "alpha": 0.75} if fill else {"baseline": None, "linewidth": 2}
            dashes = self._dash(dash)
            self.target.stairs(height, edges, color=colour, linestyle=dashes, **look, **self._named(label))
        elif fill:
            look = {"color": colour, "alpha": 0.75, "edgecolor": "white"} | self._named(label, hover)
            self._readable(self._draw("hist", height, edges[:-1], edges[1:], **look), hover)
        else:
            each = None if hover is None else [h for name in hover for h in (name, name)]
            x, y = np.repeat(edges, 2)[1:-1], np.repeat(height, 2)
            self.line(x, y, colour=colour, dash=dash, label=label, hover=each)

    def bars(
        self,
        height: np.ndarray,
        middle: np.ndarray,
        width: float,
        *,
        colour: str,
        label: str | None = None,
        hover: Sequence[str] | None = None,
    ) -> None:
        """Draw bars with gaps between them."""
        look: dict[str, Any] = {"color": colour, "alpha": 0.8}
        if self.backend == "matplotlib":
            self.target.bar(middle, height, width, zorder=2, **look, **self._named(label))
            return
        ends = middle - width / 2, middle + width / 2
        self._readable(self._draw("hist", height, *ends, **look, **self._named(label, hover)), hover)

    def rule(self, at: float, *, axis: Axis, colour: str = INK, dash: int = 1, width: float = 1.2) -> None:
        """Draw a line across the panel at a value of an axis."""
        look: dict[str, Any] = {"color": colour, "linestyle": self._dash(dash), "width": width}
        if self.backend == "plotly":
            look["exclude_empty_subplots"] = False
        self._draw("vline" if axis == "x" else "hline", at, **look)

    def write(
        self,
        x: Any,
        y: Any,
        text: Sequence[object],
        *,
        colour: str = INK,
        size: float = 7.5,
        align: tuple[str, str] = ("center", "middle"),
        over_lines: bool = False,
    ) -> None:
        """Write texts; `align` is (horizontal, vertical), `over_lines` adds a white box in print."""
        across, up = align
        size = size if self.backend == "matplotlib" else size * PIXELS
        up = "center" if up == "middle" and self.backend == "matplotlib" else up
        look = {"color": colour, "size": size, "horizontal_align": across, "vertical_align": up}
        texts = [self._text(t) for t in text]
        if self.backend == "matplotlib":
            if over_lines:
                look["bbox"] = {"facecolor": "white", "alpha": 0.9, "linewidth": 0, "pad": 0.5}
            for place in zip(np.atleast_1d(x), np.atleast_1d(y), texts, strict=True):
                self._draw("text", *place, **look)
        elif texts:
            look |= {"hoverinfo": "skip"} if self.backend == "plotly" else {}
            self._draw("text", x, y, texts, **look)

    def matrix(self, values: np.ndarray, hover: Sequence[Sequence[str]], *, colours: str = MATRIX) -> None:
        """Draw a matrix of probabilities (row, column), the first row on top."""
        n, m = values.shape
        if self.backend == "matplotlib":
            look = {"vmin": 0, "vmax": 1, "cmap": colours, "interpolation": "nearest"}
            self.target.imshow(values, **look)
        elif self.backend == "plotly":
            scale = [[p, to_hex(colormaps[colours](p))] for p in np.linspace(0, 1, 11)]
            read = [[self._text(h) for h in row] for row in hover]
            look = {"colorscale": scale, "zmin": 0, "zmax": 1, "showscale": False}
            self.target.add_heatmap(z=values, text=read, hoverinfo="text", xgap=1, ygap=1, **look)
            self.limits(y=(n - 0.5, -0.5))
        else:
            row, column = (index.ravel() for index in np.indices((n, m)))
            fill = [to_hex(colormaps[colours](p)) if p == p else "#ffffff" for p in values.ravel()]
            cells = self.target.rect(column, row, 1, 1, fill_color=fill, line_color="white")
            self._readable(cells, [h for line in hover for h in line])
            self.limits((-0.5, m - 0.5), (n - 0.5, -0.5))


def _percentage(share: float, _: object = None) -> str:
    """Return a share in percent, without trailing zeros."""
    return f"{round(100 * share, 6):g}%"


# --- Panels in reading order, and the figure that contains them ---

Backends = Literal["matplotlib", "plotly", "bokeh"]
Backend = Backends | None  # None is ArviZ's
Look = tuple[str, int, str]  # colour, dash and mark
Where = Literal["over", "right", "above"]
DOTS = 100  # screen pixels per inch of print
FAINT = "#e6e6e6"
NARROW = 500  # pixels; a legend widens narrower panels
COLOURS_THEN_MARKS = "osD^"


@dataclass(frozen=True)
class Canvas:
    """Panels in reading order, and the figure that contains them."""

    panels: tuple[Panel, ...]
    whole: Any

    @property
    def only(self) -> Any:
        """Return value of a plot with one panel: matplotlib's axes, or the figure of other libraries."""
        panel = self.panels[0]
        return self.whole if panel.backend == "plotly" else panel.target


def look_of(place: int, colours: Sequence[str]) -> Look:
    """Return colour, dash and mark of a curve; after the last colour the next dash and mark."""
    turn = place // len(colours)
    return colours[place % len(colours)], turn % 4, COLOURS_THEN_MARKS[turn % 4]


def canvas(
    size: tuple[float, float],
    shape: tuple[int, int] = (1, 1),
    *,
    backend: Backend = None,
    ax: Axes | None = None,
    ratios: Sequence[float] | None = None,
    log_x: bool = False,
) -> Canvas:
    """Return an empty figure; raise EvaluationError if the backend is unknown, not installed, or not that of `ax`.

    `size` is in inches, `shape` rows and columns of panels, of which one must be 1, `ratios` the relative heights or widths.
    """
    name = named_backend(backend, ax)
    if ax is not None:
        return Canvas((Panel(name, tidy(ax)),), ax.figure)
    rows, columns = shape
    sizes = [1.0] * max(shape) if ratios is None else list(ratios)
    share: dict[str, Any] = {"height_ratios" if columns == 1 else "width_ratios": sizes}
    if name == "matplotlib":
        figure = Picture(figsize=size, layout=ConstrainedLayoutEngine(w_pad=0.1))
        axes = figure.subplots(rows, columns, squeeze=False, **share).ravel()
        return Canvas(tuple(Panel(name, tidy(ax)) for ax in axes), figure)
    look: dict[str, Any] = {}
    if name == "plotly":
        look |= share
        look |= {"vertical_spacing": min(0.3 / rows, 0.4 / size[1])} if rows > 1 else {}
        look |= {"plot_hspace": min(0.5 / columns, 1.1 / size[0])} if columns > 1 else {}
    elif log_x:
        look = {"subplot_kws": {"x_axis_type": "log"}}
    dots = (size[0] * DOTS, size[1] * DOTS)
    library = import_module(f"arviz_plots.backend.{name}")
    figure, targets = library.create_plotting_grid(
        rows * columns, rows, columns, figsize=dots, figsize_units="dots", squeeze=False, **look
    )
    if name == "plotly":
        _style_plotly(figure)
    else:
        if figure is not None:
            figure.toolbar.logo = None
        _style_bokeh(targets, dots, np.asarray(sizes), columns == 1)
    return Canvas(tuple(Panel(name, target) for target in targets.ravel()), figure)


def legend(panel: Panel, where: Where = "over", *, title: str = "") -> None:
    """Show a legend over the panel, right of it, or above the figure; bokeh always at the right."""
    target = panel.target
    if panel.backend == "plotly":
        look = {"orientation": "h", "x": 0.5, "xanchor": "center", "y": 1.06, "yanchor": "bottom"}
        shown = look if where == "above" else {}
        target.figure.update_layout(showlegend=True, legend=shown, legend_title_text=title or None)
    elif panel.backend == "bokeh":
        if target.legend:
            box = target.legend[0]
            box.update(border_line_color=None, click_policy="hide", title=title or None)
            box.update(title_text_font_style="normal", background_fill_alpha=0.5)
            target.add_layout(box, "right")  # above, it would push the rows of one panel down
            if where != "right" or target.width < NARROW:
                longest = max(len(str(item.label.value)) for item in box.items)
                target.width += 40 + 7 * longest
    else:
        _print_legend(target, where, title)


def _print_legend(ax: Axes, where: Where, title: str) -> None:
    """Show matplotlib's legend, never on the data."""
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


def named_backend(backend: Backend, ax: Axes | None = None) -> str:
    """Return the library that draws; raise EvaluationError if it is unknown, not installed, or not that of `ax`."""
    if ax is not None:
        if backend not in (None, "matplotlib"):
            raise EvaluationError(f"backend={backend!r}: axes are matplotlib's; leave out ax")
        return "matplotlib"
    name = backend
    if name is None:
        from arviz import rcParams

        name = str(rcParams["plot.backend"])
    if name not in get_args(Backends):
        raise EvaluationError(f"backend={name!r}: expected one of {', '.join(get_args(Backends))}")
    try:
        import_module(f"arviz_plots.backend.{name}")
    except ImportError as missing:
        raise EvaluationError(f"backend={name!r} needs {missing.name}: install raterzoo[plots]") from missing
    return name


def _style_plotly(figure: Any) -> None:
    margin = {"l": 60, "r": 20, "t": 34, "b": 50}
    figure.update_layout(template="plotly_white", font={"color": INK, "size": 12}, margin=margin)
    figure.update_layout(hovermode="closest", barmode="overlay")
    line = {"showline": True, "linecolor": GREY, "gridcolor": FAINT, "zeroline": False}
    figure.update_xaxes(**line, automargin=True)
    figure.update_yaxes(**line, automargin=True)


def _style_bokeh(targets: np.ndarray, dots: tuple[float, float], ratios: Any, down: bool) -> None:
    for target, part in zip(targets.ravel(), ratios / ratios.sum(), strict=True):
        target.width, target.height = int(dots[0]), int(dots[1])
        if down:
            target.height = int(dots[1] * part)
        else:
            target.width, target.min_border_bottom = int(dots[0] * part), 58
        target.outline_line_color = None
        target.min_border_right = 12
        target.grid.grid_line_color = FAINT
        target.toolbar.logo = None
        target.axis.axis_label_text_font_style = "normal"
        target.axis.axis_line_color = GREY
        target.axis.major_tick_line_color = target.axis.minor_tick_line_color = None
