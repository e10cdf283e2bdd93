"""Which question a metric answers: by a posterior of raters alone, or one that has seen the predictions."""

import warnings
from functools import partial

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.evaluation.uncertainty import questions

from benchmarks.against_truth import FEW, Design, Estimates, coverage_row, samplers_of, simulated, summary

ITEMS, CATEGORIES = ["a", "b", "c"], ["x", "y"]
ACCURACY = evaluation.top_k_accuracy(1)
QUIET = {"random_seed": 1, "progressbar": False}
DRAWN = {"resamples": 5, **QUIET}


def tree(
    raters=("Ann", "net"), kind=("person", "classifier"), label=(0, 0, 1, 1, 1, 1), item=(0, 0, 1, 1, 2, 2)
):
    """Each item has an answer of either rater; of net they are x, y, y."""
    p = np.random.default_rng(1).dirichlet([1, 1], (2, 20, 3))
    posterior = xr.Dataset(
        {"plausibility": (("chain", "draw", "item", "category"), p, {"truth": "category"})},
        {"item": ITEMS, "category": CATEGORIES, "rater": list(raters), "kind": ("rater", list(kind))},
    )
    codes = {"annotation_item": np.array(item), "annotation_rater": np.tile([0, 1], 3)[: len(item)]}
    constant = xr.Dataset({name: ("annotation", values) for name, values in codes.items()})
    observed = xr.Dataset({"observed_label": ("annotation", np.array(label))})
    groups = {"posterior": posterior, "constant_data": constant, "observed_data": observed}
    return xr.DataTree.from_dict(groups)


def predicted(*labels, names=("net",)):
    values = np.array([list(own) for own in labels])[..., None]
    return xr.DataArray(
        values, {"classifier": list(names), "item": ITEMS}, ("classifier", "item", "position")
    )


def question(of, predictions):
    return evaluation.metric_draws(ACCURACY, of, predictions, **DRAWN).attrs["question"]


def test_the_posterior_has_seen_the_predictions_if_a_rater_of_that_name_gave_them(golden):
    seen = tree()
    assert question(seen, predicted("xyy")) == questions.TRUTH
    assert question(seen, predicted("xyy").isel(classifier=0)) == questions.TRUTH  # its name is still known
    assert (
        question(tree(raters=("Ann", "predictions")), predicted("xyy").isel(classifier=0, drop=True))
        == questions.TRUTH
    )
    assert question(seen, predicted("xyy").isel(item=[2, 0, 1])) == questions.TRUTH
    scores = xr.DataArray(
        [[0.6, 0.4], [0.3, 0.7], [0.5, 0.6]], {"item": ITEMS, "category": CATEGORIES}, ("item", "category")
    )
    assert question(seen, scores.assign_coords(classifier="net")) == questions.TRUTH
    assert question(seen, (scores > 0.5).assign_coords(classifier="net")) == questions.TRUTH
    assert "\n" not in questions.TRUTH
    golden.says(questions.TRUTH, "accuracy against")


def test_another_classifier_or_other_predictions_of_it_are_agreement(golden):
    other = question(tree(), predicted("xyy", names=["bert"]))
    golden.says(other, "the classifiers")
    assert question(tree(kind=("person", "llm")), predicted("xyy", names=["bert"])) == questions.RATERS
    changed = question(tree(), predicted("xxx"))
    assert changed.startswith("agreement")
    golden.says(changed, "other predictions")
    both = question(tree(), predicted("xyy", "xxx", names=["net", "bert"]))
    assert f"Of 'net': {questions.TRUTH}. Of" in both
    assert "Labels.with_predictions" in both and "Labels.with_predictions" in questions.RATERS


def seen_in_prior(by):
    """A tree whose prior has seen net, known by the attribute of the posterior or by the constant data."""
    p = np.random.default_rng(1).dirichlet([1, 1], (2, 20, 3))
    posterior = xr.Dataset(
        {"plausibility": (("chain", "draw", "item", "category"), p, {"truth": "distribution"})},
        {"item": ITEMS, "category": CATEGORIES},
    )
    if by == "attribute":
        return xr.DataTree.from_dict({"posterior": posterior.assign_attrs(prior_predictions="net")})
    f = (("classifier", "item", "category"), p[:1, 0])
    constant = xr.Dataset({"prior_predictions": f}, posterior.coords).assign_coords(classifier=["net"])
    return xr.DataTree.from_dict({"posterior": posterior, "constant_data": constant})


