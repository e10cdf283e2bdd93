"""Parser of a table of labels by item and rater: labels as text, and blanks.

Blanks are NaN, None, NA and white space. Whole numbers are read as decimal text however they are stored: 1,
1.0 and "1" are one category.
"""

import numpy as np
import xarray as xr

from ..errors import EvaluationError

__all__ = ["BLANK", "codes_of"]

BLANK = -1
WHOLE = 2.0**53  # above it, floats do not represent all integers
EXPECTED = "expected text or a whole number, or a blank where the rater gave no label"


def codes_of(given: xr.DataArray, items: np.ndarray, what: str) -> tuple[np.ndarray, np.ndarray]:
    """Return the names of the categories, and the code (item, rater) of each cell, -1 for a blank.

    Raises EvaluationError if a cell is neither a label nor blank, or all are blank.
    """
    table = given.transpose("item", "rater")
    cells = table.to_numpy()
    if cells.dtype.kind not in "OUTSbiuf":
        raise EvaluationError(f"{what}: dtype {cells.dtype}; expected labels as text or numbers")
    if cells.dtype.kind == "T":
        cells = cells.astype(object)
    if cells.dtype.kind == "S":
        try:
            cells = np.strings.decode(cells, "utf-8")
        except UnicodeDecodeError as error:
            raise EvaluationError(
                f"{what}: bytes {error.object!r} are not UTF-8; decode them, and pass text"
            ) from None
    read = _read_objects if cells.dtype.kind == "O" else _read_array
    blank, said, wrong = read(cells)
    if wrong.any():
        i, j = np.argwhere(wrong)[0]
        rater = table["rater"].to_numpy()[j] if "rater" in table.coords else j
        raise EvaluationError(
            f"{what}: item {items[i]!s}, rater {rater!s}: {cells[i, j]!s} is no label; {EXPECTED}"
        )
    if not said.size:
        raise EvaluationError(f"{what}: every cell is blank; expected labels")
    names, code = np.unique(said, return_inverse=True)
    codes = np.full(cells.shape, BLANK)
    codes[~blank] = code
    return names.astype(str), codes


def _read_array(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the mask of blanks, the labels of the other cells, and the mask of invalid cells."""
    blank = wrong = np.zeros(cells.shape, bool)
    if cells.dtype.kind == "U":
        blank = np.strings.str_len(np.strings.strip(cells)) == 0
    if cells.dtype.kind != "f":
        return blank, cells[~blank], wrong
    blank = np.isnan(cells)
    wrong = ~blank & ((abs(cells) > WHOLE) | (cells != np.floor(cells)))
    return blank, cells[~blank & ~wrong].astype(np.int64), wrong


def _read_objects(cells: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the same as `_read_array` for cells of any type."""
    labels = [_label(cell) for cell in cells.ravel().tolist()]
    blank = np.array([label == "" for label in labels]).reshape(cells.shape)
    wrong = np.array([label is None for label in labels]).reshape(cells.shape)
    said = [label for label in labels if label not in ("", None)]
    # numeric labels are sorted as numbers, as in a table of a numeric dtype
    whole = all(isinstance(label, int) for label in said)
    names = np.array(said, object) if whole else np.array([str(label) for label in said])
    return blank, names, wrong


def _label(cell: object) -> str | int | None:
    """Return a label, empty text for a blank, None for an invalid cell."""
    if isinstance(cell, str):
        return cell if cell.strip() else ""
    if isinstance(cell, bool | np.bool_):
        return str(cell)
    if isinstance(cell, int | np.integer):
        return int(cell)
    if isinstance(cell, float | np.floating):
        if cell != cell:
            return ""
        return int(float(cell)) if abs(cell) <= WHOLE and float(cell).is_integer() else None
    # pandas' NA and NaT, by name: this package does not import pandas
    return "" if cell is None or str(cell) in ("<NA>", "NaT") else None
