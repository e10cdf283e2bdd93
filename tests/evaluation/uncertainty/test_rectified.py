"""Rectified estimates: against ppi-python, GLIDE, loops by hand, and the variance of their linearisation; coverage."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.uncertainty import rectified as module
from scipy.stats import beta, binom, norm, t

from benchmarks import rectified as designs
from tests.support.evaluation_trees import as_dense, as_flat, random_case
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

ACCURACY = evaluation.top_k_accuracy(1)


def labels(right, items=None):
    """Predict, or judge, "yes" where right."""
    items = np.arange(len(right)) if items is None else items
    return xr.DataArray(
        np.where(np.asarray(right) > 0, "yes", "no")[:, None], {"item": items}, ("item", "position")
    )


def certain(right, items):
    """One label of people for each item, as a point estimate."""
    values = np.stack([1 - np.asarray(right), right], axis=1).astype(float)
    return xr.DataArray(values, {"item": items, "category": ["no", "yes"]}, ("item", "category"))


def of_items(values):
    return xr.DataArray(values, {"item": np.arange(len(values))}, ("item",))


def rectify(right, judged, chosen, **options):
    """Rectify the accuracy of a classifier that says yes, where yes is right."""
    options = {"random_seed": seed_of("rectified"), **options}
    claims = labels(np.ones(len(right)))
    return evaluation.rectified(ACCURACY, certain(right[chosen], chosen), claims, labels(judged), **options)


# 240 items, every fourth labelled by people; the judge agrees on 10 of 13
I = np.arange(240)  # noqa: E741
RIGHT = (I * 7 % 10 < 7).astype(int)
JUDGED = np.where(I * 11 % 13 < 10, RIGHT, 1 - RIGHT)
CHOSEN = np.flatnonzero(I % 4 == 0)
FRACTION = 0.25


def test_one_human_label_gives_the_numbers_of_ppi_python():
    """Recorded with ppi-python 0.2.3: `ppi_mean_pointestimate` and `ppi_mean_ci(alpha=.1)`."""
    found = rectify(RIGHT, JUDGED, CHOSEN)
    plug_in = found["plug_in"].sel(estimate="rectified").item()
    assert plug_in == pytest.approx(0.7783121597096186, abs=1e-12)
    lower, upper = 0.6996672032302966, 0.8569571161889407
    interval = found["interval"].sel(estimate="rectified").to_numpy()
    # three Monte Carlo errors, the discreteness of 60 items, and their skewness
    np.testing.assert_allclose(interval, [lower, upper], atol=0.01)
    fixed = rectify(RIGHT, JUDGED, CHOSEN, judge_weight=0.6 / (1 - FRACTION))
    assert fixed["plug_in"].sel(estimate="rectified").item() == pytest.approx(0.75, abs=1e-12)
    against = rectify(RIGHT, 1 - JUDGED, CHOSEN)  # clipped at zero
    assert against["plug_in"].sel(estimate="rectified").item() == pytest.approx(0.8, abs=1e-12)
    assert "adds nothing" in against["note"].item()


def test_the_coefficients_of_glide_give_its_numbers():
    """Recorded with glide-py 0.11.0, whose covariance has n - 1 where PPI++ has n, overall and in two strata."""
    fixed = rectify(RIGHT, JUDGED, CHOSEN, judge_weight=0.26466516964532927 / (1 - FRACTION))
    assert fixed["plug_in"].sel(estimate="rectified").item() == pytest.approx(0.7779445691962227, abs=1e-12)
    np.testing.assert_allclose(
        fixed["sd"].sel(estimate="rectified"), 0.04819927397720157 * np.sqrt(59 / 61), rtol=0.06
    )
    found = rectify(RIGHT, JUDGED, CHOSEN, strata=of_items(np.where(I % 3 == 0, "b", "a")))
    assert found["stratum"].to_numpy().tolist() == ["a", "b"]
    theirs = np.array([0.272195158793097, 0.25986842105263175]) / (1 - FRACTION) * [39 / 40, 19 / 20]
    np.testing.assert_allclose(found["judge_weight"], theirs, rtol=1e-12)
    # its estimate is linear in the coefficients: theirs are larger by 40/39 and 20/19
    moved = 0.0
    for stratum, share, factor in ((I % 3 > 0, 2 / 3, 40 / 39), (I % 3 == 0, 1 / 3, 20 / 19)):
        own = np.intersect1d(CHOSEN, np.flatnonzero(stratum))
        apart = JUDGED[stratum].mean() - JUDGED[own].mean()
        weight = found["judge_weight"].sel(stratum="a" if share > 0.5 else "b").item()
        moved += share * weight * (factor - 1) * apart
    plug_in = found["plug_in"].sel(estimate="rectified").item()
    assert plug_in + moved == pytest.approx(0.777590997605919, abs=1e-12)


def test_known_probabilities_by_hand():
    """Six items, four with people; equation by equation."""
    right, judged = np.array([1, 0, 1, 1, 0, 1]), np.array([1, 0, 0, 1, 1, 1])
    chosen, chance = np.array([0, 1, 2, 4]), np.array([0.5, 0.25, 0.5, 0.8, 0.25, 0.4])
    found = rectify(right, judged, chosen, sampling=of_items(chance))
    inverse = 1 / chance[chosen]  # 2, 4, 2, 4
    people = (2 * 1 + 4 * 0 + 2 * 1 + 4 * 0) / 12
    judge_of_people = (2 * 1 + 4 * 0 + 2 * 0 + 4 * 1) / 12
    judge = 4 / 6
    weight = inverse * (inverse - 1)
    deviation = judged - judge
    covariance = (weight * (right[chosen] - people) * deviation[chosen]).sum() / weight.sum()
    variance = ((1 / chance - 1) * deviation**2).sum() / (1 / chance - 1).sum() * 6 / 5
    tuned = np.clip(covariance / variance, 0, 3)
    assert found["judge_weight"].item() == pytest.approx(tuned)
    expected = [people + tuned * (judge - judge_of_people), people, judge]
    np.testing.assert_allclose(found["plug_in"], expected)
    fixed = rectify(right, judged, chosen, sampling=of_items(chance), judge_weight=0.5)
    np.testing.assert_allclose(fixed["plug_in"][0], people + 0.5 * (judge - judge_of_people))
    assert "only 4 items" in found["note"].item()


def study_of(design):
    """2,000 items whose judge is right in 9 of 10, sampled by a design, and the options that say so."""
    rng = np.random.default_rng(seed_of(design))
    right = rng.random(2000) < 0.7
    judged = right ^ (rng.random(2000) < 0.1)
    if design == "clusters":
        cluster = np.arange(2000) // 4
        right = rng.random(500)[cluster] < 0.7
        judged = right ^ (rng.random(2000) < 0.1)
        chosen = np.flatnonzero(np.isin(cluster, rng.choice(500, 250, replace=False)))
        return right, judged, chosen, {"clusters": of_items(cluster)}
    if design == "probabilities":
        chance = np.where(np.arange(2000) % 2, 0.8, 0.3)
        return right, judged, np.flatnonzero(rng.random(2000) < chance), {"sampling": of_items(chance)}
    if design == "strata":
        stratum = (np.arange(2000) % 5 == 0).astype(int)
        chosen = np.sort(np.r_[rng.choice(np.flatnonzero(stratum == 0), 700, False), 5 * np.arange(300)])
        return right, judged, chosen, {"strata": of_items(stratum)}
    return right, judged, np.sort(rng.choice(2000, 1000, replace=False)), {}


def linearised_sd(right, judged, chosen, options, coefficient):
    """Standard deviation of an estimate to first order, from the influence of each item or cluster."""
    has_people = np.isin(np.arange(2000), chosen)
    stratum = options["strata"].to_numpy() if "strata" in options else np.zeros(2000, int)
    chance = options["sampling"].to_numpy() if "sampling" in options else np.ones(2000)
    influence = np.zeros(2000)
    for s in np.unique(stratum):
        own = stratum == s
        weight = np.where(has_people, 1 / chance, 0)[own]
        weight = weight / weight.mean()
        residual = right[own] - coefficient * judged[own]
        residual = residual - (weight * residual).mean()
        influence[own] = coefficient * (judged[own] - judged[own].mean()) + weight * residual
    unit = options["clusters"].to_numpy() if "clusters" in options else np.arange(2000)
    return np.sqrt((np.bincount(unit, influence) ** 2).sum()) / 2000


@pytest.mark.parametrize("design", ["simple", "strata", "clusters", "probabilities"])
def test_draws_have_the_spread_of_the_linearised_estimate(design, monkeypatch):
    """At a coefficient that is not the best, where the weights' being shared between the sums matters."""
    right, judged, chosen, options = study_of(design)
    coefficient = 0.4
    expected = linearised_sd(right, judged, chosen, options, coefficient)

    def check():
        found = rectify(right, judged, chosen, judge_weight=coefficient, **options)
        z = (found["sd"].sel(estimate="rectified").item() / expected - 1) * np.sqrt(2 * module.MOST_DRAWS)
        assert abs(z) < bonferroni_threshold(4)

    check()
    shared = module._three_means

    def unshared(weights, *rest):  # weights of another draw for all items
        means = shared(weights, *rest)
        means[2] = shared(np.roll(weights, 1, axis=0), *rest)[2]
        return means

    monkeypatch.setattr(module, "_three_means", unshared)
    assert_rejects_twin(check)


