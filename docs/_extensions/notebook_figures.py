"""Figures of notebooks have a text for those who do not see them, the heading that they stand under; tables no empty header."""

import re

from docutils import nodes


def describe_figures(app, doctree):
    """Give each picture without one an alternative text."""
    if not app.env.docname.startswith("generated/notebooks/"):
        return
    for image in doctree.findall(nodes.image):
        section = image.parent
        while not isinstance(section, nodes.section):
            section = section.parent
        image.setdefault("alt", f"Figure: {section.next_node(nodes.title).astext()}")


def without_empty_headers(app, page, template, context, doctree):
    """Make cells of the empty headers of a table, as above the index of a frame, which a screen reader would announce."""
    if page.startswith("generated/notebooks/") and "body" in context:
        context["body"] = re.sub(r"<th>\s*</th>", "<td></td>", context["body"])


def setup(app):
    """Run once a page is read, and once it is written."""
    app.connect("doctree-read", describe_figures)
    app.connect("html-page-context", without_empty_headers)
    return {"parallel_read_safe": True}
