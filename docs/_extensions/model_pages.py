"""What the page of a model has besides its docstring, each from its source.

The catalog gives the data, the methods and the reference; the graph of the model of the docstring's example its structure; the
dispatch of `raterzoo.inference.sample` how it is drawn; evidence/README.md whether that is right. The example is the
docstring's, drawn and shown as its kind of annotation usually is.
"""

import re
import textwrap
from pathlib import Path

from docutils import nodes
from model_examples import KEPT, caption_of, code_of, example
from plates import plate_diagram
from plot_pictures import run
from raterzoo import models
from raterzoo.inference.methods import route_of
from sphinx.util.docutils import SphinxDirective

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PICTURES = DOCS / "generated" / "models"
METHODS = {
    "exact": "independent draws from the posterior in closed form",
    "gibbs": "a Gibbs sampler, compiled by numba",
    "hmc": "Hamiltonian Monte Carlo preconditioned at the mode, compiled by numba",
    "nuts": "NUTS of PyMC, or of nutpie where it is installed",
}


def evidence_rows(name):
    """Return heading and rows of a model in the table of evidence/README.md."""
    lines = (ROOT / "evidence" / "README.md").read_text().splitlines()
    heading = next(n for n, line in enumerate(lines) if line.startswith("| model | method |"))
    rows = [line for line in lines[heading:] if line.startswith(f"| {name} |")]
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in (lines[heading], *rows)]
    return [row for row in cells if len(row) == len(cells[0])]


class ModelOverview(SphinxDirective):
    """Facts of the catalog, and the structure of the model."""

    required_arguments = 1

    def run(self):
        """Return one line, a list of facts and a diagram."""
        entry = models.catalog[self.arguments[0]]
        container = next(
            k.container for k in models._catalog.annotation_kinds.values() if k.name == entry.data
        )
        facts = [
            f"{entry.summary}.",
            "",
            f":Data: :class:`~raterzoo.models.{container}`",
            f":Drawn by: {', '.join(entry.methods)}",
            f":Command line: ``raterzoo report --kind {entry.data} --model {entry.name}``",
            f":Paper: {entry.reference}",
        ]
        return self.parse_text_to_nodes("\n".join(facts))


class ModelStructure(SphinxDirective):
    """Plate diagram of the model of the docstring's example."""

    required_arguments = 1

    def run(self):
        """Return the diagram as SVG within the page, and a legend."""
        name = self.arguments[0]
        diagram = nodes.raw("", plate_diagram(example(name)[1], name), format="html")
        legend = (
            "Grey: observed or given. Dashed: computed from the others. A frame is repeated along its dims, with the sizes "
            "that they have in the example below."
        )
        return [diagram, *self.parse_text_to_nodes(legend)]


class ModelDrawing(SphinxDirective):
    """How the model is drawn, an example with a picture, and the evidence."""

    required_arguments = 1

    def run(self):
        """Return three sections' worth of paragraphs."""
        name = self.arguments[0]
        entry = models.catalog[name]
        route = route_of(example(name)[1])
        methods = "".join(
            f"\n- ``{m}``{' (default)' * (m == entry.methods[0])}: {METHODS[m]}" for m in entry.methods
        )
        text = [
            f"`raterzoo.inference.sample` takes ``{route.method}``: {route.reason}. Methods:",
            methods,
            "",
        ]
        if entry.nuts_options or entry.nuts_thinning > 1:
            options = [f"``{key}={value}``" for key, value in entry.nuts_options.items()]
            options += [f"``thin={entry.nuts_thinning}``"] * (entry.nuts_thinning > 1)
            text += [f"NUTS runs with {' and '.join(options)} by default.", ""]
        return self.parse_text_to_nodes("\n".join(text))


class ModelExample(SphinxDirective):
    """The docstring's example, drawn and shown; pictures of models that only NUTS draws are kept."""

    required_arguments = 1

    def run(self):
        """Return a block of code and its figure."""
        name = self.arguments[0]
        code, caption = code_of(name), caption_of(name)
        path = KEPT / f"{name}.png"
        if models.catalog[name].methods[0] != "nuts":
            path = PICTURES / f"{name}.png"
            run(code, path)
        shown = [".. code-block:: python", "", textwrap.indent(code, "   "), ""]
        shown += [
            f".. figure:: /{path.relative_to(DOCS).as_posix()}",
            f"   :alt: {caption}",
            "",
            f"   {caption}",
        ]
        return self.parse_text_to_nodes("\n".join(shown))


class ModelEvidence(SphinxDirective):
    """The rows of the model in the table of the evidence."""

    required_arguments = 1

    def run(self):
        """Return a table, and the figures of calibration."""
        name = self.arguments[0]
        heading, *rows = evidence_rows(name)
        text = [".. list-table::", "   :header-rows: 1", ""]
        for row in (heading, *rows):
            cells = [re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell) for cell in row[1:]]
            text += [f"   {'*' if k == 0 else ' '} - {cell}" for k, cell in enumerate(cells)]
        for row in rows:
            if row[2] == "missing":
                text += ["", f"The calibration of ``{row[1]}`` has not been run yet."]
                continue
            text += [
                "",
                f".. figure:: /../evidence/figures/{name}.{row[1]}.png",
                f"   :alt: Calibration of {row[1]}",
                "",
            ]
            text += [
                f"   Ranks of simulated truths among the draws of ``{row[1]}``, against their simultaneous 99 % band."
            ]
        text += ["", ":doc:`/generated/evidence` says what was done, and of which commit and versions."]
        return self.parse_text_to_nodes("\n".join(text))


def setup(app):
    """Register the directives."""
    for name, directive in (
        ("model-overview", ModelOverview),
        ("model-structure", ModelStructure),
        ("model-drawing", ModelDrawing),
        ("model-example", ModelExample),
        ("model-evidence", ModelEvidence),
    ):
        app.add_directive(name, directive)
    return {"parallel_read_safe": True}
