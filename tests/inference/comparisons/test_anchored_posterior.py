"""Density, gradient and information of the coordinates, against PyMC and against differences."""

from functools import cache
from types import SimpleNamespace

import numpy as np
import pymc as pm
import pytest
from raterzoo import models
from raterzoo.inference.comparisons import hmc as comparisons_hmc
from raterzoo.inference.comparisons import recognition
from raterzoo.inference.comparisons.kernels import centre, hmc, posterior
from raterzoo.inference.runs.model_graph import compiled_values
from scipy.stats import binom, kstest, lognorm, norm

from tests.support.comparison_calibration import STRUCTURES, built
from tests.support.comparison_samplers import fit_laplace, pair_cells, pair_log_p
from tests.support.random_streams import stream
from tests.support.runs import ChainPlan


@cache
def drawn_data(structure):
    """A model of this structure on votes drawn from its prior."""
    model = built(structure)
    (observed,) = model.observed_RVs
    with model:
        prior = pm.sample_prior_predictive(1, random_seed=3, compile_kwargs={"mode": "FAST_COMPILE"})
    model.rvs_to_values[observed].data[:] = prior["prior_predictive"][observed.name][0, 0]
    return model


def gradient_at(theta, structure):
    gradient = np.empty(len(theta))
    log_p = posterior.anchored_density(theta, structure.cells, structure.prior, gradient)
    return log_p, gradient


def differences(function, theta, h):
    """Central differences of the fourth order."""
    columns = []
    for e in np.eye(len(theta)) * h:
        one, two = (function(theta + s * e) - function(theta - s * e) for s in (1, 2))
        columns.append((8 * one - two) / (12 * h))
    return np.array(columns)


@pytest.fixture(params=STRUCTURES)
def structure(request):
    return recognition.read_comparisons(drawn_data(request.param))


def test_gradient(structure):
    rng = np.random.default_rng(0)
    for spread in (0.1, 1.0):
        theta = rng.normal(0, spread, posterior.n_coordinates(structure.prior))
        gradient = gradient_at(theta, structure)[1]
        numeric = differences(lambda t: gradient_at(t, structure)[0], theta, 1e-3)
        np.testing.assert_allclose(gradient, numeric, rtol=1e-7, atol=1e-7)


@pytest.mark.slow
@pytest.mark.parametrize("name", STRUCTURES)
def test_density_is_that_of_the_model(name):
    """Differences of log densities are PyMC's, but for the Jacobians of logs and of the box."""
    model = drawn_data(name)
    structure = recognition.read_comparisons(model)
    rng, found = np.random.default_rng(1), []
    log_p = model.compile_logp(jacobian=True)
    own = list(structure.variables.values())
    raw = compiled_values(model, own, {})
    names = [model.rvs_to_values[rv].name for rv in own]
    for _ in range(2):
        theta = rng.normal(0, 0.5, posterior.n_coordinates(structure.prior))
        values = recognition.values_of(theta, structure.prior)
        point = dict(zip(names, raw(*(values[role] for role in structure.variables)), strict=True))
        n, k = structure.prior.n_items, structure.prior.n_raters
        ours = gradient_at(theta, structure)[0]
        if structure.prior.form != 3:  # the means of the coordinates have a law of their own
            ours += 0.5 * n * theta[:n].mean() ** 2
            if "rater" in structure.variables:
                ours += 0.5 * k * theta[n : n + k].mean() ** 2
        found.append((ours, log_p(point)))
    (a, b), (c, d) = found
    assert a - c == pytest.approx(float(b - d), rel=1e-10, abs=1e-9)


def test_values_and_coordinates_are_inverse(structure):
    prior = structure.prior
    theta = np.random.default_rng(2).normal(0, 0.5, posterior.n_coordinates(prior))
    values = recognition.values_of(theta, prior)
    again = recognition.values_of(recognition.coordinates_of(values, prior, np.array([0.3, -0.2])), prior)
    for role, value in values.items():
        np.testing.assert_allclose(again[role], value, rtol=1e-12, atol=1e-12)


def test_the_centre_is_where_nothing_pulls(structure):
    centre = fit_laplace(structure.cells, structure.prior)
    gradient = gradient_at(centre.laplace.centre, structure)[1]
    scales = [place for place in structure.prior.at[:2] if place >= 0]
    gradient[scales] = 0.0  # these are where the EM steps end
    assert np.abs(centre.laplace.inverse @ gradient).max() < 0.05  # of a standard deviation
    metric = centre.laplace.factor @ centre.laplace.factor.T
    identity = centre.laplace.inverse @ metric @ centre.laplace.inverse.T
    np.testing.assert_allclose(identity, np.eye(len(metric)), atol=1e-8)


