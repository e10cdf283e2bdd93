"""Figures of notebooks have a text for those who do not see them: the heading that they stand under."""

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


def setup(app):
    """Run once a page is read."""
    app.connect("doctree-read", describe_figures)
    return {"parallel_read_safe": True}
