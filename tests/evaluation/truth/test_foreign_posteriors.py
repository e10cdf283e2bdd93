"""The page docs/foreign_posteriors.md: its code runs as printed."""

import re
from pathlib import Path

import numpy as np

PAGE = Path(__file__).parents[3] / "docs" / "foreign_posteriors.md"


def test_the_recipe_gives_the_certainties_of_the_draws():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    names = {}
    exec(code, names)
    np.testing.assert_allclose(names["certainty"], [0.9, 0.6, 0.8])