def test_the_coefficient_has_the_least_variance_with_unequal_probabilities():
    """The judge is right only where people see every other item: there Cov / Var is 1, elsewhere 0, and overall .1."""
    rng = np.random.default_rng(seed_of("coefficient"))
    chance = np.where(np.arange(6000) % 2, 0.5, 0.1)
    right = rng.random(6000) < 0.5
    judged = np.where(chance == 0.5, right, rng.random(6000) < 0.5)
    chosen, options = np.flatnonzero(rng.random(6000) < chance), {"sampling": of_items(chance)}

    def check(weight):
        # covariance of 300 items with weight 90, the only ones that are noise
        assert abs(weight - 0.1) < bonferroni_threshold(1) * 90 * np.sqrt(300) / 6000 / 10
        found = rectify(right, judged, chosen, judge_weight=weight, **options)
        best = found["sd"].sel(estimate="rectified").item()
        for other in (0.0, 0.5):
            fixed = rectify(right, judged, chosen, judge_weight=other, **options)
            assert best < fixed["sd"].sel(estimate="rectified").item()

    check(rectify(right, judged, chosen, **options)["judge_weight"].item())
    unweighted = np.cov(right[chosen], judged[chosen])
    assert_rejects_twin(check, unweighted[0, 1] / unweighted[1, 1])


