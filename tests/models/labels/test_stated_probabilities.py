"""Stated probabilities: the law against enumeration, Gibbs against NUTS, the container, with wrong twins."""

import json
import warnings
from itertools import product

import numpy as np
import pymc as pm
import pytest
import raterzoo
from raterzoo import evaluation, inference, models
from scipy.special import gammaln

from tests.support.command_line import run, write
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, mc_z, seed_of
from tests.support.runs import route_of

pytestmark = pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
TABLE = {
    "item": [1, 1, 1, 2, 2, 2, 3, 3, 4, 4, 4],
    "rater": list("abpabpababp"),
    "p": [0.9, 0.7, 1, 0.2, 0.6, 0, 0.99, 0.55, 0.3, 0, 0],
    "gold": [""] * 8 + [0] * 3,
}
PRIOR = (0.5, 1.0, 3.0, 0.5)
BETA = np.array([[4.8, 3.2], [3.2, 4.8]])


def labels_of(table=TABLE, **options):
    return models.Labels.from_table(table, probability="p", **{"gold": "gold"} | options)


def exact_means(prior=PRIOR):
    """Posterior means with all parameters integrated out, by enumeration of the truths; judges are a and b."""
    m, c, a, b = prior
    p, item, who = (np.array(TABLE[name]) for name in ("p", "item", "rater"))
    kind = np.where(p == 0, 0, np.where(p == 1, 1, 2))
    z = np.where(kind == 2, np.log(np.where(kind == 2, p, 0.5)) - np.log(np.where(kind == 2, 1 - p, 0.5)), 0)
    alpha, unit = {}, {}
    for k in "abp":
        n = (kind[who == k] == 2).sum()
        more = np.maximum(8 * (n + 0.5) / ((who == k).sum() - n + 0.5), 0.5)
        alpha[k] = np.c_[BETA, [more, more]]
        if n:
            unit[k] = np.sqrt((z[(who == k) & (kind == 2)] ** 2).mean())
    total, sums = 0.0, {"plausibility": 0.0, "mean": 0.0, "variance": 0.0}
    for truth in product(range(2), repeat=3):
        t = np.array([*truth, 0])[item - 1]
        log_p = gammaln(1 + np.bincount([*truth, 0], minlength=2)).sum()
        mean, variance = np.empty((2, 2)), np.empty((2, 2))
        for k, j in product("abp", range(2)):
            n = np.bincount(kind[(who == k) & (t == j)], minlength=3)
            own = alpha[k][j]
            log_p += gammaln(own + n).sum() - gammaln((own + n).sum())
            if k in unit:
                x = z[(who == k) & (t == j) & (kind == 2)]
                place, rate = (2 * j - 1) * m * unit[k], b * unit[k] ** 2
                weight, shape = c + len(x), a + len(x) / 2
                at = (c * place + x.sum()) / weight
                scale = rate + ((x - x.mean()) ** 2).sum() / 2 if len(x) else rate
                scale += c * len(x) / weight * (x.mean() - place) ** 2 / 2 if len(x) else 0.0
                log_p += gammaln(shape) - shape * np.log(scale) - np.log(weight) / 2
                log_p += a * np.log(rate)
                mean["ab".index(k), j], variance["ab".index(k), j] = at, scale / (shape - 1)
        values = {"plausibility": np.eye(2)[list(truth)], "mean": mean, "variance": variance}
        total += np.exp(log_p)
        sums = {name: sums[name] + np.exp(log_p) * value for name, value in values.items()}
    return {name: value / total for name, value in sums.items()}


def drawn(model, seed, **options):
    tree = inference.sample(model, random_seed=seed, dtype="float64", progressbar=False, **options)
    posterior = tree["posterior"].to_dataset().transpose("chain", "draw", ...)
    found = {name: posterior[f"statement_{name}"].to_numpy() for name in ("mean", "variance")}
    return found | {"plausibility": posterior["plausibility"].to_numpy()[:, :, :3]}


def check_means(draws, exact):
    z = np.concatenate([np.ravel(mc_z(draws[name], mean)) for name, mean in exact.items()])
    assert np.abs(z).max() < bonferroni_threshold(z.size)


