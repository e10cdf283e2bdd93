"""Examples of the models' docstrings, drawn and shown as their kind of annotation usually is.

The site is built in a few minutes, in which NUTS cannot draw all the models that it alone draws. Their pictures are kept in
docs/models; `python docs/_extensions/model_examples.py [NAME ...]` draws them.
"""

import doctest
import sys
from functools import cache
from pathlib import Path

import matplotlib
from plot_pictures import run
from raterzoo import models

KEPT = Path(__file__).parents[1] / "models"
LOOKS = {
    "labels": (
        "plots.plausibility_strips(tree)",
        "Plausibility of the categories of some items, draw by draw.",
    ),
    "rankings": (
        "plots.plausibility_strips(tree)",
        "Plausibility of the categories of some items, draw by draw.",
    ),
    "comparisons": (
        "plots.quality_forest(evaluation.rank_intervals(tree))",
        "Qualities and ranks of the items.",
    ),
    "scores": (
        "plots.threshold_certainty(evaluation.threshold_certainty(tree, 0))",
        "On which side of 0 is an item?",
    ),
}  # kind of annotation -> code that draws a posterior, caption


@cache
def example(name):
    """Return the lines of a docstring's example that make the model, and the model."""
    test, *_ = doctest.DocTestFinder().find(getattr(models, name), name, module=False, globs={})
    lines, names = [], {}
    for step in test.examples:
        lines.append(step.source)
        exec(step.source, names)
        if "model" in names:
            return "".join(lines), names["model"]
    raise ValueError(
        f"the example of models.{name} makes no `model`: begin it with `model = models.{name}(...)`"
    )


def code_of(name):
    """Return code that builds the model of the example, draws it, and ends with a plot."""
    lines = example(name)[0]
    for imported in ("models", "inference, models"):
        lines = lines.replace(f"from raterzoo import {imported}\n", "")
    call = LOOKS[models.catalog[name].data][0]
    imports = "from raterzoo import evaluation, inference, models\nfrom raterzoo.evaluation import plots\n\n"
    drawn = "tree = inference.sample(model, random_seed=1, progressbar=False)\n"
    return f"{imports}{lines}{drawn}{call}\n"


def caption_of(name):
    """Return what the picture of a model shows."""
    return LOOKS[models.catalog[name].data][1]


def by_nuts_alone():
    """Return the names of the models that no other method draws."""
    return [name for name, entry in models.catalog.items() if entry.methods[0] == "nuts"]


if __name__ == "__main__":
    matplotlib.use("Agg")
    for chosen in sys.argv[1:] or by_nuts_alone():
        run(code_of(chosen), KEPT / f"{chosen}.png")
