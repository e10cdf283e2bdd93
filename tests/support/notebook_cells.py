"""Cells of notebooks: of a script in the percent format, and of the `.ipynb` beside it."""

import json
import re
from pathlib import Path

FOLDER = Path(__file__).parents[2] / "notebooks"
OUTREACH = FOLDER.parent / "docs" / "outreach" / "annotation_models.py"  # for the gallery of PyMC
MARK = re.compile(r"^# %%(?: \[(markdown)\])?(?: tags=(\[.*\]))?\n", re.MULTILINE)


def cells_of_script(text):
    """Return (kind, tags, source) of each cell of a script in jupytext's percent format."""
    _, *parts = MARK.split(text)
    cells = []
    for kind, tags, source in zip(parts[::3], parts[1::3], parts[2::3], strict=True):
        source = source.strip("\n")
        if kind:
            source = re.sub("^# ?", "", source, flags=re.MULTILINE)
        else:
            source = re.sub("^# %(?=%?[a-z])", "%", source, flags=re.MULTILINE)  # commands of IPython
        cells.append((kind or "code", json.loads(tags or "[]"), source))
    return cells


def cells_of_notebook(notebook):
    """Return (kind, tags, source) of each cell of a notebook's JSON."""
    return [
        (cell["cell_type"], cell["metadata"].get("tags", []), "".join(cell["source"]))
        for cell in notebook["cells"]
    ]
