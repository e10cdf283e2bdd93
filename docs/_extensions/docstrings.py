"""Docstrings as pages: the generative law of a model, an indented block, keeps its lines."""

import re


def keep_laws(app, what, name, obj, options, lines):
    """Make literal blocks of the indented blocks that follow a line with a colon, before the first numpydoc section."""
    for number, line in enumerate(lines[:-2]):
        if re.fullmatch("-{3,}", lines[number + 1].strip()):
            return
        below = lines[number + 2]
        if (
            line.endswith(":")
            and not line.endswith("::")
            and not lines[number + 1]
            and below.startswith("    ")
        ):
            lines[number] = line + ":"


def setup(app):
    """Run before numpydoc takes the docstring apart."""
    app.connect("autodoc-process-docstring", keep_laws, priority=100)
    return {"parallel_read_safe": True}
