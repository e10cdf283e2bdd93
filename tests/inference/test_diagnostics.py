"""The diagnosis of a tree: right numbers at the right item, and a verdict one can read."""

import textwrap
import warnings

import arviz as az
import numpy as np
import pytest
import xarray as xr
from raterzoo.inference import ConvergenceWarning, diagnose, diagnostics
from raterzoo.inference.diagnostics import verdict

from tests.support.monte_carlo import seed_of

N_CHAINS, N_DRAWS = 4, 500
ITEM = np.array(["b", "b", "b", "a", "c", "c"])
CATEGORY = np.array(["x", "y", "OTHER", "x", "y", "z"])


def plausibility(name, dtype=float):
    """Three items in the flat layout; the only candidate of "a" has plausibility one."""
    rng = np.random.default_rng(seed_of(name))
    worth = rng.gamma(2.0, size=(N_CHAINS, N_DRAWS, len(ITEM)))
    total = np.stack([worth[..., ITEM == i].sum(-1) for i in ITEM], axis=-1)
    coords = {"item": ("candidate", ITEM), "category": ("candidate", CATEGORY)}
    return xr.DataArray(
        (worth / total).astype(dtype), coords, ("chain", "draw", "candidate"), name="plausibility"
    )


def tree_of(*variables, **attrs):
    posterior = xr.Dataset({variable.name: variable for variable in variables})
    tree = xr.DataTree.from_dict({"posterior": posterior})
    tree.attrs = attrs
    return tree


def slow(draws, candidate):
    """Let one candidate's draws wander."""
    wandering = draws.copy()
    wandering[..., candidate] = np.sort(wandering[..., candidate], axis=1)
    return wandering


def dense(name):
    rng = np.random.default_rng(seed_of(name))
    draws = rng.dirichlet(np.ones(3), size=(N_CHAINS, N_DRAWS, 5))
    coords = {"item": [3, 1, 4, 15, 9], "category": ["x", "y", "z"]}
    dims = ("chain", "draw", "item", "category")
    return xr.DataArray(draws, coords, dims, name="plausibility")


def confusion(name):
    rng = np.random.default_rng(seed_of(name))
    draws = rng.dirichlet(np.ones(3), size=(N_CHAINS, N_DRAWS, 2, 3))
    coords = {"rater": ["Ann", "Bob"], "category": ["x", "y", "z"], "answer": ["x", "y", "z"]}
    return xr.DataArray(draws, coords, ("chain", "draw", "rater", "category", "answer"), name="confusion")


def arviz(draws):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # it divides constant draws by zero
        return xr.Dataset(
            {
                "r_hat": az.rhat(draws),
                "ess_bulk": az.ess(draws),
                "ess_tail": az.ess(draws, method="tail"),
                "mcse_mean": az.mcse(draws),
            }
        )


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_flat_layout_reports_the_worst_candidate_of_each_item(dtype):
    draws = slow(plausibility("flat", dtype), 4)
    diagnosis = diagnose(tree_of(draws))
    assert diagnosis["r_hat"].dims == ("quantity", "item")
    assert diagnosis["item"].values.tolist() == ["b", "a", "c"]
    assert diagnosis["quantity"].values.tolist() == ["plausibility"]
    by_candidate = arviz(draws)
    reduce = {"r_hat": np.fmax, "mcse_mean": np.maximum}
    for name in ("r_hat", "ess_bulk", "ess_tail", "mcse_mean"):
        worst = reduce.get(name, np.minimum)
        for item in ("b", "a", "c"):
            expected = worst.reduce(by_candidate[name].values[item == ITEM])
            found = diagnosis[name].sel(item=item, quantity="plausibility")
            rtol = 1e-6 if name == "mcse_mean" else 1e-10 if dtype is np.float64 else 1e-7
            np.testing.assert_allclose(found, expected, rtol=rtol)
    assert diagnosis["elements"].values.tolist() == [[3, 1, 2]]
    assert diagnosis["constant"].values.tolist() == [[0, 1, 0]]
    assert diagnosis["failed"].values.tolist() == [[0, 0, 1]]


def volatile():
    """Independent signs of sizes that stay for a quarter of the chain: ranks mix, tails do not."""
    rng = np.random.default_rng(seed_of("volatile"))
    size = np.repeat([1.0, 5.0, 1.0, 5.0], N_DRAWS // 4)
    return xr.DataArray(size * rng.normal(size=(N_CHAINS, N_DRAWS)), dims=("chain", "draw"), name="mu")


def test_tails_that_do_not_mix_are_not_converged():
    found = diagnose(tree_of(volatile()))
    assert found["element_r_hat"] <= 1.01 and found["element_ess_bulk"] >= 400 > found["element_ess_tail"]
    assert found["element_failed"].item() == 1 and found.attrs["converged"] == 0
    assert f"ESS {found['element_ess_tail'].item():.0f}" in found.attrs["verdict"]


@pytest.mark.parametrize("least", ["element_ess_bulk", "element_ess_tail"])
def test_thresholds_themselves_pass(least):
    draws = np.random.default_rng(seed_of("thresholds")).normal(size=(N_CHAINS, N_DRAWS))
    draws[:, :-1] += 0.3 * draws[:, 1:]
    if least == "element_ess_tail":
        draws = volatile().to_numpy()
    tree = tree_of(xr.DataArray(draws, dims=("chain", "draw"), name="mu"))
    found = diagnose(tree)
    r_hat, ess = found["element_r_hat"].item(), found[least].item()
    assert ess == min(found["element_ess_bulk"], found["element_ess_tail"])
    assert diagnose(tree, r_hat=r_hat, ess=ess).attrs["converged"]
    assert not diagnose(tree, r_hat=np.nextafter(r_hat, 0), ess=ess).attrs["converged"]
    assert not diagnose(tree, r_hat=r_hat, ess=np.nextafter(ess, np.inf)).attrs["converged"]


def test_candidates_of_an_item_need_not_be_contiguous():
    draws = slow(plausibility("scattered"), 4)
    shuffled = draws.isel(candidate=[0, 4, 3, 1, 5, 2])
    diagnosis, expected = diagnose(tree_of(shuffled)), diagnose(tree_of(draws))
    xr.testing.assert_equal(diagnosis["r_hat"].sel(item=["b", "a", "c"]), expected["r_hat"])


def test_dense_layout_and_variables_without_items(golden):
    items, raters = dense("dense"), confusion("confusion")
    scalar = raters.isel(rater=0, category=0, answer=0, drop=True).rename("share")
    diagnosis = diagnose(tree_of(items, raters, scalar))
    expected = arviz(items)
    np.testing.assert_allclose(diagnosis["r_hat"][0], expected["r_hat"].max("category"), rtol=1e-10)
    np.testing.assert_allclose(diagnosis["ess_tail"][0], expected["ess_tail"].min("category"), rtol=1e-10)
    assert diagnosis["item"].values.tolist() == [3, 1, 4, 15, 9]
    assert diagnosis["element"].values[:3].tolist() == [
        "confusion[Ann, x, x]", "confusion[Ann, x, y]", "confusion[Ann, x, z]",
    ]  # fmt: skip
    assert diagnosis["element"].values[-1] == "share"
    expected = arviz(raters)["ess_bulk"].values.ravel()
    np.testing.assert_allclose(diagnosis["element_ess_bulk"][:-1], expected, rtol=1e-10)
    assert diagnosis.attrs["converged"] == 1
    golden.says(diagnosis.attrs["verdict"], "quantities (plausibility,")


def test_every_item_variable_is_a_quantity():
    draws = plausibility("two quantities")
    diagnosis = diagnose(tree_of(draws, (3 * draws).rename("worth")))
    assert diagnosis["quantity"].values.tolist() == ["plausibility", "worth"]
    one = diagnose(tree_of(draws, (3 * draws).rename("worth")), var_names=["worth"])
    xr.testing.assert_equal(one["ess_bulk"], diagnosis["ess_bulk"].sel(quantity=["worth"]))


def test_whole_numbers_are_diagnosed():
    rng = np.random.default_rng(seed_of("whole numbers"))
    draws = xr.DataArray(
        rng.integers(0, 3, (4, 500, 2)), dims=("chain", "draw", "item"), name="true_category"
    )
    diagnosis = diagnose(tree_of(draws))
    np.testing.assert_allclose(diagnosis["r_hat"][0], az.rhat(draws.astype(float)), rtol=1e-10)


def test_threads_and_order_of_dims_change_nothing():
    draws = dense("threads")
    expected = diagnose(tree_of(draws), threads=1)
    xr.testing.assert_identical(diagnose(tree_of(draws), threads=4), expected)
    turned = draws.transpose("item", "draw", "category", "chain")
    xr.testing.assert_equal(diagnose(tree_of(turned)), expected)


def test_praise_never_flatters(golden):
    diagnosis = diagnose(tree_of(plausibility("praise")))
    attrs = diagnosis.attrs
    assert attrs["converged"] == 1
    worst = {
        "R-hat <= ": float(diagnosis["r_hat"].max()),
        "bulk ESS >= ": float(diagnosis["ess_bulk"].sel(item=["b", "c"]).min()),
        "tail ESS >= ": float(diagnosis["ess_tail"].sel(item=["b", "c"]).min()),
    }
    assert attrs["verdict"].startswith("converged: ")
    for before, figure in worst.items():
        said = float(attrs["verdict"].partition(before)[2].split(" ")[0].strip(",").replace(",", ""))
        assert 0 <= (said - figure) * (1 if "R-hat" in before else -1) < 1
    golden.says(attrs["verdict"], "quantities (plausibility);")


def test_an_id_with_a_line_break_writes_no_line_of_its_own(golden):
    draws = plausibility("failures")
    draws[..., 0] += 0.2 * np.arange(N_CHAINS)[:, None]
    found = diagnose(tree_of(slow(draws, 4)))
    named = [f"{item}\nconverged: all is well" for item in found["item"].to_numpy()]
    said = verdict(found.assign_coords(item=named))[1]
    assert said.isprintable()
    golden.says(said, "well (plausibility")


def test_verdict_names_the_items_that_failed_worst_first(golden):
    draws = plausibility("failures")
    draws[..., 0] += 0.2 * np.arange(N_CHAINS)[:, None]
    diagnosis = diagnose(tree_of(slow(draws, 4)))
    verdict = diagnosis.attrs["verdict"]
    assert diagnosis.attrs["converged"] == 0
    golden.says(verdict, "NOT converged:")
    ess = np.minimum(diagnosis["ess_bulk"], diagnosis["ess_tail"]).sel(quantity="plausibility")
    worst, second = sorted("bc", key=lambda i: float(ess.sel(item=i)))
    assert f"item {worst} (plausibility: R-hat " in verdict.partition(f"item {second}")[0]


def test_gates_can_be_moved(golden):
    tree = tree_of(plausibility("gates"))
    golden.says(diagnose(tree, ess=5000).attrs["verdict"], "miss R-hat 1.01")
    assert "misses" not in diagnose(tree, ess=5000).attrs["verdict"]
    assert diagnose(tree, r_hat=0.99).attrs["converged"] == 0
    assert diagnose(tree_of(slow(plausibility("gates"), 4)), r_hat=9, ess=1).attrs["converged"] == 1


def test_long_lists_are_cut(golden):
    names = np.array([f"case {i}" for i in range(30)])
    draws = xr.DataArray(
        np.sort(np.random.default_rng(seed_of("cut")).random((4, 100, 30)), axis=1),
        {"item": names}, ("chain", "draw", "item"), name="location",
    )  # fmt: skip
    diagnosis = diagnose(tree_of(draws))
    assert diagnosis.attrs["verdict"].count("case") == 5
    golden.says(diagnosis.attrs["verdict"], "and 25 more")
    with pytest.warns(ConvergenceWarning, match="and 27 more") as caught:
        assert diagnostics.warn_unless_converged(diagnosis) is diagnosis
    assert str(caught[0].message).count("case") == 3


def test_warning_is_at_most_ten_lines():
    """Everything that can fail at once, with 50 raters of 6 categories, on a terminal of 100 columns."""
    rng = np.random.default_rng(seed_of("ten lines"))
    confusion = np.sort(rng.dirichlet(np.ones(6), (4, 100, 50, 6)), axis=1)
    confusion[1:3] = confusion[1:3, :, :, ::-1]  # labels switched in two chains
    names = [f"annotator {i:05d}" for i in range(50)]
    coords = {"rater": names, "category": range(6), "answer": range(6), "item": range(100)}
    item = np.sort(rng.random((4, 100, 100)), axis=1)
    item[0, 0, 0] = np.inf
    data = {
        "confusion": (("chain", "draw", "rater", "category", "answer"), confusion),
        "plausibility": (("chain", "draw", "item"), item),
    }
    stats = {
        "diverging": (("chain", "draw"), np.ones((4, 100), bool)),
        "energy": (("chain", "draw"), np.sort(rng.random((4, 100)), axis=1)),
    }
    tree = xr.DataTree.from_dict({"posterior": xr.Dataset(data, coords), "sample_stats": xr.Dataset(stats)})
    with pytest.warns(ConvergenceWarning) as caught:
        diagnostics.warn_unless_converged(tree)
    message = str(caught[0].message)
    lines = [part for line in message.splitlines() for part in textwrap.wrap(line, 100)]
    assert len(lines) <= 10, message
    for part in (
        "label switching",
        "divergences",
        "E-BFMI",
        "97 more",
        "infinite or NaN",
        "inference.diagnose",
    ):
        assert part in message


def test_warning_is_silent_where_all_is_well():
    diagnostics.warn_unless_converged(tree_of(plausibility("silent")))  # warnings are errors here


def test_exact_draws_are_not_judged(golden):
    tree = tree_of(plausibility("exact").isel(draw=slice(20)), method="exact")
    diagnosis = diagnostics.warn_unless_converged(tree)
    golden.says(diagnosis.attrs["verdict"])
    assert diagnosis.attrs["converged"] == 1
    assert (diagnosis["mcse_mean"].sel(item="b") > 0).all()
    assert diagnose(tree_of(plausibility("exact").isel(draw=slice(20)))).attrs["converged"] == 0


def test_nan_draws_and_too_few_fail(golden):
    draws = plausibility("nan")
    draws[2, 7, 5] = np.nan
    diagnosis = diagnose(tree_of(draws))
    assert diagnosis["failed"].values.tolist() == [[0, 0, 1]]
    golden.says(diagnosis.attrs["verdict"], "(plausibility: NaN")
    few = diagnose(tree_of(plausibility("few").isel(draw=slice(3))))
    assert few.attrs["converged"] == 0
    assert few["failed"].values.tolist() == [[3, 0, 2]]


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("where", [(2, 7, 4), ...])  # in one draw, or wherever it is
@pytest.mark.parametrize("method", ["exact", "gibbs"])
def test_draws_that_are_not_finite_are_neither_exact_nor_converged(value, where, method, golden):
    items, raters = plausibility("infinite"), confusion("infinite")
    both = {"r_hat": 9, "ess": 1}  # no other gate is missed
    assert diagnose(tree_of(items, raters, method=method), **both).attrs["converged"] == 1
    items[(slice(None), slice(None), 4) if where is ... else where] = value
    raters[0, 0, 1, 2, 0] = value
    diagnosis = diagnose(tree_of(items, raters, method=method), **both)
    assert diagnosis.attrs["converged"] == 0
    assert diagnosis["failed"].values.tolist() == [[0, 0, 1]]
    assert diagnosis["not_finite"].values.tolist() == [[0, 0, 1]]
    expected = "plausibility of item c, confusion[Bob, z, x] are infinite or NaN in a draw"
    beginning = "NOT exact: " if method == "exact" else "NOT converged: "
    assert diagnosis.attrs["verdict"].startswith(beginning + expected)
    with golden.warns(ConvergenceWarning):
        diagnostics.warn_unless_converged(diagnosis)


@pytest.mark.parametrize("n", [3, 7])  # all permutations are tried, or one is optimised
@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_infinite_confusion_of_any_number_of_categories_is_said(n, value):
    draws = np.random.default_rng(3).dirichlet(np.ones(n) + 9 * np.eye(n)[0], (2, 200, 2, n))
    draws[0, 0, 1, 2, 0] = value
    raters = xr.DataArray(draws, dims=("chain", "draw", "rater", "category", "answer"), name="confusion")
    diagnosis = diagnose(tree_of(raters))
    assert diagnosis.attrs["converged"] == 0 and "infinite or NaN" in diagnosis.attrs["verdict"]


def test_one_chain_cannot_be_judged(golden):
    diagnosis = diagnose(tree_of(plausibility("one chain").isel(chain=[0])))
    golden.says(diagnosis.attrs["verdict"], "NOT converged:")


def test_nothing_moved(golden):
    draws = xr.ones_like(plausibility("still"))
    diagnosis = diagnose(tree_of(draws))
    golden.says(diagnosis.attrs["verdict"])


def test_divergences_and_energies_of_nuts():
    rng = np.random.default_rng(seed_of("nuts"))
    energy = rng.standard_normal((N_CHAINS, N_DRAWS))
    energy[2] = np.cumsum(energy[2])
    diverging = np.zeros((N_CHAINS, N_DRAWS), bool)
    diverging[1, :3] = True
    tree = tree_of(plausibility("nuts"))
    dims = ("chain", "draw")
    tree["sample_stats"] = xr.DataTree(xr.Dataset({"energy": (dims, energy), "diverging": (dims, diverging)}))
    diagnosis = diagnose(tree)
    assert diagnosis["divergences"].values.tolist() == [0, 3, 0, 0]
    expected = az.bfmi(tree)["energy"] if hasattr(az.bfmi(tree), "keys") else az.bfmi(tree)
    np.testing.assert_allclose(diagnosis["e_bfmi"], expected, rtol=1e-12)
    assert "3 divergences; E-BFMI 0.0" in diagnosis.attrs["verdict"]
    assert diagnosis.attrs["converged"] == 0


def test_diagnosis_can_be_stored(tmp_path):
    diagnosis = diagnose(tree_of(plausibility("stored"), confusion("stored")))
    diagnosis.to_netcdf(tmp_path / "diagnosis.nc")
    with xr.open_dataset(tmp_path / "diagnosis.nc") as stored:
        xr.testing.assert_equal(stored.load(), diagnosis)
        assert stored.attrs["verdict"] == diagnosis.attrs["verdict"]


def test_what_is_not_there_is_named():
    with pytest.raises(ValueError, match="no group 'posterior'"):
        diagnose(xr.DataTree())
    with pytest.raises(ValueError, match=r"'wroth'.*\['plausibility'\]"):
        diagnose(tree_of(plausibility("names")), var_names=["wroth"])
