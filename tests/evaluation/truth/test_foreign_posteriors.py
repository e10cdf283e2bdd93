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


def test_draws_are_asked_for_the_truth_whatever_holds_them(golden):
    """A probability of .9 for each draw is a certainty of .9 of one category; a distribution has its first label for certain."""
    coords = {"item": ["x"], "category": ["no", "yes"]}
    drawn = xr.DataArray(np.full((2, 5, 1, 2), [0.9, 0.1]), coords, ("chain", "draw", "item", "category"))
    dataset = drawn.to_dataset(name="plausibility")
    stacked = drawn.stack(sample=("chain", "draw"))
    remedies = {
        "inference.label(tree, data, truth=": xr.DataTree.from_dict({"posterior": dataset}),
        'dataset["plausibility"].attrs["truth"]': dataset,
        'array.attrs["truth"]': drawn,
        'array.attrs["truth"] = "category", or "distribution"': stacked.reset_index("sample"),
    }
    for remedy, source in remedies.items():
        with golden.raises(evaluation.EvaluationError) as raised:
            evaluation.annotation_certainty(source)
        assert f"Say it: {remedy}" in str(raised.value)
    for truth, certainty in (("category", 0.9), ("distribution", 1)):
        said = drawn.assign_attrs(truth=truth)
        for source in (said, said.to_dataset(name="plausibility")):
            assert evaluation.annotation_certainty(source).item() == pytest.approx(certainty)
    for point in (dataset.isel(chain=0, draw=0), drawn.isel(chain=0, draw=0)):
        with pytest.warns(UserWarning, match="a point estimate"):
            assert evaluation.annotation_certainty(point).item() == 1
    assert evaluation.truth_certainty(drawn)["certainty"].item() == pytest.approx(
        0.9
    )  # it asks for nothing else
