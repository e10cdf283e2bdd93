"""Errors of qualities against their definitions: closed forms, every pair, every permutation."""

from itertools import permutations

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, papers
from raterzoo.evaluation.comparisons import quality_errors
from scipy.optimize import minimize_scalar
from scipy.stats import binom, kendalltau


def quality(values, items=None, dims=("chain", "draw")):
    values = np.asarray(values, float)
    items = [f"item {i}" for i in range(values.shape[-1])] if items is None else items
    return xr.DataArray(values, {"item": items}, (*dims[: values.ndim - 1], "item"), name="quality")


def tree(array):
    return xr.DataTree.from_dict({"posterior": array.to_dataset(name="quality")})


@pytest.fixture
def case():
    rng = np.random.default_rng(1)
    return quality(rng.normal(size=(2, 5, 7))), quality(rng.uniform(size=7))


def test_squared_errors_are_their_definitions(case):
    x, q = case[0].to_numpy(), case[1].to_numpy()
    centred = ((x - x.mean(-1, keepdims=True) - q + q.mean()) ** 2).mean(-1)
    np.testing.assert_allclose(papers.mean_squared_error(*case), centred, rtol=1e-12)
    pinned, truth = x - x[..., -1:], q - q[-1]
    found = papers.mean_squared_error(*case, form="paper", scale="none")
    np.testing.assert_allclose(found, ((pinned - truth) ** 2).mean(-1), rtol=1e-12)
    for form, own, target in (
        ("paper", pinned, truth),
        ("centred", x - x.mean(-1, keepdims=True), q - q.mean()),
    ):
        found = papers.mean_squared_error(*case, form=form, scale="oracle")
        for at in np.ndindex(found.shape):
            least = minimize_scalar(lambda a, o=own[at], t=target: ((a * o - t) ** 2).mean()).fun
            assert float(found[at]) == pytest.approx(least, rel=1e-9)


def test_paper_has_one_factor_for_all_realizations():
    # section 6.1.1: "the average over 100 realizations of the optimal scaling"
    rng = np.random.default_rng(5)
    estimate, truth = (
        quality(rng.normal(size=(2, 9, 6)), dims=("method", "run")),
        quality(rng.uniform(size=(9, 6)), dims=("run",)),
    )
    x = estimate.to_numpy() - estimate.to_numpy()[..., -1:]
    q = truth.to_numpy() - truth.to_numpy()[..., -1:]
    best = (x * q).sum(-1) / (x**2).sum(-1)
    for dim, factor in ((None, best.mean()), ("run", best.mean(axis=1, keepdims=True))):
        expected = ((np.broadcast_to(factor, best.shape)[..., None] * x - q) ** 2).mean(-1)
        found = papers.mean_squared_error(estimate, truth, form="paper", dim=dim)
        np.testing.assert_allclose(found.transpose("method", "run"), expected, rtol=1e-12)
    own = papers.mean_squared_error(estimate, truth, form="paper", scale="oracle")
    assert (own < found).all()
    one = papers.mean_squared_error(estimate[0, 0], truth[0], form="paper")
    assert float(one) == pytest.approx(float(own[0, 0]))
    with pytest.raises(evaluation.EvaluationError, match="'draw'"):
        papers.mean_squared_error(estimate, truth, form="paper", dim="draw")


def test_errors_do_not_know_shift_nor_with_an_oracle_scale(case):
    estimate, truth = case
    moved = 3 * estimate + 5
    for form in ("centred", "paper"):
        same = papers.mean_squared_error(moved, truth, form=form, scale="oracle")
        expected = papers.mean_squared_error(estimate, truth, form=form, scale="oracle")
        np.testing.assert_allclose(same, expected, rtol=1e-12)
        zero = papers.mean_squared_error(truth * 2 - 1, truth, form=form, scale="oracle")
        assert float(zero) == pytest.approx(0, abs=1e-30)
        flat = papers.mean_squared_error(truth * 0, truth, form=form, scale="oracle")
        target = truth - (truth.mean() if form == "centred" else truth[-1])
        assert float(flat) == pytest.approx(float((target**2).mean()))


def test_items_are_matched_by_label(case):
    estimate, truth = case
    shuffled = estimate.isel(item=np.random.default_rng(2).permutation(7))
    for metric in (
        papers.mean_squared_error,
        papers.quality_concordance,
        lambda e, t: papers.epsilon_quality(e, t, [0.1, 0.5]),
    ):
        xr.testing.assert_allclose(metric(tree(shuffled), truth), metric(estimate, truth))
        dataset = truth.to_dataset(name="quality")
        xr.testing.assert_equal(metric(shuffled, dataset), metric(shuffled, truth))


def by_definition(x, q, epsilon):
    above = q[:, None] > q + epsilon
    return bool((above & (x[:, None] <= x)).any())


@pytest.mark.parametrize("block_size", [10**7, 20])
def test_epsilon_quality_is_its_definition(block_size, monkeypatch):
    monkeypatch.setattr(quality_errors, "BLOCK_SIZE", block_size)
    rng = np.random.default_rng(3)
    tolerances = [0.0, 0.05, 0.25, 1.0]
    seen = set()
    for _ in range(60):
        n = int(rng.integers(1, 9))
        # a coarse grid: ties in both, differences that equal epsilon
        q = rng.integers(0, 5, n) / 4 if rng.random() < 0.5 else rng.uniform(size=n)
        x = np.round(q + rng.normal(scale=0.2, size=(2, 4, n)), 1)
        found = papers.epsilon_quality(quality(x), quality(q), tolerances)
        assert found.dims == ("chain", "draw", "epsilon") and found.dtype == bool
        for at in np.ndindex(2, 4):
            for e, epsilon in enumerate(tolerances):
                expected = by_definition(x[at], q, epsilon)
                assert bool(found[(*at, e)]) == expected
                seen.add((epsilon, expected))
    assert len(seen) == 7  # with epsilon 1 nothing fails


def test_every_permutation_of_four():
    q = np.array([0.0, 0.1, 0.35, 0.9])
    orders = np.array(list(permutations(range(4))), float)
    found = papers.epsilon_quality(quality(orders, dims=("run",)), quality(q), 0.2)
    expected = [by_definition(x, q, 0.2) for x in orders]
    assert found.to_numpy().tolist() == expected
    # right are: the best last, the third before it and above both of the first two, in either order
    assert sum(not failed for failed in expected) == 2
    tau = papers.quality_concordance(quality(orders, dims=("run",)), quality(q))
    np.testing.assert_allclose(tau, [kendalltau(x, q).statistic for x in orders])
    assert float(tau.mean()) == pytest.approx(0, abs=1e-15)


def test_truths_may_have_dims_of_their_own():
    rng = np.random.default_rng(4)
    x = quality(rng.normal(size=(3, 6, 5)), dims=("run", "draw"))
    q = quality(rng.uniform(size=(3, 5)), dims=("run",))
    for metric in (
        papers.mean_squared_error,
        papers.quality_concordance,
        lambda e, t: papers.epsilon_quality(e, t, 0.3),
    ):
        found = metric(x, q)
        assert set(found.dims) == {"run", "draw"}
        for run in range(3):
            np.testing.assert_allclose(found.sel(run=run), metric(x.sel(run=run), q.sel(run=run)))


def test_concordance_of_ties_is_tau_b():
    rng = np.random.default_rng(5)
    x, q = rng.integers(0, 4, (3, 9)), rng.integers(0, 4, 9)
    found = papers.quality_concordance(quality(x), quality(q))
    np.testing.assert_allclose(found, [kendalltau(row, q).statistic for row in x], rtol=1e-12)
    assert np.isnan(papers.quality_concordance(quality(np.ones(9)), quality(q)))


def test_error_rate_is_clopper_and_pearson():
    for count, n in ((0, 24), (24, 24), (6, 24), (1, 1)):
        errors = xr.DataArray(np.arange(n) < count, dims="run")
        found = papers.error_rate(errors, probability=0.9)
        assert float(found["rate"]) == count / n and found.attrs == {"runs": n}
        if count:
            assert binom.sf(count - 1, n, float(found["lower"])) == pytest.approx(0.05)
        else:
            assert float(found["lower"]) == 0
        if count < n:
            assert binom.cdf(count, n, float(found["upper"])) == pytest.approx(0.05)
        else:
            assert float(found["upper"]) == 1
    both = xr.DataArray(np.zeros((4, 3, 2), bool), dims=("run", "epsilon", "fold"))
    found = papers.error_rate(both, ["run", "fold"])
    assert found["rate"].dims == ("epsilon",) and found.attrs["runs"] == 8


def test_error_rate_covers_as_promised_and_a_narrower_twin_does_not():
    n, p = 40, 0.1
    counts = np.arange(n + 1)
    errors = xr.DataArray(np.arange(n)[:, None] < counts, dims=("run", "count"))
    found = papers.error_rate(errors)
    weight = binom.pmf(counts, n, p)
    assert weight[(found["lower"] <= p) & (p <= found["upper"])].sum() >= 0.95
    twin = papers.error_rate(errors, probability=0.6)
    assert weight[(twin["lower"] <= p) & (p <= twin["upper"])].sum() < 0.95


def test_one_item_and_equal_items():
    one = quality([[0.3], [0.1]])
    assert (papers.mean_squared_error(one, quality([0.9])) == 0).all()
    assert not papers.epsilon_quality(one, quality([0.9]), 0).any()
    equal = quality(np.full(4, 0.5))
    assert not bool(papers.epsilon_quality(quality(np.arange(4)), equal, 0))
    assert bool(papers.epsilon_quality(equal, quality(np.arange(4)), 0))


@pytest.mark.parametrize(
    "estimate",
    [
        quality([1, 2]),
        quality([1, 2, 3, 4, 5]),
        quality([1, np.nan, 2]),
        quality([1, 2, 3], ["item 0", "item 0", "item 2"]),
        quality([1, 2, 3], [0, 1, 2]),
        xr.DataArray([1.0, 2, 3], dims="item"),
        xr.DataArray(["a"], {"item": ["b"]}, ("item",)),
        xr.Dataset({"worth": ("item", [1.0])}),
        xr.DataTree(),
        np.zeros(3),
        quality(np.zeros((0, 3)), dims=("draw",)),
    ],
)
def test_refused_qualities(estimate, golden):
    for metric in (
        papers.mean_squared_error,
        papers.quality_concordance,
        lambda e, t: papers.epsilon_quality(e, t, 0),
    ):
        with golden.raises(evaluation.EvaluationError):
            metric(estimate, quality([1, 2, 3]))


def test_refused_arguments(golden):
    same = quality([1, 2, 3])
    with pytest.raises(evaluation.EvaluationError, match="form='ref'"):
        papers.mean_squared_error(same, same, form="ref")
    with pytest.raises(evaluation.EvaluationError, match="scale='best'"):
        papers.mean_squared_error(same, same, scale="best")
    for epsilon in (-0.1, [0.1, np.nan], [[0.1]]):
        with pytest.raises(evaluation.EvaluationError, match="epsilon="):
            papers.epsilon_quality(same, same, epsilon)
    with golden.raises(evaluation.EvaluationError):
        papers.quality_concordance(same[:1], same[:1])
    with golden.raises(evaluation.EvaluationError):
        papers.error_rate(same > 1)
    with pytest.raises(evaluation.EvaluationError, match="no repetitions"):
        papers.error_rate(xr.DataArray(np.zeros(0, bool), dims="run"))
    with pytest.raises(evaluation.EvaluationError, match="probability=2"):
        papers.error_rate(xr.DataArray([True], dims="run"), probability=2)
