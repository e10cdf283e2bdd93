"""The empirical prior of scores: the step of their scale."""

import numpy as np
import pytest
from raterzoo import models, papers
from raterzoo.models import DataWarning

from tests.support.monte_carlo import seed_of


def test_the_step_of_a_scale_is_no_rounding(golden):
    rng = np.random.default_rng(seed_of("step"))
    item = np.repeat(np.arange(100), 5)
    level = np.clip(np.rint(rng.normal(0, 1, 100)[item] + rng.normal(0, 0.4, 500)), -2, 2)
    noise = np.where(rng.random(500) < 0.5, 0.1 + 0.2 - 0.3, 0.0)
    table = {"item": item, "rater": np.tile(np.arange(5), 100)}
    clean, noisy = (models.Scores.from_table(table | {"score": 0.1 * level + e}) for e in (0 * noise, noise))  # fmt: skip
    with pytest.warns(DataWarning, match="differ in variance"):
        expected = papers.normal_scores_prior(clean, resolution=0.1)
        found = papers.normal_scores_prior(noisy)
    for name in ("mean_weight", "rate"):
        np.testing.assert_allclose(found[name], expected[name], rtol=1e-5)
    for wrong in ("a", [1.0], True, 100.0, np.nan, -1):
        with golden.raises(ValueError):
            papers.normal_scores_prior(clean, resolution=wrong)
    with golden.raises(ValueError):
        papers.normal_scores_posterior([1])
