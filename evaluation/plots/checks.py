"""Checks of models: observed values against their replicates, and items by their sensitivity to the prior."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from .canvas import Panel, legend, panel_of
from .certainty import names_of
from .style import COLOURS, GREY, INK, Picture, in_words, needs, plain, shortened, tidy

VARIABLES = ("observed", "lower", "upper", "fails_below", "fails_above", "fails")
FARTHEST = 2.0  # distances to the limit up to which values are drawn in their place


def model_checks(found: xr.Dataset) -> Figure:
    """Draw the checks of a model: where each may lie without failing, and the observed value.

    Parameters
    ----------
    found : Dataset
        Of `raterzoo.evaluation.model_checks`.

    Returns
    -------
    matplotlib.figure.Figure
        A row for each check, on a scale on which it fails below -1 or above 1. A check that can fail on one side only has a
        band that ends on this side. Values beyond 2 are drawn at 2.

    Raises
    ------
    EvaluationError
        If `found` is no Dataset of `model_checks`.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> from raterzoo.evaluation import plots
    >>> labels = models.simulators.labels(items=60, raters=6, answers=4, random_seed=1).data
    >>> tree = inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)
    >>> axes = plots.model_checks(evaluation.model_checks(tree)).axes[0]
    >>> [text.get_text() for text in axes.get_xticklabels()]
    ['fails', 'expected', 'fails']
    """
    needs(found, VARIABLES, "model_checks")
    observed, lower, upper, below, above, fails = (found[name].to_numpy() for name in VARIABLES)
    middle = (lower + upper) / 2
    limit = np.where((observed < middle) & np.isfinite(below), middle - below, above - middle)
    limit = np.where(np.isfinite(limit), limit, middle - below)  # of a check that can fail below only
    away = np.where(limit > 0, (observed - middle) / np.where(limit > 0, limit, 1), 0)
    place = np.clip(away, -FARTHEST, FARTHEST)
    rows, edge = np.arange(len(place)), FARTHEST + 0.3
    figure = Picture(figsize=(6.4, 1.0 + 0.26 * len(rows)), layout="constrained")
    ax = figure.add_subplot()
    ends = np.where(np.isfinite(below), -1, -edge), np.where(np.isfinite(above), 1, edge)
    ax.hlines(rows, *ends, color=COLOURS[0], linewidth=6, alpha=0.35, label="does not fail")
    for which, colour, marker, name in (
        (~fails, COLOURS[0], "o", "observed"),
        (fails, COLOURS[1], "D", "observed, fails"),
    ):
        if which.any():
            ax.scatter(place[which], rows[which], color=colour, marker=marker, s=26, zorder=3, label=name)
    ax.set_yticks(rows, [plain(name) for name in found["check"].to_numpy()], fontsize=8)
    ax.set_xticks([-1, 0, 1], ["fails", "expected", "fails"], fontsize=8)
    tidy(ax).set(xlim=(-edge, edge), ylim=(len(rows) - 0.4, -0.6))
    figure.legend(loc="outside lower center", ncols=3, fontsize=8, frameon=False)
    return figure


UNRELIABLE = 0.7  # Pareto k above which importance weights are unreliable
MOST_NAMED = 5

# start of ArviZ's diagnosis -> legend, colour, mark
WORDS = {
    "✓": ("the prior hardly moves it", GREY, "o"),
    "potential strong prior": ("prior moves it more than annotations", COLOURS[1], "^"),
    "potential prior-data": ("both prior and annotations move it", COLOURS[3], "D"),
}


def sensitivity(dataset: xr.Dataset, *, ax: Axes | None = None) -> Axes:
    """Draw each item's sensitivity to its prior against its sensitivity to its annotations.

    Parameters
    ----------
    dataset : Dataset
        Result of `evaluation.prior_sensitivity`.
    ax : matplotlib.axes.Axes, default those of a new figure

    Returns
    -------
    matplotlib.axes.Axes
        A point for each item, its mark by the diagnosis, hollow if Pareto k is above .7; dashed lines at the
        threshold. The five items with the largest sensitivity to the prior, if above the threshold, are named
        (Kallioinen et al., 2024, doi:10.1007/s11222-023-10366-5).

    Raises
    ------
    EvaluationError
        If the Dataset is not a result of `evaluation.prior_sensitivity`, or has no item.

    Examples
    --------
    >>> from raterzoo import evaluation, inference, models
    >>> labels = models.simulators.labels(items=20, raters=8, answers=5, random_seed=1).data
    >>> tree = inference.sample(models.dirichlet(labels), draws=200, chains=2, random_seed=1, progressbar=False)
    >>> axes = evaluation.plots.sensitivity(evaluation.prior_sensitivity(tree, random_seed=1))
    >>> axes.get_xlabel(), axes.get_ylabel()
    ('sensitivity to the annotations', 'sensitivity to the prior')
    """
    needs(dataset, ("prior", "likelihood", "diagnosis"), "prior_sensitivity")
    panel = panel_of(ax, (8.6, 4.2))
    threshold = float(dataset.attrs.get("threshold", 0.05))
    words = dataset["diagnosis"].to_numpy().astype(str)
    shaky = np.zeros(len(words), bool)
    if "pareto_k" in dataset:
        k = dataset["pareto_k"].transpose(..., "item").to_numpy()
        shaky = (k.reshape(-1, len(words)) > UNRELIABLE).any(axis=0)
    for word in sorted(set(words.tolist()), key=lambda word: _look(word)[3]):
        text, colour, mark, _ = _look(word)
        own = words == word
        for hollow in (False, True):
            chosen = np.flatnonzero(own & (shaky == hollow))
            if len(chosen):
                uncertain = ", Pareto k above 0.7" if hollow else ""
                name = f"{text}{uncertain} ({len(chosen):,})"
                _items(panel, dataset.isel(item=chosen), name, (colour, mark, hollow))
    panel.rule(threshold, axis="x")
    panel.rule(threshold, axis="y")
    prior, likelihood = dataset["prior"].to_numpy(), dataset["likelihood"].to_numpy()
    most = [k for k in np.argsort(-prior, kind="stable")[:MOST_NAMED] if prior[k] > threshold]
    names = [f" {n}" for n in shortened(np.array(names_of(dataset, "item"))[most], 24)]
    panel.write(likelihood[most], prior[most], names, colour=INK, align=("left", "bottom"))
    right, top = (max(float(dataset[v].max()), threshold) for v in ("likelihood", "prior"))
    panel.limits((-0.04 * right, 1.16 * right), (-0.04 * top, 1.08 * top))  # room for a name
    panel.labels("sensitivity to the annotations", "sensitivity to the prior")
    unit = "change of the mean" if dataset.attrs.get("distance") == "mean" else "CJS distance"
    quantity = in_words(dataset.attrs.get("quantity", "quantity"))
    legend(panel, "right", title=f"{quantity}, {unit} by doubling")
    return panel.ax


def _look(word: str) -> tuple[str, str, str, int]:
    """Return legend, colour, mark and position in the legend of a diagnosis; unknown ones name themselves."""
    for place, (start, look) in enumerate(WORDS.items()):
        if word.startswith(start):
            return *look, place
    return word, INK, "s", len(WORDS)


def _items(panel: Panel, own: xr.Dataset, name: str, look: tuple[str, str, bool]) -> None:
    colour, mark, hollow = look
    prior, likelihood = own["prior"].to_numpy(), own["likelihood"].to_numpy()
    alpha = 0.55 if len(prior) > 200 and not hollow else 0.85
    shape = {"colour": colour, "mark": mark, "area": 22, "alpha": alpha, "hollow": hollow}
    panel.points(likelihood, prior, label=name, **shape)
