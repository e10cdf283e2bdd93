"""The laws of one comparison and the arithmetic below them; the counts themselves are tested with the law that reads them."""

import numba as nb
import numpy as np
import pytest
from raterzoo.models.distributions import paired_comparisons_kernels as logistic_links
from raterzoo.models.distributions import paired_comparisons_kernels as normal_links
from raterzoo.models.distributions import vector_math
from raterzoo.models.distributions.paired_comparisons_kernels import law_code
from raterzoo.models.distributions.vector_math import FAST
from scipy.special import erfcx

LAWS = {
    "bradley_terry": (logistic_links.logistic_counts, logistic_links.logistic_information, 2),
    "davidson": (logistic_links.davidson_counts, logistic_links.davidson_information, 3),
    "thurstone": (normal_links.normal_counts, normal_links.normal_information, 2),
    "threshold": (normal_links.threshold_counts, normal_links.threshold_information, 3),
}
SCORES = {"bradley_terry": logistic_links.logistic_score, "thurstone": normal_links.normal_score}


def over(function):
    """Compile a loop over an array: the compiler then computes several numbers at a time, and reorders what it may."""

    @nb.njit(**FAST)
    def loop(x, out):
        for i in range(len(x)):
            out[i] = function(x[i])

    def call(x):
        out = np.empty(len(x))
        loop(x, out)
        return out

    return call


class TestArithmetic:
    @pytest.mark.parametrize(
        ("function", "exact", "x"),
        [
            (vector_math.exp, np.exp, np.r_[np.linspace(-708, 709, 9999), 0.0, -1e-300]),
            (vector_math.log, np.log, np.r_[np.logspace(-307, 308, 9999), 1.0, 1 + 2.0**-52]),
            (vector_math.erfcx, erfcx, np.r_[np.linspace(0, 40, 9999), np.logspace(2, 12, 99)]),
        ],
        ids=["exp", "log", "erfcx"],
    )
    def test_a_few_units_in_the_last_place(self, function, exact, x):
        np.testing.assert_allclose(over(function)(x), exact(x), rtol=2e-15, atol=1e-16)

    def test_exp_keeps_within_the_doubles(self):
        ends = over(vector_math.exp)(np.array([-1e9, 1e9]))
        assert 0 < ends[0] < 1e-300
        assert 1e300 < ends[1] < np.inf


def outcomes(name, x, tie):
    """Log probabilities, and slopes in x and in the tie parameter, of each outcome of one answer."""
    counts, _, n = LAWS[name]

    @nb.njit
    def one(a, b, c):
        return counts(x, a, b, c, tie)

    return np.array([one(*row) for row in np.eye(3)[:n]])


@pytest.mark.parametrize("name", LAWS)
@pytest.mark.parametrize("tie", [1e-4, 0.3, 2.0])
def test_information_is_the_mean_of_squared_slopes(name, tie):
    _, information, n = LAWS[name]

    @nb.njit
    def found(x):
        return information(x, tie)

    for x in (-3.1, -0.2, 0.0, 0.7, 5.0):
        log_p, of_x, of_tie = outcomes(name, x, tie).T
        p = np.exp(log_p)
        assert p.sum() == pytest.approx(1, abs=1e-14)
        wanted = [p @ of_x**2, p @ (of_x * of_tie), p @ of_tie**2]
        np.testing.assert_allclose(
            found(x), wanted[:1] + wanted[1:] * (n == 3) + [0, 0] * (n == 2), rtol=1e-10, atol=1e-12
        )


@pytest.mark.parametrize("name", SCORES)
def test_scores_are_derivatives_of_the_counts(name):
    counts, information, _ = LAWS[name]
    score = SCORES[name]

    @nb.njit
    def parts(x, h):
        above, below = counts(x + h, 3.0, 2.0, 0.0, 1.0)[1], counts(x - h, 3.0, 2.0, 0.0, 1.0)[1]
        return (
            score(x, 3.0, 2.0),
            counts(x, 3.0, 2.0, 0.0, 1.0)[1],
            (below - above) / (2 * h),
            information(x, 1.0)[0],
        )

    for x in (-38.0, -2.0, 0.3, 4.0, 40.0):
        (slope, observed, expected), own, curvature, per_answer = parts(x, 1e-5)
        assert slope == pytest.approx(own, rel=1e-13)
        assert observed == pytest.approx(curvature, rel=1e-6, abs=1e-9)
        assert expected == pytest.approx(5 * per_answer, rel=1e-13)


def test_links_have_names(golden):
    assert (
        len({law_code(link, ties) for link in ("bradley_terry", "thurstone") for ties in (False, True)}) == 4
    )
    with golden.raises(ValueError):
        law_code("probit", False)
