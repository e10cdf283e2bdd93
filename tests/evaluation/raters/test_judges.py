"""What a judge is worth: against the enumeration of all sequences of answers."""

from itertools import product

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.evaluation import EvaluationError
from raterzoo.evaluation.raters import worth as raters_worth

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of
from tests.support.source_twins import altered

RATERS = ["r", "s", "t", "u"]
KINDS = ["person", "model", "person", "person"]


def posterior(prevalence, confusion, **coords):
    """A tree of these draws, (chain, draw, ...)."""
    names = [f"c{j}" for j in range(confusion.shape[-1])]
    named = {"category": names, "answer": names} | coords
    law = {
        "prevalence": (("chain", "draw", "category"), prevalence),
        "confusion": (("chain", "draw", "rater", "category", "answer"), confusion),
    }
    return xr.DataTree.from_dict({"posterior": xr.Dataset(law, named)})


def drawn(n, name, raters=4, shape=(2, 3)):
    rng = np.random.default_rng(seed_of(name))
    confusion = rng.dirichlet(np.ones(n), (*shape, raters, n)) + np.eye(n)
    return rng.dirichlet(np.ones(n), shape), confusion / confusion.sum(-1, keepdims=True)


def tree_of(n=3, name="judges", **more):
    kinds = {"rater": RATERS, "kind": ("rater", KINDS)}
    return posterior(*drawn(n, name, **more), **kinds)


def by_sequences(prevalence, confusion, answers):
    """Information in bits and accuracy of the best guess, from every sequence of answers; one draw."""
    joint = np.array(
        [
            prevalence * np.prod([confusion[:, label] for label in labels], axis=0)
            for labels in product(range(len(prevalence)), repeat=answers)
        ]
    )
    ratio = np.log2(joint / (prevalence * joint.sum(axis=1, keepdims=True)))
    return (joint * ratio).sum(), joint.max(axis=1).sum()


@pytest.mark.parametrize("n", [2, 3, 4])
def test_panels_are_enumerated(n):
    prevalence, confusion = drawn(n, f"panels {n}", raters=1)
    p, pi = prevalence.reshape(-1, n), confusion.reshape(-1, n, n)

    def check(curves):
        for s in range(len(p)):
            for k in range(1, 5):
                found = curves[:, s, k]
                np.testing.assert_allclose(found, by_sequences(p[s], pi[s], k), atol=1e-12)

    curves = raters_worth.panel_curves(p, pi, 4)
    assert (curves[0, :, 0] == 0).all() and (curves[1, :, 0] == p.max(axis=1)).all()
    check(curves)
    unordered = altered("panel_curves", ("[block, :, None] * ways", "[block, :, None] * np.ones_like(ways)"))
    assert_rejects_twin(check, unordered.panel_curves(p, pi, 4))


def test_panels_do_not_depend_on_blocks(monkeypatch):
    p, pi = drawn(3, "blocks", raters=1, shape=(1, 50))
    whole = raters_worth.panel_curves(p[0], pi[0, :, 0], 6)
    monkeypatch.setattr("raterzoo.evaluation.raters.worth.PANEL_BLOCK_SIZE", 100)
    np.testing.assert_array_equal(raters_worth.panel_curves(p[0], pi[0, :, 0], 6), whole)


def test_quantities_of_raters_are_theirs():
    tree = tree_of()
    worth, quality = evaluation.rater_worth(tree), evaluation.rater_quality(tree)
    for name in ("accuracy", "information"):
        np.testing.assert_allclose(worth[name], quality[name], atol=1e-12)
    right = np.diagonal(tree["posterior"]["confusion"].to_numpy(), axis1=-2, axis2=-1)
    np.testing.assert_allclose(worth["balanced_accuracy"], right.mean(axis=-1), atol=1e-12)
    p, pi = (tree["posterior"][v].to_numpy() for v in ("prevalence", "confusion"))
    for c, d, k in np.ndindex(2, 3, 4):
        expected = by_sequences(p[c, d], pi[c, d, k], 1)
        own = worth.isel(chain=c, draw=d, rater=k)
        np.testing.assert_allclose([own["information"], own["guess_accuracy"]], expected, atol=1e-12)


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_a_judge_like_the_reference_is_worth_one(kind):
    prevalence, confusion = drawn(3, "like the reference")
    alike = np.repeat(confusion[:, :, :1], 4, axis=2).astype(kind)
    tree = posterior(prevalence.astype(kind), alike, rater=RATERS)
    worth = evaluation.rater_worth(tree)["worth"]
    information = worth.sel(measure="information")
    np.testing.assert_allclose(information, 1, atol=1e-9)
    # an answer that does not change the guess is worth nothing by accuracy, and there are such draws
    of_guess = worth.sel(measure="accuracy").to_numpy()
    told = alike[:, :, 0] * prevalence[..., None]
    changes = told.max(axis=2).sum(axis=-1) > prevalence.max(axis=2) + 1e-6
    np.testing.assert_allclose(of_guess, changes[:, :, None] * np.ones(4), atol=1e-6)


