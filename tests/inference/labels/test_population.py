"""Population of raters as a prior: the exact posterior by quadrature, NUTS, densities, the mode by EM, and what it mends."""

import warnings
from functools import cache
from itertools import product

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from scipy.special import gammaln

from tests.support.densities import add_densities
from tests.support.label_designs import tiny_labels
from tests.support.monte_carlo import assert_rejects_twin, check_means, sbc_ranks, seed_of, within_sbc_band

LABELS = tiny_labels()
OPTIONS = {"progressbar": False, "dtype": "float64", "random_seed": 3}


def built(labels=LABELS):
    return models.dawid_skene(labels, confusion_concentration="population")


def sampled(model, **options):
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        return inference.sample(model, **OPTIONS | options)


@cache
def exact_means(strength=8.0):
    """Posterior means by enumerating the true categories, with skill and strength on a grid."""
    mean_of_log, skill = np.log(strength), (np.arange(60) + 0.5) / 60
    log_strength = mean_of_log + np.linspace(-5, 5, 80)
    u, log_s = np.meshgrid(skill, log_strength, indexing="ij")
    s = np.exp(log_s)
    log_prior = np.log(u) - (log_s - mean_of_log) ** 2 / 2
    right, wrong = s * (u + (1 - u) / 2), s * (1 - u) / 2
    n_raters = len(LABELS.raters)
    log_w, truths, counted = [], [], []
    for truth in product(*([g] if g >= 0 else range(2) for g in LABELS.gold.tolist())):
        truth = np.array(truth)
        counts = np.zeros((n_raters, 2, 2))
        np.add.at(
            counts, (LABELS.annotation_rater, truth[LABELS.annotation_item], LABELS.label_code), LABELS.count
        )
        own = gammaln(1 + np.bincount(truth, minlength=2)).sum() + log_prior
        for row in counts.reshape(-1, 2, 2):
            for j in range(2):
                own = own + gammaln(s) - gammaln(s + row[j].sum())
                own = own + gammaln(right + row[j, j]) - gammaln(right)
                own = own + gammaln(wrong + row[j, 1 - j]) - gammaln(wrong)
        log_w.append(own)
        truths.append(np.eye(2)[truth])
        counted.append(counts)
    w = np.exp(np.array(log_w) - np.max(log_w))
    w /= w.sum()
    confusion = 0.0
    for own, counts in zip(w, counted, strict=True):
        beta = np.stack([np.stack([right, wrong], -1), np.stack([wrong, right], -1)], -2)
        whole = counts[:, None, None] + beta
        confusion = confusion + (own[..., None, None] * (whole / whole.sum(-1, keepdims=True))).sum((1, 2))
    of_grid = w.sum(axis=0)
    return {
        "plausibility": np.tensordot(w.sum((1, 2)), np.array(truths), 1),
        "confusion": confusion,
        "population_skill": np.array([(of_grid * u).sum()]),
        "log_strength": np.array([(of_grid * log_s).sum()]),
    }


def check(tree, exact):
    draws = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
    draws["log_strength"] = np.log(draws["population_strength"])
    check_means(draws, exact)


@cache
def tree():
    return sampled(built(), draws=10_000, thin=3)


def test_draws_have_the_exact_posterior():
    assert tree().attrs["method"] == "gibbs"
    check(tree(), exact_means())
    assert_rejects_twin(check, tree(), exact_means(strength=10.0))


@pytest.mark.long
def test_nuts_has_the_exact_posterior():
    drawn = sampled(built(), method="nuts", nuts_sampler="pymc", cores=1, draws=1000)
    check(drawn, exact_means())


def test_densities_are_pymcs():
    model, few = built(), tree().isel(draw=slice(0, 20))
    names = [rv.name for rv in model.free_RVs]
    check = xr.DataTree.from_dict({"posterior": few["posterior"].to_dataset()[names]})
    add_densities(check, model)
    assert set(check["log_prior"].data_vars) == set(names)
    for name, theirs in check["log_prior"].data_vars.items():
        np.testing.assert_allclose(few["log_prior"][name], theirs, rtol=1e-6, atol=1e-8)


