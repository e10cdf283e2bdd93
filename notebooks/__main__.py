"""Notebooks with their outputs: `uv run --group docs python -m notebooks [NAME ...]` writes those whose cells have changed.

The source of a notebook is its script in the percent format, which CI runs; beside it lies the `.ipynb`, the same cells run on
the data in the folder that RATERZOO_DATA names. Cells tagged `remove-cell` check what the text says; the site leaves them out.
One more, in `docs/outreach`, is for the gallery of PyMC, and its last cell needs `--with watermark`.
"""

import base64
import hashlib
import io
import json
import os
import re
import resource
import sys
import time
from pathlib import Path

import nbformat
from nbclient import NotebookClient
from PIL import Image

from tests.support.notebook_cells import FOLDER, OUTREACH, cells_of_script

METADATA = re.compile(
    r"^# metadata: (.*)$", re.MULTILINE
)  # further keys of a notebook, for a gallery elsewhere


def without_outputs(script: Path) -> nbformat.NotebookNode:
    """Return the notebook of a script."""
    new = {"code": nbformat.v4.new_code_cell, "markdown": nbformat.v4.new_markdown_cell}
    cells = []
    for place, (kind, tags, source) in enumerate(cells_of_script(script.read_text())):
        identity = f"{place:02d}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"
        cells.append(new[kind](source, id=identity, metadata={"tags": tags} if tags else {}))
    own = METADATA.search(script.read_text())
    metadata = {
        **json.loads(own[1] if own else "{}"),
        "jupytext": {"formats": "ipynb,py:percent"},
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python", "pygments_lexer": "ipython3"},
    }
    return nbformat.v4.new_notebook(cells=cells, metadata=metadata)


def code_of(notebook: nbformat.NotebookNode) -> list[nbformat.NotebookNode]:
    """Return the cells of code."""
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def keep_outputs(notebook: nbformat.NotebookNode, kept: Path) -> bool:
    """Take the outputs of a notebook that has the same code, and tell whether there is one."""
    if not kept.exists():
        return False
    old, new = code_of(nbformat.read(kept, 4)), code_of(notebook)
    if [cell.source for cell in old] != [cell.source for cell in new]:
        return False
    for cell, before in zip(new, old, strict=True):
        cell.outputs, cell.execution_count = before.outputs, before.execution_count
    return True


def run(notebook: nbformat.NotebookNode) -> None:
    """Run the cells, and keep what they print and draw."""
    os.environ.pop("MPLBACKEND", None)  # the kernel's own, which shows the figures
    client = NotebookClient(notebook, timeout=None, record_timing=False, coalesce_streams=True)
    client.execute(cwd=str(FOLDER.parent))
    for cell in code_of(notebook):
        cell.outputs = [output for output in cell.outputs if not is_log(output)]
        for output in cell.outputs:
            if "image/png" in output.get("data", {}):
                output.data["image/png"] = smaller(output.data["image/png"])


def is_log(output: nbformat.NotebookNode) -> bool:
    """Whether an output of a cell is a log: messages of samplers that say how far they are, and no warning."""
    return output.get("name") == "stderr" and "Warning" not in output.text


def smaller(picture: str) -> str:
    """Return a picture with at most 256 colours on white, as base64."""
    given = Image.open(io.BytesIO(base64.b64decode(picture))).convert("RGBA")
    page = Image.alpha_composite(Image.new("RGBA", given.size, "white"), given).convert("RGB")
    made = io.BytesIO()
    page.quantize(256, dither=Image.Dither.NONE).save(made, "png", optimize=True)
    return base64.b64encode(made.getvalue()).decode()


def cpu_seconds() -> float:
    """Return the time of processors that the kernels have taken so far."""
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main(names: list[str]) -> None:
    """Write all notebooks and run those whose code has changed, or the named ones in any case."""
    if "RATERZOO_DATA" not in os.environ:
        raise SystemExit("RATERZOO_DATA names no folder: the notebooks kept here show published data")
    scripts = {script.stem: script for script in [*sorted(FOLDER.glob("[!_]*.py")), OUTREACH]}
    for script in [scripts[name] for name in names] or scripts.values():
        notebook, kept = without_outputs(script), script.with_suffix(".ipynb")
        if names or not keep_outputs(notebook, kept):
            start, used = time.perf_counter(), cpu_seconds()
            run(notebook)
            seconds, used = time.perf_counter() - start, cpu_seconds() - used
            print(f"{kept.name}: {seconds:.0f} s, {used:.0f} s of processors", flush=True)
        nbformat.write(notebook, kept)


if __name__ == "__main__":
    main(sys.argv[1:])
