"""Configuration of the site; `uv run --group docs sphinx-build -W docs docs/_build` builds it, without a network."""

import sys
from pathlib import Path

import raterzoo

sys.path.insert(0, str(Path(__file__).parent / "_extensions"))

project = "raterzoo"
author = "The raterzoo developers"
copyright = "The raterzoo developers"
release = version = raterzoo.__version__

extensions = [
    "repository_pages",
    "facts",
    "pictures",
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "docstrings",
    "model_pages",
    "notebook_figures",
    "accessible_names",
    "sphinx_gallery.gen_gallery",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = [
    "_build",
    "jupyter_execute",
    "README.md",
    "gallery",
    "outreach",
    "generated/gallery/**.ipynb",
]
nitpicky = True
nitpick_ignore_regex = [
    ("py:.*", r"(arviz|pymc|numpy|xarray)\..*"),  # their pages are elsewhere, and a build fetches nothing
    ("py:obj", r"(?!raterzoo\.).*"),  # attributes and arguments
    ("py:class", r"raterzoo\.models\.distributions\..*RV"),
]

# Pages in Markdown
highlight_language = "none"  # laws are no code
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
nb_execution_mode = "off"  # notebooks are kept with their outputs

# Reference, out of the docstrings
templates_path = ["_templates"]
default_role = "autolink"  # a name in backticks is a link where it is one of ours
autodoc_typehints = "none"  # numpydoc's sections say them
numpydoc_show_class_members = False


# Gallery
sphinx_gallery_conf = {
    "examples_dirs": "gallery",
    "gallery_dirs": "generated/gallery",
    "image_scrapers": ("plot_pictures",),
    "reset_modules": (),
    "capture_repr": (),
    "doc_module": ("raterzoo",),
    "backreferences_dir": "generated/backreferences",
    "reference_url": {"raterzoo": None},
    "download_all_examples": False,
    "show_memory": False,
    "show_signature": False,
    "min_reported_time": 1e9,
    "write_computation_times": False,
    "plot_gallery": True,
    "abort_on_example_error": True,
}

# Looks: everything that a page needs lies beside it
html_theme = "pydata_sphinx_theme"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_title = "raterzoo"
html_sidebars = {
    page: []
    for page in (
        "choose",
        "faq",
        "glossary",
        "history",
        "skill/SKILL",
        "stability",
        "generated/changelog",
        "generated/code_of_conduct",
        "generated/contributing",
        "generated/security",
    )
}  # pages without others below them
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
