"""The page docs/foreign_posteriors.md: its code runs as printed."""

import re
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation

PAGE = Path(__file__).parents[3] / "docs" / "foreign_posteriors.md"


def test_the_recipe_gives_the_certainties_of_the_draws():
    (code,) = re.findall(r"```python\n(.*?)```", PAGE.read_text("utf-8"), flags=re.DOTALL)
    names = {}
    exec(code, names)
    np.testing.assert_allclose(names["certainty"], [0.9, 0.6, 0.8])


def test_a_dataset_of_draws_is_asked_for_the_truth_as_a_tree_is():
    """A probability of .9 for each draw is a certainty of .9 of one category; a distribution has its first label for certain."""
    coords = {"item": ["x"], "category": ["no", "yes"]}
    drawn = xr.DataArray(np.full((2, 5, 1, 2), [0.9, 0.1]), coords, ("chain", "draw", "item", "category"))
    dataset = drawn.to_dataset(name="plausibility")
    for source in (dataset, xr.DataTree.from_dict({"posterior": dataset})):
        with pytest.raises(
            evaluation.EvaluationError, match="does not say what the plausibility of a draw is"
        ):
            evaluation.annotation_certainty(source)
    for truth, certainty in (("category", 0.9), ("distribution", 1)):
        said = drawn.assign_attrs(truth=truth).to_dataset(name="plausibility")
        assert evaluation.annotation_certainty(said).item() == pytest.approx(certainty)
    assert evaluation.annotation_certainty(drawn).item() == 1
    point = drawn.isel(chain=0, draw=0).to_dataset(name="plausibility")
    with pytest.warns(UserWarning, match="a point estimate"):
        assert evaluation.annotation_certainty(point).item() == 1