def test_a_judge_who_knows_the_truth_counts_as_people():
    right = np.random.default_rng(seed_of("judge")).random(1000) < 0.8
    found = rectify(right, right, np.arange(0, 1000, 10))
    assert 7 < found["gain"].item() < 13  # N / n
    np.testing.assert_allclose(found["effective_items"], 100 * found["gain"])
    assert (found.attrs["n"], found.attrs["N"]) == (100, 1000)
    assert "top_1_accuracy" in found.attrs["question"] and "1,000 items" in found.attrs["question"]
    guessed = rectify(right, np.random.default_rng(1).random(1000) < 0.5, np.arange(0, 1000, 10))
    assert guessed["judge_weight"].item() < 4 * 0.8 / np.sqrt(100)
    assert 0.95 < guessed["gain"].item() < 1.2


@pytest.mark.slow
def test_intervals_cover_with_a_lenient_judge_and_without_the_rectifier_they_do_not():
    n = 40
    covered = designs.coverage(designs.lenient, n, seed_of("coverage"))["holds"].sum("simulation")
    least = binom.ppf(1e-4, n, 0.9)

    def check(estimate):
        assert covered.sel(estimate=estimate).item() >= least

    check("rectified")
    assert_rejects_twin(check, "judge")


# --- Other truths, metrics and forms ---


@pytest.fixture(scope="module")
def case():
    return random_case(np.random.default_rng(5), 12, 5, shape=(2, 300))


@pytest.fixture(scope="module")
def more(case):
    """Predictions of two classifiers, and the judge's list, of the items of the case and 20 others."""
    rng = np.random.default_rng(6)
    items = [f"new {i}" for i in range(20)] + case.items
    coords = {"classifier": ["A", "B"], "item": items, "category": case.categories}
    scores = xr.DataArray(rng.random((2, 32, 5)), coords, ("classifier", "item", "category"))
    lists = np.stack([rng.permutation(case.categories)[:3] for _ in items])
    return scores, xr.DataArray(lists, {"item": items}, ("item", "position"))


