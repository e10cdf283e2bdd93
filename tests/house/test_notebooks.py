"""Notebooks are the scripts beside them, run: all cells in their order, without errors, and every figure is seen."""

import ast
import copy
import json
import re

import pytest

from tests.support.notebook_cells import FOLDER, cells_of_notebook, cells_of_script

SCRIPTS = sorted(FOLDER.glob("[!_]*.py"))
LARGEST = 1_000_000  # bytes
OF_A_MACHINE = re.compile(
    r"(?<![\w.])/(?:home|root|tmp|usr|var|work|Users)/|[A-Z]:\\\\|site-packages| at 0x[0-9a-f]{6}"
)
TIME = re.compile(r"Runs in (?:less than |about )(?:a|two|three) minutes? on two cores")


def texts_of(output):
    """Return the texts of an output of a cell, without pictures."""
    data = {**output.get("data", {}), "text": output.get("text", "")}
    return ["".join(text) for kind, text in data.items() if not kind.startswith("image/")]


def is_plot(statement):
    return isinstance(statement, ast.Expr) and ast.unparse(statement).startswith("plots.")


def faults_of(notebook, script):
    """Return what is wrong with a notebook."""
    faults = []
    if cells_of_notebook(notebook) != cells_of_script(script):
        faults.append("other cells than the script")
    if not TIME.search("".join(notebook["cells"][0]["source"])):
        faults.append("the first cell does not say how long it takes")
    code = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    if [cell["execution_count"] for cell in code] != list(range(1, len(code) + 1)):
        faults.append("cells not run in their order")
    for cell in code:
        statements = ast.parse("".join(cell["source"])).body
        checks = [isinstance(statement, ast.Assert) for statement in statements]
        if any(checks) and "remove-cell" not in cell["metadata"].get("tags", []):
            faults.append("an assertion in a cell that is shown")
        if any(map(is_plot, statements[:-1])):
            faults.append("a figure that is not the last of its cell, and so not shown")
        if is_plot(statements[-1]) and not any("image/png" in own.get("data", {}) for own in cell["outputs"]):
            faults.append("a figure without a picture")
        for output in cell["outputs"]:
            if output["output_type"] == "error" or output.get("name") == "stderr":
                faults.append("an error or a warning")
            faults += [
                f"path or address {found[0]!r}"
                for text in texts_of(output)
                for found in OF_A_MACHINE.finditer(text)
            ]
    return faults


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_a_notebook_is_its_script_run(script):
    path = script.with_suffix(".ipynb")
    remedy = "`uv run --group docs python -m notebooks` runs what has changed"
    notebook = json.loads(path.read_text())
    assert faults_of(notebook, script.read_text()) == [], remedy
    assert path.stat().st_size <= LARGEST
    assert any("image/png" in own.get("data", {}) for c in notebook["cells"] for own in c.get("outputs", []))


def test_no_notebook_is_without_its_script():
    assert {path.stem for path in FOLDER.glob("*.ipynb")} == {path.stem for path in SCRIPTS}
    assert len(SCRIPTS) > 5


def damaged(notebook, where, value):
    """Return a copy of a notebook whose first cell of code is changed at a key."""
    notebook = copy.deepcopy(notebook)
    next(cell for cell in notebook["cells"] if cell["cell_type"] == "code")[where] = value
    return notebook


def test_faults_of_a_notebook_are_found():
    script = (FOLDER / "compare_priors.py").read_text()
    good = json.loads((FOLDER / "compare_priors.ipynb").read_text())
    stream = {"output_type": "stream", "name": "stdout", "text": "wrote /tmp/x.html"}
    assert faults_of(good, script + "# %%\nprint(1)\n") == ["other cells than the script"]
    assert faults_of(damaged(good, "execution_count", 7), script) == ["cells not run in their order"]
    assert faults_of(damaged(good, "outputs", [stream]), script) == ["path or address '/tmp/'"]
    assert faults_of(damaged(good, "outputs", [{**stream, "name": "stderr", "text": ""}]), script)
    assert "an assertion in a cell that is shown" in faults_of(damaged(good, "source", "assert True"), script)
    hidden = faults_of(damaged(good, "source", "plots.risk(a)\nprint(1)"), script)
    assert "a figure that is not the last of its cell, and so not shown" in hidden
    assert "a figure without a picture" in faults_of(damaged(good, "source", "plots.risk(a)"), script)
