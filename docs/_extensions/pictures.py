"""Pictures of the pages: each script of docs/figures draws one, `figure`, which is saved in docs/generated/figures.

A script is run when the site is built, unless its picture is newer. `python docs/_extensions/pictures.py` draws the README's.
"""

import runpy
from pathlib import Path

import matplotlib

DOCS = Path(__file__).parents[1]
OF_THE_README = DOCS / "certainty.png"


def draw(script, picture):
    """Run a script and save the figure that it makes."""
    matplotlib.use("Agg")
    figure = runpy.run_path(str(script))["figure"]
    figure.savefig(picture, dpi=130, bbox_inches="tight", metadata={"Software": None})


def draw_all(app, config):
    """Draw every picture that is not there yet or older than its script."""
    folder = DOCS / "generated" / "figures"
    folder.mkdir(parents=True, exist_ok=True)
    for script in sorted((DOCS / "figures").glob("*.py")):
        picture = folder / f"{script.stem}.png"
        if not picture.exists() or picture.stat().st_mtime < script.stat().st_mtime:
            draw(script, picture)


def setup(app):
    """Register the step."""
    app.connect("config-inited", draw_all)
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    draw(DOCS / "figures" / "certainty.py", OF_THE_README)