@pytest.mark.parametrize("by", ["attribute", "constant data"])
def test_a_classifier_in_the_prior_is_warned_of_where_it_is_judged(by, golden):
    of = seen_in_prior(by)
    with golden.warns(UserWarning):
        own = question(of, predicted("xyy"))
    assert (
        not questions.is_of_truth(own)
        and not questions.is_of_raters(own)
        and "Labels.with_predictions" in own
    )
    with golden.warns(UserWarning):
        unknown = question(of, predicted("xyy").isel(classifier=0, drop=True))
    assert not questions.is_of_raters(unknown)
    other = question(of, predicted("xyy", names=["bert"]))  # no warning, which would be an error
    assert questions.is_of_raters(other)
    golden.says(other, "another classifier,")
    with golden.warns(UserWarning):
        both = question(of, predicted("xyy", "xxx", names=["net", "bert"]))
    golden.says(both, "others: agreement")


def test_predictions_seen_of_some_items(golden):
    part = tree(item=(0, 0, 1, 1, 2), label=(0, 0, 1, 1, 1))
    golden.says(question(part, predicted("xyy")), "whose predictions")


def test_what_does_not_name_its_raters_cannot_have_seen_them():
    bare = tree()
    nameless = bare["posterior"].to_dataset().drop_vars(["rater", "kind"])
    assert question(xr.DataTree.from_dict({"posterior": nameless}), predicted("xyy")) == questions.RATERS
    draws = bare["posterior"]["plausibility"]
    assert question(draws, predicted("xyy")) == questions.OF_ARRAY
    point = draws.mean(("chain", "draw"))
    assert (
        evaluation.uncertainty_adjusted(ACCURACY, point, predicted("xyy")).attrs["question"]
        == questions.OF_ESTIMATE
    )


def test_every_function_that_scores_says_the_question():
    both = predicted("xyy", "xyy", names=["net", "bert"])
    one = evaluation.uncertainty_adjusted(ACCURACY, tree(), predicted("xyy"), **QUIET).attrs["question"]
    assert one == questions.TRUTH
    assert (
        evaluation.metric_intervals(ACCURACY, tree(), predicted("xyy"), **DRAWN).attrs["question"]
        == questions.TRUTH
    )
    assert (
        evaluation.reliability_sweep({1: tree()}, ACCURACY, predicted("xyy")).attrs["question"]
        == questions.TRUTH
    )
    assert "Of 'bert': agreement" in evaluation.compare(ACCURACY, tree(), both, **DRAWN).attrs["question"]


def test_a_classifier_among_raters_whose_answers_a_tree_does_not_hold_is_named(golden):
    seen = tree(raters=("Ann", "net"))
    for group in ("observed_data", "constant_data"):
        del seen[group]
    seen["posterior"]["plausibility"].attrs["truth"] = "distribution"
    own = question(seen, predicted("xyy"))
    golden.says(own, "these predictions,")
    assert not questions.is_of_raters(own) and not questions.is_of_truth(own)
    assert question(seen, predicted("xyy", names=("other",))) == questions.OF_DISTRIBUTION
    two = question(seen, predicted("xyy", "xyy", names=("net", "other")))
    assert (
        two.endswith(f"Of 'other': {questions.OF_DISTRIBUTION}")
        and "lists" not in two
        and "consensus" not in two
    )


LISTS = {
    "item": [*"aaabbc"],
    "category": [*"xyzyxz"],
    "rank": [1, 1, 2, 1, 2, 1],
}  # of a a tie, and all categories


