"""What a report on labels says of raters who err together: both certainties, the correlation of the votes and its source."""

from typing import Any

import numpy as np
import xarray as xr

from ..._messages import way
from ...models import Labels
from ...models._catalog import annotation_kinds, shared_errors_of
from ...models.data.raters import GUESSES
from ...models.labels.vote_correlation import INDEPENDENT
from ...posterior.groups import with_truth_of_confusion
from ..page import mean_with_ends
from ..wording import interval, with_interval
from .certainty import best_guess_scores
from .metrics import metric_rows

CORRELATION = "vote_correlation"
# by dawid_skene, of 14 public studies with known truth: mean certainty, with a population of raters, and share that was right
STUDIES, CLAIMED, CLAIMED_BY_POPULATION, RIGHT = 14, 0.96, 0.97, 0.87
ENOUGH_GOLD = 50  # gold items with which the mean of |claimed - right| of public studies is .03
MAY_BE_INDEPENDENT = 0.6  # probability of independent raters from which it is said
WITHIN_90 = 1.645  # standard deviations of a normal law on each side
EXPECTED = (
    "residual_correlation_error",
    "expected_residual_correlation",
    "expected_residual_correlation_error",
)


def independence_in_words(tree: xr.DataTree, data: Labels, seed: int) -> tuple[str, dict[str, Any]]:
    """Return sentences on raters who err together, and their numbers: by the model, or by what other studies were like.

    ("", {}) for models that allow for shared errors in another way, unless all raters are of one group whose guess they may copy.
    """
    groups = groups_in_words(data)
    if CORRELATION in tree["posterior"]:
        facts = _facts(tree, data, seed)
        return f"{_words(facts)}{groups}", {"correlation": facts}
    if alike := _all_alike_in_words(tree, data):
        return alike, {}
    errors = shared_errors_of(tree)
    if errors not in ("independent", "kinds"):  # on public sets a model of kinds of items is as sure
        return "", {}
    outside = {"studies": STUDIES, "claimed": CLAIMED, "right": RIGHT}
    return f"{_outside_view(str(tree.attrs['model']), errors)}{groups}", {"public_studies": outside}


def groups_in_words(data: Labels) -> str:
    """Return a sentence that offers `shared_guess`, where an attribute puts several raters into one of several groups."""
    for attribute, values in data.rater_attributes.items():
        groups, sizes = np.unique(values, return_counts=True)
        if 1 < len(groups) < len(values):
            largest = groups[sizes.argmax()]
            return (
                f" The {len(values):,} raters are in {len(groups):,} groups by {attribute} ({sizes.max():,} of {largest}). If "
                "those of one group copy each other, as language models do, labels can be wrong and claims too high. "
                + way(
                    f"--model shared_guess --groups-of-raters {attribute} finds out; --independent names a group that copies "
                    "nobody.",
                    f"models.shared_guess(labels, {attribute!r}) finds out; independent= names groups that copy nobody.",
                )
            )
    return ""


def _all_alike_in_words(tree: xr.DataTree, data: Labels) -> str:
    """Return a sentence where all raters may copy the guess of one group, and no gold tells it from the truth."""
    posterior = tree["posterior"].to_dataset()
    if "guess" not in posterior or (data.gold >= 0).any():
        return ""
    groups = posterior["group_of_raters"].to_numpy().astype(str)
    if len(groups) > 1 or posterior.sizes["copier"] < len(data.raters):
        return ""
    return f"All raters are of the group {groups[0]}: {GUESSES.all_alike}."


def _outside_view(model: str, errors: str) -> str:
    """Return a sentence on how far the claims of models of independent raters were true on public studies."""
    reference = annotation_kinds["labels"].rater_model
    which = "this model" if model == reference else f"{reference}, which believes the same,"
    if errors == "kinds":
        which = f"{reference}, whose claims are as high,"
    given = "given the kind of the item" if errors == "kinds" else "of each other"
    return (
        f"The model believes that raters err independently {given}: on {STUDIES} public studies with known truth {which} "
        f"claimed {CLAIMED:.2f} and was right in {RIGHT:.2f}. correlated_votes, the default, allows for it."
    )


