"""Report section on the fit of a model of scores or comparisons: checks of the annotations against replicates of them."""

from collections.abc import Mapping

import numpy as np
import xarray as xr

from ... import evaluation
from ..page import Section, table_rows

TITLE, KEY = "Does the model fit?", "fit"
COLUMNS = ("observed", "lower", "upper", "tail_probability", "adjusted")
SHARED = ("residual correlation", "largest eigenvalue")  # in the names of the checks of what raters share


def predictive_fit_section(
    predicted: xr.DataTree | None, attributes: Mapping[str, np.ndarray], seed: int
) -> Section:
    """Return the section on the checks of a posterior with replicates, or on None; `attributes` are of the raters (rater,)."""
    if predicted is None:
        text = "Not checked: annotations are simulated by the fitted model, which was not given."
        return Section(TITLE, text, key=KEY, facts={"fits": None})
    try:
        found = evaluation.model_checks(predicted, random_seed=seed)
    except evaluation.EvaluationError as missing:
        return Section(TITLE, f"Not checked: {missing}.", key=KEY, facts={"fits": None})
    fits, sentences = bool(found.attrs["fits"]), list(found.attrs["sentences"])
    failed = found["check"].to_numpy()[found["fails"].to_numpy()].tolist()
    several = (name for name, own in attributes.items() if 1 < len(np.unique(own)) < len(own))
    group = next(several, None)
    text = " ".join(sentences)
    has_groups = bool({"taste", "shared_bias"} & set(predicted["posterior"].data_vars))
    if any(name.startswith(SHARED) for name in failed) and group is not None and not has_groups:
        text += (
            f" The uncertainties of this report count every rater as one. groups={group!r} or --groups-of-raters {group} gives "
            "the model a parameter for what a group shares."
        )
    columns = {"check": found["check"].to_numpy().astype(str)} | {n: found[n].to_numpy() for n in COLUMNS}
    columns["as the model expects"] = np.where(found["fails"], "no", "yes")
    text += (
        f" Each check is a number computed from the annotations and from {found.attrs['replicates']} tables that the model "
        "draws, of which 90 % are between lower and upper; adjusted is the tail probability of all checks together, and a check "
        "fails up to .05."
    )
    facts = {"fits": fits, "sentences": sentences, "replicates": found.attrs["replicates"]}
    given = {"file": "model_checks", "key": KEY, "facts": facts, "alarm": not fits}
    return Section(TITLE, text, rows=table_rows(columns), **given)
