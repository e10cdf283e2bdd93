"""Calibration of posteriors, and sizes and coverage of conformal prediction sets."""

from collections.abc import Mapping

import numpy as np
import xarray as xr
from matplotlib.figure import Figure

from .canvas import Panel, canvas, legend
from .style import COLOURS, GREY, INK, letters_wide, limits_with_texts, needs, one_or_more, plain, shortened


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


PROB = 0.9
NOTHING = "no test item is in the posterior"
WIDTH = 3.6  # inches, of a panel


def conformal(sets: xr.Dataset | Mapping[str, xr.Dataset]) -> Figure:
    """Draw the sizes of conformal prediction sets, and their coverage.

    Parameters
    ----------
    sets : Dataset or mapping of str to Dataset
        Result of `evaluation.conformal_sets`; several, such as calibrated on votes, are drawn side by side.

    Returns
    -------
    matplotlib.figure.Figure
        Left: the share of test items by the size of their set. Right: the coverage under the posterior with
        the interval between its 5 % and 95 % quantiles; x: coverage of the voted labels; dashed: nominal
        coverage.

    Raises
    ------
    EvaluationError
        If a Dataset is not a result of `evaluation.conformal_sets`, or has no test item.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> vote = inference.majority_vote(labels)["plausibility"]
    >>> sets = evaluation.conformal_sets(tree, vote, vote["item"].values[:10], 0.8, random_seed=1)
    >>> figure = evaluation.plots.conformal(sets)
    >>> [axes.get_xlabel() for axes in figure.axes]
    ['labels in the set; dashed: mean', 'coverage; × of the voted labels; dashed: asked for']
    """
    variables = ("size", "coverage", "voted_coverage")
    every = one_or_more(sets, variables, "conformal_sets", "")
    methods = []  # with a classifier, under the names of method and classifier
    for name, own in every.items():
        if "classifier" not in own.dims:
            methods.append((name, own))
            continue
        for classifier in own["classifier"].to_numpy().tolist():
            joined = ": ".join(t for t in (name, str(classifier)) if t)
            methods.append((joined, own.sel(classifier=classifier)))
    names = shortened([name for name, _ in methods])
    size = (1.6 + 2 * WIDTH + letters_wide(names), max(3.4, 1.3 + 0.5 * len(methods)))
    figure, panels = canvas(size, (1, 2))
    left, right = panels
    _sizes(left, methods)
    _coverages(right, methods)
    right.ticks("y", range(len(names)), names)
    legend(left, "above")
    return figure


def _sizes(panel: Panel, methods: list[tuple[str, xr.Dataset]]) -> None:
    """Draw the distribution of set sizes, methods side by side."""
    most = max(int(own["size"].max()) for _, own in methods)
    width, top = 0.84 / len(methods), 0.0
    for k, (name, own) in enumerate(methods):
        size = own["size"].to_numpy()
        share = np.bincount(size, minlength=most + 1) / len(size)
        top = max(top, float(share.max()))
        middle = np.arange(most + 1) + width * (k - (len(methods) - 1) / 2)
        colour = COLOURS[k % len(COLOURS)]
        panel.ax.bar(
            middle, share, 0.92 * width, color=colour, alpha=0.8, zorder=2, label=plain(name) or None
        )
        panel.rule(float(size.mean()), axis="x", colour=colour)
    at = range(0, most + 1, max(1, most // 12))
    panel.ticks("x", at, at)
    panel.labels("labels in the set; dashed: mean", "share of test items")
    panel.limits(y=(0, 1.06 * top))
    panel.percent("y", 0.0, top)


def _coverages(panel: Panel, methods: list[tuple[str, xr.Dataset]]) -> None:
    """Draw the coverage under the posterior and of the votes."""
    tails = ((1 - PROB) / 2, (1 + PROB) / 2)
    wanted = {1 - float(own.attrs["alpha"]) for _, own in methods}
    reach, middles, longest = [*wanted], [], 0
    for row, (_, own) in enumerate(methods):
        colour = COLOURS[row % len(COLOURS)]
        draws = own["coverage"].to_numpy().ravel()
        voted = float(own["voted_coverage"])
        if np.isnan(draws).all():
            middles.append(1 - float(own.attrs["alpha"]))
            longest = max(longest, len(NOTHING))
            panel.write([middles[-1]], [row], [NOTHING], colour=GREY, over_lines=True)
        else:
            mean, (low, high) = float(draws.mean()), np.quantile(draws, tails)
            panel.spans(([low], [high]), [row], along="x", colour=colour, width=5, alpha=0.5)
            reach += [low, high]
            middles.append(mean)
            text = f"{100 * mean:.1f} % ({100 * low:.1f} to {100 * high:.1f} %)"
            panel.points([mean], [row], colour=colour, area=34)
            longest = max(longest, len(text))
            panel.write([mean], [row - 0.1], [text], align=("center", "bottom"), over_lines=True)
        if np.isfinite(voted):
            reach.append(voted)
            panel.points([voted], [row], colour=INK, mark="x", area=40)
    for coverage in wanted:
        panel.rule(coverage, axis="x")
    drawn = (min(reach), max(*reach, min(reach) + 0.05))
    low, high = limits_with_texts(drawn, np.array(middles), longest, WIDTH)
    panel.limits((low, high), (len(methods) - 0.4, -0.7))
    panel.labels("coverage; × of the voted labels; dashed: asked for")
    panel.percent("x", low, high)
