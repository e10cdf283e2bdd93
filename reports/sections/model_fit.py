"""Report section on the fit of a model of labels: checks, what fails, and what it does to the answer."""

import warnings
from typing import Any

import numpy as np
import xarray as xr

from ... import evaluation, inference, models
from ..._messages import way
from ...evaluation import plots
from ...evaluation.checks.labels import (
    FEATURES,
    FIRST,
    GOLD,
    LATE,
    ORDERED,
    SHARE,
    SHOWN,
    TIME,
    TOGETHER,
    TWINS,
)
from ...models import Labels
from ...models._catalog import annotation_kinds, shared_errors_of
from ...posterior.schema import SAMPLE
from ..page import Section, table_rows
from ..wording import PEOPLE, first_names, percent, with_interval
from .certainty import best_guess_scores
from .metrics import metric_rows

TITLE, KEY = "Does the model fit?", "fit"
SHARING = annotation_kinds["labels"].sharing_model
FEW_ANSWERS = 500
FEWER = 0.9  # share of its raters up to which a group counts as fewer
COLUMNS = ("observed", "lower", "upper", "tail_probability", "adjusted", "effect")
UNKNOWN = "annotations are simulated by the fitted model, which was not given"
WEAK = "with few answers to an item, checks see only large shared errors"  # what a check that does not fail is worth


def checked(
    tree: xr.DataTree | None, seed: int, by: str | None = None
) -> xr.Dataset | evaluation.EvaluationError:
    """Return the checks of a posterior with the replicates that they need, or why there are none; `by` is a rater attribute."""
    if tree is None:
        return evaluation.EvaluationError(UNKNOWN)
    try:
        return evaluation.model_checks(tree, by, random_seed=seed)
    except evaluation.EvaluationError as missing:
        return missing


def fit_sections(
    found: xr.Dataset | evaluation.EvaluationError,
    tree: xr.DataTree,
    data: Labels,
    seed: int,
    group: str | None = None,
) -> list[Section]:
    """Return the sections on the checks `found` of a posterior of labels, or why there are none; `group` is a rater attribute."""
    by = group if group in data.rater_attributes else None
    if isinstance(found, evaluation.EvaluationError):
        return [unchecked_section(f"Not checked: {found}.")]
    fits, sentences = bool(found.attrs["fits"]), list(found.attrs["sentences"])
    facts: dict[str, Any] = {"fits": fits, "sentences": sentences, "replicates": found.attrs["replicates"]}
    verdict = sentences[0]
    if fits and (few := int(found.attrs["answers"])) < FEW_ANSWERS:
        verdict += f" With {few:,} answers the checks find large deviations only."
    if not fits:
        verdict, refit = _what_fails(found, tree, data, seed, by)
        verdict = " ".join([verdict, *(own for own in sentences if is_apart(own) and own not in verdict)])
        facts |= refit
    facts["verdict"] = verdict
    alarm = not fits and not (allows_for_shared_errors(tree, found) and SHARING not in facts)
    return checked_sections(found, verdict, facts, alarm=alarm)


def allows_for_shared_errors(tree: xr.DataTree, found: xr.Dataset) -> bool:
    """Whether the failed checks are of errors that raters share, for which the certainties of correlated_votes allow."""
    failed = _failed(found)
    return shared_errors_of(tree) == "average" and all(share_errors(own) for own in failed[:, None])


def is_apart(sentence: str) -> bool:
    """Whether a sentence is of a check that errors which raters share do not explain, so that it is always said."""
    return any(name in sentence for name in (ORDERED, SHOWN, FIRST, LATE, TIME, TWINS, GOLD))


def _failed(found: xr.Dataset) -> np.ndarray:
    """Return the names of the checks that fail."""
    return found["check"].to_numpy()[found["fails"].to_numpy()].astype(str)


def share_errors(failed: np.ndarray) -> bool:
    """Whether failed checks say that raters share errors."""
    of_errors = ("residual correlation" in name and not name.startswith(SHOWN) for name in failed)
    return any(of_errors) or SHARE in failed


def unchecked_section(why: str) -> Section:
    """Return the section that says why a posterior was not checked."""
    return Section(TITLE, why.replace("model_checks: ", ""), key=KEY, facts={"fits": None})


def checked_sections(found: xr.Dataset, verdict: str, facts: dict[str, Any], *, alarm: bool) -> list[Section]:
    """Return the section with the verdict on the checks of a posterior, and its part with all checks."""
    columns = {
        "check": found["check"].to_numpy().astype(str),
        **{name: found[name].to_numpy() for name in COLUMNS},
        "if it fails": np.where(found["fails"], found["meaning"].to_numpy(), ""),
    }
    text = (
        f"Each check is a number computed from the annotations, and from {found.attrs['replicates']} tables of annotations by "
        "the same raters of the same items, drawn by the model; 90 % of these are between lower and upper. The adjusted tail "
        "probability is that of all checks together: a check fails if it is at most .05."
    )
    given = {"file": "model_checks", "key": f"{KEY}.checks", "part": True}
    rows = table_rows(columns)
    shown = [{name.replace("_", " "): cell for name, cell in row.items()} for row in rows]
    return [
        Section(TITLE, verdict, key=KEY, facts=facts, alarm="amber" if alarm else False),
        Section("Checks", text, [plots.model_checks(found)], rows, shown=shown, **given),
    ]


