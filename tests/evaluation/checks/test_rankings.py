"""Checks of rankings: replicates of the law, few false alarms, and each misfit is found by its own check."""

from functools import partial
from itertools import combinations

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.checks import rankings
from raterzoo.evaluation.checks import rankings as ranking_checks
from raterzoo.evaluation.checks import replicates as checks_replicates
from scipy import stats

ITEMS, RATERS, CATEGORIES, DRAWS, STUDIES = 60, 5, 6, 100, 12
KIND = np.array(["person"] * 2 + ["model"] * 3)


def orders(rng, log_worth):
    """Plackett-Luce orders of the categories, best first."""
    return np.argsort(-log_worth - rng.gumbel(size=log_worth.shape), axis=-1)


def blocks_of(order, tied):
    """Block numbers of rankings of two categories, tied or not, of all categories."""
    block = np.full(order.shape, 2 - tied[:, None], np.int16)
    np.put_along_axis(block, order[:, :1], 0, axis=1)
    np.put_along_axis(block, order[:, 1:2], (1 - tied[:, None]).astype(np.int16), axis=1)
    return block


def study(seed, copied=0.0, careless=0, sharper=0.0, ties=0.0):
    """Tree of rankings whose posterior is the true worths; the data may have shared errors, a careless rater or other ties."""
    rng = np.random.default_rng(seed)
    item, rater = np.repeat(np.arange(ITEMS), RATERS), np.tile(np.arange(RATERS), ITEMS)
    log_worth = np.log(rng.standard_gamma(0.7, (ITEMS, CATEGORIES)) + 1e-3)
    tied = rng.integers(0, 2, len(item))
    own = log_worth[item] * np.where((rater == 0) & bool(careless), 0.0, 1.0 + sharper)[:, None]
    own = own * np.where(tied == 1, 1.0 - ties, 1.0)[:, None]
    order = orders(rng, own)
    guess = orders(rng, log_worth)
    copies = (rng.random(len(item)) < copied) & (KIND == "model")[rater]
    order[copies] = guess[item[copies]]
    flat = {
        "candidate_item": np.repeat(np.arange(ITEMS), CATEGORIES),
        "candidate_category": np.tile(np.arange(CATEGORIES), ITEMS),
    }
    plausibility = np.exp(log_worth - np.logaddexp.reduce(log_worth, axis=1, keepdims=True)).ravel()
    dims = ("chain", "draw", "candidate")
    posterior = xr.Dataset(
        {
            "plausibility": (dims, np.tile(plausibility, (1, DRAWS, 1))),
            "rater_effect": (("chain", "draw", "rater"), np.zeros((1, DRAWS, RATERS))),
        },
        {"rater": [*"abcde"], "kind": ("rater", KIND)},
    )
    place = ("annotation", "place")
    constants = {name: ("candidate", codes) for name, codes in flat.items()} | {
        "annotation_item": ("annotation", item),
        "annotation_rater": ("annotation", rater),
        "candidate_of_place": (place, item[:, None] * CATEGORIES + np.arange(CATEGORIES)),
        "other_size": ("item", np.zeros(ITEMS, np.int64)),
        "other_concentration": np.nan,
    }
    observed = xr.Dataset({"observed_ranking": (place, blocks_of(order, tied))})
    groups = {"posterior": posterior, "observed_data": observed, "constant_data": xr.Dataset(constants)}
    return xr.DataTree.from_dict(groups)


def study_of_sets(seed, told=True):
    """Tree of rankings among four categories of six, which were shown, or which the tree takes for all."""
    rng = np.random.default_rng(seed)
    tree = study(seed)
    plausibility = tree["posterior"]["plausibility"].to_numpy()[0, 0].reshape(ITEMS, CATEGORIES)
    constants = tree["constant_data"].to_dataset()
    item = constants["annotation_item"].to_numpy()
    shown = np.sort(np.argsort(rng.random((len(item), CATEGORIES)), axis=1)[:, :4], axis=1)
    log_worth = np.full((len(item), CATEGORIES), -np.inf)
    own = np.log(np.take_along_axis(plausibility[item], shown, axis=1))
    np.put_along_axis(log_worth, shown, own, axis=1)
    block = blocks_of(orders(rng, log_worth), rng.integers(0, 2, len(item)))
    candidate = constants["candidate_of_place"].to_numpy()
    if told:
        block, candidate = (np.take_along_axis(whole, shown, axis=1) for whole in (block, candidate))
    place = ("annotation", "place")
    constants = constants.drop_vars("candidate_of_place").assign({"candidate_of_place": (place, candidate)})
    observed = xr.Dataset({"observed_ranking": (place, block)})
    return xr.DataTree.from_dict(
        {"posterior": tree["posterior"].to_dataset(), "observed_data": observed, "constant_data": constants}
    )


