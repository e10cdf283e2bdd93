"""Picture of model checks: each observed value within the predictive interval of its replicates."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .style import COLOURS, Picture, needs, plain, tidy

VARIABLES = ("observed", "lower", "upper", "fails")
FARTHEST = 6.0  # half widths of the interval up to which values are drawn in their place


def model_checks(found: xr.Dataset) -> Figure:
    """Draw the checks of a model: the predictive interval of each, and the observed value.

    Parameters
    ----------
    found : Dataset
        Of `raterzoo.evaluation.model_checks`.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each check, on a scale on which its interval of 90 % reaches from -1 to 1. Values beyond 6 are drawn at 6.

    Raises
    ------
    EvaluationError
        If `found` is no Dataset of `model_checks`.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo.evaluation import plots
    >>> columns = {"observed": [3.0, 0.1], "lower": [0.0, 0.0], "upper": [1.0, 0.2], "fails": [True, False]}
    >>> found = xr.Dataset({k: ("check", v) for k, v in columns.items()}, {"check": ["distinct answers", "totals"]})
    >>> [text.get_text() for text in plots.model_checks(found).axes[0].get_yticklabels()]
    ['distinct answers', 'totals']
    """
    needs(found, VARIABLES, "model_checks")
    observed, lower, upper, fails = (found[name].to_numpy() for name in VARIABLES)
    half = (upper - lower) / 2
    away = np.where(half > 0, (observed - (lower + upper) / 2) / np.where(half > 0, half, 1), 0)
    place = np.clip(away, -FARTHEST, FARTHEST)
    rows = np.arange(len(place))
    figure = Picture(figsize=(6.4, 1.0 + 0.26 * len(rows)), layout="constrained")
    ax = figure.add_subplot()
    ax.hlines(rows, -1, 1, color=COLOURS[0], linewidth=6, alpha=0.35, label="90 % of the replicates")
    for which, colour, marker, name in (
        (~fails, COLOURS[0], "o", "observed"),
        (fails, COLOURS[1], "D", "observed, fails"),
    ):
        if which.any():
            ax.scatter(place[which], rows[which], color=colour, marker=marker, s=26, zorder=3, label=name)
    ax.set_yticks(rows, [plain(name) for name in found["check"].to_numpy()], fontsize=8)
    limits = {"xlim": (-FARTHEST - 0.4, FARTHEST + 0.4), "ylim": (len(rows) - 0.4, -0.6)}
    tidy(ax).set(xlabel="half widths from the middle of the replicates", **limits)
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure
