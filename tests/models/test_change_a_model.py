"""The pages docs/change_a_model.md and docs/bricks.md: their code runs as printed."""

import re
import warnings
from pathlib import Path

import pytest
from raterzoo import inference

DOCS = Path(__file__).parents[2] / "docs"
PAGES = {
    "change_a_model.md": (
        5,
        "the potential 'better_than_chance' is not part of the sampler",
        "the prior of 'ability' depends on the random variable 'mean'",
    ),
    "bricks.md": (
        7,
        "the prior of the true category differs by item",
        "the sampler needs one observed RaterLabels",
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("page", PAGES)
def test_code_of_the_page_runs(page, capsys):
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)
    number, *reasons = PAGES[page]
    assert len(blocks) == number
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
        warnings.simplefilter("ignore", FutureWarning)  # of nutpie, if it is installed
        for block in blocks:
            exec(block, names)
    printed = capsys.readouterr().out
    for reason in reasons:
        assert reason in printed


def test_models_from_laws_are_short():
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / "bricks.md").read_text(), re.DOTALL)
    assert max(len(block.strip().splitlines()) for block in blocks) <= 15
