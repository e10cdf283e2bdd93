"""Answers that are no truth: words and codes of those who gave none, found among the answers or named by the user."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from ..._messages import short_repr, warn_user
from ...posterior.table_text import whole_number
from .errors import DataWarning

MISSING_WORDS = {"nan", "na", "n/a", "#n/a", "none", "null", "nil", "-", "?", ".", "missing", "unknown"}
NO_ANSWER_WORDS = MISSING_WORDS | {
    *(
        "unsure",
        "not sure",
        "uncertain",
        "skip",
        "skipped",
        "abstain",
        "abstained",
        "idk",
        "dk",
        "dont know",
        "don't know",
    ),
    *(
        "do not know",
        "cannot judge",
        "can't judge",
        "cannot tell",
        "can't tell",
        "cannot say",
        "can't say",
        "no answer",
    ),
    *("no opinion", "not answered", "unanswered", "not applicable", "prefer not to say", "no response"),
}
CODES = (-9, -99, -999, -9999, 99, 999, 9999)  # of surveys
FAR = 5  # times the largest other number at which such a code stands apart from a scale
SHOWN = 3
NoAnswer = Sequence[Any] | str | int  # answers that are no truth, or one


def folded_answer(answer: Any) -> str:
    """Text of an answer without case and surplus spaces; a whole float is an integer that a gap elsewhere made one."""
    if isinstance(answer, float | np.floating) and answer.is_integer():
        answer = int(answer)
    return " ".join(str(answer).casefold().replace("’", "'").split())


def listed_answers(no_answer: NoAnswer) -> list[Any]:
    """Return the answers of an argument, which may be one alone."""
    return [no_answer] if isinstance(no_answer, str | int) else list(no_answer)


def matcher(no_answer: NoAnswer) -> Callable[[Any], bool]:
    """Return the test for an answer that is none of the truth, such as "unsure" or -1."""
    words = {folded_answer(word) for word in listed_answers(no_answer)}
    return lambda answer: folded_answer(answer) in words


def categories_of(categories: Any, no_answer: NoAnswer) -> Any:
    """Return a declared closed set without the answers that are no truth."""
    if categories is None or not listed_answers(no_answer):
        return categories
    is_none = matcher(no_answer)
    return [own for own in categories if not is_none(own)]


def tell_left_out(n: int, total: int, times: Mapping[Any, int], lost: int = 0, *, kept: bool = False) -> None:
    """Warn that `n` of `total` answers are left out, or that no answer is one of those.

    `times` is the number of each, `lost` that of the items that have no other answer, which are `kept` or left out, too.
    """
    counts = ", ".join(f"{short_repr(word)} {many:,}" for word, many in times.items())
    said = f"{n:,} of {total:,} answers are {'set apart' if kept else 'left out'} as no answer ({counts})"
    if lost and kept:
        said += f"; {lost:,} {'item has' if lost == 1 else 'items have'} no other"
    elif lost:
        said += f"; {lost:,} {'item has no other, and is' if lost == 1 else 'items have no other, and are'} left out, too"
    if not n:
        said = f"no answer is one of no_answer= ({counts}); check its spelling"
    warn_user(said, DataWarning)


def without_no_answer(given: list[tuple[int, str, Any]], no_answer: NoAnswer) -> list[tuple[int, str, Any]]:
    """Return the answers of a wide table (row, rater, answer) that are some, and say how many are not."""
    if not (words := listed_answers(no_answer)):
        return given
    is_none = matcher(no_answer)
    kept = [own for own in given if not is_none(own[2])]
    folded = Counter(folded_answer(own[2]) for own in given)
    tell_left_out(len(given) - len(kept), len(given), {word: folded[folded_answer(word)] for word in words})
    return kept


def suspects(ids: np.ndarray) -> list[Any]:
    """Return the answers that often mean that a rater gave none: words, Snorkel's -1, and codes of surveys."""
    answers = ids.tolist()
    words = [own for own in answers if isinstance(own, str) and _is_word(own)]
    known = set(words)
    left = [own for own in answers if own not in known]
    found = {own: whole_number(folded_answer(own)) for own in left}
    numbers = {own: number for own, number in found.items() if number is not None}
    if len(numbers) < len(left):
        return words
    for own, number in numbers.items():
        if number not in (-1, *CODES):
            continue
        others = {other for other in numbers.values() if other != number}
        if not others or min(others) < 0 or others == {1}:
            continue  # -1 and 1 are two categories
        if number < 0 or number > FAR * max(*others, 1):
            words.append(own)
    return words


def _is_word(answer: str) -> bool:
    """Test for a word that often stands for no answer, in any case, with hyphens or underscores for spaces."""
    word = folded_answer(answer)
    return (
        word in NO_ANSWER_WORDS or folded_answer(word.replace("_", " ").replace("-", " ")) in NO_ANSWER_WORDS
    )


def tell_suspects(
    ids: np.ndarray,
    code: np.ndarray,
    count: np.ndarray,
    *,
    true: np.ndarray | None = None,
    kind: str = "answers",
) -> None:
    """Warn of answers that may be none of the truth.

    Shapes: `code` and `count` of the answers (row,); `true` are codes of known truths, which are no such answers.
    """
    found = suspects(ids)
    if not found:
        return
    given, names = np.bincount(code, count, len(ids)), ids.tolist()
    known = set() if true is None else {names[place] for place in np.unique(true[true >= 0]).tolist()}
    found = [own for own in found if own not in known]
    if not (n := int(sum(given[names.index(own)] for own in found))):
        return
    more = f" and {len(found) - SHOWN:,} more" if len(found) > SHOWN else ""
    warn_user(
        f"{', '.join(map(short_repr, found[:SHOWN]))}{more}: {n:,} of {int(given.sum()):,} {kind} that may mean no answer, and "
        "count as any other; no_answer= leaves them out",
        DataWarning,
    )


def tell_suspect_scores(scores: np.ndarray, count: np.ndarray) -> None:
    """Warn of scores that may be codes of no answer, among whole numbers; shapes (row,)."""
    ends = {float(scores.min()), float(scores.max())} if len(scores) else set()
    if ends & {-1.0, *map(float, CODES)}:
        values, code = np.unique(scores, return_inverse=True)
        tell_suspects(values, code, count, kind="scores")
