"""Raters known from earlier studies: the exact posterior by enumeration, NUTS, densities, calibration, and what it is worth."""

import warnings
from functools import cache
from itertools import product

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import inference, models
from scipy.special import gammaln
from scipy.stats import dirichlet

from tests.support.densities import add_densities
from tests.support.label_designs import tiny_labels
from tests.support.monte_carlo import assert_rejects_twin, check_means, sbc_ranks, seed_of, within_sbc_band

LABELS = tiny_labels()
RATERS = LABELS.raters.tolist()
OPTIONS = {"progressbar": False, "dtype": "float64", "random_seed": 3}
COUNTS = np.array([[[20.0, 4.0], [3.0, 9.0]], [[6.0, 5.0], [2.0, 11.0]]])  # of the first two raters
POPULATION = np.array([[4.0, 2.0], [1.5, 5.0]])
NONE = np.array([[4.8, 3.2], [3.2, 4.8]])
WITHOUT = {"given": NONE, "learnt": None}


def prior_of(counts=COUNTS, population=POPULATION, raters=RATERS[:2], categories=LABELS.categories):
    own = {"category": categories, "answer": categories}
    of = {"population": (("category", "answer"), population)}
    if counts is not None:
        of["pseudo_count"] = (("rater", "category", "answer"), counts)
        own["rater"] = raters
    return xr.Dataset(of, own)


def built(without="given", labels=LABELS, prior=None, concentration=None):
    prior = prior_of() if prior is None else prior
    concentration = WITHOUT[without] if concentration is None else concentration
    return models.dawid_skene(labels, raters=prior, confusion_concentration=concentration)


def sampled(model, **options):
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        return inference.sample(model, **OPTIONS | options)


def marginal(beta, counts):
    """Log probability of the counts (category, answer) of one rater given concentrations (..., category, answer)."""
    whole = gammaln(beta.sum(-1)) - gammaln(beta.sum(-1) + counts.sum(-1))
    return (whole + (gammaln(beta + counts) - gammaln(beta)).sum(-1)).sum(-1)


def without_history(without):
    """Concentrations of raters without a history on a grid (point, category, answer), and skill, log strength, log density."""
    if without == "given":
        return NONE[None], np.zeros((2, 1)), np.zeros(1)
    skill, log_strength = (np.arange(40) + 0.5) / 40, np.log(8) + np.linspace(-5, 5, 50)
    u, log_s = (own.ravel() for own in np.meshgrid(skill, log_strength, indexing="ij"))
    beta = np.exp(log_s)[:, None, None] * (u[:, None, None] * np.eye(2) + (1 - u[:, None, None]) / 2)
    return beta, np.array([u, log_s]), np.log(u) - (log_s - np.log(8)) ** 2 / 2


@cache
def exact_means(without, power=0.1):
    """Posterior means by enumerating the true categories and the component of each rater."""
    n, weight = len(RATERS), np.array([0.5, 0.5, 0.5, 1.5])
    own = np.concatenate([COUNTS, np.tile(POPULATION, (n - 2, 1, 1))])
    known = np.stack([own, power * own + (1 - power) * POPULATION, np.tile(POPULATION, (n, 1, 1))])
    beta, hyper, log_prior = without_history(without)
    components = np.array(list(product(range(4), repeat=n)))
    number = (components[:, :, None] == np.arange(4)).sum(axis=1)
    log_p = gammaln(weight + number).sum(axis=1)  # the weights integrated out
    log_w, truths, counted = [], [], []
    for truth in product(*([g] if g >= 0 else range(2) for g in LABELS.gold.tolist())):
        truth = np.array(truth)
        counts = np.zeros((n, 2, 2))
        np.add.at(
            counts, (LABELS.annotation_rater, truth[LABELS.annotation_item], LABELS.label_code), LABELS.count
        )
        of = np.zeros((n, 4, len(beta)))
        for k in range(n):
            of[k, :3] = marginal(known[:, k], counts[k])[:, None]
            of[k, 3] = marginal(beta, counts[k])
        answers = of[np.arange(n), components].sum(axis=1)  # (assignment, point)
        log_w.append(
            gammaln(1 + np.bincount(truth, minlength=2)).sum() + log_p[:, None] + answers + log_prior
        )
        truths.append(np.eye(2)[truth])
        counted.append(counts)
    w = np.exp(np.array(log_w) - np.max(log_w))
    w /= w.sum()
    confusion = np.zeros((n, 2, 2))
    for p, counts in zip(w, counted, strict=True):
        for k in range(n):
            for c in range(4):
                share = p[components[:, k] == c].sum(axis=0)  # (point,)
                whole = (known[c, k][None] if c < 3 else beta) + counts[k]
                rows = whole / whole.sum(axis=-1, keepdims=True)
                confusion[k] += (share[:, None, None] * rows).sum(axis=0)
    shares = (weight + number) / (weight.sum() + n)
    found = {
        "plausibility": np.tensordot(w.sum((1, 2)), np.array(truths), 1),
        "confusion": confusion,
        "history_weight": w.sum((0, 2)) @ shares,
    }
    if without == "learnt":
        skill, log_strength = hyper @ w.sum((0, 1))
        found |= {"population_skill": np.array([skill]), "log_strength": np.array([log_strength])}
    return found


