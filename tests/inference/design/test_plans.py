"""Plans of studies: what they promise is what studies then have."""

from types import SimpleNamespace

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.inference.design import Decision, Precision, Prices, next_to_ask, plan, plans, stated_skills

QUIET = {"progressbar": False, "cores": 1}
SKILLS = stated_skills((0.8, 0.05), {"net": (0.85, 0.05)}, pool=4, random_seed=1)
TWO = stated_skills(0.8, {"good": 0.9, "poor": 0.7}, pool=3, random_seed=1)
FEW = {"items": [40], "raters": [2], "simulations": 5, "random_seed": 1, **QUIET}


def labels_of(truth, right, rng):
    """Return labels of two categories by people, each right with its probability."""
    said = np.where(rng.random((len(truth), len(right))) < right, truth[:, None], 1 - truth[:, None])
    item, rater = np.indices(said.shape)
    people = np.array([f"person {k}" for k in range(len(right))])
    rows = {"item": item.ravel(), "rater": people[rater.ravel()], "label": said.ravel()}
    return models.Labels.from_table(rows, categories=range(2))


def width_of_a_study(items, right, right_net, seed):
    """Width of the interval that an analyst gets with a study of two categories."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 2, items)
    labels = labels_of(truth, right, rng)
    said = np.where(rng.random(items) < right_net, truth, 1 - truth)
    predictions = xr.DataArray(
        said[:, None], {"item": labels.items, "classifier": "net"}, ("item", "position")
    )
    model = models.dawid_skene(labels.with_predictions(predictions))
    tree = inference.sample(model, draws=500, chains=2, random_seed=seed, log_likelihood=False, **QUIET)
    metric = evaluation.top_k_accuracy(1)
    found = evaluation.metric_intervals(metric, tree, predictions, random_seed=seed, progressbar=False)
    return float(found["interval"].sel(source="both").diff("bound").item())


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_the_promised_width_is_that_of_the_study():
    right, right_net = (0.75, 0.8, 0.85), 0.85
    skills = stated_skills(dict(zip("abc", right, strict=True)), {"net": right_net}, random_seed=1)
    found = plan(
        Precision(0.1), skills, items=[150], raters=[3], simulations=100, random_seed=2, **QUIET
    ).squeeze()
    widths = np.array([width_of_a_study(150, right, right_net, seed) for seed in range(20)])
    error = np.hypot(found["width_mcse"], widths.std() / np.sqrt(len(widths)))
    assert abs(found["width"] - widths.mean()) < 3 * error
    # told that the people are worse, it promises less: a plan of wrong skills is found out
    wrong = stated_skills(0.65, {"net": right_net}, pool=3, random_seed=1)
    other = plan(
        Precision(0.1), wrong, items=[150], raters=[3], simulations=100, random_seed=2, **QUIET
    ).squeeze()
    assert other["width"] - widths.mean() > 3 * error


def test_accuracies_are_those_of_metric_draws():
    rng = np.random.default_rng(4)
    plausibility = rng.dirichlet(np.ones(3), (4000, 30))
    predicted = rng.integers(0, 3, (30, 2))
    own = plans._accuracies(plausibility, predicted, rng)
    coords = {"item": np.arange(30), "category": np.arange(3)}
    tree = xr.DataArray(
        plausibility[None], coords, ("chain", "draw", "item", "category"), attrs={"truth": "category"}
    )
    predictions = xr.DataArray(
        predicted[:, :, None],
        {"item": np.arange(30), "classifier": ["a", "b"]},
        ("item", "classifier", "position"),
    )
    drawn = evaluation.metric_draws(
        evaluation.top_k_accuracy(1), tree, predictions, random_seed=1, progressbar=False
    )
    theirs = drawn["both"].squeeze("chain").transpose("classifier", "draw").to_numpy()
    np.testing.assert_allclose(own.mean(axis=1), theirs.mean(axis=1), atol=5 * 0.09 / np.sqrt(4000))
    np.testing.assert_allclose(own.std(axis=1), theirs.std(axis=1), rtol=5 / np.sqrt(2 * 4000))
    np.testing.assert_allclose(np.corrcoef(own)[0, 1], np.corrcoef(theirs)[0, 1], atol=5 / np.sqrt(4000))


def test_a_study_is_simulated_by_the_stated_law(monkeypatch):
    seen = []

    def drawn(answers, prior, chain, collapsed):
        seen.append(answers)
        return SimpleNamespace(plausibility=np.full((1, 2, len(answers.gold_category), 2), 0.5))

    monkeypatch.setattr(plans, "draw_labels_model", drawn)
    skills = stated_skills({"a": 0.9, "b": 0.6}, {"net": 0.75}, prevalence=[0.3, 0.7], random_seed=1)
    plan(
        Precision(0.1), skills, items=[4000], raters=[1], alone=[2000], simulations=2, random_seed=1, **QUIET
    )
    answers = seen[0]
    assert np.diff(answers.start).tolist() == [2] * 4000 + [1] * 2000
    rater, label = divmod(answers.code, 2)
    share = [0.3 * right + 0.7 * (1 - right) for right in (0.9, 0.6, 0.75)]
    for k, expected in enumerate(
        share
    ):  # category 0 is answered by who is right about it, or wrong about the other
        own = label[rater == k] == 0
        assert abs(own.mean() - expected) < 4 * np.sqrt(expected * (1 - expected) / len(own))
    assert abs((rater == 0).sum() - 2000) < 4 * np.sqrt(1000)


def test_designs_have_numbers_of_their_own_whatever_else_is_planned():
    alone = plan(Precision(0.2), SKILLS, items=[60], raters=[2], simulations=6, random_seed=3, **QUIET)
    more = plan(
        Precision(0.2),
        SKILLS,
        items=[30, 60],
        raters=[1, 2],
        simulations=6,
        random_seed=3,
        cores=2,
        progressbar=False,
    )
    xr.testing.assert_identical(alone.drop_attrs(), more.sel(items=[60], raters=[2]).drop_attrs())


def test_the_cheapest_design_that_meets_the_aim_is_named(golden):
    found = plan(
        Precision(0.2),
        SKILLS,
        items=[30, 400, 500],
        raters=[2, 3],
        price=Prices(answer=0.5, item=2, prediction=0.1),
        simulations=10,
        random_seed=1,
        **QUIET,
    )
    assert found["cost"].sel(items=400, raters=3, alone=0) == 400 * (2 + 3 * 0.5)
    assert found["meets"].squeeze().to_numpy().tolist() == [[False, False], [True, True], [True, True]]
    verdict = found.attrs["verdict"]
    golden.says(verdict, "cheapest design")
    golden.says(verdict, "people each,")
    free = plan(
        Precision(0.2), SKILLS, items=[400, 500], raters=[2], price=0, simulations=2, random_seed=1, **QUIET
    )
    golden.says(free.attrs["verdict"], "people each,")  # of equal prices the fewest answers
    none = plan(Precision(0.01), SKILLS, **FEW)
    assert none.attrs["verdict"].startswith("No design reaches") and not none["meets"].any()


def test_items_that_classifiers_alone_answer_narrow_the_interval():
    found = plan(
        Precision(0.1),
        SKILLS,
        items=[60],
        raters=[3],
        alone=[0, 1000],
        simulations=30,
        random_seed=1,
        **QUIET,
    )
    without, added = found["width"].squeeze().to_numpy()
    assert added < without - 2 * found["width_mcse"].max()


def test_the_better_classifier_is_found():
    found = plan(
        Decision(), TWO, items=[30, 300], raters=[3], simulations=20, random_seed=1, **QUIET
    ).squeeze()
    few, many = found["right"].to_numpy()
    assert (
        many > 0.9 > few
        and (found["wrong"] <= 0.1).all()
        and found.attrs["aim"].startswith("the better classifier")
    )
    # which of them is named first does not matter
    other = stated_skills(0.8, {"poor": 0.7, "good": 0.9}, pool=3, random_seed=1)
    assert (
        plan(Decision(), other, items=[300], raters=[3], simulations=20, random_seed=1, **QUIET)[
            "right"
        ].item()
        > 0.9
    )


def test_a_pilot_is_a_posterior_and_others_like_its_people_can_be_asked(golden):
    rng = np.random.default_rng(1)
    truth = rng.integers(0, 2, 60)
    labels = labels_of(truth, (0.8, 0.8), rng)
    said = xr.DataArray(truth[:, None], {"item": labels.items, "classifier": "net"}, ("item", "position"))
    model = models.dawid_skene(labels.with_predictions(said))
    with pytest.warns(inference.ConvergenceWarning):
        pilot = inference.sample(model, draws=50, chains=1, random_seed=1, **QUIET)
    assert plan(Precision(0.3), pilot, **FEW)["classifier"].to_numpy().tolist() == ["net"]
    with golden.raises(ValueError):
        plan(Precision(0.3), pilot, items=[20], raters=[3], simulations=2, **QUIET)
    assert (
        plan(Precision(0.3), pilot, items=[20], raters=[3], pool=5, simulations=2, **QUIET).sizes["raters"]
        == 1
    )
    tree = pilot.copy()
    tree.attrs["model"] = "shared_guess"
    with golden.raises(ValueError):
        plan(Precision(0.3), tree, **FEW)


@pytest.mark.parametrize(
    "change",
    [
        {"items": [0]},
        {"raters": []},
        {"price": -1.0},
        {"assurance": 1.0},
        {"simulations": 1},
        {"classifiers": ["nat"]},
        {"classifiers": []},
        {"model": models.glad},
    ],
)
def test_what_cannot_be_planned_is_refused(change, golden):
    with golden.raises(ValueError):
        plan(Precision(0.1), SKILLS, **(FEW | change))


def test_aims_and_skills_out_of_range_are_refused(golden):
    with golden.raises(ValueError):
        plan(Decision(), SKILLS, **FEW)
    for make in (
        lambda: Precision(0),
        lambda: Decision(0.4),
        lambda: stated_skills(1.2, {"net": 0.8}),
        lambda: stated_skills((0.9, 0.5), {"net": 0.8}),
        lambda: stated_skills({"net": 0.8}, {"net": 0.8}),
        lambda: stated_skills(0.8, {"net": 0.8}, prevalence=[0.5, 0.6]),
    ):
        with golden.raises(ValueError):
            make()
    with golden.raises(ValueError):
        plan(Precision(0.1), xr.DataTree.from_dict({"posterior": xr.Dataset({"x": 1})}), **FEW)


def test_questions_are_asked_for_their_price(golden):
    posterior = SKILLS["posterior"].to_dataset().isel(draw=slice(100))
    plausibility = xr.DataArray(
        np.tile([[0.5, 0.5], [0.9, 0.1]], (1, 100, 1, 1)),
        {"item": ["a", "b"]},
        ("chain", "draw", "item", "category"),
    )
    tree = xr.DataTree.from_dict(
        {"posterior": posterior.assign(plausibility=plausibility.assign_attrs(truth="category"))}
    )
    names = posterior["rater"].to_numpy().tolist()
    plain = next_to_ask(tree)
    same = next_to_ask(tree, price=dict.fromkeys(names, 2.0))
    np.testing.assert_allclose(same["gain"], plain["gain"])
    np.testing.assert_allclose(same["gain_per_price"], plain["gain"] / 2)
    dear = next_to_ask(tree, price=dict.fromkeys(names, 1.0) | {"net": 1000.0})
    assert dear["rater"].to_numpy()[-2:].tolist() == ["net", "net"]
    free = next_to_ask(tree, price=dict.fromkeys(names, 1.0) | {"person 3": 0})
    assert free["rater"].to_numpy()[:2].tolist() == ["person 3"] * 2 and free["item"].to_numpy()[0] == "a"
    with golden.raises(ValueError):
        next_to_ask(tree, price={name: 1 for name in names if name != "person 2"})
    with golden.raises(ValueError):
        next_to_ask(tree, price=0)
    with golden.raises(ValueError):
        next_to_ask(tree, price=dict.fromkeys(names, 1) | {"net": -1})


def test_the_prior_of_a_plan_is_that_of_the_fit():
    """People have the default of dawid_skene, and the classifier the weak one."""
    skills = plans._Skills.of(SKILLS, None, None)
    table = plans._prior_of(models.dawid_skene, skills).confusion
    own = table.reshape(-1, 2, 2)
    assert (own[-1] == [[2, 1], [1, 2]]).all() and (own[:-1] == [[4.8, 3.2], [3.2, 4.8]]).all()