METRICS = [ACCURACY, evaluation.set_accuracy(2), evaluation.average_overlap(3), evaluation.kendall_tau()]


@pytest.mark.parametrize("metric", METRICS, ids=lambda metric: metric.name)
@pytest.mark.parametrize("layout", [as_dense, as_flat])
def test_any_metric_of_single_items_with_any_truth(case, more, metric, layout):
    scores, lists = more
    tree = layout(case)
    found = evaluation.rectified(metric, tree, scores, lists, random_seed=1)
    assert found["mean"].dims == ("estimate", "classifier")
    assert found["classifier"].to_numpy().tolist() == ["A", "B"]
    own = scores.sel(item=case.items)
    plain = evaluation.uncertainty_adjusted(metric, tree, own, random_seed=1).mean(("chain", "draw"))
    if layout is as_dense:  # without OTHER nothing is drawn but the weights
        np.testing.assert_allclose(found["plug_in"].sel(estimate="people"), plain, rtol=1e-6)
    # the judge's list as plausibilities in its order
    place = (lists == xr.DataArray(case.categories, {"category": case.categories}, "category")) * [
        [[3], [2], [1]]
    ]
    point = place.sum("position") / 6
    of_label = metric.against("label") if metric.truth == "plausibility" else metric
    judged = evaluation.uncertainty_adjusted(of_label, point, scores)
    np.testing.assert_allclose(found["plug_in"].sel(estimate="judge"), judged, rtol=1e-6)


def test_the_order_of_the_items_and_of_strata_does_not_matter(case, more):
    scores, lists = more
    stratum = xr.DataArray(np.arange(32) % 3, {"item": scores["item"]}, ("item",))
    mixed = np.random.default_rng(2).permutation(32)
    tree = as_dense(case)
    first = evaluation.rectified(ACCURACY, tree, scores, lists, strata=stratum, random_seed=1)
    second = evaluation.rectified(
        ACCURACY, tree, scores.isel(item=mixed), lists, strata=stratum.isel(item=mixed[::-1]), random_seed=1
    )
    np.testing.assert_allclose(first["plug_in"], second["plug_in"])
    np.testing.assert_allclose(first["judge_weight"], second["judge_weight"], atol=1e-15)


def test_unsure_people_widen_the_interval_and_many_draws_are_thinned():
    """The truth of each item is drawn: of 100 coins the mean varies as that of 100 more coins."""
    items = np.arange(100)
    values = np.full((2, 1500, 100, 2), 0.5)
    dims, coords = ("chain", "draw", "item", "category"), {"item": items, "category": ["no", "yes"]}
    tree = xr.DataArray(values, coords, dims, attrs={"truth": "category"})
    found = evaluation.rectified(ACCURACY, tree, labels(np.ones(100)), labels(items % 2), random_seed=1)
    assert found["judge_weight"].item() == 0  # n = N
    exact = np.sqrt(0.25 / 100 * (1 + 99 / 101))  # of the truth, and of the weights given it
    draws = 1500  # every second of 3,000
    z = (found["sd"].sel(estimate="people").item() / exact - 1) * np.sqrt(2 * draws)
    assert abs(z) < bonferroni_threshold(1)
    error = found["mcse"].sel(estimate="people").item()
    assert error == pytest.approx(exact / np.sqrt(draws), rel=0.25)
    np.testing.assert_array_equal(found["gain"], 1)


def test_little_is_said_of_a_constant_judge_and_of_constant_people(golden):
    right = np.random.default_rng(3).random(300) < 0.8
    found = rectify(right, np.ones(300), np.arange(40))
    assert found["judge_weight"].item() == 0 and found["gain"].item() == 1
    golden.says(found["note"].item(), "items have")
    alike = rectify(np.ones(300, int), right, np.arange(40))
    golden.says(alike["note"].item(), "intervals")
    stratum = of_items(np.r_[np.zeros(8), np.ones(292)].astype(int))
    small = rectify(right, ~right, np.arange(40), strata=stratum)
    golden.says(small["note"].item(), "of stratum")


