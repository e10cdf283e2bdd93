"""Names for the buttons that open a chapter of the sidebar, of which the theme shows an arrow alone."""


def name_buttons(app, page, template, context, doctree):
    """Wrap the theme's function that writes the sidebar."""
    if "generate_toctree_html" not in context:
        return
    write = context["generate_toctree_html"]

    def named(*args, **kwargs):
        written = write(*args, **kwargs)
        for button in written.find_all("summary") if hasattr(written, "find_all") else ():
            link = button.find_parent("li").find("a")
            if not button.get_text(strip=True) and link is not None:
                button["aria-label"] = f"Pages of {link.get_text(strip=True)}"
        return written

    context["generate_toctree_html"] = named


def setup(app):
    """Run after the theme's own step."""
    app.connect("html-page-context", name_buttons, priority=900)
    return {"parallel_read_safe": True}
