"""Pictures of what raterzoo's plots return: figures and axes that are none of pyplot's."""

import ast
from pathlib import Path

from matplotlib.figure import Figure

RESOLUTION = 110  # dots per inch


def figure_of(value):
    """Return the figure of what a plot returned, or None if it is no plot."""
    return value if isinstance(value, Figure) else getattr(value, "figure", None)


def save(figure, path):
    """Write a figure as PNG, the same bytes for the same figure."""
    figure.savefig(path, dpi=RESOLUTION, metadata={"Software": None}, bbox_inches="tight", facecolor="white")


def run(code, path):
    """Run code whose last line is a plot, and write the picture."""
    program = ast.parse(code)
    last = ast.Expression(program.body.pop().value)
    names = {}
    exec(compile(program, str(path), "exec"), names)
    path.parent.mkdir(parents=True, exist_ok=True)
    save(figure_of(eval(compile(last, str(path), "eval"), names)), path)


class Scraper:
    """Picture of an example of the gallery: that of its last line."""

    def __repr__(self):
        """Return the same text in every build, so that nothing is built anew because of it."""
        return "plot_pictures.Scraper"

    def __call__(self, block, block_vars, gallery_conf):
        """Write the picture of a block of code, and return the RST that shows it."""
        from sphinx_gallery.scrapers import figure_rst

        figure = figure_of(block_vars["example_globals"].get("___"))
        if figure is None:
            return ""
        path = next(block_vars["image_path_iterator"])
        save(figure, path)
        title = Path(block_vars["src_file"]).read_text().split('"""')[1].strip().splitlines()[0]
        return figure_rst([path], gallery_conf["src_dir"], title)


def _get_sg_image_scraper():
    return Scraper()
