"""Figures of calibration: how far the ECDF of the ranks strays from uniform, and the band that it must keep."""

from pathlib import Path

import matplotlib
import numpy as np
from matplotlib.figure import Figure

from tests.support.monte_carlo import ecdf_band

from .calibration import deviation
from .chains import KEPT

__all__ = ["draw_ecdf"]

HIGHLIGHT, OTHERS, BAND = "#b2182b", "#8c8c8c", "#d9e6f2"


def draw_ecdf(ranks: np.ndarray, names: list[str], title: str, path: Path) -> None:
    """Draw the ECDF less its expectation of every quantity; the one that strays most has a colour and a name.

    Parameters
    ----------
    ranks : ndarray of int, shape (simulation, quantity)
        Ranks 0 ... KEPT.
    names : list of str
        Of the quantities.
    title : str
        Of the figure.
    path : Path
        Of the PNG file.
    """
    n, x = len(ranks), np.arange(1, KEPT + 1) / (KEPT + 1)
    lower, upper = ecdf_band(n, KEPT, 1 - 0.01 / ranks.shape[1])
    at_most = (ranks[..., None] <= np.arange(KEPT)).sum(axis=0) / n
    worst = int(deviation(ranks).argmax())
    with matplotlib.rc_context({"font.size": 8}):
        figure = Figure(figsize=(4.6, 2.6), dpi=90, layout="constrained")
        axes = figure.subplots()
        axes.fill_between(x, lower / n - x, upper / n - x, step="post", color=BAND, linewidth=0)
        for q in [*(q for q in range(len(names)) if q != worst), worst]:
            chosen = {"color": HIGHLIGHT, "linewidth": 1.4, "label": names[q]}
            plain = {"color": OTHERS, "linewidth": 0.6}
            axes.step(x, at_most[q] - x, where="post", **(chosen if q == worst else plain))
        axes.axhline(0, color="black", linewidth=0.5)
        axes.set(xlim=(0, 1), xlabel="rank of the truth, as a share", ylabel="ECDF less expected")
        axes.set_title(title, loc="left")
        axes.legend(loc="upper right", frameon=False)
        figure.savefig(path, metadata={"Software": None})
