"""Report section on the fit of a model of scores, comparisons or rankings: checks of annotations against replicates."""

from collections.abc import Mapping

import numpy as np
import pymc as pm
import xarray as xr

from ... import evaluation, inference
from ..._messages import step, way
from ...evaluation.checks.comparisons import LEFT_WINS, LEFT_WINS_OF_RATERS, STRENGTH, STRENGTHS, TASTES
from ...evaluation.checks.comparisons import REPEATS as REPEATED_VOTES
from ...evaluation.checks.populations import DESIGN
from ...evaluation.checks.rankings import AGREEMENT
from ...evaluation.checks.scores import REPEATS as REPEATED_SCORES
from ...evaluation.checks.scores import SLOPES, SPREAD
from ...models import catalog
from ..page import Section
from .comparisons import side_for, sides_by_rater
from .model_fit import UNKNOWN, checked_sections, unchecked_section

SHARED = ("residual correlation", "largest eigenvalue")  # in the names of the checks of what raters share
SAID = 2  # failed checks of which the verdict speaks; the table has all
IN_PRIOR = "Not checked: the rankings are in the prior of this model, which could not simulate them; plackett_luce can."
TO_DO = {
    SLOPES: (
        "Leave out raters whose scores do not rise with the item, or bring the scores of all raters to one spread before the fit."
    ),
    REPEATED_SCORES: (
        "Intervals of the locations are too narrow or too wide: keep one score of a rater for an item, such as the mean."
    ),
    DESIGN: "Let some raters score items of all kinds: by these the raters, and so the items, are compared.",
}


def with_replicates(tree: xr.DataTree, model: pm.Model | None, seed: int) -> xr.DataTree | None:
    """Return evenly spaced draws of a tree, with replicates of its annotations; None without the model."""
    if model is None:
        return None
    with step("Simulating annotations"):
        return inference.predict(tree, model, random_seed=seed, log_likelihood=False, progressbar=False)


def predictive_fit_sections(
    predicted: xr.DataTree | None,
    attributes: Mapping[str, np.ndarray],
    found: xr.Dataset | evaluation.EvaluationError,
) -> list[Section]:
    """Return the sections on the checks `found` of a posterior with replicates, or on None; `attributes` are of raters."""
    if predicted is None:
        return [unchecked_section(f"Not checked: {UNKNOWN}.")]
    if "observed_data" not in predicted.children:
        return [unchecked_section(IN_PRIOR)]
    if isinstance(found, evaluation.EvaluationError):
        return [unchecked_section(f"Not checked: {found}.")]
    fits, sentences = bool(found.attrs["fits"]), list(found.attrs["sentences"])
    failed = found["check"].to_numpy()[found["fails"].to_numpy()].tolist()
    checks = found.sel(check=failed)
    others = len(sentences) - SAID
    more = [f"{others} more checks fail." if others > 1 else "1 more check fails."] * (others > 0)
    verdict = " ".join([*sentences[:SAID], *more, *_remedies(predicted, attributes, checks)])
    facts = {"fits": fits, "sentences": sentences, "replicates": found.attrs["replicates"]}
    facts["verdict"] = verdict
    # who counts rankings more than once chose more certainty than the model has by itself
    alarm = not fits and not _is_sharpened(predicted, checks)
    return checked_sections(found, verdict, facts, alarm=alarm)


def _remedies(predicted: xr.DataTree, attributes: Mapping[str, np.ndarray], checks: xr.Dataset) -> list[str]:
    """Return what to do about failed `checks`, in sentences."""
    failed = checks["check"].to_numpy().tolist()
    several = (name for name, own in attributes.items() if 1 < len(np.unique(own)) < len(own))
    group, found = next(several, None), []
    has_groups = bool({"taste", "shared_bias"} & set(predicted["posterior"].data_vars))
    if any(name.startswith(SHARED) for name in failed) and group is not None and not has_groups:
        found.append(
            f"The uncertainties of this report count every rater as one. "
            f"{way(f'--groups-of-raters {group}', f'groups={group!r}')} gives "
            "the model a parameter for what a group shares."
        )
    if TASTES in failed and group is None and not has_groups:
        found.append(
            f"Kinds of raters with a taste of their own can be named in a column "
            f"({way('--groups-of-raters', 'groups=')}); {way('--signed', 'signed=True')} allows for raters who prefer what "
            "others like least."
        )
    found += [text for name, text in TO_DO.items() if name in failed]
    if REPEATED_VOTES in failed:
        found.append(
            "Intervals count every vote. Unless votes are on several prompts, count equal ones of a rater once: "
            f"{way('--drop-duplicates', 'votes.without_duplicates()')}."
        )
    if {STRENGTH, STRENGTHS} & set(failed):
        found.append(f"{way('--strength ignored', 'strength="ignored"')} counts who won alone.")
    spec = catalog.get(str(predicted.attrs.get("model")))
    if SPREAD in failed and spec is not None and spec.remedy:
        found.append(spec.remedy)
    if LEFT_WINS in failed and "left_bias" not in predicted["posterior"]:
        found.append(f"{side_for('shared')} gives the model an advantage of the left side.")
    elif LEFT_WINS_OF_RATERS in failed and not sides_by_rater(predicted):
        found.append(f"{side_for('rater')} gives it one for each rater.")
    if _is_sharpened(predicted, checks):
        found.append(
            f"Each ranking counts more than once. Your raters disagree too much for that: "
            f"{way('--reliability 1', 'reliability=1')}."
        )
    return found


def _is_sharpened(predicted: xr.DataTree, checks: xr.Dataset) -> bool:
    """Return whether rankings that count more than once agree less than the model expects."""
    if AGREEMENT not in checks["check"] or "reliability" not in predicted["constant_data"]:
        return False
    reliability = predicted["constant_data"]["reliability"].to_numpy()
    return bool(reliability.max() > 1 and checks["effect"].sel(check=AGREEMENT) < 0)
