"""Which item to annotate next: every layout and model against the formulas, and that asking so works."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import inference, models
from raterzoo.inference.design import label_information, next_to_ask

from tests.support.evaluation_trees import as_dense, as_flat, random_case, tree_of
from tests.support.label_designs import tiny_labels
from tests.support.monte_carlo import assert_rejects_twin

ITEMS, RATERS, LABELS = ["a", "b", "c", "d"], [10, 20, 30], ["x", "y", "z"]


def category_tree(draws=(2, 20), **changes):
    """A posterior of a model of raters."""
    rng = np.random.default_rng(1)
    plausibility = rng.dirichlet([0.5] * 3, (*draws, 4))
    plausibility[:, :, 3] = [1, 0, 0]  # gold
    confusion = rng.dirichlet([0.5] * 3, (*draws, 3, 3))
    sample = ("chain", "draw")
    variables = {
        "plausibility": ((*sample, "item", "category"), plausibility, {"truth": "category"}),
        "confusion": ((*sample, "rater", "category", "answer"), confusion),
    }
    coords = {"item": ITEMS, "rater": RATERS, "category": LABELS, "answer": LABELS}
    return xr.DataTree.from_dict({"posterior": xr.Dataset(variables | changes, coords)})


def arrays_of(tree):
    posterior = tree["posterior"].to_dataset().stack(s=("chain", "draw"))
    p = posterior["plausibility"].transpose("item", "category", "s").to_numpy()
    return p, posterior["confusion"].transpose("category", "s", ..., "answer").to_numpy()


def as_table(found):
    """Return {(item, rater): gain}, sorted as it should be."""
    gain = found["gain"].to_numpy()
    assert (np.diff(gain) <= 0).all() and found["gain"].attrs["units"] == "nats"
    who = zip(found["item"].to_numpy().tolist(), found["rater"].to_numpy().tolist(), strict=True)
    return dict(zip(who, gain.tolist(), strict=True))


def grid(gain, items, raters):
    return {(i, k): g for i, row in zip(items, gain.tolist(), strict=True) for k, g in zip(raters, row, strict=True)}  # fmt: skip


def test_every_rater_may_be_asked_about_every_item():
    tree = category_tree()
    found = as_table(next_to_ask(tree))
    assert found == pytest.approx(
        grid(label_information.category_information(*arrays_of(tree)), ITEMS, RATERS), abs=1e-12
    )
    assert all(found["d", k] == pytest.approx(0, abs=1e-12) for k in RATERS)
    some = as_table(next_to_ask(tree, items=["c", "a"], raters=[30]))
    assert some == pytest.approx({(i, 30): found[i, 30] for i in "ac"}, abs=1e-12)


def test_anyone_is_one_of_the_raters_at_random():
    """Who does not know which learns less than who does: the twin is the mean of the gains."""
    tree = category_tree()
    p, confusion = arrays_of(tree)
    average = confusion.mean(axis=2, keepdims=True)
    found = as_table(next_to_ask(tree, raters="anyone"))

    def check(gain):
        assert found == pytest.approx(grid(gain, ITEMS, ["anyone"]), abs=1e-12)

    check(label_information.category_information(p, average))
    assert_rejects_twin(
        check, label_information.category_information(p, confusion).mean(axis=1, keepdims=True)
    )


def test_a_matrix_that_all_share_is_anyones(golden):
    tree = category_tree()
    shared = tree["posterior"]["confusion"].isel(rater=1, drop=True)
    alike = category_tree(confusion=shared)
    p, confusion = arrays_of(tree)
    expected = grid(label_information.category_information(p, confusion[:, :, 1:2]), ITEMS, ["anyone"])
    for raters in (None, "anyone"):
        assert as_table(next_to_ask(alike, raters=raters)) == pytest.approx(expected, abs=1e-12)
    with golden.raises(ValueError):
        next_to_ask(alike, raters=[10])


@pytest.mark.parametrize("about", ["truth", "plausibility"])
def test_layouts_agree(about):
    case = random_case(np.random.default_rng(2))
    dense = as_dense(case)
    cells = dense["posterior"]["plausibility"].stack(candidate=("item", "category"))
    flat = cells.reset_index("candidate").to_dataset(name="plausibility")
    of_dense, of_flat = (as_table(next_to_ask(t, about=about)) for t in (dense, tree_of(flat)))
    assert of_flat == pytest.approx(of_dense, abs=1e-12) and len(of_dense) == 5
    p = dense["posterior"]["plausibility"].stack(s=("chain", "draw")).to_numpy()
    for i, own in zip(case.items, p, strict=True):
        exact = (
            label_information.leader_information(label_information.leaders(own, None), own)
            if about == "truth"
            else label_information.plausibility_information(own)
        )
        assert of_dense[i, "anyone"] == pytest.approx(exact, abs=1e-12)


def test_other_leads_by_its_largest_member():
    case = random_case(np.random.default_rng(3))
    found = as_table(next_to_ask(as_flat(case), random_seed=5))
    left_out = as_table(next_to_ask(as_flat(case, concentration=np.nan)))
    rng, sizes = np.random.default_rng(5), [case.n_categories - len(n) for n in case.named]
    shares = {
        n: label_information.largest_shares(n, case.concentration, label_information.SHARES, rng)
        for n in np.unique(sizes)
    }
    for item, size, draws in zip(case.items, sizes, case.draws, strict=True):
        p = draws.reshape(-1, draws.shape[-1]).T
        assert found[item, "anyone"] == pytest.approx(
            label_information.leader_information(label_information.leaders(p, shares[size]), p), abs=1e-12
        )
        without = label_information.leaders(p, np.empty(0))
        assert left_out[item, "anyone"] == pytest.approx(
            label_information.leader_information(without, p), abs=1e-12
        )
    again = as_table(next_to_ask(as_flat(case), random_seed=6))
    assert again == pytest.approx(found, abs=0.02)


@pytest.mark.parametrize("make", [as_flat, as_dense, lambda case: category_tree()])
def test_blocks_and_order_change_nothing(make, monkeypatch):
    tree = make(random_case(np.random.default_rng(4)))
    whole = next_to_ask(tree, random_seed=1)
    ids = np.unique(whole["item"]).tolist()[::-1]
    monkeypatch.setattr("raterzoo.posterior.plausibility.BLOCK_SIZE", 1)
    assert as_table(next_to_ask(tree, items=ids, random_seed=1)) == pytest.approx(as_table(whole), abs=1e-12)


@pytest.mark.parametrize(
    ("reliability", "model", "trusts"),
    [
        (3.0, "plackett_luce", [(1, 1, 3)]),
        ([1.0, 4.0, 1.0, 1.0], "plackett_luce", [(0.75, 1, 1), (0.25, 1, 4)]),
        (3.0, "tempered_plackett_luce", [(1, 3, 1)]),
        (30.0, "prirn", [(1, 1, 1)]),
    ],
)
@pytest.mark.parametrize("about", ["truth", "plausibility"])
def test_reliability_counts_answers_or_sharpens_them(reliability, model, trusts, about):
    rng = np.random.default_rng(5)
    tree = as_dense(random_case(rng), rng)
    tree["constant_data"]["reliability"] = xr.DataArray(reliability)
    if model != "prirn":
        tree["observed_data"] = xr.Dataset({"observed_ranking": 0})
    tree.attrs["model"] = model
    found = as_table(next_to_ask(tree, about=about))
    posterior = tree["posterior"]["plausibility"].stack(s=("chain", "draw"))
    for (item, _), gain in found.items():
        p, exact = posterior.sel(item=item).to_numpy(), 0.0
        for share, sharpness, counted in trusts:
            answers = p**sharpness / (p**sharpness).sum(axis=0)
            exact += share * (
                label_information.leader_information(label_information.leaders(p, None), answers, counted)
                if about == "truth"
                else label_information.plausibility_information(answers, counted)
            )
        assert gain == pytest.approx(exact, abs=1e-12)


def quick(model, **options):
    return inference.sample(model, draws=50, chains=2, random_seed=1, progressbar=False, **options)


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_trees_of_the_models_are_read():
    labels = tiny_labels()
    of_raters = as_table(next_to_ask(quick(models.dawid_skene(labels))))
    assert len(of_raters) == len(labels.items) * len(labels.raters)
    assert abs(of_raters["d", "r"]) < 1e-12 < of_raters["e", "r"]  # gold, and never annotated
    alike = next_to_ask(quick(models.multinomial(labels)))
    assert set(alike["rater"].to_numpy().tolist()) == {"anyone"}
    counted = as_table(next_to_ask(quick(models.dirichlet(labels, reliability=2))))
    assert max(counted, key=counted.get)[0] != "a" and len(counted) == 5
    rankings = models.PartialRankings.from_blocks(
        {"a": {"r": [["p"], ["q"]], "s": [["q"]]}, "b": {"r": [["p", "q"]], "s": [["p"]]}},
        categories=list("pqrs"),
    )
    for model in (
        models.plackett_luce(rankings, reliability={"r": 2, "s": 1}),
        models.plackett_luce(rankings, unranked="single", concentration=1.0),
        models.plackett_luce(rankings, candidates="all"),
        models.prirn(rankings),
    ):
        found = as_table(next_to_ask(quick(model), random_seed=1))
        assert sorted(found) == [("a", "anyone"), ("b", "anyone")]
        assert np.isfinite(list(found.values())).all()


def without(tree, *names):
    return xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset().drop_vars(names)})


def spoiled(tree, variable):
    posterior = tree["posterior"].to_dataset().copy(deep=True)
    posterior[variable][{"draw": 3, posterior[variable].dims[2]: 1}] = np.nan
    return xr.DataTree.from_dict({"posterior": posterior})


def as_category(tree):
    posterior = tree["posterior"].to_dataset().copy(deep=True)
    posterior["plausibility"].attrs["truth"] = "category"
    return xr.DataTree.from_dict({"posterior": posterior})


DENSE, FLAT = (make(random_case(np.random.default_rng(6))) for make in (as_dense, as_flat))


@pytest.mark.parametrize(
    ("tree", "options"),
    [
        (category_tree(), {"items": ["z"]}),
        (category_tree(), {"raters": [99]}),
        (category_tree(), {"raters": "r1"}),
        (category_tree(), {"about": "plausibility"}),
        (category_tree(), {"about": "ranks"}),
        (category_tree(), {"candidates": [("a", "b")]}),
        (category_tree(), {"link": "thurstone"}),
        (without(category_tree(), "confusion"), {}),
        (spoiled(category_tree(), "plausibility"), {}),
        (spoiled(category_tree(), "confusion"), {}),
        (DENSE, {"raters": ["r"]}),
        (spoiled(DENSE, "plausibility"), {}),
        (without(DENSE, "category"), {}),
        (without(FLAT), {}),
        (as_category(FLAT), {}),
        (xr.DataTree.from_dict({"posterior": FLAT["posterior"].to_dataset().isel(candidate=[0, -1, 1])}), {}),
        (xr.DataTree.from_dict({"posterior": DENSE["posterior"].to_dataset().isel(item=0)}), {}),
        (xr.DataTree.from_dict({"posterior": xr.Dataset({"quality": ("item", [1.0])})}), {"items": [0]}),
    ],
)  # fmt: skip
def test_what_cannot_be_asked_is_refused(tree, options, golden):
    with golden.raises(ValueError):
        next_to_ask(tree, **options)
