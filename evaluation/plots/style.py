"""Style: colour-blind-safe colours, literal labels, and axes without chart junk."""

import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from io import BytesIO
from typing import Any

import numpy as np
import xarray as xr
from matplotlib import font_manager
from matplotlib.axes import Axes
from matplotlib.colors import to_rgb
from matplotlib.figure import Figure
from matplotlib.text import Text

from ...posterior.errors import EvaluationError


def some_items(arrays: Mapping[str, xr.DataArray], argument: str) -> None:
    """Raise if there are no arrays or one of them is empty."""
    if not arrays:
        raise EvaluationError(f"{argument} is empty: there is nothing to draw")
    for name, array in arrays.items():
        if not array.size:
            of = f" of {name!r}" if name else ""
            raise EvaluationError(
                f"{argument}{of} is empty, with sizes {dict(array.sizes)}: there is nothing to draw"
            )


def _with_package(source: str) -> str:
    """Name of a function with its package, `evaluation` unless it has one."""
    return source if source.startswith("papers.") else f"evaluation.{source}"


def needs(dataset: object, variables: Sequence[str], source: str) -> None:
    """Raise unless a Dataset has the non-empty variables that a function returns, of `evaluation` unless its package is named."""
    source = _with_package(source)
    if not isinstance(dataset, xr.Dataset):
        raise EvaluationError(f"a {type(dataset).__name__} cannot be drawn: pass the Dataset of {source}")
    if missing := [name for name in variables if name not in dataset]:
        found = ", ".join(map(str, dataset.data_vars)) or "none"
        raise EvaluationError(f"no variable {missing[0]!r} among {found}: pass the Dataset of {source}")
    some_items({name: dataset[name] for name in variables}, f"the Dataset of {source}")


def needs_array(given: object, dims: Sequence[str], source: str) -> None:
    """Raise unless a DataArray has the dims of what a function of `evaluation` returns."""
    if isinstance(given, xr.DataArray) and set(dims) <= {*given.dims}:
        return
    found = f"DataArray with dims {given.dims}" if isinstance(given, xr.DataArray) else type(given).__name__
    raise EvaluationError(f"a {found} cannot be drawn: pass the DataArray of {_with_package(source)}")


def readings(template: str, *values: Any) -> list[str]:
    """Return texts, one for each element of the values, which are broadcast."""
    return [template.format(*row) for row in np.broadcast(*values)]


def one_or_more(
    given: xr.Dataset | Mapping[str, xr.Dataset], variables: Sequence[str], source: str, single: str
) -> dict[str, xr.Dataset]:
    """Return validated Datasets by name; a single one is named `single`."""
    if isinstance(given, xr.Dataset) or not isinstance(given, Mapping):  # a Dataset is a Mapping
        needs(given, variables, source)
        return {single: given}
    if not given:
        raise EvaluationError(f"no Dataset: pass some of {_with_package(source)} by name")
    for own in given.values():
        needs(own, variables, source)
    return {str(name): own for name, own in given.items()}


LETTER = 0.062  # inches, width of a letter at 8 points
MARGIN = 0.03  # of the axis, beyond the data
MOST = 0.36  # of the axis, half the width of a text at most


def letters_wide(names: Iterable[object]) -> float:
    """Return the width in inches of the longest name, with the gap to the axis."""
    return 0.15 + LETTER * max((len(str(name)) for name in names), default=0)


def limits_with_texts(
    drawn: tuple[float, float], middles: np.ndarray, letters: int, width: float
) -> tuple[float, float]:
    """Return limits of an axis `width` inches wide that hold the range `drawn` and texts of `letters` letters at `middles`."""
    left, right = low, high = drawn
    if not len(middles):
        return low - MARGIN * (high - low), high + MARGIN * (high - low)
    first, last = float(middles.min()), float(middles.max())
    half = min(LETTER * letters / 2 / width, MOST)
    for _ in range(60):  # fixed point: a wider axis makes texts wider in its units, by a factor < 1
        span = (right - left) or 0.1
        left = min(low - MARGIN * span, first - half * span)
        right = max(high + MARGIN * span, last + half * span)
    return left, right


DPI = 110


