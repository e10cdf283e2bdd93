"""Report sections on predictions: metrics, comparison, sensitivity to reliability and prior."""

import warnings
from collections.abc import Callable

import xarray as xr
from matplotlib.figure import Figure

from .. import evaluation
from ..evaluation import plots
from ..evaluation.sensitivity.reweighting import MAX_PARETO_K, MODELS, ReweightingWarning
from . import Section
from .certainty import best_guess_scores
from .metric_names import metric_named
from .metrics import comparison_sections, metrics_section, order_of, scored
from .sensitivity import Step, prior_section, reliability_section
from .study import Study

DRAWN = 2  # metrics plotted side by side

STEP = 1.5  # factor to the neighbouring reliabilities


def found_metrics(study: Study) -> dict[str, xr.Dataset]:
    """Score the predictions by every metric, as `scored`; empty without predictions."""
    if study.predicted is None:
        return {}
    points = study.points if study.predicted.sizes.get("classifier", 1) > 1 else {}
    return scored(study.tree, study.predicted, study.metrics, study.seed, points=points)


def metric_sections(predicted: xr.DataArray, found: dict[str, xr.Dataset]) -> list[Section]:
    """Return the section on metrics and, for several classifiers, their comparison by the first metric."""
    directions = {name: metric_named(name).larger_is_better for name in found}
    drawn = dict(list(found.items())[:DRAWN])
    forest = plots.metric_intervals(drawn, backend="matplotlib")
    sections = [metrics_section(found, directions, forest)]
    if predicted.sizes.get("classifier", 1) > 1:
        name = next(iter(found))
        duels = plots.comparison(found[name], label=name, backend="matplotlib")
        sections += comparison_sections(found, name, duels)
    return sections


def sensitivity_sections(study: Study, found: dict[str, xr.Dataset]) -> list[Section]:
    """Return the sections on sensitivity to the reliability and the prior.

    `found` holds the metrics of the posterior that is reported in full.
    """
    text = "Would another trust in the raters, or another prior, change the answers?"
    if study.is_of_category:
        text += (
            " This model has no reliability to vary: it learns what each rater is worth. Its items share the matrices of the "
            "raters, so that no prior can be scaled item by item: fit again with another model or prior, and compare."
        )
        return [Section("Sensitivity", text, key="sensitivity")]
    sections = [Section("Sensitivity", text, key="sensitivity")]
    steps = _steps(study, found)
    if len(steps) > 1:
        name = study.metrics[0] if study.metrics else "certainty"
        sections.append(reliability_section(steps, name, [_sweep(steps, name)]))
    return [*sections, prior_part(study.tree, study.seed, lambda: _conclusions(study, found))]


def _steps(study: Study, found: dict[str, xr.Dataset]) -> dict[float, Step]:
    """Return certainty and scores by reliability: those fitted, or the only one and two reweighted ones."""
    first = study.settings.reliabilities[0]
    steps = {
        r: Step(best_guess_scores(tree, study.seed), _headline(study, tree, found, r == first))
        for r, tree in study.trees.items()
    }
    if len(steps) > 1 or study.settings.model not in MODELS:
        return steps
    for r in (first / STEP, first * STEP):
        steps[round(r, 3)] = _reweighted(study, round(r, 3))
    return steps


def _sweep(steps: dict[float, Step], name: str) -> Figure:
    """Plot the metric, or without predictions the certainty, against the reliability."""
    known = sorted(steps)
    each = [steps[r].certainty if (own := steps[r].scores) is None else own for r in known]
    both = [own[["mean", "interval"]].sel(source="both", drop=True) for own in each]
    reliability = xr.DataArray([float(r) for r in known], dims="reliability", name="reliability")
    figure = Figure(figsize=(7.5, 3.6), layout="constrained")
    sweep = xr.concat(both, reliability, combine_attrs="override")
    plots.reliability_sweep(sweep, metric=name, ax=figure.add_subplot())
    return figure


def _reweighted(study: Study, reliability: float) -> Step:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ReweightingWarning)  # the section names the items
        tree = evaluation.reweight(study.tree, reliability, random_seed=study.seed)
    k = tree["sample_stats"].to_dataset()["pareto_k"]
    bad = [str(item) for item in k["item"].to_numpy()[k.to_numpy() > MAX_PARETO_K]]
    scores = _headline(study, tree, {}, same=False)
    return Step(best_guess_scores(tree, study.seed), scores, reweighted=True, unreliable=bad)


def _headline(study: Study, tree: xr.DataTree, found: dict[str, xr.Dataset], same: bool) -> xr.Dataset | None:
    """Return the first metric of the predictions for a posterior; None without predictions."""
    if study.predicted is None:
        return None
    name = study.metrics[0]
    return found[name] if same else scored(tree, study.predicted, [name], study.seed)[name]


def prior_part(
    tree: xr.DataTree, seed: int, conclusions: Callable[[], dict[str, xr.DataArray]] = dict
) -> Section:
    """Return the section on items that are sensitive to the prior.

    `conclusions` returns further quantities by item, whose totals are reported; `seed` is for the members of
    OTHER.
    """
    try:
        certainty = evaluation.prior_sensitivity(tree, random_seed=seed)
        totals = {
            name: evaluation.prior_sensitivity(tree, quantity, distance="mean", random_seed=seed)
            for name, quantity in conclusions().items()
        }
    except evaluation.EvaluationError as missing:
        return Section("Prior", f"Not computed: {missing}.", key="sensitivity.prior", part=True)
    figure = Figure(figsize=(8.6, 4.2), layout="constrained")
    plots.sensitivity(certainty, ax=figure.add_subplot())
    return prior_section(certainty, totals, [figure])


def _conclusions(study: Study, found: dict[str, xr.Dataset]) -> dict[str, xr.DataArray]:
    """Return by item: the first metric of the best classifier, and its difference from the second best."""
    if study.predicted is None:
        return {}
    name = study.metrics[0]
    metric = metric_named(name)
    if metric.over != "item":
        return {}

    def scores(predicted: xr.DataArray) -> xr.DataArray:
        return evaluation.uncertainty_adjusted(
            metric, study.tree, predicted, reduce=None, random_seed=study.seed
        )

    if "classifier" not in study.predicted.dims:
        return {name: scores(study.predicted)}
    ids = {str(c): c for c in study.predicted["classifier"].to_numpy()}
    order = order_of(found[name])[:2]
    first, *second = (
        scores(study.predicted.sel(classifier=ids[c])).drop_vars("classifier", errors="ignore") for c in order
    )
    result = {f"{name} of {order[0]}": first}
    if second:
        result[f"difference of {order[0]} and {order[1]}"] = first.astype(float) - second[0]
    return result
