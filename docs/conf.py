"""Configuration of the site; `uv run --group docs sphinx-build -W docs docs/_build` builds it, without a network."""

import logging
import sys
from pathlib import Path

import raterzoo

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "raterzoo"
author = "The raterzoo developers"
copyright = "The raterzoo developers"
release = version = raterzoo.__version__

extensions = ["repository_pages", "myst_nb", "sphinx.ext.mathjax", "sphinx_copybutton", "sphinx_design"]
exclude_patterns = ["_build", "README.md"]
needs_sphinx = "8.1"
nitpicky = True

# Pages in Markdown
myst_enable_extensions = ["colon_fence", "deflist", "dollarmath"]
myst_heading_anchors = 3
nb_execution_mode = "off"

# Looks: everything that a page needs lies beside it
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "raterzoo"
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "navbar_end": ["theme-switcher"],
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "show_prev_next": True,
    "header_links_before_dropdown": 7,
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True


def setup(app):
    """Let folders without pages be listed."""
    for handler in logging.getLogger("sphinx").handlers:
        handler.filters.insert(0, lambda record: "glob pattern" not in str(record.msg))