def check(tree, exact):
    draws = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
    if "log_strength" in exact:
        draws["log_strength"] = np.log(draws["population_strength"])
    check_means(draws, exact)


@cache
def tree(without):
    return sampled(built(without), draws=8_000, thin=3)


@pytest.mark.parametrize("without", WITHOUT)
def test_draws_have_the_exact_posterior(without):
    assert tree(without).attrs["method"] == "gibbs"
    check(tree(without), exact_means(without))
    assert_rejects_twin(check, tree(without), exact_means(without, power=1.0))


@pytest.mark.long
def test_nuts_has_the_exact_posterior():
    drawn = sampled(built(), method="nuts", nuts_sampler="pymc", cores=1, draws=1000)
    check(drawn, exact_means("given"))


@pytest.mark.parametrize("without", WITHOUT)
def test_densities_are_pymcs(without):
    model, few = built(without), tree(without).isel(draw=slice(0, 20))
    names = [rv.name for rv in model.free_RVs]
    check = xr.DataTree.from_dict({"posterior": few["posterior"].to_dataset()[names]})
    add_densities(check, model)
    assert set(check["log_prior"].data_vars) == set(names)
    inside = (few["posterior"]["confusion"] > 0).all(("rater", "category", "answer"))  # some round to 0
    assert inside.mean() > 0.8
    for name, theirs in check["log_prior"].data_vars.items():
        own = few["log_prior"][name].where(inside)
        np.testing.assert_allclose(own, theirs.where(inside), rtol=1e-6, atol=1e-8)


def test_density_is_a_mixture_of_products_of_rows():
    rng = np.random.default_rng(1)
    weight, beta = rng.dirichlet(np.ones(3)), rng.uniform(0.5, 5, (3, 2, 4))
    value = rng.dirichlet(np.ones(4), (5, 2))
    law = models.distributions.DirichletMixture.dist(weight, np.broadcast_to(beta, (5, 3, 2, 4)))
    expected = [
        np.log(
            sum(
                w * np.prod([dirichlet.pdf(x, b) for x, b in zip(own, rows, strict=True)])
                for w, rows in zip(weight, beta, strict=True)
            )
        )
        for own in value
    ]
    np.testing.assert_allclose(pm.logp(law, value).eval(), expected, rtol=1e-10)


