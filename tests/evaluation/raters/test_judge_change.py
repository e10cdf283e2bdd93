"""Did a judge change: the parts of a drift, against known ones, their coverage, and what is refused."""

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, models
from raterzoo.evaluation import EvaluationError
from raterzoo.evaluation.raters import change

from tests.support.monte_carlo import assert_rejects_twin, seed_of

OLD, NEW = np.array([[0.85, 0.15], [0.2, 0.8]]), np.array([[0.7, 0.3], [0.05, 0.95]])
SHARES = np.array([0.6, 0.4])  # of the true categories in both runs


def two_runs_of(rng, new=NEW, shares=SHARES, then=(0.5, 0.5), sizes=(100, 400, 400), dependent=0.0):
    """Rows (item, rater, label) of both versions and the truth: items of both, of the old run alone, of the new one alone."""
    rows, truth, start = [], [], 0
    for n, share, raters in zip(sizes, (shares, shares, then), ((0, 1), (0,), (1,)), strict=True):
        own, u = rng.choice(2, n, p=share), rng.random(n)
        for rater in raters:
            same = rng.random(n) < dependent
            label = (np.where(same, u, rng.random(n)) > (OLD, new)[rater][own, 0]).astype(int)
            rows += [(start + i, rater, label[i]) for i in range(n)]
        truth, start = [*truth, *own], start + n
    return np.array(rows), np.array(truth)


def tree_of(rows, truth, draws=200, categories=2):
    """A posterior in which Ann, who is nearly always right, labelled the items of both versions."""
    item, rater, label = rows.T
    known = np.eye(categories)[truth]
    common = np.intersect1d(item[rater == 0], item[rater == 1])
    names = ["no", "yes"] if categories == 2 else [*range(categories)]
    named = {"category": names, "answer": names, "rater": ["gpt (old)", "gpt (new)", "Ann"]}
    posterior = xr.Dataset(
        {
            "plausibility": (
                ("chain", "draw", "item", "category"),
                np.broadcast_to(known, (1, draws, *known.shape)),
            ),
            "confusion": (
                ("chain", "draw", "rater", "category", "answer"),
                np.broadcast_to(
                    0.998 * np.eye(categories) + 0.002 / categories, (1, draws, 3, categories, categories)
                ),
            ),
        },
        named | {"item": np.arange(len(truth))},
    )
    posterior["plausibility"].attrs["truth"] = "category"
    constant = xr.Dataset(
        {
            "annotation_item": ("annotation", np.append(item, common)),
            "annotation_rater": ("annotation", np.append(rater, np.full(len(common), 2))),
            "rater_judge": ("rater", ["gpt", "gpt", ""]),
            "rater_version": ("rater", ["old", "new", ""]),
        }
    )
    observed = xr.Dataset({"observed_label": ("annotation", np.append(label, truth[common]))})
    return xr.DataTree.from_dict(
        {"posterior": posterior, "constant_data": constant, "observed_data": observed}
    )


def change_of(name, draws=200, **options):
    rows, truth = two_runs_of(np.random.default_rng(seed_of(name)), **options)
    return evaluation.judge_change(tree_of(rows, truth, draws), {"no": 0, "yes": 1})


def test_parts_are_those_of_the_law_where_runs_are_large():
    found = change_of("large", sizes=(4000, 20_000, 20_000), draws=40)
    mean = np.array([0.55, 0.45])
    assert found["by_judge"].mean() == pytest.approx(mean @ (NEW - OLD)[:, 1], abs=0.03)
    assert found["by_items"].mean() == pytest.approx(np.array([-0.1, 0.1]) @ (NEW + OLD)[:, 1] / 2, abs=0.04)
    xr.testing.assert_allclose(found["by_judge"] + found["by_items"], found["drift"])
    assert found["observed"].item() == pytest.approx(found["drift"].mean().item(), abs=0.01)
    assert found["in_common"].item() == 4000 and found["changed"].item()