def test_parts_of_a_run_are_the_run():
    labels = models.simulators.labels(items=30, raters=4, random_seed=2).data
    whole, first = (sampled(built(labels), draws=n, chains=2, tune=20, thin=2) for n in (40, 25))
    for name in ("population_skill", "confusion", "plausibility"):
        found = whole["posterior"][name].isel(draw=slice(0, 25)).to_numpy()
        assert np.array_equal(found, first["posterior"][name].to_numpy())


@pytest.mark.long
def test_calibration_with_two_populations():
    """Truth from the prior: ranks of skill, strength and a matrix are uniform; those of another strength are not."""
    rng, kind = np.random.default_rng(seed_of("populations")), np.array(["raters"] * 6 + ["classifiers"] * 2)
    item, rater = (own.ravel() for own in np.meshgrid(np.arange(25), np.arange(8), indexing="ij"))

    def simulate():
        u, s = rng.beta(2, 1, 2), np.exp(rng.normal(np.log(8), 1, 2))
        member = (kind == "raters").astype(int)
        beta = s[member, None, None] * (u[member, None, None] * np.eye(3) + (1 - u[member, None, None]) / 3)
        gamma = rng.standard_gamma(beta) + 1e-300
        confusion, share = gamma / gamma.sum(axis=-1, keepdims=True), rng.dirichlet(np.ones(3))
        truth = rng.choice(3, 25, p=share)
        below = confusion[rater, truth[item]].cumsum(axis=-1)[:, :-1]
        label = (rng.random((len(item), 1)) > below).sum(axis=1)
        table = {
            "item": item,
            "rater": rater,
            "label": label,
            "kind": np.where(member, "person", "classifier")[rater],
        }
        labels = models.Labels.from_table(table, categories=range(3), rater_attributes=["kind"])
        posterior = sampled(built(labels), chains=1, draws=63, thin=12, tune=300)["posterior"]
        drawn = [posterior[name][0].to_numpy() for name in ("population_skill", "population_strength")]
        drawn.append(posterior["confusion"][0, :, :, 0, 0].to_numpy())
        truths = np.concatenate([u, s, confusion[:, 0, 0]])
        return truths, np.concatenate(drawn, axis=1)

    pairs = [simulate() for _ in range(150)]
    truth, drawn = (np.stack(own) for own in zip(*pairs, strict=True))
    level = 1 - 0.01 / truth.shape[1]
    assert within_sbc_band(sbc_ranks(truth, drawn, rng), 63, level).all()
    wrong = truth.copy()
    wrong[:, 2:4] *= 1.7
    assert not within_sbc_band(sbc_ranks(wrong, drawn, rng), 63, level).all()


def test_classifiers_are_a_population_of_their_own():
    made = models.simulators.labels(items=60, raters=5, random_seed=4)
    table = made.data.to_table()
    labels = models.Labels.from_table(dict(table) | {"rater": [f"r{own}" for own in table["rater"]]})
    truth = np.asarray(made.truth["true_category"])
    predicted = xr.DataArray(
        labels.categories[truth][:, None], dims=("item", "position"), coords={"item": labels.items}
    )
    with_classifier = labels.with_predictions(predicted)
    posterior = sampled(
        models.correlated_votes(with_classifier, confusion_concentration="population"), draws=200
    )["posterior"]
    assert posterior["population"].values.tolist() == ["classifiers", "raters"]
    skill = posterior["population_skill"].mean(("chain", "draw"))
    assert skill.sel(population="classifiers") > skill.sel(population="raters") + 0.2


def few_answers(n=300, answers=5, seed=1):
    """Independent raters with one answer each, right with probability .75."""
    rng = np.random.default_rng(seed)
    truth, item = rng.integers(2, size=n), np.repeat(np.arange(n), answers)
    label = np.where(rng.random(len(item)) < 0.75, truth[item], 1 - truth[item])
    return models.Labels.from_table({"item": item, "rater": np.arange(len(item)), "label": label}), truth