@pytest.mark.parametrize("compiled", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_prior_draws_have_the_moments_of_the_mixture(compiled):
    weight, beta = np.array([0.3, 0.7]), np.array([[[8.0, 2.0], [1.0, 3.0]], [[1.0, 1.0], [5.0, 5.0]]])
    law = models.distributions.DirichletMixture.dist(weight, beta, size=20_000)
    if compiled:
        drawn = pm.draw(law, random_seed=1)
    else:
        drawn = law.owner.op.rng_fn(np.random.default_rng(1), weight, beta, size=(20_000,))
    mean = (weight[:, None, None] * beta / beta.sum(axis=-1, keepdims=True)).sum(axis=0)
    both = (weight * np.array([0.8 * 0.25, 0.25])).sum()  # rows of one matrix are of one component
    assert np.abs(drawn.mean(axis=0) - mean).max() < 0.01
    assert abs((drawn[:, 0, 0] * drawn[:, 1, 0]).mean() - both) < 0.01
    assert abs(mean[0, 0] * mean[1, 0] - both) > 0.015


def test_parts_of_a_run_are_the_run():
    labels = models.simulators.labels(items=30, raters=4, categories=2, random_seed=2).data
    prior = prior_of(raters=labels.raters[:2], categories=labels.categories)
    model = built("learnt", labels, prior)
    whole, first = (sampled(model, draws=n, chains=2, tune=20, thin=2) for n in (40, 25))
    for name in ("history_weight", "population_skill", "confusion", "plausibility"):
        found = whole["posterior"][name].isel(draw=slice(0, 25)).to_numpy()
        assert np.array_equal(found, first["posterior"][name].to_numpy())


def answers_of(rng, confusion, items, times=1):
    """Labels of all items by all raters, and the truth."""
    n = confusion.shape[-1]
    truth = rng.choice(n, items, p=rng.dirichlet(np.ones(n)))
    item, rater = (
        own.ravel() for own in np.meshgrid(np.arange(items), np.arange(len(confusion)), indexing="ij")
    )
    below = confusion[rater, truth[item]].cumsum(axis=-1)[:, :-1]
    label = (rng.random((len(item), 1)) > below).sum(axis=1)
    table = {"item": item, "rater": rater, "label": label}
    return models.Labels.from_table(table, categories=range(n)), truth


@pytest.mark.slow
def test_calibration():
    """Truth from the prior: ranks of the weights and of a matrix are uniform; those of the history alone are not."""
    rng = np.random.default_rng(seed_of("known raters"))
    known = rng.gamma(3.0, 4.0, (5, 3, 3)) + 12 * np.eye(3)
    population = 2 + 6 * np.eye(3)
    none = np.where(np.eye(3), 4.8, 1.6)
    prior = prior_of(known, population, np.arange(5), np.arange(3))
    own = np.concatenate([known, np.tile(population, (2, 1, 1))])
    parts = np.stack(
        [own, 0.1 * own + 0.9 * population, np.tile(population, (7, 1, 1)), np.tile(none, (7, 1, 1))]
    )

    def simulate():
        weight = rng.dirichlet([0.5, 0.5, 0.5, 1.5])
        gamma = rng.standard_gamma(parts[rng.choice(4, 7, p=weight), np.arange(7)])
        confusion = gamma / gamma.sum(axis=-1, keepdims=True)
        labels, _ = answers_of(rng, confusion, 20)
        model = built(labels=labels, prior=prior, concentration=none)
        posterior = sampled(model, chains=1, draws=63, thin=10, tune=200)["posterior"]
        drawn = [posterior["history_weight"][0].to_numpy()]
        drawn += [posterior["confusion"][0, :, k, 0, 0].to_numpy()[:, None] for k in (0, 6)]
        return np.concatenate([weight, confusion[[0, 6], 0, 0]]), np.concatenate(drawn, axis=1)

    truth, drawn = (np.stack(own) for own in zip(*(simulate() for _ in range(150)), strict=True))
    level = 1 - 0.01 / truth.shape[1]
    assert within_sbc_band(sbc_ranks(truth, drawn, rng), 63, level).all()
    # the twin: rows of the history at full strength, whatever the component
    wrong = truth.copy()
    wrong[:, 4] = rng.beta(known[0, 0, 0], known[0, 0, 1:].sum(), 150)
    assert not within_sbc_band(sbc_ranks(wrong, drawn, rng), 63, level).all()


# --- What is known of raters: made from a posterior, written and read, refused ---


@cache
def earlier():
    rng = np.random.default_rng(5)
    skill = np.linspace(0.55, 0.95, 12)
    confusion = np.stack([np.stack([skill, 1 - skill], -1), np.stack([1 - skill, skill], -1)], -2)
    labels, _ = answers_of(rng, confusion, 60)
    return sampled(models.dawid_skene(labels), draws=500, chains=2), confusion


def test_pseudo_counts_are_those_of_dirichlet_draws():
    rng = np.random.default_rng(2)
    beta = rng.uniform(1, 30, (3, 2, 2))
    draws = np.stack([rng.dirichlet(row, 40_000) for row in beta.reshape(-1, 2)], axis=1).reshape(
        1, -1, 3, 2, 2
    )
    coords = {"rater": ["a", "b", "c"], "category": ["x", "y"], "answer": ["x", "y"]}
    confusion = xr.DataArray(draws, coords, ("chain", "draw", "rater", "category", "answer"))
    prior = inference.rater_prior(xr.DataTree.from_dict({"posterior": xr.Dataset({"confusion": confusion})}))
    np.testing.assert_allclose(prior["pseudo_count"], beta, rtol=0.05)
    whole = np.concatenate(
        [draws[0].swapaxes(0, 1).reshape(-1, 2, 2), rng.dirichlet([4.8, 3.2], (40_000, 2))]
    )
    whole[-40_000:, 1] = whole[-40_000:, 1, ::-1]
    mean, variance = whole.mean(axis=0), whole.var(axis=0).sum(axis=-1, keepdims=True)
    expected = mean * ((mean * (1 - mean)).sum(axis=-1, keepdims=True) / variance - 1)
    np.testing.assert_allclose(prior["population"], expected, rtol=0.05)


def test_a_prior_is_written_and_read(tmp_path):
    prior = inference.rater_prior(earlier()[0])
    prior.to_netcdf(tmp_path / "raters.nc")
    assert xr.load_dataset(tmp_path / "raters.nc").equals(prior)
    hidden = inference.rater_prior(earlier()[0], anonymize=True)
    assert set(hidden.variables) == {"category", "answer", "population"} and hidden.attrs["raters"] == 12
    xr.testing.assert_equal(hidden["population"], prior["population"])


@pytest.mark.parametrize("name", ["dawid_skene", "correlated_votes"])
def test_known_raters_are_believed_from_the_first_answer(name):
    tree, confusion = earlier()
    prior = inference.rater_prior(tree)
    labels, _ = answers_of(np.random.default_rng(8), confusion[[0, 1, 2, 10, 11]], 6)
    renamed = labels.to_table()
    renamed["rater"] = np.array([0, 1, 2, 10, 99])[renamed["rater"]]
    model = getattr(models, name)(models.Labels.from_table(renamed, categories=range(2)), raters=prior)
    assert model["history_known"].eval().tolist() == [1, 1, 1, 1, 0]
    drawn = sampled(model, draws=500)
    assert drawn.attrs["method"] == "gibbs" and drawn.attrs["model"] == name
    mean = drawn["posterior"]["confusion"].mean(("chain", "draw"))
    right = (mean.sel(category=0, answer=0) + mean.sel(category=1, answer=1)).to_numpy() / 2
    assert right[3] > right[:3].max() + 0.04


def test_categories_match_by_name_whatever_their_order_and_number():
    names = np.array(["c", "a", "b"])
    counts = np.arange(1.0, 10).reshape(1, 3, 3) + 20 * np.eye(3)
    prior = prior_of(counts, counts[0], ["r"], names)
    table = {"item": [0, 0, 1], "rater": ["r", "s", "r"], "label": ["a", "b", "b"]}
    labels = models.Labels.from_table(table, categories=["a", "b"])
    model = models.dawid_skene(labels, raters=prior)
    rows = model["confusion"].owner.op.dist_params(model["confusion"].owner)[1].eval()
    assert rows.shape == (2, 4, 2, 2)
    np.testing.assert_array_equal(rows[0, 0], counts[0][1:, 1:])


REFUSED = {
    "no prior": lambda: xr.Dataset({"x": 1.0}),
    "categories": lambda: prior_of(categories=["x", "z"]),
    "duplicate": lambda: prior_of(raters=["r", "r"]),
    "integers": lambda: prior_of(raters=[1, 2]),
    "zero": lambda: prior_of(COUNTS * 0),
    "answers": lambda: prior_of().assign_coords(answer=["y", "x"]),
    "dims": lambda: prior_of().rename(rater="who"),
}


@pytest.mark.parametrize("wrong", REFUSED)
def test_what_is_no_prior_of_these_labels_is_refused(wrong, golden):
    with golden.raises(models.DataError) as caught:
        models.dawid_skene(LABELS, raters=REFUSED[wrong]())
    assert caught.value.column == "raters" and caught.value.remedy


def test_a_prior_of_nobody_here_or_of_other_names_is_said(golden):
    with golden.warns(models.DataWarning):
        models.dawid_skene(LABELS, raters=prior_of(raters=["p", "q"]))
    with golden.warns(models.DataWarning):
        models.dawid_skene(LABELS, raters=prior_of(population=POPULATION[::-1]))


def test_a_tree_without_matrices_and_a_step_are_refused(golden):
    few = tree("given").isel(draw=slice(0, 3))
    without = xr.DataTree.from_dict({"posterior": few["posterior"].to_dataset().drop_vars("confusion")})
    one = xr.DataTree.from_dict({"posterior": few["posterior"].to_dataset().isel(draw=[0], chain=[0])})
    for wrong in (without, one):
        with golden.raises(models.DataError) as caught:
            inference.rater_prior(wrong)
        assert caught.value.column == "tree"
    with built(), golden.raises(ValueError):
        inference.ConfusionGibbs()


def test_anonymous_counts_and_requests_are_refused(golden):
    with golden.raises(ValueError):
        models.dawid_skene(
            models.Labels.from_counts({"item": ["a", "b"], "x": [2, 0], "y": [1, 3]}), raters=prior_of()
        )
    table = {"item": [0, 0, 1, 1], "rater": ["r", "s", "r", "s"], "label": ["x", "y", "unsure", "x"]}
    with golden.warns(models.DataWarning):
        labels = models.Labels.from_table(table, categories=["x", "y"], no_answer=("unsure",))
    with golden.raises(models.DataError) as caught:
        models.dawid_skene(labels, raters=prior_of())
    assert caught.value.column == "raters" and caught.value.remedy
    assert models.dawid_skene(labels, raters=prior_of(), no_answer="ignored")["history_weight"] is not None
