"""Posteriors of comparisons: exact where one can integrate, the same on any number of cores, finite on what is degenerate."""

import arviz as az
import numpy as np
import pymc as pm
import pytest
from raterzoo import inference, models
from raterzoo.inference.comparisons import recognition
from raterzoo.inference.comparisons.hmc import draw_comparisons
from raterzoo.models.distributions.paired_comparisons_kernels import BRADLEY_TERRY
from scipy.special import expit, log_ndtr
from scipy.stats import binomtest

from tests.support.comparison_calibration import STRUCTURES, built
from tests.support.comparison_samplers import fit_laplace, pair_cells
from tests.support.monte_carlo import bonferroni_threshold, mc_z, seed_of
from tests.support.runs import ChainPlan, NotConjugate

QUIET = {"progressbar": False}
UNJUDGED = pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
COARSE = pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")


def votes(**columns):
    return models.Comparisons.from_table(columns, rater="rater" if "rater" in columns else None)


def two_items(wins, losses):
    winner = ["left"] * wins + ["right"] * losses
    return votes(left=["a"] * len(winner), right=["b"] * len(winner), winner=winner)


@pytest.mark.slow
@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
def test_two_items_are_as_by_quadrature(link):
    """The difference of two qualities with a known scale, by the trapezoid rule."""
    d = np.linspace(-12, 12, 4001)
    log_f = (lambda x: np.log(expit(x))) if link == "bradley_terry" else log_ndtr
    model = getattr(models, link)(two_items(5, 2), reliability="shared", quality_scale=1.0)
    tree = inference.sample(model, draws=4000, random_seed=seed_of(link), **QUIET)
    quality = tree["posterior"]["quality"]
    drawn = (quality.sel(item="a") - quality.sel(item="b")).to_numpy()

    def largest_z(wins, losses):
        # the difference of two that are ZeroSumNormal(1) has variance 2
        density = np.exp(wins * log_f(d) + losses * log_f(-d) - d**2 / 4)
        density /= density.sum()
        moments = np.array([density @ d, density @ d**2, density @ (d > 0)])
        return np.abs(mc_z(np.stack([drawn, drawn**2, drawn > 0], axis=-1), moments)).max()

    assert largest_z(5, 2) < bonferroni_threshold(3)
    assert largest_z(4, 2) > bonferroni_threshold(3)


CONTRADICTIONS = [
    ("bradley_terry", False, 32, 30, 1.5, 0.7),
    ("thurstone", False, 32, 30, 1.5, 0.7),
    ("bradley_terry", True, 32, 30, 1.5, 0.7),
    ("bradley_terry", True, 11, 10, 1.5, 0.7),
]


@pytest.mark.slow
@UNJUDGED
@pytest.mark.parametrize(("link", "signed", "n", "m", "of_items", "of_raters"), CONTRADICTIONS)
def test_raters_at_odds_are_read_both_ways(link, signed, n, m, of_items, of_raters):
    """Two items, and two raters who contradict each other: the posterior has two modes, and both are visited."""
    pairs = votes(
        rater=["r"] * n + ["s"] * m, left=["a"] * (n + m), right=["b"] * (n + m),
        winner=["left"] * n + ["right"] * m,
    )  # fmt: skip
    model = getattr(models, link)(pairs, signed=signed, quality_scale=of_items, reliability_scale=of_raters)
    tree = inference.sample(model, draws=4000, random_seed=seed_of(f"odds {link} {n}"), **QUIET)
    quality = tree["posterior"]["quality"]
    d_drawn = (quality.sel(item="a") - quality.sel(item="b")).to_numpy()
    log_f = (lambda x: -np.logaddexp(0, -x)) if link == "bradley_terry" else log_ndtr
    d, r = np.meshgrid(*2 * [np.linspace(-12, 12, 1201)], indexing="ij")
    rho = (1 + r, 1 - r) if signed else (np.exp(r), np.exp(-r))
    log_p = n * log_f(rho[0] * d) + m * log_f(-rho[1] * d)
    log_p -= d**2 / (4 * of_items**2) + r**2 / of_raters**2  # r of the one is -r of the other
    weight = np.exp(log_p - log_p.max())
    weight /= weight.sum()
    exact = np.array([(weight * (d > 0)).sum() + 0.5 * weight[d == 0].sum(), (weight * d).sum()])
    z = mc_z(np.stack([d_drawn > 0, d_drawn], axis=-1), exact)
    assert np.abs(z).max() < bonferroni_threshold(2)
    twin = np.abs(d_drawn)  # what one mode alone would say
    assert np.abs(mc_z(np.stack([twin > 0, twin], axis=-1), exact)).max() > bonferroni_threshold(2)


