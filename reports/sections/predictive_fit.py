"""Report section on the fit of a model of scores, comparisons or rankings: checks of annotations against replicates."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ... import evaluation
from ..page import Section
from .model_fit import checked_sections, unchecked_section

SPREAD = "spread of the scores of an item"
SHARED = ("residual correlation", "largest eigenvalue")  # in the names of the checks of what raters share
AGREEMENT = "mean agreement of two raters of an item"
UNKNOWN = "Not checked: annotations are simulated by the fitted model, which was not given."


def predictive_fit_sections(
    predicted: xr.DataTree | None, attributes: Mapping[str, np.ndarray], seed: int
) -> list[Section]:
    """Return the sections on the checks of a posterior with replicates, or on None; `attributes` are of the raters (rater,)."""
    if predicted is None:
        return [unchecked_section(UNKNOWN)]
    try:
        found = evaluation.model_checks(predicted, random_seed=seed)
    except evaluation.EvaluationError as missing:
        return [unchecked_section(f"Not checked: {missing}.")]
    fits, sentences = bool(found.attrs["fits"]), list(found.attrs["sentences"])
    failed = found["check"].to_numpy()[found["fails"].to_numpy()].tolist()
    verdict = " ".join([*sentences, *_remedies(predicted, attributes, found.sel(check=failed))])
    facts = {"fits": fits, "sentences": sentences, "replicates": found.attrs["replicates"]}
    facts["verdict"] = verdict
    return checked_sections(found, verdict, facts, alarm=not fits)


def _remedies(predicted: xr.DataTree, attributes: Mapping[str, np.ndarray], checks: xr.Dataset) -> list[str]:
    """Return what to do about failed `checks`, in sentences."""
    failed = checks["check"].to_numpy().tolist()
    several = (name for name, own in attributes.items() if 1 < len(np.unique(own)) < len(own))
    group, found = next(several, None), []
    has_groups = bool({"taste", "shared_bias"} & set(predicted["posterior"].data_vars))
    if any(name.startswith(SHARED) for name in failed) and group is not None and not has_groups:
        found.append(
            f"The uncertainties of this report count every rater as one. groups={group!r} or --groups-of-raters {group} gives "
            "the model a parameter for what a group shares."
        )
    if SPREAD in failed and predicted.attrs.get("model") == "normal_scores":
        found.append(
            "normal_scores learns the spread of an item from its own scores, so that few scores leave much of it to the prior "
            "(rate=); hierarchical_scores learns the spread from all scores."
        )
    sharpened = float(np.max(_constant(predicted, "reliability"))) > 1
    if sharpened and AGREEMENT in failed and float(checks["effect"].sel(check=AGREEMENT)) < 0:
        found.append(
            "The reliability of this report counts each ranking more than once, so that the categories are more certain than "
            "rankings that agree so little make them; a reliability of 1, --reliability 1, counts each once."
        )
    return found


def _constant(tree: xr.DataTree, name: str) -> np.ndarray:
    """Return a constant of the model, or 1 if it has none of this name."""
    return tree["constant_data"][name].to_numpy() if name in tree["constant_data"] else np.ones(1)