def failed(made, seeds):
    """Number of studies of which any check fails, and for each check the number of studies in which it does."""
    number, by_name = 0, {}
    for seed in seeds:
        checks = evaluation.model_checks(made(seed), replicates=100)
        number += not checks.attrs["fits"]
        for name in checks["check"].to_numpy()[checks["fails"].to_numpy()].tolist():
            by_name[name] = by_name.get(name, 0) + 1
    return number, by_name


def test_numbers_of_rankings_are_those_of_loops(monkeypatch):
    monkeypatch.setattr(ranking_checks, "FEWEST_COMMON", 3)
    rng, items, raters = np.random.default_rng(5), 9, 4
    given = rng.random((items, raters)) < 0.8
    item, rater = np.nonzero(given)
    # blocks of 5 categories, the last of which are unranked; block numbers without gaps
    block = np.array([np.unique(own, return_inverse=True)[1] for own in rng.integers(0, 9, (len(item), 5))])
    block[4] = 0  # a ranking in which all are unranked
    group = np.array([0, 0, 1, 1])
    own = checks_replicates.Annotations(
        np.arange(len(item)), item, rater, [*"abcd"], group, ["person", "model"]
    )
    entries = rankings.Entries.of(block)
    numbers = rankings._Numbers(own, entries)
    found = numbers(entries.places(block))

    vectors, firsts, tied, length = [], [], [], []
    for row in block.tolist():
        ranked = sorted((b, c) for c, b in enumerate(row) if b < max(row))
        ranks = {b: [r + 1 for r, (other, _) in enumerate(ranked) if other == b] for b, _ in ranked}
        vector, first = np.zeros(5), np.zeros(5)
        for b, c in ranked:
            vector[c], first[c] = np.mean([1 / r for r in ranks[b]]), b == 0
        vectors.append(vector / max(np.linalg.norm(vector), 1e-9))
        firsts.append(first / max(np.linalg.norm(first), 1e-9))
        tied.append(any(len(r) > 1 for r in ranks.values()))
        length.append(len(ranked))
    agreement = {
        (a, b): vectors[a] @ vectors[b]
        for a, b in combinations(range(len(item)), 2)
        if item[a] == item[b] and length[a] and length[b]
    }
    of = [[x for pair, x in agreement.items() if a in pair] for a in range(len(item))]
    some = [a for a in range(len(item)) if of[a]]
    mean = {a: np.mean(of[a]) for a in some}
    kinds = {pair: (group[rater[pair[0]]], group[rater[pair[1]]]) for pair in agreement}
    by_tie = [np.mean([mean[a] for a in some if tied[a] == kind]) for kind in (True, False)]
    expected = {
        "agreement": np.mean([*agreement.values()]),
        "first": np.mean([firsts[a] @ firsts[b] for a, b in agreement]),
        "distinct": len({(i, c) for i, v in zip(item, vectors, strict=True) for c in np.flatnonzero(v)})
        / items,
        "length": np.corrcoef([length[a] for a in some], [mean[a] for a in some])[0, 1],
        "ties": by_tie[0] - by_tie[1],
        "raters": [np.mean([mean[a] for a in some if rater[a] == k]) for k in range(raters)],
        "pairs": [
            np.mean([x for (a, b), x in agreement.items() if {rater[a], rater[b]} == {k, m}])
            for k, m in zip(*numbers.pairs, strict=True)
        ],
        "within": [np.mean([x for pair, x in agreement.items() if kinds[pair] == (g, g)]) for g in (0, 1)],
        "between": np.mean([x for pair, x in agreement.items() if len({*kinds[pair]}) == 2]),
    }
    assert {*found} == {*expected} and 0 < sum(tied) < len(tied) and len(numbers.pairs[0]) == 6
    for name, exact in expected.items():
        np.testing.assert_allclose(found[name], exact, atol=1e-12, err_msg=name)


def test_data_of_the_law_raise_few_alarms():
    assert failed(study, range(STUDIES))[0] <= 3  # binomial of 12 at .05: more has the probability .002


def test_rankings_among_what_was_shown_raise_few_alarms_and_many_where_it_is_not_told():
    assert failed(study_of_sets, range(STUDIES))[0] <= 3
    number, by_name = failed(partial(study_of_sets, told=False), range(4))
    assert number == by_name["mean agreement of two raters of an item"] == 4


@pytest.mark.parametrize(
    ("made", "name"),
    [
        (partial(study, copied=0.7), "agreement within model"),
        (partial(study, careless=1), "agreement of each rater with the others"),
        (partial(study, sharper=1.0), "mean agreement of two raters of an item"),
        (partial(study, sharper=-0.6), "mean agreement on the first place"),
        (partial(study, ties=1.0), "agreement of rankings with ties, less that of others"),
    ],
)
def test_each_misfit_is_found_by_its_check(made, name):
    _, by_name = failed(made, range(2))
    assert by_name.get(name, 0) == 2, by_name


