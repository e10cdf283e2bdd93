"""The mean of many raters' normal laws: its table against the direct sum."""

import numpy as np
import pytest
from raterzoo.evaluation.certainty import thresholds
from raterzoo.evaluation.certainty import thresholds as mean_normal
from scipy.stats import norm

from tests.support.monte_carlo import seed_of


def drawn(items, raters, samples=3, unequal=0.5, unit=1.0):
    rng = np.random.default_rng(seed_of(f"{items} {raters} {unequal}"))
    location, bias = (rng.normal(0, unit, (samples, items)), rng.normal(0, unit / 2, (samples, raters)))
    return location, bias, unit / 2 * np.exp(rng.normal(0, unequal, (samples, raters)))


def directly(threshold, location, bias, scale):
    z = (threshold - location[:, None] - bias[..., None]) / scale[..., None]
    return norm.cdf(z).mean(axis=1)


@pytest.mark.parametrize("unequal", [0, 0.5, 1.2])  # the narrowest rater a tenth of the usual
@pytest.mark.parametrize("unit", [1e-3, 1e6])
def test_the_table_is_right_to_its_error(unequal, unit, monkeypatch):
    location, bias, scale = drawn(6000, 20, unequal=unequal, unit=unit)
    threshold, sums = unit * 0.3, []
    monkeypatch.setattr(mean_normal, "_sums", lambda *found: sums.append(len(found[1])) or 0)
    found = thresholds.mean_normal_below(threshold, location, bias, scale)
    assert sums == [0]  # all from the table
    wrong = np.abs(found - directly(threshold, location, bias, scale)).max()
    assert wrong < thresholds.ERROR and found.min() >= 0 and found.max() <= 1


def test_the_error_comes_near_its_bound_and_not_beyond():
    location = np.linspace(-3, 3, 20_001)[None]
    bias, scale = np.zeros((1, 1)), np.ones((1, 1))
    found = thresholds.mean_normal_below(0.0, location, bias, scale)
    wrong = np.abs(found - norm.cdf(-location)).max()
    assert 0.9 * thresholds.ERROR < wrong < thresholds.ERROR


def test_draws_are_tabulated_one_by_one():
    location, bias, scale = drawn(1000, 12, samples=4)
    scale[1, 3] = 1e-12  # a table of this draw would need more nodes than there are items
    location[2] = 0.7  # all at one place
    together = thresholds.mean_normal_below(0.1, location, bias, scale)
    np.testing.assert_allclose(together, directly(0.1, location, bias, scale), rtol=0, atol=thresholds.ERROR)
    np.testing.assert_allclose(
        together[1], directly(0.1, *(a[1:2] for a in (location, bias, scale)))[0], rtol=0, atol=1e-14
    )
    for s in range(4):
        one = (a[s : s + 1] for a in (location, bias, scale))
        np.testing.assert_array_equal(thresholds.mean_normal_below(0.1, *one)[0], together[s])


def test_few_terms_are_summed():
    given = drawn(40, 6)
    np.testing.assert_allclose(
        thresholds.mean_normal_below(0.1, *given), directly(0.1, *given), rtol=0, atol=1e-14
    )


def test_narrow_raters_far_away_do_not_overflow():
    location, bias, scale = drawn(1000, 12, samples=2)
    found = thresholds.mean_normal_below(1e250, location, bias, scale)  # warnings are errors
    assert (found == 1).all()
