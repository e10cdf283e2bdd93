"""Report section on accuracy against the truth, by a posterior that has seen the predictions as answers of further raters.

The truth behind rankings is the consensus, a distribution over the categories.
"""

from collections.abc import Mapping
from typing import Any

import xarray as xr

from ... import evaluation
from ...evaluation.uncertainty.questions import OPEN
from ...models._catalog import SHARED_ON_ITEMS, shared_errors_of
from ...posterior.plausibility import of_rankings
from ..page import Row, Section
from ..wording import with_interval
from .metrics import difference_sentence, metric_rows, order_of, pair_rows, question_of_all
from .model_fit import WEAK, allows_for_shared_errors

KEY = "metrics.truth"
FIGURES = ("mean", "lower", "upper")


def against_truth_section(
    found: Mapping[str, xr.Dataset],
    joint: Mapping[str, xr.Dataset],
    checked: xr.DataTree,
    seed: int,
    unconverged: str = "",
    *,
    without_features: bool = False,
) -> Section:
    """Return both estimates of every metric side by side.

    Parameters
    ----------
    found, joint : mapping of str to Dataset
        Metrics by the posterior of the raters, and by that of raters and classifiers.
    checked : DataTree
        The posterior of raters and classifiers, with replicates where its checks need them.
    seed : int
        Random seed of the checks.
    unconverged : str
        Verdict on the draws of that posterior, "" if they have converged.
    without_features : bool
        Whether that posterior does without the features of the items, which the other has seen.
    """
    truth, rows, shown = _truth_of(checked), [], []
    agreement = {(row["metric"], row.get("classifier")): row for row in metric_rows(found)}
    for of_truth in metric_rows(joint):
        own = {name: of_truth[name] for name in ("metric", "classifier")}
        of_raters = agreement[own["metric"], own["classifier"]]
        rows.append(own | of_truth | {f"agreement_{name}": of_raters[name] for name in FIGURES})
        shown.append(
            own
            | {
                f"against the {truth}": _figure(of_truth),
                "agreement with what the raters leave open": _figure(of_raters),
            }
        )
    fits, doubtful, doubt = _fit_in_words(checked, seed)
    seen = {
        "truth": "the predictions as answers of further raters",
        "consensus": "their lists as those of further raters, whose reliabilities it learns",
    }[truth]
    text = (
        f"How good the classifiers are against the {truth}, by a second posterior of the same model that has seen {seen}. "
        f"{OPEN.capitalize()}, by the posterior of the raters alone, is lower for a good classifier, since raters err: it is no "
        f"accuracy. The former leans on the model, which believes that classifiers {_belief(checked)}. {doubt}"
    )
    if unconverged:
        text += f" Do not rely on it, the sampler of the second posterior has not converged. {unconverged}"
    if without_features:
        text += (
            " This second posterior does without the features of the items: the errors of a classifier that has seen them follow "
            "them, and would pass for the truth."
        )
    if truth == "consensus":
        text += " How reliable a classifier is shows in many lists only; by a few, each list mostly agrees with itself."
    headline = next(iter(joint))
    facts: dict[str, Any] = {
        "question": question_of_all(joint),
        "fits": fits,
        "converged": not unconverged,
        "headline": headline,
        "truth": truth,
    }
    if "difference" in joint[headline]:
        facts["order"] = order_of(joint[headline])
        text += f" By {headline}: {difference_sentence(pair_rows(joint)[0])}"
    given: dict[str, Any] = {"file": "metrics_truth", "key": KEY, "facts": facts, "part": True}
    return Section(
        f"Against the {truth}", text, (), rows, shown=shown, alarm=doubtful or bool(unconverged), **given
    )


def without_section(why: str, truth: str = "truth") -> Section:
    """Return the section that says why there is no estimate against the truth, or the consensus of rankings."""
    return Section(
        f"Against the {truth}", f"No estimate of accuracy against the {truth}: {why}", key=KEY, part=True
    )


def _truth_of(tree: xr.DataTree) -> str:
    """Return the word for the truth behind the annotations of a posterior."""
    return "consensus" if of_rankings(tree) else "truth"


def _figure(row: Row) -> str:
    """Return mean and interval of a row of `metric_rows`."""
    return with_interval(*(row[name] for name in FIGURES))


def _belief(tree: xr.DataTree) -> str:
    """Return what the model of a posterior believes of the errors of classifiers and people."""
    errors = shared_errors_of(tree)
    if errors == "average":
        return "share errors with people as much as people do with each other"
    if errors == "groups":
        return "and people err independently, but for the groups that share a guess"
    if errors in SHARED_ON_ITEMS:
        return "err independently of people, except that some items are hard for all"
    return "err independently of people"


def _fit_in_words(checked: xr.DataTree, seed: int) -> tuple[bool | None, bool, str]:
    """Return whether the posterior of raters and classifiers fits (None: not checked), whether that spoils it, and a sentence."""
    try:
        found = evaluation.model_checks(checked, random_seed=seed)
    except evaluation.EvaluationError as missing:
        return None, False, f"That is not checked: {str(missing).replace('model_checks: ', '')}."
    if found.attrs["fits"]:
        return True, False, f"No check of it fails; {WEAK}."
    sentences = " ".join(found.attrs["sentences"])
    if allows_for_shared_errors(checked, found):
        return (
            False,
            False,
            (
                f"{sentences} Its figures allow for errors that all raters share alike, classifiers among them, not for a "
                "classifier that errs where people do more than people do with each other."
            ),
        )
    return False, True, f"Do not rely on it, a check of it fails. {sentences}"
