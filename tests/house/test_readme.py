"""The README tells the truth: its table is the catalog's, its example runs."""

import re
from pathlib import Path

from raterzoo import models

README = (Path(__file__).parents[2] / "README.md").read_text()


def catalog_table():
    """Return the table of models as the README has it; paste it there when the catalog changes."""
    rows = ["| model | what it is | data | drawn by |", "|---|---|---|---|"]
    for entry in models.catalog.values():
        rows.append(f"| `{entry.name}` | {entry.summary} | {entry.data} | {', '.join(entry.methods)} |")
    return "\n".join(rows)


def test_table_of_models_is_the_catalog():
    assert catalog_table() in README


def test_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert "converged" in capsys.readouterr().out


def test_pictures_are_there():
    for picture in re.findall(r"!\[.*?\]\((.*?)\)", README):
        assert (Path(__file__).parents[2] / picture).exists()