def test_gibbs_draws_the_exact_posterior():
    model = models.dawid_skene(labels_of(), statement_prior=PRIOR)
    assert route_of(model).method == "gibbs"
    draws = drawn(model, seed_of("stated probabilities"), draws=5000, thin=2)
    check_means(draws, exact_means())
    for place, value in enumerate((0.6, 1.2, 3.3, 0.6)):
        twin = [value if place == k else own for k, own in enumerate(PRIOR)]
        assert_rejects_twin(check_means, draws, exact_means(twin))


@pytest.mark.long
def test_nuts_draws_the_exact_posterior():
    model = models.dawid_skene(labels_of(), statement_prior=PRIOR)
    options = {"method": "nuts", "nuts_sampler": "pymc", "cores": 1, "draws": 2000}
    draws = drawn(model, seed_of("stated probabilities by NUTS"), **options)
    check_means(draws, exact_means())
    assert_rejects_twin(check_means, draws, exact_means((0.7, *PRIOR[1:])))


def test_tree_has_the_densities_of_the_model():
    model = models.dawid_skene(labels_of(), prevalence_concentration=2.0)
    tree = inference.sample(model, draws=20, chains=2, random_seed=1, progressbar=False, dtype="float64")
    assert (tree.attrs["model"], tree.attrs["method"]) == ("dawid_skene", "gibbs")
    with model:
        expected = pm.compute_deterministics(
            tree["posterior"].to_dataset(), var_names=["confusion", "plausibility"], progressbar=False
        )
    for name, found in expected.data_vars.items():
        np.testing.assert_allclose(tree["posterior"][name], found, rtol=1e-9)
    for group, compute in (
        ("log_prior", pm.stats.compute_log_prior),
        ("log_likelihood", pm.compute_log_likelihood),
    ):
        own = tree.copy()
        del own[group]
        with model:
            expected = compute(own, progressbar=False)[group]
        for name, found in tree[group].data_vars.items():
            np.testing.assert_allclose(found, expected[name], rtol=1e-9, atol=1e-9)
    assert evaluation.truth_certainty(tree).sizes["item"] == 4


def test_labels_and_statements_together_have_the_density_of_the_kinds_of_answers():
    """The matrix times the law given the label is the share of each kind, times the normal density of what is stated."""
    model = models.dawid_skene(labels_of(gold=None))
    point = model.initial_point(3)
    names = ("answer_share", "statement_variance", "statement_mean", "prevalence")
    own = model.replace_rvs_by_values([model[name] for name in names])
    share, variance, mean, prevalence = model.compile_fn(own, inputs=model.value_vars)(point)
    expected = np.tile(np.log(prevalence), (4, 1))
    for i, k, p in zip(TABLE["item"], TABLE["rater"], TABLE["p"], strict=True):
        row = share["abp".index(k)]
        if p in (0, 1):
            expected[i - 1] += np.log(row[:, int(p)])
        else:
            own, z = "ab".index(k), np.log(p / (1 - p))
            expected[i - 1] += np.log(row[:, 2]) - 0.5 * np.log(2 * np.pi * variance[own])
            expected[i - 1] -= (z - mean[own]) ** 2 / variance[own] / 2
    found = sum(model.compile_logp(rv, sum=False)(point)[0] for rv in model.observed_RVs)
    np.testing.assert_allclose(found, np.logaddexp(*expected.T), rtol=1e-10)


def test_probabilities_of_0_and_1_are_labels():
    """A judge who states nothing else has the law of labels, to the bit."""
    table = {"item": [1, 1, 2, 2, 3, 3], "rater": list("ababab"), "p": [0, 0, 1, 0, 1, 1]}
    hard = models.Labels.from_table({**table, "label": table["p"]})
    stated = models.Labels.from_table(table, probability="p")
    options = {"draws": 30, "random_seed": 1, "progressbar": False}
    one, other = (inference.sample(models.dawid_skene(own), **options)["posterior"] for own in (hard, stated))
    assert one.equals(other)
    ignored = models.dawid_skene(labels_of(), probability="ignored")
    assert {str(rv) for rv in ignored.free_RVs} == {"prevalence", "confusion"}


