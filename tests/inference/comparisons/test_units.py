"""Other units of quality: answers stay as likely, the anchor has its value, and ranges are drawn as uniform priors have them."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.inference.comparisons.units import in_units
from scipy.stats import kstest

from tests.support.monte_carlo import rejects, seed_of


def fitted(items=5, raters=4, draws=50, seed=1):
    rng = np.random.default_rng(seed)
    q = rng.normal(0, 1, (2, draws, items)) + np.linspace(12, 0, items)
    log_rho = rng.normal(0, 0.2, (2, draws, raters))
    log_rho -= log_rho.mean(axis=-1, keepdims=True)
    dims = ("chain", "draw")
    posterior = xr.Dataset(
        {
            "quality": ((*dims, "item"), q - q.mean(axis=-1, keepdims=True)),
            "log_reliability": ((*dims, "rater"), log_rho),
            "reliability": ((*dims, "rater"), np.exp(log_rho)),
            "quality_scale": (dims, rng.lognormal(0, 1, (2, draws))),
            "reliability_scale": (dims, rng.lognormal(0, 1, (2, draws))),
            "tie": (dims, rng.lognormal(0, 1, (2, draws))),
        },
        {"item": list("abcde")[:items], "rater": list("rstuvw")[:raters]},
    )
    return xr.DataTree.from_dict({"posterior": posterior, "observed_data": xr.Dataset()})


def distances(tree):
    q, rho = (tree["posterior"][name] for name in ("quality", "reliability"))
    return rho * (q - q.isel(item=0, drop=True))


@pytest.mark.parametrize(
    "anchor", ["mean reliability", "quality sd", ("a", "e"), ((0, 1), (1, 40)), [[-3, 3], (0.0, 9)]]
)
def test_answers_stay_as_likely(anchor):
    tree = fitted()
    changed = in_units(tree, anchor, random_seed=1)
    np.testing.assert_allclose(distances(changed), distances(tree), rtol=1e-10, atol=1e-12)
    before, after = tree["posterior"], changed["posterior"]
    factor = after["reliability"] / before["reliability"]
    np.testing.assert_allclose(after["log_reliability"], np.log(after["reliability"]), atol=1e-12)
    np.testing.assert_allclose(after["quality_scale"] * factor.isel(rater=0), before["quality_scale"])
    for name in ("tie", "reliability_scale"):
        assert after[name].identical(before[name])
    for name in before.data_vars:
        assert after[name].dims == before[name].dims
    assert after["quality"].attrs["unit"] and "unit" not in before["quality"].attrs


def test_the_anchor_has_its_value():
    tree = fitted()
    rho = in_units(tree, "mean reliability")["posterior"]["reliability"]
    np.testing.assert_allclose(rho.mean("rater"), 1)
    np.testing.assert_allclose(in_units(tree, "quality sd")["posterior"]["quality"].std("item"), 1)
    q = in_units(tree, ("b", "d"))["posterior"]["quality"]
    np.testing.assert_allclose(q.sel(item="b") - q.sel(item="d"), 1)
    inside = in_units(tree, ((2, 5), (3, 30)), random_seed=1)["posterior"]
    assert 2 <= inside["quality"].min() and inside["quality"].max() <= 5
    assert 3 <= inside["reliability"].min() and inside["reliability"].max() <= 30
    for one, other in ((1, 1), (1, 2)):
        drawn = [
            in_units(tree, ((0, 1), (1, 40)), random_seed=s)["posterior"]["quality"] for s in (one, other)
        ]
        assert drawn[0].identical(drawn[1]) == (one == other)


@pytest.mark.parametrize(("items", "raters"), [(2, 2), (3, 2), (2, 3), (5, 2), (2, 6)])
def test_ranges_complete_the_uniform_prior(items, raters):
    """Uniform draws, stripped of scale and shift, are uniform again once they are drawn anew."""
    rng = np.random.default_rng(seed_of(f"ranges {items} {raters}"))
    n = 4000
    q, rho = rng.uniform(-1, 2, (1, n, items)), rng.uniform(1, 20, (1, n, raters))
    g = np.exp(np.log(rho).mean(axis=-1, keepdims=True))
    posterior = xr.Dataset(
        {
            "quality": (("chain", "draw", "item"), (q - q.mean(axis=-1, keepdims=True)) * g),
            "reliability": (("chain", "draw", "rater"), rho / g),
        }
    )
    tree = xr.DataTree.from_dict({"posterior": posterior})

    def check(ranges):
        drawn = in_units(tree, ranges, random_seed=rng)["posterior"]
        scale = 1 / (ranges[0][1] - ranges[0][0])
        first = (drawn["quality"].to_numpy()[0, :, 0] - ranges[0][0]) * scale
        assert kstest(first, "uniform").pvalue > 1e-4
        one = (drawn["reliability"].to_numpy()[0, :, 0] - 1) / 19
        assert kstest(one, "uniform").pvalue > 1e-4
        extent = np.ptp(drawn["quality"].to_numpy()[0], axis=-1) * scale
        share = items * extent ** (items - 1) - (items - 1) * extent**items  # its distribution
        assert kstest(share, "uniform").pvalue > 1e-4

    check(((-1, 2), (1, 20)))
    assert rejects(check, ((-1, 2.6), (1, 20)))


def test_raters_who_are_all_alike_get_a_common_reliability():
    tree = fitted()
    tree["posterior"] = xr.DataTree(tree["posterior"].to_dataset()[["quality", "quality_scale", "tie"]])
    changed = in_units(tree, "quality sd")["posterior"]
    np.testing.assert_allclose(changed["reliability"], tree["posterior"]["quality"].std("item"))
    same = in_units(tree, "mean reliability")["posterior"]
    assert (same["reliability"] == 1).all() and (same["quality"] == tree["posterior"]["quality"]).all()
    with pytest.raises(ValueError, match="raters who differ"):
        in_units(tree, ((0, 1), (1, 20)))


def test_signed_reliabilities():
    tree = fitted()
    posterior = tree["posterior"].to_dataset().drop_vars("log_reliability")
    deviation = posterior["reliability"] - posterior["reliability"].mean("rater")
    posterior = posterior.assign(reliability_deviation=deviation * 4, reliability=1 + deviation * 4)
    tree["posterior"] = xr.DataTree(posterior)
    changed = in_units(tree, "quality sd")["posterior"]
    factor = changed["reliability"].mean("rater")
    np.testing.assert_allclose(changed["reliability"], factor + changed["reliability_deviation"])
    np.testing.assert_allclose(changed["reliability_scale"], posterior["reliability_scale"] * factor)
    with pytest.raises(ValueError, match="positive reliabilities"):
        in_units(tree, ((0, 1), (1, 20)))


@pytest.mark.parametrize(
    "anchor",
    ["sd", ("a", "z"), ("a", "a"), 3, ("e", "a"), ((0, 1), (5, 1)), ((0, 1), (1, "x")), ((0, 1), (1, 1.01))],
)
def test_what_cannot_be_is_said(anchor, golden):
    with golden.raises(ValueError):
        in_units(fitted(), anchor)


def test_a_tree_without_qualities(golden):
    with golden.raises(ValueError):
        in_units(xr.DataTree(), "quality sd")


def test_summaries_in_the_former_units_are_left_out(golden):
    whole = fitted()
    groups = {name: node.to_dataset() for name, node in whole.children.items()}
    summary = groups["posterior"][["quality"]].mean(("chain", "draw")).expand_dims(statistic=["mean"])
    kept = {"item_summary": summary, "shared_posterior": groups["posterior"].drop_vars("quality")}
    changed = in_units(xr.DataTree.from_dict(groups | kept | {"diagnosis": xr.Dataset()}), "quality sd")
    assert {*changed.children} == {"posterior", "observed_data"}
    with golden.raises(ValueError):
        in_units(
            xr.DataTree.from_dict({"posterior": kept["shared_posterior"], "item_summary": summary}),
            "quality sd",
        )