@pytest.mark.parametrize("name", ["ties", "shared", "signed"])
def test_observed_information_of_logits_is_the_second_derivative(name):
    structure = recognition.read_comparisons(drawn_data(name))
    theta = fit_laplace(structure.cells, structure.prior).laplace.centre
    information = posterior.anchored_information(
        theta, structure.cells, structure.prior, posterior.InformationKind(True, True)
    )
    numeric = -differences(lambda t: gradient_at(t, structure)[1], theta, 1e-3)
    # of the tie parameter the pull that is left at the centre is not counted
    np.testing.assert_allclose(information, numeric, rtol=1e-4, atol=2e-2)


class TestCells:
    def dense_and_sparse(self, law):
        """The same answers, as a tile and with a rater so rare that it is none."""
        rng = np.random.default_rng(5)
        left, right, rater = (x.ravel() for x in np.meshgrid([0, 2, 1], [3, 4], range(6)))
        counts = rng.multinomial(3, [0.4, 0.4, 0.2], len(left))
        tile = pair_cells(law, (left, right, rater), counts, 6)
        table = pair_cells(law, (left, right, rater), counts, 20)
        assert tile.tile and not table.tile
        return tile, table

    @pytest.mark.parametrize("law", range(4))
    def test_a_tile_and_a_table_say_the_same(self, law):
        tile, table = self.dense_and_sparse(law)
        if law < 2:
            tile, table = (c._replace(ties=np.zeros_like(c.ties)) for c in (tile, table))
        rng = np.random.default_rng(6)
        quality, rho = rng.normal(size=5), rng.lognormal(size=20)
        found = []
        for cells, n in ((tile, 6), (table, 20)):
            none = np.empty(0)  # covariates
            sums = (np.empty(5), np.empty(n), none)
            found.append((pair_log_p(cells, (quality, rho[:n].copy(), none), (0.2, 0.7), sums), sums))
        np.testing.assert_allclose(found[0][0], found[1][0], rtol=1e-13)
        np.testing.assert_allclose(found[0][1][0], found[1][1][0], rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(found[0][1][1], found[1][1][1][:6], rtol=1e-12, atol=1e-13)

    def test_votes_with_equal_covariates_are_one_cell_and_turning_one_changes_nothing(self):
        codes = np.array([[0, 1, 0, 0], [1, 0, 1, 1], [0, 0, 0, 0]])
        counts, z = np.eye(3, dtype=int)[[0, 1, 2, 0]], np.array([[1.0], [-1.0], [1.0], [2.0]])
        cells = pair_cells(2, tuple(codes), counts, 1, covariate=z)
        assert cells.covariate.tolist() == [[1.0, 2.0]] and cells.wins.tolist() == [2.0, 1.0]
        assert len(pair_cells(2, tuple(codes), counts, 1, True, z).wins) == 3

    def test_both_orders_of_a_pair_are_one_unless_the_side_counts(self):
        left, right, rater = np.array([[0, 1], [1, 0], [0, 0]])
        counts = np.array([[2, 1, 0], [4, 0, 3]])
        merged = pair_cells(2, (left, right, rater), counts, 1)
        assert [merged.wins[0], merged.losses[0], merged.ties[0]] == [2, 5, 3]
        assert len(pair_cells(2, (left, right, rater), counts, 1, oriented=True).first) == 2


@pytest.mark.parametrize("power", [-30, -2, -1, 0, 1, 12])
def test_the_scale_of_a_box_is_drawn_from_its_law(power):
    reach, low, high = 0.8, 1.1, 3.0
    rng = stream(np.random.SeedSequence(power + 100))
    drawn = np.array([hmc.draw_scale(rng, reach, (low, high), power) for _ in range(2000)])
    grid = np.linspace(low, high, 20_001)
    log_density = power * np.log(grid) + np.log1p(-reach / grid)
    density = np.exp(log_density - log_density.max())
    below = np.r_[0, np.cumsum((density[1:] + density[:-1]) / 2)]
    law = lambda g: np.interp(g, grid, below / below[-1])  # noqa: E731
    assert kstest(drawn, law).pvalue > 1e-4
    wrong = np.array([hmc.draw_scale(rng, reach, (low, high), power + 4) for _ in range(2000)])
    assert kstest(wrong, law).pvalue < 1e-4


def test_a_container_of_one_pair_reads():
    pairs = models.Comparisons.from_table(
        {"rater": ["r", "s"], "left": ["a", "a"], "right": ["b", "b"], "winner": ["a", "b"]}
    )
    structure = recognition.read_comparisons(models.bradley_terry(pairs))
    assert structure.cells.tile
    assert np.isfinite(fit_laplace(structure.cells, structure.prior).laplace.centre).all()


def test_scale_and_shift_of_a_box_are_redrawn_and_nothing_else():
    """Scale and shift follow p(g) g^(K - N) (1 - range / g), and leave the scaled differences and reliabilities as they are."""
    prior = recognition.read_comparisons(built("box")).prior
    n, k, rng = prior.n_items, prior.n_raters, stream(np.random.SeedSequence(5))
    theta = np.random.default_rng(5).normal(0, 0.5, posterior.n_coordinates(prior))
    parts, scales = [], []
    for _ in range(300):
        assert hmc.draw_units.py_func(rng, prior, theta)
        share = 1 / (1 + np.exp(-theta))
        rho = prior.low + (prior.high - prior.low) * share[n : n + k]
        scales.append(np.exp(np.log(rho).mean()))
        parts.append(np.r_[scales[-1] * np.diff(share[:n]), rho / scales[-1]])
    np.testing.assert_allclose(parts, np.tile(parts[0], (300, 1)), rtol=1e-6)
    reach, eta = np.ptp(np.r_[0, np.cumsum(parts[0][: n - 1])]), parts[0][n - 1 :]
    low, high = max(reach, prior.low / eta.min()), prior.high / eta.max()
    grid = np.linspace(low, high, 10_001)

    def p_of(power):
        density = grid**power * (1 - reach / grid)
        below = np.r_[0, np.cumsum((density[1:] + density[:-1]) / 2)]
        return kstest(scales, lambda g: np.interp(g, grid, below / below[-1])).pvalue

    assert p_of(k - n) > 1e-4
    assert p_of(k - n + 6) < 1e-4


def test_a_scale_moves_with_all_that_it_scales(monkeypatch):
    """Deviations are stretched by c where the log of their scale grows by log c; the mean stays."""
    prior = recognition.read_comparisons(built("ties")).prior
    monkeypatch.setattr(hmc, "anchored_log_p", lambda *_: 0.0)
    rng, n = stream(np.random.SeedSequence(6)), prior.n_items
    theta = np.random.default_rng(6).normal(size=posterior.n_coordinates(prior))
    parts = [np.s_[:n], np.s_[n : n + prior.n_raters]]
    for place, part in zip(prior.at[:2], parts, strict=True):
        moved = 0
        for _ in range(20):
            before = theta.copy()
            hmc.draw_scales.py_func(
                rng, None, prior, theta, 0.0, (np.empty_like(theta), np.empty_like(theta))
            )
            if theta[place] == before[place]:
                continue
            moved += 1
            stretched = np.exp(theta[place] - before[place])
            own, mean = before[part], before[part].mean()
            np.testing.assert_allclose(theta[part], mean + stretched * (own - mean), rtol=1e-9, atol=1e-12)
        assert moved


def test_chains_start_twice_as_far_apart_as_the_laplace_approximation():
    structure = recognition.read_comparisons(built("ties"))
    fit = fit_laplace(structure.cells, structure.prior)
    state = comparisons_hmc.begin_comparisons(
        (structure.cells, structure.prior), fit, ChainPlan(200, 1, 0, 3)
    )
    starts = state["theta"] - fit.laplace.centre
    z = np.linalg.solve(fit.laplace.inverse.T, starts.T)
    assert z.std() == pytest.approx(2, rel=4 / np.sqrt(2 * z.size))


def test_votes_of_a_row_are_in_any_order_in_the_log_likelihood():
    """Rows of several votes have the binomial law."""
    table = {
        "rater": ["r", "r", "s"],
        "left": ["a", "a", "b"],
        "right": ["b", "b", "c"],
        "winner": ["a", "b", "b"],
    }
    pairs = models.Comparisons.from_table(table | {"count": [3, 2, 4]}, count="count")
    model = models.bradley_terry(pairs)
    quality, reliability = np.array([[[0.2, -0.5, 1.0]]]), np.array([[[1.3, 0.6]]])
    plan = SimpleNamespace(dtype="float64", cores=1)
    found = comparisons_hmc._log_likelihood(model, {"quality": quality, "reliability": reliability}, plan)
    wins = 1 / (1 + np.exp(-np.array([1.3 * 0.7, 0.6 * -1.5])))
    expected = binom.logpmf([3, 4], [5, 4], wins)
    np.testing.assert_allclose(found["observed_winner"][0, 0], expected, rtol=1e-10)


def pooled_cells():
    """Votes of two raters on pairs of three items, with ties."""
    codes = tuple(np.array(code) for code in ([0, 0, 1], [1, 2, 2], [0, 1, 1]))
    return pair_cells(2, codes, np.array([[5, 2, 1], [0, 3, 2], [4, 4, 0]]), 2)


def test_search_starts_at_least_squares_of_pooled_logits():
    prior = recognition.read_comparisons(built("ties")).prior
    prior = prior._replace(n_items=3, n_raters=2, at=(5, 6, posterior.NONE, 7))
    theta = centre._start(pooled_cells(), prior)
    wins, losses = np.array([6.0, 1.5, 4.5]), np.array([3.0, 4.5, 4.5])
    root = np.sqrt(wins * losses / (wins + losses))
    pairs = root[:, None] * np.array([[1, -1, 0], [1, 0, -1], [0, 1, -1]])
    rows = np.r_[pairs, np.eye(3) * np.exp(-prior.quality_scale[0])]
    quality = np.linalg.lstsq(rows, np.r_[root * np.log(wins / losses), np.zeros(3)])[0]
    np.testing.assert_allclose(theta[:3], quality - quality.mean(), rtol=1e-10)
    assert theta[prior.at[0]] == prior.quality_scale[0] and (theta[3:5] == 0).all()


def test_a_scale_is_open_by_the_squares_behind_it():
    prior = recognition.read_comparisons(built("ties")).prior
    theta, n = np.zeros(posterior.n_coordinates(prior)), prior.n_items
    theta[:n] = np.linspace(-9, 9, n)
    theta[n : n + 3] = (-1, 0, 1)  # squares of 2
    assert centre._has_open_scale(theta, prior, (0.0, 2 / 9 + 1e-9))
    assert not centre._has_open_scale(theta, prior, (0.0, 2 / 9 - 1e-9))
    assert centre._has_open_scale(theta, prior, (1e3, 0.0))


def test_steps_of_the_scales_end_where_their_equation_holds():
    prior = recognition.read_comparisons(built("ties")).prior
    theta = np.random.default_rng(7).normal(0, 0.6, posterior.n_coordinates(prior))
    spread = (0.3, 0.2)
    moved, longest = centre._scale_steps(theta, prior, spread)
    sizes, laws = (prior.n_items, prior.n_raters), (prior.quality_scale, prior.reliability_scale)
    steps = []
    for place, low, size, (mean, sd), trace in zip(
        prior.at[:2], (0, sizes[0]), sizes, laws, spread, strict=True
    ):
        t = moved[place]
        squares = size * theta[low : low + size].var() + trace
        assert abs(t - mean) < 2 * sd  # not at an end
        assert squares * np.exp(-2 * t) - (size - 1) - (t - mean) / sd**2 == pytest.approx(0, abs=1e-8)
        steps.append(abs(t - theta[place]))
    assert longest == max(steps)
    kept = np.delete(np.arange(len(theta)), prior.at[:2])
    np.testing.assert_array_equal(moved[kept], theta[kept])


def test_log_prior_has_the_normal_law_of_coordinates_that_sum_to_zero():
    model = built("ties")
    structure, rng = recognition.read_comparisons(model), np.random.default_rng(8)
    basis = np.linalg.svd(np.ones((1, 4)))[2][1:]  # orthonormal, of sum zero
    values = {"quality": rng.normal(size=(1, 2, 3)) @ basis, "quality_scale": np.array([[0.7, 1.4]]),
              "rater": np.zeros((1, 2, 3)), "rater_scale": np.array([[0.3, 0.5]]), "tie": np.array([[0.8, 1.1]])}  # fmt: skip
    found = comparisons_hmc._log_prior(model, structure, values)
    names = {role: str(rv.name) for role, rv in structure.variables.items()}
    expected = norm.logpdf(values["quality"] @ basis.T, scale=values["quality_scale"][..., None]).sum(axis=-1)
    np.testing.assert_allclose(found[names["quality"]], expected, rtol=1e-12)
    mean, sd = structure.prior.tie
    np.testing.assert_allclose(
        found[names["tie"]], lognorm.logpdf(values["tie"], sd, scale=np.exp(mean)), rtol=1e-12
    )
    np.testing.assert_allclose(
        found[names["rater"]], 2 * norm.logpdf(0, scale=values["rater_scale"]), rtol=1e-12
    )
