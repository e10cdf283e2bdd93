"""Untrusted text in messages: bounded length, one line, no terminal control characters."""

import os
import reprlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from itertools import islice

# frames that a warning skips, so that it names the line of the user
_ROOT = os.path.dirname(__file__)
_PACKAGES = ("models", "inference", "evaluation", "reports")
OUR_FILES = (os.path.join(_ROOT, "_"), *(os.path.join(_ROOT, package, "") for package in _PACKAGES))
MAX_LENGTH = 1_500
JOINERS = "\u200c\u200d"  # of letters in Persian, of people in families


CLASSIFIER = "classifier"  # value of the attribute of raters whose answers are predictions
# constant data of a posterior whose prior has seen the probabilities of a classifier, and attribute with the name of that
SEEN_IN_PRIOR = "prior_predictions"

# what the plausibility of a draw may be, by the attribute ``truth`` of the variable; of trees of 0.1 the last
TRUTHS = {"category": "category", "distribution": "distribution", "plausibility": "distribution"}
DRAWS_NOT_KEPT = (
    "the posterior keeps a summary of the {} of each item and no draws of it, which this needs; fit again with "
    'keep="thinned", which keeps hundreds of draws, or keep="all" (--keep on the command line)'
)
ASK_TRUTH = (
    'the posterior does not say what the plausibility of a draw is. "category": the probability of each category to be the one '
    'true one, given the parameters of the draw, as in Dawid-Skene. "distribution": the distribution of the labels that raters '
    "give, itself unknown, as in a Dirichlet model"
)


class _Short(reprlib.Repr):
    """Repr of bounded length; Python refuses to write integers of more than 4,300 digits."""

    def __init__(self) -> None:
        super().__init__(maxstring=60, maxother=60)

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < 256 else f"<integer of {bits:,} bits>"


_may_show: ContextVar[Callable[[str], bool] | None] = ContextVar("may_show", default=None)
HIDDEN = "(hidden)"


@contextmanager
def quotes_hidden(may_show: Callable[[str], bool]) -> Iterator[None]:
    """Context manager: messages quote a text only if `may_show` of it is true, as any other may name a rater."""
    token = _may_show.set(may_show)
    try:
        yield
    finally:
        _may_show.reset(token)


def is_shown(value: object) -> bool:
    """Whether messages may quote a value: all values, except within `quotes_hidden`."""
    may_show = _may_show.get()
    return may_show is None or (isinstance(value, str) and may_show(value))


def quoted_error(error: Exception) -> str:
    """Text of an error of another library in parentheses, which may quote what is read; empty if that is hidden."""
    text = " ".join(str(error).split())[:200]
    return f" ({text})" if is_shown(text) else ""


def short_repr(value: object) -> str:
    """Repr of a value on one line of about a hundred characters at most, unless quotes are hidden."""
    if not is_shown(value):
        return HIDDEN
    return printable_line(_Short().repr(value).replace("\n", " "))


def first_reprs(names: Iterable[object], most: int = 12) -> str:
    """First `most` names, comma-separated reprs, with "..." for the rest; "none" if there are none."""
    first = [short_repr(name) for name in islice(names, most + 1)]
    return ", ".join(first[:most] + ["..."] * (len(first) > most)) or "none"


def printable_line(text: str) -> str:
    """One printable line of bounded length: the middle is cut, and non-printable characters are escaped."""
    if len(text) > MAX_LENGTH:
        text = f"{text[: MAX_LENGTH // 2]} ... {text[-MAX_LENGTH // 2 :]}"
    return escaped(text)


def escaped(text: str) -> str:
    """Escape all non-printable characters; the length is not bounded."""
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text
    )
