"""Summaries of items, which are stored in place of their draws."""

import numpy as np
import xarray as xr
from raterzoo.posterior.summaries import by_probability


def test_categories_without_probability_are_left_out():
    mean = xr.DataArray(
        [[0.2, 0.0, 0.8], [0.0, 1.0, 0.0]], {"item": ["a", "b"], "category": [*"xyz"]}, ("item", "category")
    )
    found = by_probability(mean)
    assert found["label"].squeeze("position").to_numpy().tolist() == [["z", "x"], ["y", ""]]
    np.testing.assert_array_equal(found["probability"], [[0.8, 0.2], [1.0, 0.0]])
