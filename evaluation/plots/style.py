"""Colours that the colour-blind can tell apart, and axes without chart junk."""

from matplotlib.axes import Axes
from matplotlib.figure import Figure

__all__ = ["COLOURS", "GREY", "INK", "new_axes", "plain", "tidy"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito
INK, GREY = "#222222", "#9a9a9a"


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new figure that no window manager knows of."""
    return Figure(figsize=size, layout="constrained").add_subplot() if ax is None else ax


def plain(label: object) -> str:
    """Return the text of a label as it is: between dollars matplotlib would read mathematics."""
    return str(label).replace("$", r"\$")


def tidy(ax: Axes) -> Axes:
    """Take the box away and draw a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax
