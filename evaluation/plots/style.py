"""Style: colour-blind-safe colours, literal labels, and axes without chart junk."""

from collections.abc import Iterable
from html import escape

from matplotlib.axes import Axes

from .shown import Picture

__all__ = ["COLOURS", "GREY", "INK", "LONGEST", "new_axes", "plain", "shortened", "tidy"]

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito
INK, GREY = "#222222", "#9a9a9a"
LONGEST = 34  # letters of a label; longer ones would squeeze the plot
APART = "\N{ZERO WIDTH SPACE}"


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new figure, which is not registered with pyplot."""
    return Picture(figsize=size, layout="constrained").add_subplot() if ax is None else ax


def plain(label: object, backend: str = "matplotlib") -> str:
    """Return a label as literal text, escaped against mathematics between dollars and HTML."""
    text = str(label)
    if backend == "plotly":
        return escape(text, quote=False).replace("$", "&#36;").replace("\n", "<br>")
    if backend == "bokeh":  # reads $$ and \( as mathematics
        return text.replace("$", f"${APART}").replace("\\", f"\\{APART}")
    return text.replace("$", r"\$")


def shortened(names: Iterable[object], longest: int = LONGEST) -> list[str]:
    """Return names with long middles elided, but still distinct."""
    texts = [str(name) for name in names]
    short = {text: _without_middle(text, longest) for text in texts}
    room = longest
    while len(set(short.values())) < len(short):
        room += 8
        taken = list(short.values())
        for text, now in short.items():
            if taken.count(now) > 1:
                short[text] = _without_middle(text, room)
    return [short[text] for text in texts]


def _without_middle(text: str, longest: int) -> str:
    if len(text) <= longest:
        return text
    tail = longest // 3
    return f"{text[: longest - tail - 1]}…{text[len(text) - tail :]}"


def tidy(ax: Axes) -> Axes:
    """Remove the box and draw a faint grid behind the data."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    ax.set_axisbelow(True)
    return ax
