"""The page docs/change_a_model.md: its code runs as printed."""

import re
import warnings
from pathlib import Path

import pytest
from raterzoo import inference

PAGE = Path(__file__).parents[2] / "docs" / "change_a_model.md"


@pytest.mark.slow
def test_code_of_the_page_runs(capsys):
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), re.DOTALL)
    assert len(blocks) == 5
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
        warnings.simplefilter("ignore", FutureWarning)  # of nutpie, if it is installed
        for block in blocks:
            exec(block, names)
    printed = capsys.readouterr().out
    assert "the potential 'better_than_chance' is not part of the sampler" in printed
    assert "the prior of 'ability' depends on the random variable 'mean'" in printed