def coin(right):
    """Confusion matrices of raters who are right with these probabilities, in one draw."""
    right = np.asarray(right)
    return np.stack([right, 1 - right, 1 - right, right], axis=-1).reshape(1, 1, -1, 2, 2)


def test_worth_is_that_of_panels():
    prevalence, reference = np.full((1, 1, 2), 0.5), 0.7
    five = by_sequences(np.full(2, 0.5), coin([reference])[0, 0, 0], 5)[1]
    tree = posterior(prevalence, coin([reference, five, 0.5, 0.3, 0.999999]), rater=list("abcde"))
    found = evaluation.rater_worth(tree, reference="a", largest=9)
    by_accuracy = found["worth"].sel(measure="accuracy").to_numpy().ravel()
    # three coins decide as well as four, and five better: a judge as good as five is worth five
    np.testing.assert_allclose(by_accuracy, [1, 5, 0, 1, 9], atol=1e-9)
    by_information = found["worth"].sel(measure="information").to_numpy().ravel()
    assert by_information[0] == pytest.approx(1) and by_information[2] == 0
    assert by_information[3] == pytest.approx(1)  # turned round, the adversary tells as much
    assert found["censored"].sel(measure="accuracy").to_numpy().ravel().tolist() == [0, 0, 0, 0, 1]
    curve = found["panel"].sel(measure="information").to_numpy().ravel()
    own = found["information"].sel(rater="b").item()
    k = int(by_information[1])
    between = curve[k] + (by_information[1] - k) * (curve[k + 1] - curve[k])
    np.testing.assert_allclose(between, own, rtol=1e-12)


def test_worth_rises_with_the_judge_and_falls_with_the_reference():
    right = np.linspace(0.55, 0.95, 9)
    tree = posterior(np.full((1, 1, 2), 0.5), coin(right), rater=[f"r{k}" for k in range(9)])
    worth = [
        evaluation.rater_worth(tree, reference=f"r{k}")["worth"].sel(measure="information") for k in range(9)
    ]
    worth = np.array([w.to_numpy().ravel() for w in worth])
    free = worth < 20
    assert (np.diff(worth, axis=1)[free[:, 1:]] > 0).all()
    assert (np.diff(worth, axis=0)[free[:-1]] < 0).all()
    np.testing.assert_allclose(np.diagonal(worth), 1, atol=1e-9)


def test_a_worth_between_two_panels_stays_between_them_at_rounding():
    # the first value is beyond the first panel by less than the rounding error
    curve = np.array([[0.0, 2e-12, 1.0]])
    worth, censored = raters_worth.interpolated_worth(curve, np.array([[2.9e-12, 0.25, 1.5]]))
    np.testing.assert_allclose(worth, [[1, 1.25, 2]])
    assert censored.tolist() == [[False, False, True]]


def test_a_group_is_censored_if_a_member_is():
    names = {"rater": list("abcd"), "kind": ("rater", ["person", "person", "model", "model"])}
    tree = posterior(np.full((1, 1, 2), 0.5), coin([0.7, 0.7, 0.7, 0.999999]), **names)
    found = evaluation.rater_worth(tree, by="kind", reference="person", largest=5)
    censored = found["group_censored"].sel(measure="accuracy")
    assert censored.sel(group_of_raters=["person", "model"]).to_numpy().ravel().tolist() == [False, True]


def test_groups_are_means_over_members_and_set_the_unit():
    tree = tree_of()
    found = evaluation.rater_worth(tree, by="kind", reference="person", largest=6)
    persons = [0, 2, 3]
    for name in ("accuracy", "information", "worth"):
        group = found[f"group_{name}"]
        assert group["group_of_raters"].to_numpy().tolist() == ["person", "model"]
        mean = found[name].isel(rater=persons).mean("rater")
        np.testing.assert_allclose(group.sel(group_of_raters="person"), mean)
        one = found[name].isel(rater=1)
        np.testing.assert_allclose(group.sel(group_of_raters="model"), one)
    p, pi = (tree["posterior"][v].to_numpy() for v in ("prevalence", "confusion"))

    def check(members):
        typical = pi[1, 2, members].mean(axis=0)
        curve = found["panel"].isel(chain=1, draw=2, answers=2)
        np.testing.assert_allclose(curve, by_sequences(p[1, 2], typical, 2), atol=1e-12)

    check(persons)
    assert_rejects_twin(check, [0, 1, 2])
    with_prefix = tree["posterior"].to_dataset().rename(kind="rater_kind")
    same = evaluation.rater_worth(
        xr.DataTree.from_dict({"posterior": with_prefix}), by="kind", reference="person", largest=6
    )
    np.testing.assert_array_equal(same["worth"], found["worth"])


