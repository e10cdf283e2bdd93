"""Report section on groups of the categories, such as their risk."""

import xarray as xr
from matplotlib.figure import Figure

from .. import evaluation
from ..evaluation import plots
from ..reports import Section
from ..reports.risk import risk_sections
from .metric_names import metric_named
from .scoring import scored
from .study import Study

__all__ = ["risk_parts"]

MOST_METRICS = 2  # each group costs as much as all items


def risk_parts(study: Study) -> list[Section]:
    """Return the section on certainty of the groups and metrics within them; none without groups."""
    if study.groups is None:
        return []
    tree, groups = study.tree, study.groups.group
    certainty = evaluation.annotation_certainty(tree, groups=groups, random_seed=study.seed)
    masses = evaluation.coarsen(tree, groups)["posterior"].to_dataset()["plausibility"]
    values = study.groups.value
    expected = None if values is None else evaluation.expected_value(tree, values)
    within: dict[str, xr.Dataset] = {}
    if study.predicted is not None:
        # a metric of all items jointly takes as long for every group as for all items
        by_item = [name for name in study.metrics if metric_named(name).over == "item"]
        names = by_item[:MOST_METRICS] or study.metrics[:1]
        within = scored(tree, study.predicted, names, study.seed, by=groups)
    figures = [_risk_figure(certainty, expected)]
    if within:
        name, first = next(iter(within.items()))
        figures.append(plots.subgroups(first, label=name, backend="matplotlib"))
    return risk_sections(certainty, masses, expected, within, figures)


def _risk_figure(certainty: xr.DataArray, expected: xr.DataArray | None) -> Figure:
    if expected is not None:
        return plots.risk(certainty, expected, backend="matplotlib")
    figure = Figure(figsize=(6, 3.6), layout="constrained")
    plots.sorted_certainty(certainty, ax=figure.add_subplot()).set_ylabel("certainty of the group")
    return figure