def _what_fails(
    found: xr.Dataset, tree: xr.DataTree, data: Labels, seed: int, by: str | None
) -> tuple[str, dict[str, Any]]:
    """Return what fails, what it does to the certainties and what to do, in words and numbers."""
    failed = _failed(found)
    if FEATURES in failed:  # errors that seem to be shared may follow from it
        sentence = next(own for own in found.attrs["sentences"] if FEATURES in own)
        return f"The model does not fit the answers. {sentence}", {"features_fit": False}
    if not share_errors(failed):
        return f"The model does not fit the answers. {found.attrs['sentences'][0]}", {}
    errors = shared_errors_of(tree)
    below = "The certainties below assume that raters err independently"
    if errors == "average":
        below = "The certainties below allow for errors that all raters share alike, not for raters who copy each other"
    elif errors != "independent":
        below = "The certainties below are those of a model that does not explain it"
    by = by or _attribute_with_groups(data)
    if by is None or errors == "groups":
        remedy = f"{_two_truths(found)}{_remedy_without_groups(errors)}"
        return (f"These raters share errors: {_correlation_in_words(found, failed)}. {below}. {remedy}"), {
            "shares_errors": True
        }
    words, facts = _refit(tree, data, seed, by)
    return f"These raters share errors: {words[0]} {below}; {words[1]}", {
        "shares_errors": True,
        SHARING: facts,
    }


def _two_truths(found: xr.Dataset) -> str:
    """Advice where two sides of raters agree within and not between."""
    if not (sides := found.attrs.get("sides")):
        return ""
    refit = way("--model cultural_consensus", "models.cultural_consensus(labels)")
    return (
        f"The raters {first_names(sides[1])} agree with each other, as the others do, and not with them: each side may have a "
        f"truth of its own. {refit} says who is of which side, and where they differ. "
    )


def _remedy_without_groups(errors: str | None) -> str:
    """Advice when shared errors are not explained by known groups, nor by a model with such `Spec.shared_errors`."""
    copies = (
        "If some of them copy each other, as language models do, the most probable label itself can be wrong: name their "
        f"groups, in a column such as kind ({way('--rater-attribute kind', 'rater_attributes=["kind"]')})."
    )
    kinds = "If all find the same items hard, ebcc looks for kinds of items on which they err together"
    allowed = "" if errors == "average" else ", and correlated_votes allows for it on average"
    if errors == "groups":
        return f"{kinds}{allowed}."
    if errors == "kinds":
        return f"{copies} correlated_votes allows on average for errors that all raters share."
    return f"{copies} {kinds}{allowed}."


def _correlation_in_words(found: xr.Dataset, failed: np.ndarray) -> str:
    """Return the first failed correlation of errors in words; that of the main check is of all raters, or of a set of them."""
    name = str(failed[0])
    if name == SHARE:
        name = TOGETHER
        if not float(found["observed"].sel(check=name)) > float(found["upper"].sel(check=name)):
            more = float(found["effect"].sel(check=SHARE))
            raters = first_names(found.attrs["sharing_raters"])
            return f"those of two of the raters {raters} correlate by {more:.2g} more than the model expects"
    row = found.sel(check=name)
    expected = f"{float(row['lower']):.2g} to {float(row['upper']):.2g}"
    return f"{name} {float(row['observed']):.2g}, where the model expects {expected}"


def _attribute_with_groups(data: Labels) -> str | None:
    """Return the first rater attribute with several groups, one of two raters or more."""
    sizes = {name: len(np.unique(values)) for name, values in data.rater_attributes.items()}
    return next((name for name, n in sizes.items() if 1 < n < len(data.raters)), None)


def _refit(tree: xr.DataTree, data: Labels, seed: int, by: str) -> tuple[tuple[str, str], dict[str, Any]]:
    """Fit the shared-guess model; return effective raters and expected accuracy in words, and their numbers."""
    groups = np.unique(data.rater_attributes[by]).astype(str).tolist()
    apart = [name for name in groups if name.lower() in PEOPLE]
    sizes = tree["posterior"].sizes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of convergence, which is said below, and of small groups
        model = getattr(models, SHARING)(data, by, apart if len(apart) < len(groups) else ())
        shared = inference.sample(
            model, draws=sizes["draw"], chains=sizes["chain"], random_seed=seed, progressbar=False
        )
    converged = bool(inference.diagnose(shared).attrs["converged"])
    (claim,) = metric_rows({"certainty": best_guess_scores(shared, seed)})
    before, after = (
        evaluation.truth_certainty(own)["label"].to_numpy().astype(str) for own in (tree, shared)
    )
    count = evaluation.effective_raters(shared, by, random_seed=seed)
    effective = count["effective"].mean(SAMPLE).to_numpy()
    size = count["raters"].to_numpy()
    names = count["group_of_raters"].to_numpy().astype(str)
    fewer = np.flatnonzero(effective < FEWER * size)
    counted = [
        f"{size[g]:,} raters of {by} {names[g]} count as {effective[g]:.1f} independent ones" for g in fewer
    ]
    facts = {
        "independent": apart,
        "converged": converged,
        **{name: claim[name] for name in ("mean", "lower", "upper")},
        "changed": float((before != after).mean()),
        "effective": {names[g]: float(effective[g]) for g in range(len(names))},
        "equivalent": dict(
            zip(names.tolist(), count["equivalent"].mean(SAMPLE).to_numpy().tolist(), strict=True)
        ),
    }
    option = way(
        f"--model shared_guess --groups-of-raters {by}" + "".join(f" --independent {name}" for name in apart),
        f"models.shared_guess(labels, {by!r}, {apart!r})",
    )
    which = f", with {first_names(apart)} as independent" if apart else ""
    doubt = "" if converged else " That fit has not converged."
    what = (
        f"with shared errors (shared_guess{which}) the expected accuracy is "
        f"{with_interval(claim['mean'], claim['lower'], claim['upper'], 2)}, and the most probable label of "
        f"{percent(facts['changed'])} of the items is another.{doubt} Report by it: {option}."
    )
    return (f"{'; '.join(counted) or f'in groups by {by}'}.", what), facts