def test_largest_panels():
    assert [raters_worth.largest_panel(None, n) for n in (2, 3, 4, 5, 10, 500)] == [20, 20, 16, 9, 4, 1]
    assert evaluation.rater_worth(tree_of(), largest=3).sizes["answers"] == 4


@pytest.mark.parametrize(
    "options",
    [
        {"by": "knid"},
        {"by": "kind", "reference": "persn"},
        {"reference": "v"},
        {"largest": 0},
        {"largest": True},
        {"largest": 10_000},
    ],
)  # fmt: skip
def test_wrong_arguments_are_named(options, golden):
    with golden.raises(EvaluationError):
        evaluation.rater_worth(tree_of(), **options)


def test_failed_draws_and_other_trees_are_named(golden):
    prevalence, confusion = drawn(3, "failed")
    confusion[1, 2, 3] = np.nan
    with golden.raises(EvaluationError):
        evaluation.rater_worth(posterior(prevalence, confusion, rater=RATERS))
    node = tree_of()["posterior"].to_dataset()
    node["confusion"] = node["confusion"].expand_dims(node=2)
    with golden.raises(EvaluationError):
        evaluation.rater_worth(xr.DataTree.from_dict({"posterior": node}))
    with golden.raises(EvaluationError):
        evaluation.rater_worth(xr.DataTree.from_dict({"posterior": xr.Dataset({"x": 1})}))


def test_labelled_trees_bear_the_groups():
    table = {"item": list("aaab"), "rater": list("rstu"), "label": ["c0", "c1", "c2", "c0"], "kind": KINDS}
    labels = models.Labels.from_table(table, rater_attributes=["kind"])
    tree = inference.label(posterior(*drawn(3, "labelled"), rater=RATERS), labels)
    found = evaluation.rater_worth(tree, by="kind", reference="person")
    assert found["group_of_raters"].to_numpy().tolist() == ["person", "model"]
    assert found["kind"].to_numpy().tolist() == KINDS


def population(groups):
    """Draws of a population of raters, with groups or without; all draws are alike."""
    shape, dims = (2, 5000), ("chain", "draw")
    law = {
        "prevalence": ((*dims, "category"), np.full((*shape, 2), 0.5)),
        "population_mean": ((*dims, "category", "answer"), np.full((*shape, 2, 2), 3.0)),
        "population_spread": (
            (*dims, "category", "answer"), np.broadcast_to([[0.5, 1.0], [2.0, 0.1]], (*shape, 2, 2)),
        ),
    }  # fmt: skip
    coords = {"category": ["x", "y"], "answer": ["x", "y"]}
    if groups:
        mean = np.array([[[2.0, 0.0], [0.0, 1.0]], [[0.0, 0.0], [0.0, 3.0]]])
        law["group_mean"] = (
            (*dims, "group_of_raters", "category", "answer"), np.broadcast_to(mean, (*shape, 2, 2, 2)),
        )  # fmt: skip
        coords["group_of_raters"] = ["person", "model"]
    return xr.DataTree.from_dict({"posterior": xr.Dataset(law, coords)})


@pytest.mark.parametrize("groups", [True, False])
def test_new_raters_are_drawn_from_their_population(groups):
    tree = population(groups)
    found = evaluation.new_raters(tree, random_seed=seed_of(f"new raters {groups}"))
    confusion = found["posterior"]["confusion"].transpose("rater", "category", "answer", ...)
    names = confusion["rater"].to_numpy().tolist()
    assert names == (["person", "model"] if groups else ["new rater"])
    odds = np.log(confusion).diff("answer").to_numpy().reshape(len(names), 2, -1)
    posterior = tree["posterior"].isel(chain=0, draw=0)
    centre = posterior["group_mean" if groups else "population_mean"].to_numpy().reshape(-1, 2, 2)
    variance = (posterior["population_spread"].to_numpy() ** 2).sum(axis=-1)

    def check(variance):
        n = odds.shape[-1]
        mean = (odds.mean(axis=-1) - np.diff(centre, axis=-1)[..., 0]) / np.sqrt(variance / n)
        spread = (odds.var(axis=-1) / variance - 1) / np.sqrt(2 / n)
        assert np.abs([mean, spread]).max() < bonferroni_threshold(2 * mean.size)

    check(variance)
    assert_rejects_twin(check, variance * 1.1)
    again = evaluation.rater_worth(found, reference=names[0])
    assert again.sizes["rater"] == len(names)


def test_new_raters_need_a_population():
    with pytest.raises(EvaluationError, match="no 'population_spread'"):
        evaluation.new_raters(tree_of())
