"""Text that a spreadsheet would run as a formula: written after an apostrophe, which our readers take off again, and say so."""

from unicodedata import category, normalize

from .numbers import is_number

_SIGNS = tuple("=+-@")
_CONTROLS = tuple("\t\r\n")


def is_formula(text: str) -> bool:
    """Test whether a spreadsheet might run a cell; blanks and full-width signs count, numbers do not."""
    if not text or (text.isalnum() and text.isascii()):
        return False
    if text.startswith(_CONTROLS):
        return True
    first = next((c for c in text if not c.isspace() and category(c) not in ("Cf", "Cc")), "")
    return normalize("NFKC", first).startswith(_SIGNS) and not is_number(text)


def guarded(text: str) -> str:
    """Return a cell that no spreadsheet runs: text that would be a formula follows an apostrophe, and so do its apostrophes."""
    return f"'{text}" if is_formula(text.lstrip("'")) else text


def restored(text: str) -> str:
    """Return the text of a cell that was guarded, or that its author has written so: the two cannot be told apart."""
    return text[1:] if text.startswith("'") and is_formula(text.lstrip("'")) else text