@pytest.mark.parametrize("candidates", ["ranked", "all"])
def test_a_posterior_of_rankings_has_seen_lists_if_a_rater_of_that_name_gave_them(candidates, golden):
    votes = {"item": [*"aabbcc"], "rater": ["Ann", "Bob"] * 3, "category": [*"xyyyzx"], "rank": [1] * 6}
    rankings = models.PartialRankings.from_table(votes, categories=[*"wxyz"])

    def lists(**changed):
        return evaluation.predictions_from_table(LISTS | {"rank": [1, 2, 3, 1, 2, 1]} | changed, rank="rank")

    best = {"a": [2.0, 2, 1], "b": [1.0, 2, -np.inf], "c": [-np.inf, -np.inf, 1]}
    tied = xr.DataArray([*best.values()], {"item": [*best], "category": [*"xyz"]}, ("item", "category"))
    options = {"draws": 3, "tune": 2, "chains": 1, "log_likelihood": False, **QUIET}

    def drawn(of, build=models.hierarchical_plackett_luce):
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            return inference.sample(build(of, candidates=candidates), **options)

    alone, joint = drawn(rankings), drawn(rankings.with_predictions(tied))
    assert (
        question(alone, tied)
        == question(joint, tied.assign_coords(classifier="net"))
        == questions.OF_RANKINGS
    )
    assert (
        question(joint, tied)
        == question(joint, tied.isel(item=[2, 0, 1], category=[1, 2, 0]))
        == questions.CONSENSUS
    )
    for other, differ in (
        (lists(), 1),  # without the tie
        (lists(category=[*"xywyxz"]), 1),
        (lists(rank=[1, 2, 3, 2, 1, 1]), 2),
    ):
        assert f"differ for {differ} items" in question(joint, other)
    few = drawn(rankings.with_predictions(tied.isel(item=[0, 2])))
    golden.says(question(few, tied), "the posterior")
    gap = tied.copy()
    gap[1] = -np.inf  # the classifier has no list of this item
    golden.says(question(drawn(rankings.with_predictions(gap.isel(item=[0]))), gap), "the posterior")
    both = xr.concat([tied, tied], "classifier").assign_coords(classifier=["predictions", "other"])
    golden.says(question(joint, both), "another classifier;")
    given = joint.copy()
    given["posterior"] = given["posterior"].to_dataset().drop_vars("reliability")
    own = question(given, tied)
    assert not questions.is_of_truth(own) and not questions.is_of_raters(own)
    golden.says(own, "with themselves")
    same, others = (
        drawn(of, models.plackett_luce) for of in (rankings.with_predictions(tied), rankings)
    )  # no rater has a name
    assert (
        question(same, tied)
        == question(same, tied.isel(item=[2, 0, 1], category=[1, 2, 0]))
        == questions.PERHAPS_ITSELF
    )
    assert question(others, tied) == question(same, lists()) == question(same, gap) == questions.OF_RANKINGS
    named = xr.concat([tied, gap], "classifier").assign_coords(classifier=["net", "gap"])
    assert question(same, named) == f"Of 'net': {questions.PERHAPS_ITSELF}. Of 'gap': {questions.OF_RANKINGS}"


# --- A simulated set whose truth is known: 300 items, three people right 80 % of the time, a classifier 85 % ---


@pytest.fixture(scope="module")
def case():
    """Return labels of people, predictions, and the share of these that is right."""
    truth, labels, predictions = simulated(Design(right_classifier=0.85), np.random.default_rng(20))
    predictions = predictions.sel(classifier="net")
    return labels, predictions, (truth == predictions.to_numpy()[:, 0]).mean()


def fitted(labels):
    options = {"draws": 200, "chains": 2, "log_likelihood": False, **QUIET}
    return inference.sample(models.dawid_skene(labels), **options)


def is_near_truth(tree, predictions, gold):
    """Whether the 90 % interval of the accuracy holds the share of right predictions, and its mean is within .05 of it."""
    found = evaluation.metric_intervals(ACCURACY, tree, predictions, **DRAWN).sel(source="both")
    lower, upper = found["interval"].to_numpy()
    return lower <= gold <= upper and abs(float(found["mean"]) - gold) < 0.05