# fonts with Chinese, Japanese and Korean letters, of Linux, Windows and macOS; the default font has none
CJK = ("Noto Sans CJK JP", "Noto Sans CJK SC", "WenQuanYi Zen Hei", "Microsoft YaHei", "Yu Gothic", "Malgun Gothic",
       "PingFang SC", "Hiragino Sans", "Apple SD Gothic Neo", "Arial Unicode MS")  # fmt: skip


@cache
def cjk_fonts() -> tuple[str, ...]:
    """Return the fonts of `CJK` that are installed."""
    known = set(font_manager.get_font_names())
    return tuple(name for name in CJK if name in known)


class Picture(Figure):
    """Figure that displays itself as the last expression of a notebook cell, with fonts for letters beyond ASCII."""

    def draw(self, renderer: Any) -> None:
        """Draw, with fonts that have the letters where they are installed."""
        for ax in self.axes:
            _ = ax.get_xticklabels(), ax.get_yticklabels()  # which makes them
        for text in self.findobj(Text):
            if isinstance(text, Text) and not text.get_text().isascii():
                own = text.get_fontfamily()
                text.set_fontfamily([*own, *(name for name in cjk_fonts() if name not in own)])
        super().draw(renderer)

    def _repr_png_(self) -> bytes:
        page = BytesIO()
        self.savefig(page, format="png", dpi=DPI, bbox_inches="tight")
        return page.getvalue()

    def add_subplot(self, *args: Any, **kwargs: Any) -> Any:
        """Add axes that display the whole figure."""
        if "projection" not in kwargs and "polar" not in kwargs:
            kwargs.setdefault("axes_class", Plot)
        return super().add_subplot(*args, **kwargs)


class Plot(Axes):
    """Axes that display their figure."""

    def _repr_png_(self) -> bytes | None:
        figure = self.get_figure(root=True)
        return figure._repr_png_() if isinstance(figure, Picture) else None


# metrics of the k best labels, with k at the end of their names
OF_THE_BEST = (
    "set_accuracy",
    "overlap",
    "average_overlap",
    "rank_biased_overlap",
    "kendall_tau",
    "spearman_footrule",
    "ndcg",
)

WORDS = {
    "cross_entropy": "cross-entropy",
    "rank_biased": "rank-biased",
    "kendall_tau": "Kendall's tau",
    "spearman_footrule": "Spearman's footrule",
    "cohen_kappa": "Cohen's kappa",
    "matthews_correlation": "Matthews correlation",
    "matthews_corrcoef": "Matthews correlation",
    "brier": "Brier",
    "f1": "F1",
    "ndcg": "nDCG",
    "roc_auc": "ROC AUC",
}


def in_words(name: object) -> str:
    """Return the display name of a metric: "top-3 accuracy" for ``top_3_accuracy``."""
    text, best = str(name), ""
    kind, _, number = text.rpartition("_")
    if kind in OF_THE_BEST and number.isdecimal():
        text, best = kind, f", {number} best"
    text = re.sub(r"^top_(\d+|k)_", r"top-\1 ", text)
    for raw, words in WORDS.items():
        text = re.sub(rf"(?<![a-z]){raw}(?![a-z0-9])", words, text)
    return text.replace("_", " ") + best


COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")  # Okabe and Ito
INK, GREY = "#222222", "#9a9a9a"
ON_DARK, ON_LIGHT = "#fefefe", "#010101"  # text on coloured cells, also on a dark page
BAND = "#eef1f4"  # behind every second group of rows
LONGEST = 34  # letters of a label; longer ones would squeeze the plot


def luminance(colour: Any) -> float:
    """Return the relative luminance of a colour (WCAG 2.2)."""
    rgb = np.array(to_rgb(colour))
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    return float(linear @ (0.2126, 0.7152, 0.0722))


def ink_on(colour: Any) -> str:
    """Return the colour of text with the higher contrast on a coloured cell, at least 4.5."""
    return ON_DARK if (1.05 / (luminance(colour) + 0.05)) > ((luminance(colour) + 0.05) / 0.05) else ON_LIGHT


def new_axes(ax: Axes | None, size: tuple[float, float]) -> Axes:
    """Return `ax`, or the axes of a new figure, which is not registered with pyplot."""
    return Picture(figsize=size, layout="constrained").add_subplot() if ax is None else ax


def plain(label: object) -> str:
    """Return a label as literal text, escaped against mathematics between dollars."""
    return str(label).replace("$", r"\$")


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
