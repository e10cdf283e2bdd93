"""Raters who copy each other are fitted again as a group that shares a guess."""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import xarray as xr

from ... import models
from ...models._catalog import annotation_kinds, shared_errors_of
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
    tree = with_correlation(draw(model), analysis.tree, data.counts.sum(axis=1))
    study = analysis.study
    settings = replace(study.settings, model=name, priors=None)
    study = replace(study, data=data, settings=settings, trees={settings.reliabilities[0]: tree})
    return replace(analysis, data=data, tree=tree, model=model, study=study, before=analysis)


def with_correlation(tree: xr.DataTree, before: xr.DataTree, answers: np.ndarray) -> xr.DataTree:
    """Return the tree with plausibilities to the power 1 / (1 + (n - 1) rho), rho drawn from the fit before; answers n (item,).

    The group explains what its raters copy, not what the others share.
    """
    posterior = tree["posterior"].to_dataset()
    own = posterior["plausibility"].transpose("chain", "draw", "item", "category")
    drawn = before["posterior"][CORRELATION].to_numpy().ravel()
    rho = np.resize(drawn, own.shape[:2])[..., None, None]
    power = 1 / (1 + np.maximum(answers - 1, 0)[:, None] * rho)
    tempered = own.to_numpy() ** power
    tempered /= tempered.sum(axis=-1, keepdims=True)
    variables: dict[str, Any] = {
        "plausibility": own.copy(data=tempered.astype(own.dtype)),
        "independent_plausibility": own,
        CORRELATION: (("chain", "draw"), rho[..., 0, 0]),
    }
    posterior = posterior.assign(variables)
    groups = {name: group.to_dataset() for name, group in tree.children.items()}
    found = xr.DataTree.from_dict(groups | {"posterior": posterior})
    found.attrs = tree.attrs
    return found
