"""Heat map of pairwise win probabilities."""

from collections.abc import Sequence

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter

from .shown import Picture
from .style import INK, plain, shortened

__all__ = ["win_matrix"]

MOST_NUMBERS = 20  # items; larger matrices have no numbers in their cells


def win_matrix(
    win: xr.DataArray, items: Sequence[object] | None = None, *, label: str = "P(row beats column)"
) -> Figure:
    """Draw the probability that one item wins against another, for all pairs.

    Parameters
    ----------
    win : DataArray, shape (item, other)
        Result of `evaluation.preference_probability`, or ``win`` of `evaluation.win_probability`; with ties
        its ``points``, in which equal items have one half.
    items : sequence, optional
        Items in the order to draw, such as by quality; by default by their mean win probability, the best
        first.
    label : str
        Label of the colour bar.

    Returns
    -------
    matplotlib.figure.Figure
        Rows beat columns; orange loses, purple wins, white is even. Up to twenty items have their numbers.

    Examples
    --------
    >>> import numpy as np
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> from raterzoo.evaluation import plots
    >>> draws = np.random.default_rng(1).normal([0.0, 1.0, 2.0], 0.5, size=(2, 200, 3))
    >>> quality = xr.DataArray(draws, {"item": ["a", "b", "c"]}, ("chain", "draw", "item"), name="quality")
    >>> figure = plots.win_matrix(evaluation.preference_probability(quality))
    >>> [text.get_text() for text in figure.axes[0].get_yticklabels()]
    ['c', 'b', 'a']
    """
    values = win.transpose("item", "other")
    best = np.argsort(-values.to_numpy().mean(axis=1), kind="stable")
    order = values["item"].to_numpy()[best].tolist() if items is None else list(items)
    shown = values.sel(item=order, other=order).to_numpy()
    n = len(order)
    side = 2.6 + (0.36 if n <= MOST_NUMBERS else 0.17) * n
    figure = Picture(figsize=(side + 0.9, side), layout="constrained")
    ax = figure.add_subplot()
    image = ax.imshow(shown, vmin=0, vmax=1, cmap="PuOr", interpolation="nearest")
    names = [plain(item) for item in shortened(order)]
    size = 8 if n <= MOST_NUMBERS else 6.5
    ax.set_xticks(range(n), names, rotation=90, fontsize=size)
    ax.set_yticks(range(n), names, fontsize=size)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)
    if n <= MOST_NUMBERS:
        _write(ax, shown)
    bar = figure.colorbar(image, ax=ax, shrink=0.5, pad=0.02, label=plain(label))
    bar.ax.yaxis.set_major_formatter(PercentFormatter(1))
    bar.outline.set_visible(False)  # pyright: ignore[reportCallIssue]
    return figure


def _write(ax: Axes, values: np.ndarray) -> None:
    """Write percentages into the cells off the diagonal."""
    for i, j in np.ndindex(values.shape):
        if i != j:
            ink = "white" if abs(values[i, j] - 0.5) > 0.35 else INK
            ax.text(
                j, i, f"{100 * values[i, j]:.0f}", ha="center", va="center", color=ink, fontsize=7
            )