def test_shares_of_all_labels_add_up_to_nothing():
    rows, truth = two_runs_of(np.random.default_rng(seed_of("shares")))
    found = evaluation.judge_change(tree_of(rows, truth))
    np.testing.assert_allclose(found["by_judge"].sum("category"), 0, atol=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("dependent", [pytest.param(0.0, marks=pytest.mark.long), 0.8])
def test_interval_of_the_part_of_the_judge_has_its_coverage(dependent):
    """90 % of 200 intervals, and the whole drift, taken for the judge's, is rejected."""
    inside = {"by_judge": 0, "drift": 0}
    for k in range(200):
        found = change_of(f"coverage {dependent} {k}", dependent=dependent)
        true = np.array([0.55, 0.45]) @ (NEW - OLD)[:, 1]
        for name in inside:
            low, high = found[name].quantile([0.05, 0.95]).to_numpy()
            inside[name] += low <= true <= high

    def check(covered):
        assert 165 <= covered <= 195  # of 180; four standard deviations

    check(inside["by_judge"])
    assert_rejects_twin(check, inside["drift"])


@pytest.mark.parametrize("categories", [2, 5])
def test_one_item_that_differs_is_no_change(categories, monkeypatch):
    """It is as sure of the direction as the sign test with half of the tie; a prior that expects no differing items is surer."""
    truth = np.repeat(np.arange(categories), 100 // categories)
    item, rater = np.tile(np.arange(100), 2), np.repeat([0, 1], 100)
    label = np.tile(truth, 2)
    label[100] = 1  # of truth 0, by the new version
    tree = tree_of(np.column_stack([item, rater, label]), truth, 1000, categories)

    def check(found):
        assert (found["by_judge"].isel(category=1) > 0).mean() == pytest.approx(0.75, abs=0.055)  # 4 errors

    check(evaluation.judge_change(tree, random_seed=1))
    monkeypatch.setattr(change, "DIFFER", 0.1)
    assert_rejects_twin(check, evaluation.judge_change(tree, random_seed=1))


@pytest.mark.slow
def test_judge_that_did_not_change_seldom_seems_to():
    """At most 5 % of 200 studies, though the items changed; in half of them both versions mostly err on the same items."""
    found = [change_of(f"same {k}", new=OLD, dependent=0.8 * (k % 2)) for k in range(200)]
    assert sum(bool(own["changed"]) for own in found) <= 10
    assert change_of("other", sizes=(400, 400, 400))["changed"]  # power


def test_what_is_refused():
    rows, truth = two_runs_of(np.random.default_rng(1), sizes=(5, 5, 5))
    tree = tree_of(rows, truth, 3)
    for values in ({"no": 0}, {"no": 0, "yes": np.nan}):
        with pytest.raises(EvaluationError):
            evaluation.judge_change(tree, values)
    constant = tree["constant_data"].to_dataset()
    for other in (
        constant.drop_vars("rater_version"),
        constant.assign(rater_version=("rater", ["old", "old", ""])),
    ):
        with pytest.raises(EvaluationError):
            evaluation.judge_change(xr.DataTree.from_dict({**tree.children, "constant_data": other}))
    with pytest.raises(EvaluationError):
        evaluation.judge_change(tree_of(rows[rows[:, 0] >= 5], truth, 3))


def table(**columns):
    return models.Labels.from_table(columns, rater_attributes=["kind"])


def runs():
    """Two runs that share item a, its person and the judge."""
    old = table(
        item=["a", "a", "b"], rater=["Ann", "gpt", "gpt"], label=["no", "no", "yes"], kind=["p", "m", "m"]
    )
    new = table(
        item=["a", "a", "c"], rater=["Ann", "gpt", "gpt"], label=["no", "yes", "no"], kind=["p", "m", "m"]
    )
    return old, new


def test_versions_are_raters_and_equal_answers_of_people_count_once():
    both = models.two_runs(*runs(), ["gpt"])
    assert len(both) == 5 and both.items.tolist() == ["a", "b", "c"]
    attributes = {name: own.tolist() for name, own in both.rater_attributes.items()}
    assert dict(zip(both.raters.tolist(), attributes["version"], strict=True)) == {
        "Ann": "",
        "gpt (old)": "old",
        "gpt (new)": "new",
    }
    assert sorted(zip(attributes["judge"], attributes["kind"], strict=True)) == [
        ("", "p"),
        ("gpt", "m"),
        ("gpt", "m"),
    ]


def test_runs_that_cannot_be_joined(golden):
    old, new = runs()
    without = new.select(items=["c"])
    other = table(item=["a", "a"], rater=["Ann", "gpt"], label=["no", "maybe"], kind=["p", "m"])
    cases = [
        (old, without, ["gpt"], "item"),
        (old, other, ["gpt"], "old"),
        (old, new, ["claude"], "judges"),
        (old, new, {"gpt": "claude"}, "judges"),
        (old, new, [], "judges"),
        (models.Labels.from_counts({"item": ["a"], "no": [1], "yes": [1]}), new, ["gpt"], "old"),
    ]
    for before, after, judges, column in cases:
        with golden.raises(models.DataError) as found:
            models.two_runs(before, after, judges)
        assert found.value.column == column and found.value.remedy