def test_few_errors_are_noted_by_the_number_that_differ(golden):
    """Of k wrong ones among n right ones, without a judge: n / kurtosis = n p q / (p^3 + q^3)."""
    right = np.ones(200)
    right[:3] = 0
    found = rectify(right, np.ones(200), np.arange(100))
    q = 0.03
    assert 100 * q * (1 - q) / (q**3 + (1 - q) ** 3) == pytest.approx(3.19, abs=0.01)
    golden.says(found["note"].item(), "that differ")
    pairs = rectify(right, np.ones(200), np.arange(100), clusters=of_items(np.arange(200) // 2))
    golden.says(pairs["note"].item(), "clusters that")  # of 50, a whole and a half one wrong
    right[:30] = 0
    assert "differ" not in rectify(right, np.ones(200), np.arange(100))["note"].item()


@pytest.mark.parametrize("right", [30, 24, 0])
def test_intervals_of_people_alone_are_those_of_jeffreys_widened_by_students_t(right):
    """Right or wrong answers: Beta(k + 1/2, n - k + 1/2), variance times 31 / 29, and n - 1 degrees of freedom."""
    answers = np.arange(300) % 30 < right
    found = rectify(answers, answers, np.arange(30), judge_weight=0).sel(estimate="people")
    law = beta(right + 0.5, 30.5 - right)
    factor = np.sqrt(31 / 29) * t.ppf(0.95, 29) / norm.ppf(0.95)
    expected = np.clip(law.mean() + factor * (law.ppf([0.05, 0.95]) - law.mean()), 0, 1)
    expected = [min(expected[0], right / 30), max(expected[1], right / 30)]
    np.testing.assert_allclose(found["interval"], expected, atol=5 * float(found["interval_mcse"].max()))


def test_one_item_more_counts_as_one_of_a_stratum_and_as_one_cluster():
    """All right: the interval of 10 clusters of three is that of 10 items, that of two strata of five, too."""
    right = np.ones(300)
    items = rectify(right, right, np.arange(10))
    clusters = rectify(right, right, np.arange(30), clusters=of_items(np.arange(300) // 3))
    chosen = np.r_[:5, 150:155]
    strata = rectify(right, right, chosen, strata=of_items(np.arange(300) // 150))
    for other in (clusters, strata):
        difference = other["interval"] - items["interval"]
        assert float(abs(difference).max()) < 0.03
    assert 0.6 < items["interval"].sel(estimate="rectified", bound="lower").item() < 0.85


ONE_CLUSTER = of_items(np.where(I % 4 == 0, 1, 0))
CHANCE = np.full(240, 0.3)


@pytest.mark.parametrize(
    "options",
    [
        {"judge_weight": 1.5},
        {"judge_weight": "all"},
        {"probability": 90},
        {"sampling": of_items(np.r_[0.0, CHANCE[1:]])},
        {"sampling": of_items(np.r_[CHANCE[1:], 1.2])},
        {"sampling": of_items(np.r_[CHANCE[1:], 1.0])},
        {"sampling": of_items(CHANCE)[:200]},
        {"sampling": of_items(np.full(240, "x"))},
        {"sampling": 0.3},
        {"sampling": of_items(CHANCE).expand_dims("rater")},
        {"strata": of_items(np.where(I % 4 == 0, 0, 1))},
        {"strata": of_items(np.where(I == 0, 0, 1))},
        {"strata": of_items(np.where(I == 0, np.nan, 1))},
        {"clusters": ONE_CLUSTER},
    ],
)  # fmt: skip
def test_wrong_options_are_named(options, golden):
    with golden.raises(evaluation.EvaluationError):
        rectify(RIGHT, JUDGED, CHOSEN, **options)


def test_a_sample_is_checked_before_anything_is_fitted(golden):
    module.check_sample(CHOSEN, I, strata=of_items(np.where(I % 4 == 0, 0, 0)))
    with golden.raises(evaluation.EvaluationError):
        module.check_sample(CHOSEN, I, strata=of_items(np.where(I % 4 == 0, 0, 1)))
    with golden.raises(evaluation.EvaluationError):
        module.check_sample(CHOSEN, I, sampling=of_items(np.r_[CHANCE[1:], 1.2]))


PEOPLE, THREE = certain([1, 0], [0, 1]), labels(RIGHT[:3])
REPEATED, FIVE = labels(RIGHT[:3], [0, 1, 1]), labels(RIGHT[:5])
FIRST_AND_LAST = xr.DataArray([[True], [False], [True]], dims=("item", "position"))


@pytest.mark.parametrize(
    ("people", "claims", "judge"),
    [
        (certain([1, 0], [0, 9]), FIVE, FIVE),
        (PEOPLE, FIVE, THREE),
        (PEOPLE, THREE, FIVE),
        (PEOPLE, REPEATED, THREE),
        (PEOPLE, THREE, REPEATED),
        (certain([1, 0], [1, 1]), THREE, THREE),
        (certain([1], [0]), THREE, THREE),
        (PEOPLE, THREE, "judge"),
        (PEOPLE, THREE, THREE.where(FIRST_AND_LAST, "")),
        (PEOPLE, THREE, THREE.where(FIRST_AND_LAST, "maybe")),
        (PEOPLE, THREE, xr.concat([THREE] * 2, "classifier")),
        (PEOPLE, THREE.drop_vars("item"), THREE),
    ],
)
def test_items_that_do_not_match_are_named(people, claims, judge, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.rectified(ACCURACY, people, claims, judge)


@pytest.mark.parametrize("metric", [evaluation.f1(), lambda a, b: 0.0], ids=["f1", "callable"])
def test_metrics_of_all_items_together_are_refused(metric, golden):
    with golden.raises(evaluation.EvaluationError):
        evaluation.rectified(metric, certain([1, 0], [0, 1]), labels(RIGHT[:3]), labels(RIGHT[:3]))


def posterior_of_all(right, sure, classifier="net"):
    """Posterior of the items in which the truth is yes with probability `sure` where right, and "net" said yes of all."""
    p = np.stack([1 - sure * right, sure * right], axis=1)[None, None]
    draws = np.repeat(p, 200, axis=1)
    plausibility = (("chain", "draw", "item", "category"), draws, {"truth": "category"})
    names = {
        "item": np.arange(len(right)),
        "category": ["no", "yes"],
        "rater": [classifier],
        "kind": ("rater", ["classifier"]),
    }
    codes = {"annotation_item": np.arange(len(right)), "annotation_rater": np.zeros(len(right), int)}
    return xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset({"plausibility": plausibility}, names),
            "constant_data": xr.Dataset({name: ("annotation", own) for name, own in codes.items()}),
            "observed_data": xr.Dataset({"observed_label": ("annotation", np.ones(len(right), int))}),
        }
    )


@pytest.mark.parametrize(("sure", "differs"), [(1.0, False), (0.6, True)])
def test_the_joint_estimate_stands_beside_the_rectified_one(sure, differs):
    claims = labels(np.ones(len(RIGHT))).assign_coords(classifier="net")
    given = (ACCURACY, certain(RIGHT[CHOSEN], CHOSEN), claims, labels(JUDGED))
    joint = posterior_of_all(RIGHT, sure)
    found = evaluation.rectified(*given, joint=joint, random_seed=1)
    alone = evaluation.rectified(*given, random_seed=1)
    xr.testing.assert_allclose(found.sel(estimate=list(module.ESTIMATES))["mean"], alone["mean"])
    plain = evaluation.metric_intervals(ACCURACY, joint, claims, random_seed=1, progressbar=False)
    own = found.sel(estimate="joint")
    assert own["mean"].item() == pytest.approx(sure * RIGHT.mean(), abs=0.01)
    np.testing.assert_allclose(own["interval"], plain["interval"].sel(source="both"))
    assert (module.DIFFERS in found["note"].item()) == differs


def test_a_joint_posterior_that_has_not_seen_the_predictions_is_refused(golden):
    claims = labels(np.ones(len(RIGHT))).assign_coords(classifier="net")
    with golden.raises(evaluation.EvaluationError):
        evaluation.rectified(
            ACCURACY,
            certain(RIGHT[CHOSEN], CHOSEN),
            claims,
            labels(JUDGED),
            joint=posterior_of_all(RIGHT, 1.0, "another"),
            random_seed=1,
        )
