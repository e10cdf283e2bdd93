"""Numbers written as text, the same wherever text is read: digits 0 to 9, a decimal point and an exponent.

``float`` also reads "0_9", digits of other scripts, "infinity" and "nan".
"""

import re

_DECIMAL = re.compile(r"\s*[+-]?([0-9]+(\.[0-9]*)?|\.[0-9]+)([eE][+-]?[0-9]{1,9})?\s*")
_ID = re.compile(r"0|-?[1-9][0-9]{0,99}")
_WHOLE = re.compile(r"\s*[+-]?[0-9]{1,100}\s*")


def decimal_number(text: str) -> float | None:
    """Return the number of a decimal text, infinite beyond the range of floats; None if it is none."""
    return float(text) if _DECIMAL.fullmatch(text) else None


def whole_number(text: str) -> int | None:
    """Return the integer of a decimal text without a point; None if it is none."""
    return int(text) if _WHOLE.fullmatch(text) else None


def integer_id(text: str) -> int | None:
    """Return the integer whose only decimal text this is: without plus, blanks or leading zeros; None if it is none."""
    return int(text) if _ID.fullmatch(text) else None
