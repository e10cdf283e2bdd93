"""Figure of one or more panels, made without a window by matplotlib, plotly or bokeh."""

from collections.abc import Sequence
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, get_args

import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

from ..calls import EvaluationError
from .panel import Panel
from .style import GREY, INK, LETTER, Picture, tidy

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
    name = _backend(backend, ax)
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


def _backend(backend: Backend, ax: Axes | None) -> str:
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
