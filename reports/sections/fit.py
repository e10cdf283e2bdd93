"""Report sections on the fit: model, convergence, citation."""

import json
from importlib.metadata import version
from typing import Any

import numpy as np
import xarray as xr

from ... import inference, models
from ..._messages import short_repr
from ...models._prior_predictions import STRENGTH
from ...posterior.schema import classifier_in_prior
from ..page import Section, mean_with_ends, table_rows
from ..study import Settings
from ..wording import with_interval

FEW, MANY = 5, 30  # items shown if the draws have converged, and if not


def versions_of(tree: xr.DataTree) -> dict[str, Any]:
    """Return the package versions with which a posterior was sampled."""
    return json.loads(tree.attrs["versions"])


def model_section(settings: Settings, tree: xr.DataTree, further: str = "") -> Section:
    """Return the section on model, priors and sampler; `further` is a sentence on the parts of the model."""
    entry = models.catalog[settings.model]
    by_number = "constant_data" in tree.children and "vote_correlation" in tree["constant_data"]
    trust = f"Reliability {settings.reliabilities[0]:g}. " if settings.has_reliability else ""
    if by_number:
        trust = "The rankings of an item count by their effective number. "
    priors = "Priors not stated"
    if settings.priors is not None:
        others = [f"{name} = {value}" for name, value in settings.priors.items() if value is not True]
        priors = ", ".join(others) or "Default priors"
    prior = f"{said} " if (said := strength_in_words(tree)) else ""
    text = (
        f"{entry.summary}. {further}{trust}{_features_in_words(tree)}{prior}{priors}; drawn by "
        f"{tree.attrs['method']} in {tree.attrs['seconds']:.1f} seconds, seed {tree.attrs['seed']}."
    )
    sizes = tree["posterior"].sizes
    facts = {
        "name": settings.model,
        "priors": settings.priors,
        "reliability": settings.reliabilities[0] if settings.has_reliability and not by_number else None,
        "reliabilities": list(settings.reliabilities) if settings.has_reliability else [],
        "method": tree.attrs["method"],
        "seconds": float(tree.attrs["seconds"]),
        "seed": int(settings.seed),
        "chains": sizes["chain"],
        "draws": sizes["draw"],
    }
    if prior:
        facts["prior_predictions"] = prediction_strength(tree)
    return Section("Model", text, key="model", facts=facts)


def _features_in_words(tree: xr.DataTree) -> str:
    """Return a sentence on the features of the items; "" if the model has none."""
    n = tree["posterior"].sizes.get("feature", 0)
    return f"The truth depends on {n:,} standardised feature{'s' * (n > 1)} of the items. " if n else ""


def prediction_strength(tree: xr.DataTree) -> dict[str, Any]:
    """Return the classifier in the prior, and mean and 90 % interval of the strength of its predictions."""
    return {"classifier": classifier_in_prior(tree), **mean_with_ends(tree["posterior"][STRENGTH].to_numpy())}


def strength_in_words(tree: xr.DataTree) -> str:
    """Return sentences on the strength of predictions in the prior, with its 90 % interval; "" without any."""
    if "posterior" not in tree.children or STRENGTH not in tree["posterior"]:
        return ""
    found = prediction_strength(tree)
    strength = with_interval(found["mean"], found["lower"], found["upper"], 2)
    return (
        f"The prior uses the classifier {short_repr(found['classifier'])}, with strength {strength}: a probability of 1 adds as "
        "much to the concentration of its category, and near zero its predictions tell little. Do not judge this classifier by "
        "the posterior."
    )


def convergence_section(tree: xr.DataTree) -> Section:
    """Return the convergence verdict and a table of all items, the worst mixing first."""
    diagnosis = inference.diagnose(tree)
    bulk, tail = (diagnosis[name].to_numpy() for name in ("ess_bulk", "ess_tail"))
    smallest = np.fmin(bulk, tail)  # (quantity, item)
    worst = np.where(np.isnan(smallest), np.inf, smallest).argmin(axis=0)
    at_worst = (worst, np.arange(len(worst)))
    columns = {
        "item": diagnosis["item"].to_numpy().astype(str),
        "worst quantity": diagnosis["quantity"].to_numpy()[worst],
        "R-hat": diagnosis["r_hat"].to_numpy()[at_worst],
        "bulk ESS": bulk[at_worst],
        "tail ESS": tail[at_worst],
    }
    rows = table_rows(columns, np.argsort(smallest[at_worst], kind="stable"))
    verdict, converged = str(diagnosis.attrs["verdict"]), bool(diagnosis.attrs["converged"])
    facts, most = {"converged": converged, "verdict": verdict}, FEW if converged else MANY
    given = {"facts": facts, "alarm": not converged, "most": most}
    return Section("Convergence", verdict, rows=rows, file="convergence", key="convergence", **given)


def citation_section(model: str) -> Section:
    """Return the section with the reference of the model."""
    reference = models.catalog[model].reference
    text = f"Cite {reference}, and raterzoo {version('raterzoo')}."
    facts = {"reference": reference, "version": version("raterzoo")}
    return Section("How to cite", text, key="cite", facts=facts)