def study(seed, law):
    """Return truth, parameters and labels of three judges of 40 items from the prior, in units of 1."""
    m, c, a, b = law
    rng = np.random.default_rng(seed)
    truth = (rng.random(40) < rng.beta(1, 1)).astype(int)
    variance = b / rng.gamma(a, size=(3, 2))
    mean = rng.normal([-m, m], np.sqrt(variance / c))
    z = mean[:, truth] + np.sqrt(variance[:, truth]) * rng.normal(size=(3, 40))
    rater, item = np.divmod(np.arange(120), 40)
    table = {"item": item, "rater": rater, "p": 1 / (1 + np.exp(-z.ravel()))}
    return mean, models.Labels.from_table(table, probability="p")


@pytest.mark.long
def test_ranks_of_the_parameters_are_uniform():
    """100 studies from the prior: ranks of the means among draws; those of a narrower prior are not uniform."""

    def ranks(told):
        found = []
        for seed in range(100):
            mean, labels = study(seed, (1.0, 1.0, 3.0, 2.0))
            model = models.dawid_skene(labels, statement_prior=told, statement_unit=1.0)
            options = {"draws": 99, "chains": 1, "thin": 10, "random_seed": seed, "log_likelihood": False}
            own = inference.sample(model, progressbar=False, **options)["posterior"]["statement_mean"]
            found.append((own.to_numpy()[0] < mean).sum(axis=0).ravel())
        return np.array(found)

    def check_uniform(found):
        z = (found.mean(axis=0) - 49.5) / np.sqrt((100**2 - 1) / 12 / len(found))
        away = np.abs(found - 49.5).mean(axis=0) / 100
        spread = (away - 0.25) / np.sqrt(1 / 48 / len(found))
        assert np.abs([z, spread]).max() < bonferroni_threshold(z.size * 2)

    check_uniform(ranks((1.0, 1.0, 3.0, 2.0)))
    assert_rejects_twin(check_uniform, ranks((3.0, 9.0, 3.0, 2.0)))


def test_replicates_lie_on_the_side_of_their_label():
    model = models.dawid_skene(labels_of())
    with model:
        drawn = pm.sample_prior_predictive(50, random_seed=1, var_names=["observed_statement"])
    said = drawn["prior_predictive"]["observed_statement"].to_numpy()
    label = model.rvs_to_values[model["observed_label"]].data
    assert ((said > 0) == (label == 1)).all()
    assert np.isinf(said).any() and np.isfinite(said).any()


# --- The container ---


def test_alone_the_probabilities_are_those_of_the_last_category():
    labels = labels_of()
    assert labels.categories.tolist() == [0, 1] and labels.gold.tolist() == [-1, -1, -1, 0]
    named = labels_of({**TABLE, "gold": [""] * 8 + ["no"] * 3}, categories=["no", "yes"])
    np.testing.assert_array_equal(named.label_code, [1, 1, 1, 0, 1, 0, 1, 1, 0, 0, 0])
    np.testing.assert_allclose(named.probabilities, [0.9, 0.7, 1, 0.8, 0.6, 1, 0.99, 0.55, 0.7, 1, 1])
    flipped = labels_of({**TABLE, "gold": [""] * 8 + ["no"] * 3}, categories=["yes", "no"])
    assert flipped.label_code.tolist() == named.label_code.tolist()


def test_beside_labels_they_are_those_of_the_label():
    word = np.where(np.array(TABLE["p"]) >= 0.5, "yes", "no")
    confidence = np.maximum(TABLE["p"], 1 - np.array(TABLE["p"]))
    cells = ["" if p == 1 else p for p in confidence.tolist()]
    table = {"item": TABLE["item"], "rater": TABLE["rater"], "label": word, "sure": cells}
    labels = models.Labels.from_table(table, probability="sure")
    alone = {name: TABLE[name] for name in ("item", "rater", "p")}
    assert labels == models.Labels.from_table(alone, probability="p", categories=["no", "yes"])
    back = models.Labels.from_table(labels.to_table(), probability="probability", count="count")
    assert back == labels
    assert labels.select(items=[4, 2]).probabilities.tolist() == [0.7, 1, 1, 0.8, 0.6, 1]


def test_files_are_read_with_probabilities(tmp_path):
    rows = [",".join(map(str, row)) for row in zip(TABLE["item"], TABLE["rater"], TABLE["p"], strict=True)]
    (tmp_path / "answers.csv").write_text("\n".join(["item,rater,p", *rows]))
    found = raterzoo.read(tmp_path / "answers.csv", columns={"probability": "p"})
    np.testing.assert_array_equal(found.probabilities, labels_of(gold=None).probabilities)


