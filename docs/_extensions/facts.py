"""Facts of the package on the pages: the models of the catalog with docs/choosing.tsv, and the glossary of the reports.

A page has a line `% models of labels` or `% glossary`, which is replaced when the page is read, so that each fact has one place.
"""

import csv
import re
from pathlib import Path

from raterzoo import models

DOCS = Path(__file__).parents[1]
PLACE = re.compile(r"^% (models of (?P<kind>\w+)|glossary)$", re.MULTILINE)
METHODS = {
    "exact": "independent draws",
    "gibbs": "Gibbs sampling",
    "hmc": "Hamiltonian Monte Carlo",
    "nuts": "NUTS",
}


def rows_of(path):
    """Return the rows of a table separated by tabs, as mappings."""
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE))


def costs():
    """Return for each model with a sampler of its own its row of first fits on the page of speed."""
    columns = ("model", "method", "import", "building", "first", "of_process", "second", "memory")
    lines = [line.strip("| ").split(" | ") for line in (DOCS / "speed.md").read_text().splitlines()]
    return {
        line[0]: dict(zip(columns, line, strict=True))
        for line in lines
        if line[0] in models.catalog and len(line) == 8
    }


def cost_of(entry, measured):
    """Return a sentence on what a fit costs."""
    if entry.name not in measured:
        return "Drawn by NUTS ([what that takes](#what-it-costs))."
    row = measured[entry.name]
    return (
        f"Drawn by {' or '.join(METHODS[method] for method in entry.methods)}; a small table takes {row['of_process']} of CPU, "
        f"and {row['second']} in the same process ([measured](speed.md))."
    )


def models_of(kind):
    """Return the models of one kind of annotation as sections."""
    measured = costs()
    found = []
    for row in rows_of(DOCS / "choosing.tsv"):
        entry = models.catalog[row["model"]]
        if entry.data != kind:
            continue
        found.append(
            f"(choose-{entry.name})=\n### {entry.name}\n\n{entry.summary}. "
            f"{{doc}}`Law, symbols, example and evidence <generated/api/raterzoo.models.{entry.name}>`.\n\n"
            f"- **Assumes**: {row['assumes']}\n- **Needs**: {row['needs']}\n"
            f"- **Costs**: {cost_of(entry, measured)}\n- **Fails when**: {row['fails']}\n- **Reference**: {entry.reference}."
        )
    return "\n\n".join(found)


def glossary():
    """Return the terms of the reports as a definition list."""
    return "\n\n".join(
        f"{row['term']}\n: {row['meaning']}" for row in rows_of(DOCS.parent / "reports" / "glossary.tsv")
    )


def with_facts(text):
    """Return the text of a page with its places filled."""
    return PLACE.sub(lambda found: models_of(found["kind"]) if found["kind"] else glossary(), text)


def fill(app, name, content):
    """Fill the places of a page when it is read."""
    content[0] = with_facts(content[0])


def setup(app):
    """Register the step, before that which rewrites links."""
    app.connect("source-read", fill, priority=400)
    return {"parallel_read_safe": True}