def _facts(tree: xr.DataTree, data: Labels, seed: int) -> dict[str, Any]:
    """Return correlation, effective votes of a typical item, their source, and the claim for independent raters."""
    drawn = tree["posterior"][CORRELATION].to_numpy().ravel().astype(float)
    counts = data.counts.sum(axis=1)
    n = int(np.median(counts[counts > 0]))
    votes = n / (1 + (n - 1) * drawn)
    constants = tree["constant_data"].to_dataset() if "constant_data" in tree.children else xr.Dataset()
    told: dict[str, Any] = {"source": "public" if "independent_probability" in constants else "given"}
    for name in ("residual_correlation", *EXPECTED, "independent_probability"):
        if name in constants:
            number = float(constants[name])
            told[name] = number if np.isfinite(number) else None
    (claim,) = metric_rows({"certainty": best_guess_scores(with_truth_of_confusion(tree), seed)})
    return {
        **mean_with_ends(drawn),
        **told,
        "gold_items": int((data.gold >= 0).sum()),
        "answers": n,
        "answers_differ": bool(np.ptp(counts[counts > 0])),
        "effective_answers": mean_with_ends(votes),
        "independent": {name: claim[name] for name in ("mean", "lower", "upper")},
    }


def _words(facts: dict[str, Any]) -> str:
    """Return the sentences on the correlation of the votes."""
    own, claim = facts["effective_answers"], facts["independent"]
    n = facts["answers"]
    rho = with_interval(facts["mean"], facts["lower"], facts["upper"], 2)
    answers = (
        f"the {n:,} answers of a typical item" if facts["answers_differ"] else f"{n:,} answers to an item"
    )
    votes = (
        f"Raters make the same mistakes: {answers} tell as much as {own['mean']:.1f} independent ones "
        f"({interval(own['lower'], own['upper'], 1)}). Their correlation is {rho}"
    )
    if n == 1:
        votes = "A typical item has one answer, which no other shares errors with"
    would = with_interval(claim["mean"], claim["lower"], claim["upper"])
    studies = f"{STUDIES} public studies with known truth"
    sure = facts.get("independent_probability")
    if sure is not None and sure > MAY_BE_INDEPENDENT:
        outside = (
            f"Probability that your raters err independently: {100 * sure:.0f} % ({100 * INDEPENDENT:.0f} % before "
            f"seeing the data). If they do, labels are right with probability {would}. On {studies}, none with such raters, "
            f"that claim was {CLAIMED_BY_POPULATION:.2f} and {RIGHT:.2f} was right."
        )
    else:
        outside = (
            f"Plain Dawid-Skene would claim {would}. On {studies} it claimed {CLAIMED_BY_POPULATION:.2f} and was right in "
            f"{RIGHT:.2f}."
        )
    return f"{votes}, {_source(facts)}. {outside}"


def _source(facts: dict[str, Any]) -> str:
    """Return where the correlation comes from, and what would tell more."""
    if facts["source"] == "given":
        return "by the given prior of their correlation"
    r = facts.get("residual_correlation")
    own = (
        ""
        if r is None
        else f" and by what the errors of these raters share (residual correlation {r:.3f}{_of_independent(facts)})"
    )
    if gold := facts["gold_items"]:
        return f"by what public studies are like, by {gold:,} gold items{own}"
    return f"by what public studies are like{own}; {ENOUGH_GOLD} gold items, drawn at random, would tell"


def _of_independent(facts: dict[str, Any]) -> str:
    """Return the interval of the residual correlation of independent raters in words, "" if a tree does not say it."""
    error, expected, expected_error = map(facts.get, EXPECTED)
    if error is None or expected is None or expected_error is None:
        return ""
    half = WITHIN_90 * np.hypot(error, expected_error)
    return f"; independent raters would have {interval(expected - half, expected + half, 3)}"