@pytest.mark.long
def test_the_coverage_of_intervals():
    """Data sets from the paper's uniform priors: what 90 % intervals of quality and rank hold."""
    n = 200
    design = {"items": 8, "raters": 6, "degree": 4, "alpha": 0.5}
    drawn = [models.simulators.comparisons(**design, random_seed=seed) for seed in range(n)]
    prior = recognition.read_comparisons(models.bradley_terry(drawn[0].data, reliability_range=(1, 20))).prior
    inside, narrower, ranked = 0, 0, []
    for seed, (data, truth) in enumerate((d.data, d.truth["quality"]) for d in drawn):
        counts = np.eye(2, dtype=int)[data.outcome] * data.count[:, None]
        cells = pair_cells(BRADLEY_TERRY, (data.left, data.right, data.annotation_rater), counts, 6)
        plan = ChainPlan(chains=2, draws=300, tune=50, seed=seed)
        theta, _ = draw_comparisons((cells, prior), fit_laplace(cells, prior), 6, plan)
        quality = recognition.values_of(theta.reshape(600, -1), prior)["quality"]
        levels = np.quantile(quality[:, 0], [0.05, 0.95, 0.15, 0.85])
        inside += levels[0] < truth[0] < levels[1]
        narrower += levels[2] < truth[0] < levels[3]
        ranks, true = ((-q).argsort().argsort() for q in (quality, truth))
        low, high = np.quantile(ranks, [0.05, 0.95], axis=0, method="inverted_cdf")
        ranked.append(np.mean((low <= true) & (true <= high)))
    interval, twin = (binomtest(int(k), n).proportion_ci(0.99) for k in (inside, narrower))
    assert interval.low < 0.9 < interval.high
    assert not twin.low < 0.9 < twin.high  # intervals of 70 %
    assert np.mean(ranked) >= 0.88


@UNJUDGED
@pytest.mark.parametrize("structure", ["ties", "box"])
def test_the_same_seed_gives_the_same_bits(structure):
    model = built(structure)
    one, other = (
        inference.sample(model, draws=50, chains=3, cores=cores, random_seed=4, tune=20, **QUIET)
        for cores in (1, 3)
    )
    for name, value in one["posterior"].data_vars.items():
        assert np.array_equal(value.to_numpy(), other["posterior"][name].to_numpy())


@UNJUDGED
@pytest.mark.parametrize("structure", ["ties", "signed", "left bias", "shared", "normal box"])
def test_densities_are_those_of_the_model(structure):
    model = built(structure)
    tree = inference.sample(model, draws=5, chains=2, random_seed=1, dtype="float64", **QUIET)
    options = {"model": model, "progressbar": False, "extend_inferencedata": False}
    ours = tree["log_likelihood"]["observed_winner"].to_numpy()
    theirs = pm.compute_log_likelihood(tree, **options)["observed_winner"].to_numpy()
    np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-10)
    for name, value in pm.stats.compute_log_prior(tree, **options).data_vars.items():
        # PyMC keeps the numbers of a prior in single precision
        np.testing.assert_allclose(tree["log_prior"][name], value, rtol=1e-6, atol=1e-6)


