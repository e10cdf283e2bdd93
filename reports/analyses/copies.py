"""Raters who copy each other are fitted again as a group that shares a guess."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from ... import models
from ...models._catalog import annotation_kinds, shared_errors_of
from ...models._prior_arguments import effective_power
from ...models.labels.correlated_votes import evidence_of_correlation
from ...posterior.groups import with_groups
from .labels import LabelAnalysis

ATTRIBUTE = "copies"  # of raters: the set, or nobody
NOBODY = "nobody"  # group of all who copy nobody
CORRELATION = "vote_correlation"


def refitted(analysis: LabelAnalysis, draw: Callable[[Any], xr.DataTree]) -> LabelAnalysis:
    """Return the analysis of a fit in which sets of raters who copy share a guess; the same where the checks name none.

    Only of the model that allows for errors that all share alike: others were chosen. `draw` samples a model.
    """
    if shared_errors_of(analysis.tree) != "average" or not analysis.copying:
        return analysis
    sets = {rater: f"set {k}" for k, group in enumerate(analysis.copying, 1) for rater in group}
    groups = np.array([sets.get(str(rater), NOBODY) for rater in analysis.labels.raters.tolist()])
    data = replace(analysis.labels, rater_attributes={**analysis.labels.rater_attributes, ATTRIBUTE: groups})
    name = annotation_kinds["labels"].sharing_model
    model = getattr(models, name)(data, ATTRIBUTE, (NOBODY,))
    correlation = correlation_without(data, analysis.copying)
    tree = with_correlation(draw(model), correlation, data.counts.sum(axis=1), analysis.seed)
    study = analysis.study
    settings = replace(study.settings, model=name, priors=None)
    study = replace(study, data=data, settings=settings, trees={settings.reliabilities[0]: tree})
    return replace(analysis, data=data, tree=tree, model=model, study=study, before=analysis)


def correlation_without(labels: models.Labels, copying: Sequence[Sequence[str]]) -> tuple[float, float]:
    """Return the Beta distribution of the correlation of the votes of all but the raters who copy; one of each set stays."""
    left_out = [rater for group in copying for rater in group[1:]]
    names = labels.raters.astype(str)[labels.annotation_rater]
    keeps = ~np.isin(names, left_out)
    columns = {
        name: getattr(labels, name)[keeps]
        for name in ("annotation_item", "annotation_rater", "label_code", "count")
    }
    found = evidence_of_correlation(replace(labels, **columns))
    return found.a, found.b


def with_correlation(
    tree: xr.DataTree, correlation: tuple[float, float], answers: np.ndarray, seed: int
) -> xr.DataTree:
    """Return the tree with plausibilities to the power 1 / (1 + (n - 1) rho), rho ~ Beta(correlation); answers n (item,).

    The group explains what its raters copy, not what the others share.
    """
    posterior = tree["posterior"].to_dataset()
    own = posterior["plausibility"].transpose("chain", "draw", "item", "category")
    rho = np.random.default_rng(seed).beta(*correlation, own.shape[:2])[..., None, None]
    tempered = own.to_numpy() ** effective_power(answers[:, None], rho)
    tempered /= tempered.sum(axis=-1, keepdims=True)
    variables: dict[str, Any] = {
        "plausibility": own.copy(data=tempered.astype(own.dtype)),
        "independent_plausibility": own,
        CORRELATION: (("chain", "draw"), rho[..., 0, 0]),
    }
    return with_groups(tree, posterior=posterior.assign(variables))
