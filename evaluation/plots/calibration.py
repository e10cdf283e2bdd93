"""Calibration plot: share of items that are right by the probability that was claimed."""

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .canvas import canvas
from .style import COLOURS, GREY, needs


def calibration_curve(curve: xr.Dataset) -> Figure:
    """Draw the share of right items against the probability that a posterior gave them, with intervals.

    Parameters
    ----------
    curve : Dataset, dims (bin,)
        Of `raterzoo.evaluation.calibration_curve`.

    Returns
    -------
    matplotlib.figure.Figure
        Bins of items on the diagonal are calibrated; below it the posterior claims too much.

    Raises
    ------
    EvaluationError
        If `curve` is not a result of `evaluation.calibration_curve`.

    Examples
    --------
    >>> import xarray as xr
    >>> from raterzoo import evaluation
    >>> from raterzoo.evaluation import plots
    >>> coords = {"item": ["a", "b"], "category": ["ham", "spam"]}
    >>> p = xr.DataArray([[0.9, 0.1], [0.4, 0.6]], coords, ("item", "category"))
    >>> figure = plots.calibration_curve(evaluation.calibration_curve(p, {"a": "ham", "b": "ham"}, bins=2))
    >>> figure.axes[0].get_xlabel()
    'probability of the most probable category'
    """
    needs(curve, ("predicted", "observed", "lower", "upper", "count"), "calibration_curve")
    figure, (panel,) = canvas((4.6, 4.2))
    predicted, observed = curve["predicted"].to_numpy(), curve["observed"].to_numpy()
    low, high = curve["lower"].to_numpy(), curve["upper"].to_numpy()
    first = min(predicted.min(), low.min())
    panel.line(np.array([first, 1.0]), np.array([first, 1.0]), colour=GREY, width=1)
    panel.spans((low, high), predicted, along="y", colour=COLOURS[0], alpha=0.5, width=2)
    panel.points(predicted, observed, colour=COLOURS[0], area=30)
    panel.labels(f"probability of {curve.attrs['category']}", "share of items that are right")
    panel.percent("x")
    panel.percent("y")
    return figure
