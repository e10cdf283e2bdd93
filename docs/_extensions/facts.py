"""Facts of the package on the pages: the models of the catalog, the studies they suit, and the glossary of the reports.

A page has a line `% models of labels`, `% studies of labels` or `% glossary`, which is replaced when the page is read, so
that each fact has one place. The page `docs/generated/models.rst` lists the models for the reference.
"""

import csv
import re
from pathlib import Path

from raterzoo import models
from raterzoo.models._catalog import annotation_kinds

DOCS = Path(__file__).parents[1]
MODELS_OF_KIND = """
Models of {kind}
{rule}

.. autosummary::
   :toctree: api
   :nosignatures:
   :template: autosummary/model.rst

{names}
"""
PLACE = re.compile(r"^% (?:(?P<what>models|studies) of (?P<kind>\w+)|glossary)$", re.MULTILINE)
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


def entries_of(kind):
    """Return the models of one kind of annotation, its default first."""
    default = annotation_kinds[kind].default_model
    return sorted((e for e in models.catalog.values() if e.data == kind), key=lambda e: e.name != default)


def models_of(kind):
    """Return the models of one kind of annotation as sections."""
    measured = costs()
    return "\n\n".join(
        f"(choose-{entry.name})=\n### {entry.name}\n\n{entry.summary}. "
        f"{{doc}}`Law, symbols, example and evidence <generated/api/raterzoo.models.{entry.name}>`.\n\n"
        f"- **Assumes**: {entry.assumes}\n- **Needs**: {entry.needs}\n"
        f"- **Costs**: {cost_of(entry, measured)}\n- **Fails when**: {entry.fails}\n- **Reference**: {entry.reference}."
        for entry in entries_of(kind)
    )


def studies_of(kind):
    """Return a table of the studies for which a model of one kind of annotation is a good choice."""
    chosen, (default, *_) = {}, entries_of(kind)
    for entry in entries_of(kind):
        for place, (study, remark) in enumerate(entry.studies.items()):
            remark = ", the default" if entry is default and not place else remark and f" {remark}"
            chosen.setdefault(study, []).append(f"[{entry.name}](#choose-{entry.name}){remark}")
    rows = [f"| {study} | {', '.join(own)} |" for study, own in chosen.items()]
    return "\n".join(["| your study | model |", "|---|---|", *rows])


def page_of_models():
    """Return the page of the reference that lists the models of each kind of annotation."""
    kinds = (
        MODELS_OF_KIND.format(
            kind=kind,
            rule="-" * len(f"Models of {kind}"),
            names="\n".join(f"   {entry.name}" for entry in entries_of(kind)),
        )
        for kind in annotation_kinds
    )
    return "\n".join(["Models by kind", "==============", "", ".. currentmodule:: raterzoo.models", *kinds])


def write_page(app, config):
    """Write the page of models, before the pages are looked for."""
    page = DOCS / "generated" / "models.rst"
    page.parent.mkdir(exist_ok=True)
    page.write_text(page_of_models())


def glossary():
    """Return the terms of the reports as a definition list."""
    return "\n\n".join(
        f"{row['term']}\n: {row['meaning']}" for row in rows_of(DOCS.parent / "reports" / "glossary.tsv")
    )


def with_facts(text):
    """Return the text of a page with its places filled."""
    facts = {"models": models_of, "studies": studies_of, None: lambda _: glossary()}
    return PLACE.sub(lambda found: facts[found["what"]](found["kind"]), text)


def fill(app, name, content):
    """Fill the places of a page when it is read."""
    content[0] = with_facts(content[0])


def setup(app):
    """Register the steps, before that which rewrites links."""
    app.connect("config-inited", write_page)
    app.connect("source-read", fill, priority=400)
    return {"parallel_read_safe": True}