@pytest.mark.filterwarnings("ignore::raterzoo.inference.ConvergenceWarning")
def test_the_joint_posterior_is_near_the_truth_where_that_of_the_raters_is_too_low(case, tmp_path):
    labels, predictions, gold = case
    joint, alone = fitted(labels.with_predictions(predictions)), fitted(labels)
    assert is_near_truth(joint, predictions, gold)
    assert not is_near_truth(
        alone, predictions, gold
    )  # the same estimate by a posterior that has not seen the predictions
    low = evaluation.uncertainty_adjusted(ACCURACY, alone, predictions, **QUIET)
    assert gold - float(low.mean()) > 0.08
    assert low.attrs["question"] == questions.RATERS and question(joint, predictions) == questions.TRUTH
    joint.to_netcdf(tmp_path / "joint.nc", engine="h5netcdf")
    with xr.open_datatree(tmp_path / "joint.nc", engine="h5netcdf") as read:
        assert question(read, predictions) == questions.TRUTH
        assert sorted(read["constant_data"]["rater_kind"].to_numpy().astype(str)) == [
            "classifier",
            *["person"] * 3,
        ]


def test_the_benchmark_counts_coverage_and_bias():
    design = Design(items=2000, categories=3, prevalence=0.1, hardness=1.0, copies=0.5)
    truth, labels, predictions = simulated(design, np.random.default_rng(1))
    assert np.bincount(truth)[0] == pytest.approx(200, abs=4 * np.sqrt(180))
    for right, label in (
        (design.right_people, labels.label_code.reshape(-1, 3)[:, 0]),
        (0.824, predictions.sel(classifier="net").to_numpy()[:, 0]),
        (0.824, predictions.sel(classifier="judge").to_numpy()[:, 0]),
    ):
        assert (label == truth).mean() == pytest.approx(right, abs=4 * np.sqrt(right * (1 - right) / 2000))
    same = (predictions.sel(classifier="net") == predictions.sel(classifier="judge")).to_numpy().mean()
    assert same > 0.85  # half of them repeated; .7 if the judge erred independently
    own = [
        Estimates([0.8, 0.7, 0.9], [0.8, 0.6, 1.0], None, True),
        Estimates([0.6, 0.5, 0.7], [0.7, 0.5, 0.9], None, False),
    ]
    cells = coverage_row(Design(right_classifier=0.8), own)
    assert cells == ["0.500", "-0.1000", "0.200", "0.50", "1.000", "-0.0500", "0.400", "", ""]
    found = np.array([[[0.8, 0.7, 0.9]] * 5, [[0.6, 0.5, 0.7]] * 5])
    row = summary(found, 0.8)[2]
    assert row["estimate"] == "joint" and row["coverage"] == 0.5
    assert row["bias"] == pytest.approx(-0.1) and row["width"] == pytest.approx(0.2)


@pytest.mark.slow
def test_the_samplers_of_the_table_of_coverage_draw_what_sample_draws():
    """Models built for another simulation, and parts of `sample` left out, change no draw, check or interval."""
    design = Design(people=2, items=60, prevalence=0.2, copies=0.5)
    _, labels, predictions = simulated(design, np.random.default_rng(5))
    seen = labels.with_predictions(predictions)
    builders = (
        models.dawid_skene,
        partial(models.correlated_votes, confusion_concentration=None),
        lambda own: models.shared_guess(own, "kind", ("person",)),
    )
    for found, build in zip(samplers_of(design)(seen, 5), builders, strict=True):
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            drawn = inference.sample(build(seen), **FEW, random_seed=5, progressbar=False)
        for group in ("posterior", "observed_data"):
            own, expected = found[group].to_dataset(), drawn[group].to_dataset()
            xr.testing.assert_identical(own[sorted(own)], expected[sorted(expected)])
        again = [evaluation.metric_draws(ACCURACY, of, predictions, **DRAWN)["both"] for of in (found, drawn)]
        np.testing.assert_array_equal(*again)
        checks = [evaluation.model_checks(of, "kind", replicates=99, random_seed=1) for of in (found, drawn)]
        xr.testing.assert_equal(*checks)