@COARSE
def test_arviz_reads_the_tree():
    drawn = models.simulators.comparisons(items=6, raters=4, degree=4, alpha=0.5, random_seed=3)
    tree = inference.sample(models.bradley_terry(drawn.data), random_seed=1, **QUIET)
    assert np.isfinite(az.loo(tree).elpd)
    assert set(az.psense_summary(tree, var_names=["quality_scale"]).columns) >= {"prior", "likelihood"}


class TestStep:
    @pytest.mark.slow
    @COARSE
    @pytest.mark.parametrize("structure", ["ties", "left bias", "box"])
    def test_step_and_loop_have_one_posterior(self, structure):
        model, seed = built(structure), seed_of(f"step and loop {structure}")
        with model:
            step = inference.LaplaceHMC(steps=5)
            tree = pm.sample(
                1500, tune=100, chains=4, cores=1, step=step, random_seed=seed,
                progressbar=False, compute_convergence_checks=False, quiet=True,
            )  # fmt: skip
        options = {"draws": 6000, "random_seed": seed, "log_likelihood": False, "thin": 3, **QUIET}
        loop = inference.sample(model, **options)["posterior"]
        names = [rv.name for rv in model.free_RVs]
        scale = ["quality_scale", "reliability_scale", "tie"]  # their logs have lighter tails

        def z(shift):
            found = []
            for name in names:
                kind = np.log if name in scale else np.asarray
                mean = kind(loop[name].to_numpy()).mean(axis=(0, 1)) + shift
                found.append(mc_z(kind(tree["posterior"][name].to_numpy()), mean).ravel())
            return np.abs(np.concatenate(found)).max()

        n = sum(tree["posterior"][name][0, 0].size for name in names)
        bound = bonferroni_threshold(n) * np.sqrt(1.3)  # the loop has a quarter of the variance
        assert z(0.0) < bound
        assert z(0.3) > bound

    @COARSE
    def test_it_comes_in_from_where_pymc_starts(self):
        drawn = models.simulators.comparisons(items=60, raters=60, degree=20, random_seed=1)
        with models.bradley_terry(drawn.data) as model:
            step = inference.LaplaceHMC()
            options = {"chains": 1, "cores": 1, "random_seed": 1, "progressbar": False, "quiet": True}
            options["compute_convergence_checks"] = False
            tree = pm.sample(100, tune=50, step=step, **options)
            assert tree["sample_stats"]["acceptance_rate"].mean() > 0.8
            twin = inference.LaplaceHMC()
            twin.stop_tuning()  # a chain that never takes finer steps stays where it starts
            twin.setup_chain = lambda rng, tune, draws: None
            stuck = pm.sample(20, tune=0, step=twin, **options)
        assert stuck["sample_stats"]["acceptance_rate"].mean() < 0.1
        assert model["quality"].name in tree["posterior"]

    def test_it_refuses_a_part_of_the_model(self, golden):
        model = built("ties")
        with model, golden.raises(NotConjugate):
            inference.LaplaceHMC([model["quality"]])

    def test_it_refuses_what_is_no_number_of_steps(self, golden):
        with built("ties"), golden.raises(ValueError):
            inference.LaplaceHMC(steps=0)


def with_a_side():
    drawn = models.simulators.comparisons(items=8, raters=6, degree=4, tie=0.5, left_bias=0.3, random_seed=4)
    return models.thurstone(drawn.data, left_bias=True)


def with_covariates():
    """Five thousand votes on eight items, with ties and three covariates, two of them counts."""
    rng, n = np.random.default_rng(seed_of("covariates")), 5_000
    left = rng.integers(0, 8, n)
    right = (left + rng.integers(1, 8, n)) % 8
    z = np.stack([rng.normal(size=n), *rng.integers(-2, 3, (2, n))])
    x = 0.2 * (left - right) + np.array([0.5, 0.2, 0.0]) @ z
    shares = np.stack([np.exp(x / 2), np.exp(-x / 2), np.full(n, 0.5)])
    winner = np.array(["left", "right", "tie"])[
        (rng.random(n) * shares.sum(axis=0) > shares.cumsum(axis=0)).sum(axis=0)
    ]
    table = {"left": left, "right": right, "winner": winner}
    pairs = models.Comparisons.from_table(table, rater=None)
    return models.bradley_terry(pairs, vote_covariates=table | {f"z{k}": own for k, own in enumerate(z)})