def pool_replicates(
    items, mass, concentration, model="plackett_luce", draws=40, members=3, reliability=None, learnt=None
):
    """First places of two raters (replicate and item, rater) where an item has one category and OTHER, of 3 members.

    Code 0 is the category, 1 is OTHER as a whole, 2 to 4 are its members.
    """
    item = np.repeat(np.arange(items), 2)
    constants = {
        "annotation_item": ("annotation", item),
        "annotation_rater": ("annotation", np.tile([0, 1], items)),
        "candidate_category": ("candidate", np.tile([4, -1], items)),
        "candidate_of_place": (("annotation", "place"), 2 * item[:, None] + np.arange(2)),
        "other_size": ("item", np.full(items, members)),
        "other_concentration": concentration,
    }
    constants |= {} if reliability is None else {"reliability": reliability}
    plausibility = np.tile([1 - mass, mass], (1, draws, items))
    of_raters = {}
    if learnt is not None:
        of_raters["reliability"] = (("chain", "draw", "rater"), np.tile(learnt, (1, draws, 1)))
    tree = xr.DataTree.from_dict(
        {
            "posterior": xr.Dataset(
                {"plausibility": (("chain", "draw", "candidate"), plausibility)} | of_raters
            ),
            "observed_data": xr.Dataset(
                {"observed_ranking": (("annotation", "place"), np.tile([0, 1], (2 * items, 1)))}
            ),
            "constant_data": xr.Dataset(constants),
        }
    )
    tree.attrs["model"] = model
    rng = np.random.default_rng(1)
    own = checks_replicates.annotations_of(tree, item, None, 10_000, rng)
    entries = rankings.Entries.of(tree["observed_data"]["observed_ranking"].to_numpy())
    _, *replicates = rankings._own_tables(tree, own, entries, draws, rng)
    return np.stack(replicates).reshape(-1, 2)


def test_replicates_divide_other_in_the_same_way_for_all_raters_of_an_item():
    mass, a, members = 0.6, 0.5, 3
    first = pool_replicates(400, mass, a, members=members)
    assert stats.binomtest(int((first[:, 0] > 1).sum()), len(first), mass).pvalue > 1e-3
    same = int(((first[:, 0] == first[:, 1]) & (first[:, 0] > 1)).sum())
    expected = mass**2 * (a + 1) / (members * a + 1)  # E of the sum of squared shares
    assert stats.binomtest(same, len(first), expected).pvalue > 1e-3
    assert (
        stats.binomtest(same, len(first), mass**2 / members).pvalue < 1e-6
    )  # each ranking with its own shares


@pytest.mark.parametrize(
    ("concentration", "model"), [(np.nan, "plackett_luce"), (0.5, "tempered_plackett_luce")]
)
def test_replicates_leave_other_whole_where_the_law_of_its_members_is_not_known(concentration, model):
    assert np.unique(pool_replicates(20, 0.6, concentration, model)).tolist() == [0, 1]
    assert pool_replicates(20, 0.6, 0.5).max() == 4


def share_of_other(mass, power):
    """Probability that OTHER, of plausibility `mass`, stands first by a rater of this reliability."""
    return mass**power / (mass**power + (1 - mass) ** power)


@pytest.mark.parametrize(
    ("powers", "given"),
    [
        ((3.0, 3.0), {"reliability": 3.0}),
        ((3.0, 0.5), {"reliability": ("annotation", np.tile([3.0, 0.5], 400))}),
        ((3.0, 0.5), {"learnt": [3.0, 0.5]}),
    ],
)
def test_replicates_raise_worths_to_the_reliability_of_the_rater(powers, given):
    first = pool_replicates(400, 0.6, np.nan, "tempered_plackett_luce", **given)
    for place, power in enumerate(powers):
        others = int(first[:, place].sum())
        assert stats.binomtest(others, len(first), share_of_other(0.6, power)).pvalue > 1e-3
        assert stats.binomtest(others, len(first), share_of_other(0.6, 1 / power)).pvalue < 1e-6


def test_items_without_members_of_other_are_left_as_they_are():
    members = np.repeat([0, 3], 2)
    log_worth = np.log(np.tile([0.4, 0.6], (4, 1)))
    is_other = np.array([[False, own] for own in members > 0])
    of_items = np.array([0, 0, 1, 1]), members, 0.5
    divided = rankings._divided(log_worth, is_other, of_items, np.random.default_rng(1))
    np.testing.assert_array_equal(divided[:2], np.c_[log_worth[:2], np.full((2, 3), -np.inf)])
    np.testing.assert_allclose(np.exp(divided[2:]).sum(axis=1), 1)


def test_rankings_of_a_tree_without_ids_of_raters_are_checked_by_their_codes():
    tree = study(1)
    tree["posterior"] = (
        tree["posterior"].to_dataset()[["plausibility"]].drop_vars(["rater", "kind"], errors="ignore")
    )
    checks = evaluation.model_checks(tree, replicates=100)
    assert checks["rater"].to_numpy().tolist() == [*"01234"]
    assert not any("within" in name for name in checks["check"].to_numpy().tolist())