@pytest.mark.slow
def test_raters_with_few_answers_are_taken_for_typical_ones():
    labels, truth = few_answers()
    posterior = sampled(built(labels), draws=200)["posterior"]
    mean = posterior["plausibility"].mean(("chain", "draw")).to_numpy()
    estimate = inference.dawid_skene_em(labels, prior="population", restarts=0)["plausibility"].to_numpy()
    for p in (mean, estimate):
        right = (p.argmax(axis=1) == truth).mean()
        assert abs(p.max(axis=1).mean() - right) < 0.04
    fixed = inference.dawid_skene_em(labels, restarts=0)["plausibility"].to_numpy()
    assert fixed.max(axis=1).mean() < estimate.max(axis=1).mean() - 0.1


@pytest.mark.parametrize("times", [1, 2, 3, 5])
def test_two_raters_who_say_always_one_do_not_outvote_three(times):
    truth = np.tile([1, 0] * 4, times)
    honest = [[1, 0] * 4, [1, 0, 1, 1, 1, 0, 1, 0], [1, 0, 1, 0, 1, 0, 1, 1]]
    answers = np.array([np.tile(own, times) for own in honest] + [np.ones_like(truth)] * 2)
    rater, item = np.indices(answers.shape)
    labels = models.Labels.from_table(
        {"item": item.ravel(), "rater": rater.ravel(), "label": answers.ravel()}
    )
    vote = ((answers.mean(axis=0) > 0.5) == truth).mean()
    for name in ("dawid_skene", "correlated_votes"):
        model = getattr(models, name)(labels, confusion_concentration="population")
        mean = sampled(model)["posterior"]["plausibility"].mean(("chain", "draw")).to_numpy()
        assert (mean.argmax(axis=1) == truth).mean() >= vote


def test_populations_may_be_named():
    names = np.array(["a", "b"] * len(LABELS.raters))[: len(LABELS.raters)]
    model = models.dawid_skene(LABELS, confusion_concentration=names)
    assert list(model.coords["population"]) == ["a", "b"]
    drawn = sampled(model, draws=50)
    assert drawn.attrs["method"] == "gibbs" and drawn["posterior"].sizes["population"] == 2
    with pytest.raises(ValueError, match="shape"):
        models.dawid_skene(LABELS, confusion_concentration=["a", "b", "a"] * 10)


@pytest.mark.slow
def test_a_classifier_of_eight_categories_is_as_good_as_it_is():
    """Three people right in .7 and a classifier right in .85: its accuracy, and that by the weak prior, which is too low."""
    error, held = {"population": [], None: []}, []
    for seed in range(12):
        rng = np.random.default_rng([8, seed])
        truth = rng.integers(8, size=200)
        answers = (
            truth + np.where(rng.random((4, 200)) < [[0.7]] * 3 + [[0.85]], 0, rng.integers(1, 8, (4, 200)))
        ) % 8
        rater, item = np.indices((3, 200))
        person = np.array(["a", "b", "c"])[rater.ravel()]
        table = {"item": item.ravel(), "rater": person, "label": answers[:3].ravel()}
        labels = models.Labels.from_table(table, categories=range(8))
        predicted = xr.DataArray(
            answers[3][:, None], dims=("item", "position"), coords={"item": np.arange(200)}
        )
        joint = labels.with_predictions(predicted)
        for prior, own in error.items():
            tree = sampled(models.dawid_skene(joint, confusion_concentration=prior), draws=300, chains=2)
            found = evaluation.metric_intervals(
                evaluation.top_k_accuracy(1), tree, predicted, random_seed=1, progressbar=False
            ).sel(source="both")
            own.append(
                float(found["mean"].squeeze()) - (answers[3] == truth).mean()
            )  # less noise than by .85
            lower, upper = found["interval"].squeeze().values
            if prior == "population":
                held.append(lower <= 0.85 <= upper)
    assert abs(np.mean(error["population"])) < 0.015 and np.mean(held) >= 0.75
    assert np.mean(error[None]) < -0.03


@pytest.mark.parametrize("wrong", ["populations", "diagonal"])
def test_other_words_are_refused(wrong):
    with pytest.raises(ValueError, match="population"):
        models.correlated_votes(LABELS, confusion_concentration=wrong)
