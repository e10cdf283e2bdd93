"""Checks of labels: sums over pairs of answers against loops, level, power, and what replicates are drawn by."""

from itertools import combinations
from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation
from raterzoo.evaluation.checks import label_laws, label_numbers
from raterzoo.evaluation.checks import labels as label_checks
from raterzoo.evaluation.raters.joint_answers import drawn

from tests.support.monte_carlo import assert_rejects_twin

ITEMS, RATERS, CATEGORIES, DRAWS = 60, 8, 3, 99
KINDS = ["person"] * 3 + ["llm"] * 5


def told_by(truth, law, copied, rng):
    """Labels (item, rater) by matrices (rater, category, answer); the last five copy some of a guess by the last matrix."""

    def by(rows):
        edges = np.cumsum(rows, axis=-1)[..., :-1]
        return (edges < rng.random((*rows.shape[:-1], 1))).sum(axis=-1)

    label = np.stack([by(own[truth]) for own in law], axis=1)
    guess = by(law[-1][truth])
    copies = rng.random((len(truth), 5)) < copied
    label[:, 3:] = np.where(copies, guess[:, None], label[:, 3:])
    return label


def tree_of(seed, copied=0.0, gold=0, items=ITEMS):
    """Labels of all raters and their posterior given the true categories, so that no sampler is needed."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(CATEGORIES, size=items)
    law = np.full((RATERS, CATEGORIES, CATEGORIES), 0.1) + np.eye(CATEGORIES) * 0.7
    label = told_by(truth, law, copied, rng)
    counts = np.zeros(law.shape)
    np.add.at(counts, (np.arange(RATERS), truth[:, None], label), 1)
    confusion = rng.standard_gamma(counts + law, (1, DRAWS, *law.shape))
    prevalence = rng.dirichlet(np.bincount(truth, minlength=CATEGORIES) + 1, (1, DRAWS))
    names = list("abc")
    coords = {
        "rater": [f"r{k}" for k in range(RATERS)],
        "kind": ("rater", KINDS),
        "category": names,
        "answer": names,
    }
    posterior = xr.Dataset(
        {
            "prevalence": (("chain", "draw", "category"), prevalence),
            "confusion": (
                ("chain", "draw", "rater", "category", "answer"),
                confusion / confusion.sum(-1, keepdims=True),
            ),
            "plausibility": (
                ("chain", "draw", "item", "category"),
                np.tile(np.eye(CATEGORIES)[truth], (1, DRAWS, 1, 1)),
            ),
        },
        coords,
    )
    item, rater = np.indices(label.shape)
    constants = xr.Dataset(
        {
            "annotation_item": ("annotation", item.ravel()),
            "annotation_rater": ("annotation", rater.ravel()),
            "gold": ("item", np.where(np.arange(items) < gold, truth, -1)),
        }
    )
    observed = xr.Dataset({"observed_label": ("annotation", label.ravel())})
    return xr.DataTree.from_dict(
        {"posterior": posterior, "constant_data": constants, "observed_data": observed}
    )


def checked(tree, seed=1, **options):
    return evaluation.model_checks(tree, replicates=DRAWS, random_seed=seed, **options)


def failed(found):
    return set(found["check"].to_numpy()[found["fails"].to_numpy()].tolist())


@pytest.mark.parametrize("repeats", [True, False])
def test_sums_over_pairs_are_those_of_loops(repeats):
    rng = np.random.default_rng(1)
    item, rater = np.repeat(np.arange(6), [1, 2, 3, 4, 4, 5]), rng.integers(4, size=19)
    if not repeats:
        item, rater = np.divmod(np.sort(rng.choice(24, 19, replace=False)), 4)
    group = np.array([0, 1, 0, 1])
    order = np.lexsort((rater, group[rater], item))
    item, rater, labels = item[order], rater[order], rng.integers(3, size=(2, 19))
    answers = label_laws.Answers(
        item, rater, labels[0], np.full(6, -1), np.arange(4), np.array(list("abc")), group, ["x", "y"]
    )
    weights, tables = rng.dirichlet(np.ones(3), (2, 6)), rng.dirichlet(np.ones(3), (2, 4, 3)).swapaxes(2, 3)
    pooled = label_numbers._pooled(answers, labels, weights, tables)
    by_pair = label_numbers._by_pair(answers, labels, weights, tables)
    for t in range(2):
        of_loops = sums_over_pairs(answers, labels[t], weights[t], tables[t])
        for found, expected in zip([*pooled, *by_pair], of_loops, strict=True):
            np.testing.assert_allclose(found[t], expected, atol=1e-12)
    cells = {*zip(item, rater, strict=True)}
    both = [sum({(i, k), (i, m)} <= cells for i in range(6)) for k, m in combinations(answers.chosen, 2)]
    np.testing.assert_array_equal(answers.in_common, both)


def sums_over_pairs(answers, label, weight, table):
    """Sums over the pairs of answers in one table, by loops: the results of `_pooled` and `_by_pair`."""
    item, rater, group = answers.item, answers.rater, answers.group
    above, below = np.zeros((2, 2)), np.zeros((2, 2))
    pairs = np.zeros((2, 4, 4))
    for a in range(19):
        for b in range(19):
            if rater[a] == rater[b] or item[a] != item[b]:
                continue
            for j in range(3):
                own, other = (np.eye(3)[label[x]] - table[rater[x], :, j] for x in (a, b))
                product = weight[item[a], j] * own @ other
                norm = weight[item[a], j] * np.sqrt(
                    np.prod([1 - (table[rater[x], :, j] ** 2).sum() for x in (a, b)])
                )
                above[group[rater[a]], group[rater[b]]] += product
                below[group[rater[a]], group[rater[b]]] += norm
                pairs[:, rater[a], rater[b]] += product, norm
    chosen = answers.chosen
    own = pairs[:, chosen][:, :, chosen][:, *np.triu_indices(4, 1)]
    right = np.divide(own[0], own[1], out=np.zeros(6), where=own[1] > 0)
    within = np.diag(above) / np.diag(below)
    return above.sum() / below.sum(), within, above[0, 1] / below[0, 1], right, own[0]


def test_codes_are_drawn_by_rows_as_by_their_copies():
    law, row = np.random.default_rng(1).dirichlet(np.ones(4), 3), np.tile([2, 0, 1, 1], 50)
    own, copied = (np.random.default_rng(2) for _ in range(2))
    np.testing.assert_array_equal(label_laws._drawn_by(law, row, own), drawn(law[row], copied))


def test_anonymous_answers_to_an_item_are_all_by_different_raters():
    rng = np.random.default_rng(3)
    item, label = np.repeat(np.arange(4), [1, 2, 3, 4]), rng.integers(3, size=10)
    nobody = np.zeros(10, int), np.zeros(0), np.zeros(1, int)  # codes, ids, groups
    answers = label_laws.Answers(
        item, nobody[0], label, np.full(4, -1), nobody[1], np.array([*"abc"]), nobody[2], [""]
    )
    weight, table = rng.dirichlet(np.ones(3), 4), rng.dirichlet(np.ones(3), (1, 3)).swapaxes(1, 2)
    above = below = 0.0
    for a, b in combinations(range(10), 2):
        if item[a] == item[b]:
            for j in range(3):
                own, other = (np.eye(3)[label[x]] - table[0, :, j] for x in (a, b))
                above += weight[item[a], j] * own @ other
                below += weight[item[a], j] * (1 - (table[0, :, j] ** 2).sum())
    together, within, between = label_numbers._pooled(answers, label[None], weight[None], table[None])
    np.testing.assert_allclose([together, within[0]], above / below)
    assert np.isnan(between).all()


def test_numbers_of_a_table_are_those_of_loops():
    rng = np.random.default_rng(2)
    item = np.repeat(np.arange(7), [1, 2, 2, 3, 4, 3, 1])
    rater = np.array([0, 0, 1, 1, 2, 0, 1, 2, 0, 1, 2, 3, 1, 2, 3, 2])
    label = np.array([2, 1, 1, 0, 2, 0, 0, 0, 2, 2, 1, 0, 1, 1, 0, 2])
    gold = np.array([0, -1, 0, -1, 2, 1, 2])
    answers = label_laws.Answers(
        item, rater, label, gold, np.arange(4), np.array([*"abc"]), np.zeros(4, int), [""]
    )
    begins = rng.dirichlet(np.ones(3), 1), rng.dirichlet(np.ones(3), (1, 4, 3))
    law = SimpleNamespace(start=lambda draws: begins, prior=np.eye(3) + 0.2)
    found = label_numbers.Numbers(
        *(own[0] for own in label_numbers.numbers_of(answers, label[None], law, range(1)))
    )
    given = [label[item == i].tolist() for i in range(7)]
    several = [own for own in given if len(own) > 1]
    assert found.distinct == pytest.approx(np.mean([len({*own}) for own in several]))
    assert found.unanimous == pytest.approx(np.mean([len({*own}) == 1 for own in several]))
    counts, shares = np.zeros((4, 3)), [[] for _ in range(4)]
    for i, k, y in zip(item, rater, label, strict=True):
        counts[k, y] += 1
        if len(given[i]) > 1:
            shares[k].append((given[i].count(y) - 1) / (len(given[i]) - 1))
    np.testing.assert_array_equal(found.labels, counts)
    np.testing.assert_allclose(found.agreement, [np.mean(own) for own in shares])
    # gold gives the matrices, and is not used for the item itself
    (free,), (table,) = label_numbers._fit(answers, label[None], begins, law.prior)[1:]
    truth = np.where(gold < 0, 0, gold)
    assert (free[np.arange(7), truth] < 1).all()
    known = [i for i in range(7) if gold[i] >= 0]
    right = np.mean([free[i].argmax() == gold[i] for i in known])
    assert found.right == pytest.approx(right - np.mean([free[i].max() for i in known])) and 0 < right < 1
    np.testing.assert_allclose(table.sum(axis=1), 1)


@pytest.mark.slow
def test_independent_raters_fit_and_copies_are_found():
    alone = [checked(tree_of(seed)).attrs["fits"] for seed in range(12)]
    # binomial of 12 studies at .05: more than 3 has the probability .002
    assert sum(alone) >= 9
    found = [checked(tree_of(seed, copied=0.45, items=200)) for seed in range(2)]
    assert not any(own.attrs["fits"] for own in found)
    shared = {
        "mean residual correlation of two raters",
        "residual correlation within llm",
        label_checks.SHARE,
    }
    assert all(failed(own) & shared for own in found)
    assert found[0].attrs["sentences"][0].endswith(".") and found[0].attrs["answers"] == 200 * RATERS
    effect = found[0]["pair_effect"].to_series()
    within = [KINDS[int(a[1])] == KINDS[int(b[1])] for a, b in effect.index.str.split(", ")]
    assert effect[within].mean() > effect[~np.array(within)].mean() + 0.05
    assert len(found[0].attrs["sharing_raters"]) > 1


def test_the_likelihood_ratio_is_the_mean_over_groups_and_sets():
    rng, tables, raters, items = np.random.default_rng(4), 300, 4, 30
    rater = np.tile(np.arange(raters), items)
    answers = label_laws.Answers(
        np.repeat(np.arange(items), raters), rater, rater * 0, np.full(items, -1), np.arange(raters),
        np.array(["a", "b"]), np.array([0, 0, 1, 1]), ["x", "y"],
    )  # fmt: skip
    pairs, within = rng.normal(size=(tables, 6)), rng.normal(size=(tables, 2))
    pairs[0, 3], within[0, 1] = 3.0, 2.5  # of raters 1 and 2, and of the second group
    nothing = np.zeros(tables)
    found = label_numbers.Numbers(nothing, within, nothing, pairs, pairs, *[nothing] * 12)
    ((check,), sharing) = label_checks._sharing(answers, found)
    index = {pair: k for k, pair in enumerate(combinations(range(raters), 2))}
    sums = [
        sum(pairs[:, index[pair]] for pair in combinations(own, 2))
        for size in (2, 3, 4)
        for own in combinations(range(raters), size)
    ]
    ratio = [
        np.mean([np.exp(2 * (x - x.mean()) / x.std() - 2) for x in own], axis=0) for own in (within.T, sums)
    ]
    np.testing.assert_allclose([check.observed, *check.replicated], np.log(np.mean(ratio, axis=0)))
    assert check.is_main and sharing == ["1", "2"]


def test_replicates_by_wrong_matrices_are_false_alarms(monkeypatch):
    # the wrong twin: replicates of raters who answer by the matrices of others, who are worse
    def worse(seed):
        tree = tree_of(seed)
        posterior = tree["posterior"].to_dataset()
        posterior["confusion"] = 0.5 * posterior["confusion"] + 0.5 / CATEGORIES
        return xr.DataTree.from_dict(
            {**{k: v.to_dataset() for k, v in tree.children.items()}, "posterior": posterior}
        )

    assert not any(checked(worse(seed)).attrs["fits"] for seed in range(3))


def test_answers_that_copy_a_guess_fit_by_the_law_of_the_guess():
    tree = tree_of(3, copied=0.7, items=200)
    posterior = tree["posterior"].to_dataset()
    law = np.full((CATEGORIES, CATEGORIES), 0.1) + 0.7 * np.eye(CATEGORIES)
    copier, dims = [f"r{k}" for k in range(3, 8)], ("chain", "draw")
    matrices = ("category", "answer")
    posterior["own_confusion"] = ((*dims, "rater", *matrices), np.tile(law, (1, DRAWS, RATERS, 1, 1)))
    posterior["guess"] = ((*dims, "group_of_raters", *matrices), np.tile(law, (1, DRAWS, 1, 1, 1)))
    posterior["shared"] = ((*dims, "copier"), np.full((1, DRAWS, 5), 0.7))
    posterior = posterior.assign_coords(copier=copier, group_of_raters=["llm"])
    groups = {k: v.to_dataset() for k, v in tree.children.items()}
    shared = xr.DataTree.from_dict(groups | {"posterior": posterior})
    assert checked(shared).attrs["fits"] and not checked(tree).attrs["fits"]
    # as many independent raters: by the law, and by the residuals of a model that believes in independence
    found = evaluation.effective_raters(shared, by="kind").mean(("chain", "draw"))
    r = 0.7**2
    assert found["effective"].sel(group_of_raters="llm") == pytest.approx(5 / (1 + 4 * r), rel=1e-3)
    assert found["effective"].sel(group_of_raters="person") == 3
    equivalent = found["equivalent"].sel(group_of_raters="llm")
    assert 1 < equivalent < 3 and found["equivalent"].sel(group_of_raters="person") == pytest.approx(
        3, abs=1e-6
    )
    # in people, who are alike here: the judges' answers together, and one of a judge alone
    posterior["confusion"] = ((*dims, "rater", *matrices), np.tile(law, (1, DRAWS, RATERS, 1, 1)))
    alike = xr.DataTree.from_dict(groups | {"posterior": posterior})
    worth = evaluation.rater_worth(alike, "kind", "person").sel(measure="information").mean(("chain", "draw"))
    np.testing.assert_allclose(worth["group_worth"], 1, atol=1e-6)
    assert worth["group_together"].sel(group_of_raters="person") == pytest.approx(3, abs=1e-6)
    together = worth["group_together"].sel(group_of_raters="llm")
    assert together == pytest.approx(float(equivalent), abs=0.2)
    by_residuals = evaluation.effective_raters(tree, by="kind")
    raters, r = by_residuals["raters"], by_residuals["residual_correlation"]
    np.testing.assert_allclose(by_residuals["effective"], raters / (1 + (raters - 1) * r), rtol=1e-12)
    assert by_residuals["effective"].sel(group_of_raters="llm") < 4


def test_given_replicates_gold_and_samples_of_items_are_used(monkeypatch, golden):
    tree = tree_of(5, gold=40)
    found = checked(tree)
    golden.says(found["check"], "that claimed,")
    observed = tree["observed_data"]["observed_label"].to_numpy()
    same = xr.Dataset({"observed_label": (("chain", "draw", "annotation"), np.tile(observed, (1, DRAWS, 1)))})
    groups = {k: v.to_dataset() for k, v in tree.children.items()}
    equal = checked(xr.DataTree.from_dict(groups | {"posterior_predictive": same}))
    row = equal.sel(check="distinct answers by item")
    assert row["lower"] == row["observed"] == row["upper"]
    few = same.isel(draw=slice(20))  # of which a check can never fail
    with golden.raises(evaluation.EvaluationError):
        checked(xr.DataTree.from_dict(groups | {"posterior_predictive": few}))
    monkeypatch.setattr(label_checks, "MOST_ANSWERS", 200)
    assert 200 <= checked(tree).attrs["answers"] <= 200 + RATERS


def test_what_cannot_be_checked_is_refused(golden):
    tree = tree_of(1)
    with golden.raises(evaluation.EvaluationError):
        checked(tree, by="vendor")
    with golden.raises(evaluation.EvaluationError):
        evaluation.model_checks(tree, replicates=5)
    posterior = tree["posterior"].to_dataset()
    posterior["expected_effect"] = ("item", np.zeros(ITEMS))
    groups = {k: v.to_dataset() for k, v in tree.children.items()}
    with pytest.raises(evaluation.EvaluationError, match=r"inference\.predict"):
        checked(xr.DataTree.from_dict(groups | {"posterior": posterior}))
    alone = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()})
    with pytest.raises(evaluation.EvaluationError, match="no observed annotations"):
        checked(alone)


def test_numbers_do_not_depend_on_the_ids_of_raters():
    tree = tree_of(2)
    renamed = {k: v.to_dataset() for k, v in tree.children.items()}
    renamed["posterior"] = renamed["posterior"].assign_coords(rater=[f"x{k}" for k in range(RATERS)])
    first, second = checked(tree), checked(xr.DataTree.from_dict(renamed))
    np.testing.assert_array_equal(first["observed"], second["observed"])


def test_matrices_given_the_plausibility_shrink_to_that_of_all_raters():
    """A rater with few answers has the Dirichlet mean of these and of four pseudo-counts; the twin has twice as many."""
    truth, rater = np.array([0, 0, 0, 1, 1, 1]), np.array([0, 0, 0, 0, 0, 1])
    label = np.array([0, 0, 1, 1, 1, 0])
    answers = label_laws.Answers(np.arange(6), rater, label, np.full(6, -1), np.array(["r", "s"]), np.array(["x", "y"]),
                      np.zeros(2, int), [""])  # fmt: skip
    plausibility = xr.DataArray(np.eye(2)[truth][None, None], dims=("chain", "draw", "item", "category"))
    points, rng = [{"chain": 0, "draw": 0}] * 600, np.random.default_rng(1)
    start = label_laws._drawn_from_plausibility(plausibility, answers, np.arange(6), points, rng)
    prevalence, law = start(range(600))
    pooled = np.array([[2.5, 1.5], [1.5, 2.5]]) / 4  # with one pseudo-count in all for each true category
    counts = np.array([[[2, 1], [0, 2]], [[0, 0], [1, 0]]])

    def check(pseudo):
        rows = counts + pseudo * pooled
        exact = rows / rows.sum(axis=2, keepdims=True)
        error = law.std(axis=0) / np.sqrt(len(law))
        assert np.abs((law.mean(axis=0) - exact) / error).max() < 4.5

    check(4)
    assert_rejects_twin(check, 8)
    assert abs(prevalence.mean(axis=0) - 0.5).max() < 4.5 * prevalence.std() / np.sqrt(600)
