"""Numbers in words, with their intervals."""

import math
from collections.abc import Mapping, Sequence
from typing import Any

from .._messages import escaped

ADDITIVE = ("cross-entropy", "agreement", "brier")  # scorers that are means over items
OF_POSTERIOR = ("abc", "plurality")  # combiners


# names of groups of people, who do not copy each other's answers
PEOPLE = {
    "person",
    "people",
    "human",
    "humans",
    "expert",
    "experts",
    "annotator",
    "annotators",
    "worker",
    "workers",
    "crowd",
}


def interval(lower: float, upper: float, digits: int = 3) -> str:
    """Text of both ends of an interval."""
    return f"{lower:z.{digits}f} to {upper:z.{digits}f}"


def shown_interval(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the column of a table with the interval from lower to upper of a row."""
    return {"90 % interval": interval(row["lower"], row["upper"])}


def with_interval(mean: float, lower: float, upper: float, digits: int = 3) -> str:
    """Text of a number with its interval, or of a number that is not finite."""
    if not math.isfinite(mean):
        return "not defined" if math.isnan(mean) else "infinite"
    return f"{mean:z.{digits}f} ({interval(lower, upper, digits)})"


def contradictions_in_words(number: int, of: int) -> str:
    """Return a note on answers that contradict an earlier one of the same rater, without a full stop."""
    return (
        f"{number:,} of the {of:,} annotations contradict{'s' * (number == 1)} another of the same rater on the same item or "
        "pair of items; all of them are counted; --keep-answers counts the first or the last"
    )


def percent(probability: float) -> str:
    """Percentage of a probability; below .1 % and above 99.9 % only the bound is given."""
    if not math.isfinite(probability):
        return "not defined"
    if probability < 0.001:
        return "< 0.1 %"
    if probability > 0.999:
        return "> 99.9 %"
    return f"{100 * probability:.1f} %"


def share_interval(count: int, total: int) -> tuple[float, float]:
    """Jeffreys 90 % interval of a share after `count` of `total`; from 0 if none are counted, to 1 if all are."""
    from scipy.special import betaincinv  # costs a second, which --help should not wait for

    lower, upper = betaincinv(count + 0.5, total - count + 0.5, [0.05, 0.95]).tolist()
    return (0.0 if count == 0 else lower), (1.0 if count == total else upper)


def share_with_interval(count: int, total: int) -> str:
    """Percentage of a share of the items, with its 90 % interval."""
    return percent_with_interval(count / total, *share_interval(count, total))


def percent_with_interval(share: float, lower: float, upper: float) -> str:
    """Percentage of a share, with its interval."""
    return f"{100 * share:.0f} % ({100 * lower:.0f} to {100 * upper:.0f} %)"


def first_names(names: Sequence[object], shown: int = 5, joint: str = ", ") -> str:
    """List the first names, and count the others."""
    more = f" and {len(names) - shown:,} more" if len(names) > shown else ""
    return joint.join(escaped(str(name)) for name in names[:shown]) + more
