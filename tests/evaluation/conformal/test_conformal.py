"""Conformal sets against loops over p-values; exact coverage by enumeration; coverage of simulated ambiguous items."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation import EvaluationError
from raterzoo.evaluation.conformal import sets as conformal_sets
from raterzoo.models import simulators

from tests.support.evaluation_trees import as_dense, as_flat, distributions, random_case
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of
from tests.support.source_twins import altered

ITEMS = [f"case {i}" for i in range(12)]


def dense(draws, items=None, categories=None):
    """A posterior (chain, draw, item, category)."""
    items = ITEMS[: draws.shape[-2]] if items is None else items
    categories = [f"label {k}" for k in range(draws.shape[-1])] if categories is None else categories
    return distributions(draws, items, categories)


def scores_of(values, like):
    coords = {dim: like[dim].to_numpy() for dim in ("item", "category")}
    return xr.DataArray(values, coords, ("item", "category"))


def averaged_p(score, calibration):
    """Mean over the m labels j of the conformal p-value; calibration (item, label)."""
    n, m = calibration.shape
    each = [Fraction(1 + sum(int(s <= score) for s in calibration[:, j]), n + 1) for j in range(m)]
    return sum(each) / m


def corrected_p(score, first, second):
    p = averaged_p(score, first)
    return Fraction(1 + sum(averaged_p(s, first) <= p for s in second), len(second) + 1)


def tied_scores(rng, shape):
    return np.where(rng.random(shape) < 0.1, -np.inf, rng.integers(0, 12, shape) / 4)


@pytest.mark.parametrize("seed", range(40))
def test_thresholds_are_those_of_a_loop_over_p_values(seed):
    rng = np.random.default_rng(seed)
    n, m, k = int(rng.integers(1, 12)), int(rng.integers(1, 5)), 4
    alpha = Fraction(int(rng.integers(1, 20)), 20)
    scores, labels = tied_scores(rng, (n, k)), rng.integers(0, k, (n, m))
    count = (labels[..., None] == np.arange(k)).sum(axis=1)
    chosen = np.take_along_axis(scores, labels, axis=1)
    new = np.append(tied_scores(rng, 50), [-np.inf, 9.0])
    expected = [averaged_p(s, chosen) > alpha for s in new]
    assert (new >= conformal_sets.threshold_of(scores, count, alpha)).tolist() == expected
    second = tied_scores(rng, 7)
    expected = [corrected_p(s, chosen, second) > alpha for s in new]
    assert (new >= conformal_sets.corrected_threshold(scores, count, second, alpha)).tolist() == expected


@pytest.mark.parametrize("samples", [1, 7])
def test_certain_items_are_split_conformal_prediction(samples):
    """Nine scores of the truth, .1 to .9: a tenth of ten scores is the smallest, three tenths the third."""
    right = np.arange(1, 10) / 10
    tree = dense(np.tile([1.0, 0.0], (1, 1, 11, 1)))
    given = scores_of(np.c_[[*right, 0.25, 0.05], [*1 - right, 0.75, 0.95]], tree)
    for coverage, threshold in ((0.9, 0.1), (0.7, 0.3), (0.95, -np.inf)):
        sets = conformal_sets.conformal_sets(tree, given, ITEMS[:9], coverage, samples=samples)
        assert sets["threshold"] == threshold
        assert sets["item"].values.tolist() == ITEMS[9:11]
        np.testing.assert_array_equal(sets["member"], given.sel(item=ITEMS[9:11]).to_numpy() >= threshold)
        np.testing.assert_array_equal(sets["size"], sets["member"].sum("category"))
        assert bool(sets.attrs["note"]) == (threshold == -np.inf)
    assert (sets.attrs["least_items"], sets.attrs["n"], sets.attrs["m"]) == (19, 9, samples)
    assert conformal_sets.miss_rate(0.9) == Fraction(1, 10)
    assert conformal_sets.miss_rate(np.float64(1e-5)) == 1 - Fraction(1, 100_000)


# Coverage by enumeration: n + 1 items, any of them new, all labels of the others


def exact_coverage(scores, law, m, alpha, threshold):
    total = 0.0
    for new in range(len(scores)):
        rest = np.delete(np.arange(len(scores)), new)
        for flat in product(range(law.shape[1]), repeat=m * len(rest)):
            labels = np.reshape(flat, (len(rest), m))
            count = (labels[..., None] == np.arange(law.shape[1])).sum(axis=1)
            weight = np.take_along_axis(law[rest], labels, axis=1).prod()
            if weight:
                inside = scores[new] >= threshold(scores[rest], count, alpha)
                total += weight * law[new, inside].sum()
    return total / len(scores)


def check_exact_coverage(threshold):
    rng = np.random.default_rng(seed_of("exact coverage"))
    spare = []
    for m, n in [(1, 1), (1, 4), (2, 1), (2, 2), (3, 2), (2, 3)] * 10:
        law = rng.dirichlet(np.full(2, 0.3), n + 1)
        scores = rng.permutation(2 * (n + 1)).reshape(n + 1, 2)
        alpha = Fraction(int(rng.integers(1, m * (n + 1))), m * (n + 1))
        spare.append(exact_coverage(scores, law, m, alpha, threshold) - float(1 - alpha))
    assert min(spare) > -1e-12
    return min(spare)


def test_several_labels_cover_as_one_does():
    """The bound 1 - 2 alpha of averaged p-values is never needed: items and their labels are exchangeable."""
    assert (
        check_exact_coverage(conformal_sets.threshold_of) < 1e-12
    )  # and of one label no more can be promised
    without_the_new_item = ("k = floor(alpha * m * (n + 1)) - m + 1", "k = min(floor(alpha * m * (n + 1)), n * m)")  # fmt: skip
    twin = altered("threshold_of", without_the_new_item)
    assert_rejects_twin(check_exact_coverage, twin.threshold_of)


# Labels and what the sets hold, of dense and flat posteriors


def test_labels_are_drawn_from_every_draw():
    """With one calibration item and 1 - alpha = .4, the threshold is the score of its one label."""
    draws = np.array([[[[0.9, 0.1, 0.0]], [[0.0, 0.3, 0.7]]]])
    tree = dense(draws)
    given = scores_of([[1.0, 2.0, 3.0]], tree)
    rng = np.random.default_rng(seed_of("labels of draws"))

    def thresholds(posterior, **options):
        settings = {"samples": 1, "random_seed": rng, **options}
        sets = (
            conformal_sets.conformal_sets(posterior, given, ["case 0"], 0.4, **settings) for _ in range(100)
        )
        return np.bincount([int(one["threshold"]) for one in sets], minlength=4)[1:]

    def check(count):  # the z of the twins is nine and more
        p = draws[0].mean(axis=0)[0]
        z = (count - 100 * p) / np.sqrt(100 * p * (1 - p))
        assert np.abs(z).max() < bonferroni_threshold(3)

    check(thresholds(tree))
    assert_rejects_twin(check, thresholds(tree.isel(draw=[0])))
    assert_rejects_twin(check, thresholds(tree, truth="voted"))


def shared(case, other):
    """The dense posterior with OTHER shared evenly, or left out."""
    array = as_dense(case)["posterior"]["plausibility"].copy()
    if other == "exclude":
        return array / array.sum("category")
    for i, (named, draws) in enumerate(zip(case.named, case.draws, strict=True)):
        rest = np.setdiff1d(np.arange(case.n_categories), named)
        array[..., i, rest] = draws[..., -1:] / len(rest)
    return array


@pytest.mark.parametrize("other", ["split", "exclude"])
@pytest.mark.parametrize("correction", [None, "ecdf"])
def test_flat_is_dense_and_both_are_a_loop(other, correction, tmp_path):
    case = random_case(np.random.default_rng(5), 30, 6)
    array, rng = shared(case, other), np.random.default_rng(6)
    given = scores_of(rng.random((30, 6)), array).isel(category=[3, 1, 0, 5, 2, 4])
    calibration = rng.permutation(case.items)[:18]
    arguments = {"coverage": 0.7, "samples": 3, "correction": correction, "random_seed": 8}
    found = conformal_sets.conformal_sets(array, given, calibration, **arguments)
    as_flat(case).to_netcdf(tmp_path / "posterior.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "posterior.nc", engine="h5netcdf") as tree:
        flat = conformal_sets.conformal_sets(tree, given, calibration, other=other, **arguments)
    xr.testing.assert_allclose(found, flat.drop_vars(["chain", "draw"], errors="ignore"))
    assert found.attrs == flat.attrs
    found.to_netcdf(tmp_path / "sets.nc")

    member = given.isel(item=~given["item"].isin(calibration)) >= found["threshold"]
    np.testing.assert_array_equal(found["member"], member)
    test = found["item"].to_numpy()
    covered = np.zeros((2, 30))
    for chain, draw in np.ndindex(2, 30):
        p = array[chain, draw].sel(item=test, category=given["category"]).to_numpy()
        covered[chain, draw] = (p * member.to_numpy()).sum(axis=1).mean()
    np.testing.assert_allclose(found["coverage"], covered, rtol=1e-12)
    mean = array.mean(("chain", "draw")).sel(item=test)
    np.testing.assert_allclose(found["item_coverage"], (mean * member).sum("category"))
    assert float(found["item_coverage"].mean()) == pytest.approx(float(found["coverage"].mean()))
    voted = mean.idxmax("category")
    assert found["voted_coverage"] == pytest.approx(float(member.sel(category=voted).mean()))


def test_the_draws_of_a_seed_are_those_of_a_loop():
    rng = np.random.default_rng(9)
    tree = dense(rng.dirichlet(np.ones(4), (2, 25, 12)))
    given = scores_of(tied_scores(rng, (12, 4)), tree)
    mean = tree.mean(("chain", "draw")).to_numpy()[:9]
    labels = [np.repeat(range(4), c) for c in np.random.default_rng(3).multinomial(5, mean)]
    chosen = np.take_along_axis(given.to_numpy()[:9], np.array(labels), axis=1)
    sets = conformal_sets.conformal_sets(tree, given, ITEMS[8::-1], 0.8, samples=5, random_seed=3)
    expected = [[averaged_p(s, chosen) > Fraction(1, 5) for s in row] for row in given.values[9:]]
    assert sets["member"].values.tolist() == expected


def test_classifiers_share_the_labels():
    rng = np.random.default_rng(10)
    tree = dense(rng.dirichlet(np.ones(4), (2, 25, 12)))
    both = xr.concat(
        [scores_of(rng.random((12, 4)), tree) for _ in range(2)],
        xr.DataArray(["A", "B"], dims="classifier", name="classifier"),
    )
    for correction in (None, "ecdf"):
        options = {"correction": correction, "random_seed": 1}
        found = conformal_sets.conformal_sets(tree, both, ITEMS[:9], 0.6, **options)
        assert found["coverage"].dims == ("chain", "draw", "classifier")
        for name in "AB":
            one = conformal_sets.conformal_sets(tree, both.sel(classifier=name), ITEMS[:9], 0.6, **options)
            xr.testing.assert_allclose(found.sel(classifier=name, drop=True), one)


def test_items_outside_of_the_posterior_have_sets_but_no_coverage():
    tree = dense(np.full((1, 1, 6, 2), 0.5), items=range(6))
    more = dense(np.full((1, 1, 8, 2), 0.5), items=range(8))
    given = scores_of(np.tile([0.7, 0.3], (8, 1)), more)
    sets = conformal_sets.conformal_sets(tree, given, range(5), 0.5, random_seed=1)
    assert np.isnan(sets["item_coverage"]).values.tolist() == [False, True, True]
    assert sets["coverage"].item() == pytest.approx(sets["item_coverage"][0].item())
    alone = conformal_sets.conformal_sets(tree, given.isel(item=slice(6)), range(6), 0.5)
    assert alone.sizes["item"] == 0 and np.isnan(alone["coverage"]).all()
    votes = xr.DataArray(["label 1", "", "label 0"], {"item": [5, 6, 7]}, ("item",))
    known = conformal_sets.conformal_sets(tree, given, range(5), 0.5, voted=votes, random_seed=1)
    expected = [known["member"][0, 1].item(), known["member"][2, 0].item()]
    assert known["voted_coverage"].item() == np.mean(expected)
    point = conformal_sets.conformal_sets(tree[0, 0], given, range(5), 0.5, random_seed=1)
    assert point["coverage"].dims == () and point["threshold"] == sets["threshold"]


# Coverage of simulated ambiguous items

NOMINAL, N, REPETITIONS = 0.9, 150, 1000


@pytest.fixture(scope="module")
def simulated():
    """Exchangeable items drawn from 20,000; coverage of p(y|x) and mean size of the sets: (repetition, 2) by method."""
    seed = seed_of("coverage of ambiguous items")
    drawn = simulators.ambiguous_items(items=20_000, raters=5, random_seed=seed)
    law, score = drawn.truth["plausibility"], drawn.truth["score"]
    rng = np.random.default_rng(seed)
    posterior = rng.standard_gamma(0.02 + drawn.data.counts, (10, *law.shape))
    posterior /= posterior.sum(axis=-1, keepdims=True)
    methods = {
        "exact": (law[None], {}),
        "exact, ecdf": (law[None], {"correction": "ecdf"}),
        "raters": (posterior, {}),
        "raters, ecdf": (posterior, {"correction": "ecdf"}),
        "voted": (posterior, {"truth": "voted"}),
    }
    found = {name: np.empty((REPETITIONS, 2)) for name in methods}
    for repetition in range(REPETITIONS):
        items = rng.choice(20_000, 2 * N, replace=False)
        names = {"item": items, "category": np.arange(5)}
        given = xr.DataArray(score[items], names, ("item", "category"))
        for name, (draws, options) in methods.items():
            tree = dense(draws[None, :, items], items, np.arange(5))
            sets = conformal_sets.conformal_sets(tree, given, items[:N], NOMINAL, random_seed=rng, **options)
            member = sets["member"].to_numpy()
            held = (member * law[items[N:]]).sum(axis=1).mean()
            found[name][repetition] = held, member.sum(axis=1).mean()
    return found, law, score


def check_coverage(covered):
    error = covered.std() / np.sqrt(len(covered))
    assert covered.mean() > NOMINAL - min(0.01, bonferroni_threshold(5) * error)


@pytest.mark.slow
@pytest.mark.parametrize("method", ["exact", "exact, ecdf", "raters", "raters, ecdf"])
def test_sets_cover_ambiguous_items(simulated, method):
    check_coverage(simulated[0][method][:, 0])


@pytest.mark.slow
def test_voted_labels_under_cover(simulated):
    assert_rejects_twin(check_coverage, simulated[0]["voted"][:, 0])


def smallest_size(order, law):
    """Return the mean size of sets by one threshold on what orders the labels, if all of p(y|x) is known."""
    reached = law.ravel()[np.argsort(-order.ravel())].cumsum() / len(law)
    return (np.searchsorted(reached, NOMINAL) + 1) / len(law)


@pytest.mark.slow
def test_sets_are_not_much_wider_than_those_of_an_oracle(simulated):
    found, law, score = simulated
    same_scores, best = smallest_size(score, law), smallest_size(law, law)
    assert found["exact"][:, 1].mean() < 1.03 * same_scores
    assert found["raters"][:, 1].mean() < 1.07 * same_scores
    assert found["raters"][:, 1].mean() < 1.13 * best
    assert found["exact, ecdf"][:, 1].std() > 2 * found["exact"][:, 1].std()


# Bad input


def good():
    tree = dense(np.full((1, 2, 4, 2), 0.5))
    return {"tree": tree, "scores": scores_of(np.full((4, 2), 0.5), tree), "calibration": ITEMS[:2]}


def with_nan(array, *place):
    values = array.to_numpy().copy()
    values[place] = np.nan
    return array.copy(data=values)


def vote(label):
    return xr.DataArray([label], {"item": ["case 1"]}, ("item",))


TREE, SCORES = good()["tree"], good()["scores"]
WRONG = [
    {"calibration": []},
    {"calibration": None},
    {"calibration": [True, False]},
    {"calibration": ["case 0", "x", "y"]},
    {"calibration": ["case 0", "case 0"]},
    {"calibration": [0, 1]},
    {"tree": TREE.isel(item=[1, 2])},
    {"tree": TREE.assign_coords(item=range(4))},
    {"coverage": 1.0},
    {"coverage": 0},
    {"coverage": "90 %"},
    {"samples": 0},
    {"correction": "bonferroni"},
    {"truth": "vote"},
    {"scores": SCORES.to_numpy()},
    {"scores": SCORES.rename(category="label")},
    {"scores": SCORES.drop_vars("item")},
    {"scores": SCORES > 0.2},
    {"scores": SCORES.isel(item=[])},
    {"scores": with_nan(SCORES, 3, 1)},
    {"scores": 3 * SCORES.isel(category=[0])},
    {"scores": SCORES.assign_coords(category=["label 0", "lable 1"])},
    {"scores": SCORES.isel(category=[0, 1, 1])},
    {"tree": dense(np.full((1, 2, 4, 3), 1 / 3))},
    {"scores": SCORES.isel(item=[0, 1, 1])},
    {"tree": with_nan(TREE, 0, 1, 2, 0)},
    {"tree": TREE * 0.8},
    {"voted": ["label 0"]},
    {"voted": vote("label 7")},
    {"voted": vote("label 1"), "truth": "voted"},
]  # fmt: skip


@pytest.mark.parametrize("change", WRONG)
def test_wrong_input_is_named(change, golden):
    with golden.raises(EvaluationError):
        conformal_sets.conformal_sets(**good() | change)


def test_wrong_categories_of_flat_posteriors_are_named(golden):
    case = random_case(np.random.default_rng(5), 5, 6)
    given = scores_of(np.ones((5, 6)), as_dense(case)["posterior"]["plausibility"])
    flat = as_flat(case)
    with golden.raises(EvaluationError):
        unnamed = next(c for c in range(6) if all(c not in named for named in case.named[:1]))
        keep = [c for c in range(6) if c != unnamed]
        one = as_flat(type(case)(case.named[:1], case.draws[:1], 6, 0.5))
        conformal_sets.conformal_sets(one, given.isel(item=[0], category=keep), case.items[:1])
    renamed = given.assign_coords(category=[*case.categories[:5], "OTHER"])
    with pytest.raises(EvaluationError, match="scores name OTHER"):
        conformal_sets.conformal_sets(flat, renamed, case.items[:3])
    with golden.raises(EvaluationError):
        conformal_sets.conformal_sets(flat, given, case.items[:3], other="label")
    for draws in case.draws:
        draws[0, 3] = 0
        draws[0, 3, -1] = 1
    with golden.raises(EvaluationError):
        conformal_sets.conformal_sets(as_flat(case), given, case.items[:3], other="exclude")
