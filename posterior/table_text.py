"""Text of tables, read the same everywhere: names of columns, and numbers written as text.

The help of the command line imports it, so it stands apart from NumPy.
"""

import re
from collections.abc import Collection, Mapping, Sequence

from .._messages import short_repr

# --- Names of columns in the words of the trade ---

_ITEM = (
    "item task document doc example question sample instance unit image case record hit sentence post tweet comment "
    "prompt patient"
)
_RATER = (
    "rater annotator worker coder judge user labeler labeller reviewer expert assessor evaluator grader respondent "
    "participant reader observer voter"
)
_SIDE = "{0} model{1} item{1} {1} option{1} candidate{1} response{1} system{1} player{1} {0}item {0}model"
_LABEL = "label category choice answer annotation class response verdict judgment judgement vote"

TIMES = (  # of an answer, the best first
    *(
        "time",
        "timestamp",
        "submittime",
        "submittedat",
        "updatedat",
        "completedat",
        "finishedat",
        "endtime",
        "createdat",
    ),
    *("created", "datetime", "date"),
)


def _with_ids(words: str) -> str:
    """Words, and each with the suffix "id"."""
    return " ".join(f"{word} {word}id" for word in words.split())


# role -> names of columns that stand for it, without case, spaces, hyphens and underscores
TRADE: dict[str, frozenset[str]] = {
    role: frozenset(words.split())
    for role, words in {
        "item": _with_ids(_ITEM) + " id",
        "rater": _with_ids(_RATER),
        "label": _LABEL,
        "category": _LABEL + " condition diagnosis candidate prediction predicted predictedlabel",
        "rank": "rank position place",
        "score": "score rating value stars",
        "left": _with_ids(_SIDE.format("left", "a")),
        "right": _with_ids(_SIDE.format("right", "b")),
        "winner": "winner label preference preferred choice vote verdict outcome result",
        "classifier": "classifier classifiername model modelname system method predictor",
        "compared": _with_ids(_ITEM + " model system candidate player") + " id",  # in a ranking of the items
        "confidence": "score probability prob proba confidence p",  # of a predicted category
        "probability": "probability prob proba p",
        "time": " ".join(TIMES),
    }.items()
}

# columns of what an item says, where others name it
_CONTENTS = {"responsea", "responseb", "response1", "response2"}

# names of crowd-kit and of the roles themselves are documented defaults, and need no message
_SILENT = {"task", "worker", "label"}


def folded(name: object) -> str:
    """Name without case, spaces, hyphens and underscores; empty unless it is text."""
    return name.casefold().translate(_IGNORED) if isinstance(name, str) else ""


_IGNORED = dict.fromkeys(map(ord, " -_\t\ufeff"))


def columns_alike(
    role: str, names: Sequence[str], taken: Collection[str], meaning: str | None = None
) -> list[str]:
    """Columns that are not taken and stand for a role: those of its name but for case and hyphens, or else synonyms.

    The synonyms are those of `meaning`, a key of `TRADE`; by default of the role.
    """
    own = TRADE.get(meaning or role, frozenset())
    alike = [name for name in names if name not in taken and folded(name) in {*own, folded(role)}]
    exact = [name for name in alike if folded(name) == folded(role)]
    return exact or [name for name in alike if folded(name) not in _CONTENTS] or alike


def renamed_in_words(found: Mapping[str, str]) -> str:
    """Phrase with the columns that were found by a synonym; empty if there are none."""
    told = {
        role: name
        for role, name in found.items()
        if role in TRADE and folded(name) != role and folded(name) not in _SILENT
    }
    return ", ".join(f"{short_repr(name)} as {role}" for role, name in told.items())


# --- Numbers: digits 0 to 9, a decimal point and an exponent; ``float`` also reads "0_9", other scripts, "infinity" and "nan" ---

_DECIMAL = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?\s*")
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,100}\s*")


def decimal_number(text: str) -> float | None:
    """Return the number of a decimal text, infinite beyond the range of floats; None if it is none."""
    return float(text) if _DECIMAL.fullmatch(text) else None


def whole_number(text: str) -> int | None:
    """Return the integer of a decimal text without a point; None if it is none."""
    return int(text) if _WHOLE.fullmatch(text) else None
