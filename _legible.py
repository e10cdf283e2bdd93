"""Text of strangers in messages: short, on one line, and without characters that steer a terminal."""

import reprlib
from collections.abc import Iterable
from itertools import islice

__all__ = ["escaped", "legible", "shown", "some"]

MOST = 1_500
JOINERS = "\u200c\u200d"  # of letters in Persian, of people in families


class _Short(reprlib.Repr):
    """A `repr` of bounded length. Python itself refuses to write integers of 4,300 digits."""

    def __init__(self) -> None:
        super().__init__(maxstring=60, maxother=60)

    def repr_int(self, x: int, level: int) -> str:
        bits = x.bit_length()
        return super().repr_int(x, level) if bits < 256 else f"<integer of {bits:,} bits>"


def shown(value: object) -> str:
    """Return a short `repr` on one line, however large the value.

    Parameters
    ----------
    value : object
        What was found.

    Returns
    -------
    str
        At most about a hundred characters.
    """
    return legible(_Short().repr(value).replace("\n", " "))


def some(names: Iterable[object], most: int = 12) -> str:
    """Return the first names of a list.

    Parameters
    ----------
    names : iterable
        Such as the columns of a table.
    most : int
        How many are named.

    Returns
    -------
    str
        With commas, in quotes; "none" of none.
    """
    first = [shown(name) for name in islice(names, most + 1)]
    return ", ".join(first[:most] + ["..."] * (len(first) > most)) or "none"


def legible(text: str) -> str:
    """Return a text that may be printed, whatever it quotes.

    Parameters
    ----------
    text : str
        A message.

    Returns
    -------
    str
        One line of bounded length; characters that are not printable are escaped.
    """
    if len(text) > MOST:
        text = f"{text[: MOST // 2]} ... {text[-MOST // 2 :]}"
    return escaped(text)


def escaped(text: str) -> str:
    """Return a text with every character escaped that is not printable.

    Parameters
    ----------
    text : str
        Such as a label.

    Returns
    -------
    str
        One line, however long.
    """
    if text.isprintable():
        return text
    return "".join(
        c if c.isprintable() or c in JOINERS else c.encode("unicode_escape").decode() for c in text
    )
