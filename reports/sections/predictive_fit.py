"""Report section on the fit of a model of scores or comparisons: checks of the annotations against replicates of them."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ... import evaluation
from ..page import Section
from .model_fit import KEY, TITLE, checked_sections

SPREAD = "spread of the scores of an item"
SHARED = ("residual correlation", "largest eigenvalue")  # in the names of the checks of what raters share


def predictive_fit_sections(
    predicted: xr.DataTree | None, attributes: Mapping[str, np.ndarray], seed: int
) -> list[Section]:
    """Return the sections on the checks of a posterior with replicates, or on None; `attributes` are of the raters (rater,)."""
    if predicted is None:
        text = "Not checked: annotations are simulated by the fitted model, which was not given."
        return [Section(TITLE, text, key=KEY, facts={"fits": None})]
    try:
        found = evaluation.model_checks(predicted, random_seed=seed)
    except evaluation.EvaluationError as missing:
        return [Section(TITLE, f"Not checked: {missing}.", key=KEY, facts={"fits": None})]
    fits, sentences = bool(found.attrs["fits"]), list(found.attrs["sentences"])
    failed = found["check"].to_numpy()[found["fails"].to_numpy()].tolist()
    verdict = " ".join([*sentences, *_remedies(predicted, attributes, failed)])
    facts = {"fits": fits, "sentences": sentences, "replicates": found.attrs["replicates"]}
    return checked_sections(found, verdict, facts, alarm=not fits)


def _remedies(predicted: xr.DataTree, attributes: Mapping[str, np.ndarray], failed: list[str]) -> list[str]:
    """Return what to do about failed checks, in sentences."""
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
    return found