def test_choices_of_the_harness_are_probabilities(tmp_path):
    """Log likelihoods of two choices: the rows of the second one, beside the name of the model, are a table."""
    path, log_p = tmp_path / "samples_yes_no.jsonl", [(-1.0, -3.0), (-2.5, -0.4)]
    rows = [
        {"doc_id": i, "doc": {}, "target": "0", "arguments": [["q", " no"], ["q", " yes"]]}
        | {"filtered_resps": [[str(value), "False"] for value in own]}
        for i, own in enumerate(log_p)
    ]
    path.write_text("\n".join(map(json.dumps, rows)))
    found = models.read_export(path, "predictions")
    second = [row for row, choice in enumerate(found["category"]) if choice == "1"]
    table = {name: [found[name][row] for row in second] for name in ("item", "score")} | {"rater": ["m", "m"]}
    labels = models.Labels.from_table(table, label=None, probability="score", categories=["no", "yes"])
    np.testing.assert_allclose(
        labels.probabilities, [1 / (1 + np.exp(-2)), 1 / (1 + np.exp(-2.1))], rtol=1e-12
    )
    assert labels.label_code.tolist() == [0, 1]


@pytest.mark.parametrize(
    "cells",
    [[0.9, 0.2], [1.2, 0.3], [90, 20], [-0.1, 0.3], ["high", 0.3], ["nan", 0.3], [0.7, 0.7], [None, 0.7]],
    ids=["fine", "above 1", "percent", "log", "text", "nan", "all equal", "empty"],
)
def test_wrong_probabilities_are_refused(cells, golden):
    table = {"item": [1, 1, 2, 2], "rater": list("abab"), "p": [*cells, cells[1], cells[1]]}
    if cells == [0.9, 0.2]:
        assert len(models.Labels.from_table(table, probability="p")) == 4
        with golden.raises(models.DataError):
            models.Labels.from_table({**table, "label": list("yyny")}, probability="p")
        return
    with golden.raises(models.DataError) as found:
        models.Labels.from_table(table, probability="p")
    assert found.value.column == "p"


def test_what_the_law_does_not_have_is_refused(golden):
    three = {"item": [1, 1, 2], "rater": list("aba"), "label": list("xyz"), "p": [0.9, 0.4, 0.7]}
    many = models.Labels.from_table(three, probability="p")
    with golden.raises(models.DataError):
        models.dawid_skene(many)
    assert models.dawid_skene(many, probability="ignored").name == ""
    with golden.raises(models.DataError):
        models.dawid_skene(labels_of(), confusion_concentration="population")
    with golden.raises(models.DataError):
        models.Labels.from_table(
            {**three, "item": [1, 1, 1]}, label=None, probability="p", categories=list("xyz")
        )
    with golden.raises(models.DataError):
        models.Labels.from_table(three, label=None)


def test_an_unread_column_is_named_with_its_option(golden):
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        raterzoo.read({"item": [1, 1], "rater": ["a", "b"], "label": ["x", "y"], "confidence": [0.9, 0.8]})
    golden.says(str(told[0].message), "'probability': 'confidence'")


@pytest.mark.parametrize("alone", [False, True])
def test_a_command_reads_them_by_their_column(tmp_path, alone):
    likely = [0.9, 0.6, 0.7, 0.8, 1.0, 0.75]
    table = {"item": [*"aabbcc"], "rater": [*"rsrsrs"], "sure": likely}
    table |= {} if alone else {"label": ["yes", "no", "yes", "yes", "no", "no"]}
    result = run(
        "check", write(tmp_path / "t.csv", table), "--kind", "labels", "--column", "probability=sure"
    )
    (line,) = [own for own in result.output.splitlines() if "stated probabilities" in own]
    assert result.exit_code == 0 and line.split()[2:5] == ["5", "of", "6"]


def test_models_of_labels_alone_say_that_they_do_not_read_them(golden):
    table = {"item": [*"aabb"], "rater": [*"rsrs"], "label": [*"yyyn"], "sure": [0.9, 0.6, 1.0, 0.8]}
    labels = models.Labels.from_table(table, probability="sure")
    with golden.warns(models.DataWarning):
        models.one_coin(labels)
    with warnings.catch_warnings(action="error"):
        models.dawid_skene(labels, probability="ignored")
        models.one_coin(models.Labels.from_table(table))
