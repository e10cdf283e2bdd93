"""The kept pictures of the models that only NUTS draws are what the code on their pages draws."""

import subprocess
import sys
from pathlib import Path

import pytest
from matplotlib.testing.compare import compare_images
from matplotlib.testing.exceptions import ImageComparisonFailure
from raterzoo import models

DOCS = Path(__file__).parents[2] / "docs"
KEPT = DOCS / "models"
REMEDY = "`python docs/_extensions/model_examples.py` draws them"
BY_NUTS = [name for name, entry in models.catalog.items() if entry.methods[0] == "nuts"]
QUICK = "glad"
DRAW = """
import sys
sys.path.insert(0, sys.argv[1])
import matplotlib
matplotlib.use("Agg")
from pathlib import Path
from model_examples import code_of, run
run(code_of(sys.argv[2]), Path(sys.argv[3]))
"""


def test_each_has_a_picture():
    assert sorted(path.stem for path in KEPT.glob("*.png")) == sorted(BY_NUTS), REMEDY
    assert QUICK in BY_NUTS


def alike(kept, found):
    """Whether two pictures are of one size and the same, up to the draws of another processor."""
    try:
        return compare_images(kept, found, tol=10) is None
    except ImageComparisonFailure:  # of other sizes
        return False


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=[pytest.mark.long] * (name != QUICK)) for name in BY_NUTS]
)
def test_its_code_draws_it(name, tmp_path):
    found = tmp_path / "found.png"
    subprocess.run([sys.executable, "-c", DRAW, DOCS / "_extensions", name, found], check=True)
    assert alike(KEPT / f"{name}.png", found), REMEDY
    assert not any(alike(path, found) for path in KEPT.glob("*.png") if path.stem != name)