@pytest.mark.slow
@COARSE
@pytest.mark.parametrize("model_of", [with_a_side, pytest.param(with_covariates, marks=pytest.mark.long)])
def test_hmc_and_nuts_agree(model_of):
    model = model_of()
    options = {"random_seed": 5, "log_likelihood": False, **QUIET}
    loop = inference.sample(model, draws=8000, **options)["posterior"]
    nuts = inference.sample(model, draws=1500, method="nuts", nuts_sampler="nutpie", **options)

    def largest_z(shift):
        names = [rv.name for rv in model.free_RVs]
        return max(
            np.abs(
                mc_z(nuts["posterior"][name].to_numpy(), loop[name].to_numpy().mean(axis=(0, 1)) + shift)
            ).max()
            for name in names
        )

    assert largest_z(0.0) < 4 * np.sqrt(1.2)  # the loop has a fifth of the variance
    assert largest_z(0.1) > 4 * np.sqrt(1.2)


class TestRoutes:
    @pytest.mark.parametrize("structure", STRUCTURES)
    def test_every_structure_has_the_fast_sampler(self, structure):
        assert recognition.read_comparisons(built(structure)).prior.n_items == 4

    def test_what_it_does_not_know_goes_to_nuts_and_says_why(self, golden):
        drawn = models.simulators.comparisons(items=4, raters=3, degree=3, random_seed=1)
        table = {"item": [0, 1, 2, 3], "size": [0.0, 1.0, 2.0, 4.0]}
        with pytest.raises(NotConjugate, match="computed from others"):
            recognition.read_comparisons(models.bradley_terry(drawn.data, covariates=table))
        with golden.raises(ValueError):
            inference.sample(models.bradley_terry(drawn.data, covariates=table), method="hmc")
        with models.bradley_terry(drawn.data) as model:
            pm.Potential("pull", model["quality"].sum())
        with pytest.raises(NotConjugate, match="potential 'pull'"):
            recognition.read_comparisons(model)
        with models.bradley_terry(drawn.data) as model:
            pm.Normal("another", 0, 1)
        with golden.raises(NotConjugate):
            recognition.read_comparisons(model)


class TestNormalApproximation:
    @pytest.fixture(scope="class")
    def drawn(self):
        return models.simulators.comparisons(items=20, raters=20, degree=10, alpha=0.5, random_seed=2)

    @pytest.mark.slow
    @COARSE
    @pytest.mark.parametrize("options", [{}, {"signed": True}], ids=["log", "signed"])
    def test_centre_and_errors_are_those_of_the_posterior(self, drawn, options):
        model = models.thurstone(drawn.data, **options)
        estimate = inference.laplace(model)
        tree = inference.sample(model, random_seed=1, log_likelihood=False, **QUIET)
        for name in ("quality", "reliability"):
            draws = tree["posterior"][name]
            sd = draws.std(("chain", "draw"))
            assert np.abs((estimate[name] - draws.mean(("chain", "draw"))) / sd).max() < 0.6
            assert float((estimate[f"{name}_sd"] / sd).mean()) == pytest.approx(1, abs=0.15)

    @pytest.mark.slow
    def test_resampled_draws_are_of_the_posterior(self):
        drawn = models.simulators.comparisons(items=40, raters=40, degree=20, random_seed=1)
        model = models.bradley_terry(drawn.data)
        tree = inference.laplace_sample(model, draws=2000, random_seed=3)
        assert tree.attrs["pareto_k"] < 0.5
        loop = inference.sample(model, draws=4000, random_seed=1, log_likelihood=False, **QUIET)
        draws = loop["posterior"]["quality"]
        error = draws.std(("chain", "draw")) / np.sqrt(tree.attrs["effective_draws"])
        z = (tree["posterior"]["quality"].mean(("chain", "draw")) - draws.mean(("chain", "draw"))) / error
        assert np.abs(z).max() < bonferroni_threshold(40) * np.sqrt(1.5)
        unweighed = inference.laplace(model)["quality"]
        assert np.abs((unweighed - draws.mean(("chain", "draw"))) / error).max() > bonferroni_threshold(40)

    def test_thin_data_are_told(self):
        drawn = models.simulators.comparisons(items=30, raters=30, degree=4, alpha=0.1, random_seed=1)
        with pytest.warns(inference.ConvergenceWarning, match="far from normal"):
            tree = inference.laplace_sample(models.bradley_terry(drawn.data), random_seed=1)
        assert tree.attrs["pareto_k"] > 0.5

    @pytest.mark.parametrize("seed", range(4))
    def test_tails_that_no_weight_tells_of_are_told(self, seed, golden):
        pairs = votes(rater=["r"] * 3 + ["s"] * 2, left=["a"] * 5, right=["b"] * 5, winner=["a"] * 5)
        with golden.warns(inference.ConvergenceWarning):
            inference.laplace_sample(models.bradley_terry(pairs), random_seed=seed)


ODD = {
    "unanimous": {"left": ["a", "b", "a"] * 9, "right": ["b", "c", "c"] * 9, "winner": ["left"] * 27},
    "all tie": {"left": ["a", "b", "a"], "right": ["b", "c", "c"], "winner": ["tie"] * 3},
    "two raters at odds": {
        "rater": ["r"] * 30 + ["s"] * 30, "left": ["a"] * 60, "right": ["b"] * 60,
        "winner": ["left"] * 30 + ["right"] * 30,
    },
    "a vote of each rater": {
        "rater": [f"r{k}" for k in range(20)], "left": ["a"] * 20, "right": ["b"] * 20,
        "winner": ["left", "right"] * 10,
    },
}  # fmt: skip


@UNJUDGED
@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
@pytest.mark.parametrize("data", ODD)
def test_odd_votes_have_a_posterior(data, link):
    pairs = votes(**ODD[data])
    effect = "shared" if pairs.anonymous else "hierarchical"
    model = getattr(models, link)(pairs, reliability=effect)
    tree = inference.sample(model, draws=200, random_seed=1, **QUIET)
    for value in tree["posterior"].data_vars.values():
        assert np.isfinite(value).all()
    assert tree["sample_stats"]["acceptance_rate"].min() > 0.3


def test_what_does_not_fit_into_memory_is_refused(monkeypatch, golden):
    monkeypatch.setenv("RATERZOO_MEMORY_GB", "8")
    n = 200_000
    pairs = votes(left=list(range(n)), right=list(range(1, n + 1)), winner=["left"] * n)
    with golden.raises(ValueError):
        inference.sample(models.bradley_terry(pairs, reliability="shared"), keep="all", **QUIET)


@UNJUDGED
@pytest.mark.parametrize("alpha", [0.1, 0.5, 1.0])
def test_boxes_of_every_density_have_a_posterior(alpha):
    drawn = models.simulators.comparisons(items=40, raters=40, alpha=alpha, random_seed=0)
    model = models.bradley_terry(drawn.data, reliability_range=(1, 20))
    tree = inference.sample(model, draws=100, random_seed=1, log_likelihood=False, **QUIET)
    assert tree["sample_stats"]["acceptance_rate"].min() > 0.5


@UNJUDGED
def test_a_million_answers_in_a_cell():
    pairs = models.Comparisons.from_table(
        {"left": ["a", "a"], "right": ["b", "b"], "winner": ["a", "b"], "count": [30_000_001, 10_000_000]},
        rater=None,
        count="count",
    )
    model = models.bradley_terry(pairs, reliability="shared")
    quality = inference.sample(model, draws=500, random_seed=1, **QUIET)["posterior"]["quality"]
    odds = np.exp((quality.sel(item="a") - quality.sel(item="b")).mean())
    assert odds == pytest.approx(3.0000001, rel=1e-4)
