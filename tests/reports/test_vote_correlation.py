"""What reports on labels say of raters who err together: both certainties, the correlation and its source."""

import warnings

import numpy as np
import pytest
from raterzoo import inference, models, reports
from raterzoo.reports.sections import vote_correlation

from tests.support.monte_carlo import seed_of


def table_of(correlation, gold=0):
    """Answers of 10 of 12 raters to 120 items, .8 right on average, and the truth of the first `gold` items."""
    rng = np.random.default_rng(seed_of("votes"))
    truth = rng.integers(2, size=120)
    right = np.full(120, 0.8)
    if correlation:
        c = 1 / correlation - 1
        right = rng.beta(0.8 * c, 0.2 * c, 120)
    rater = np.array([rng.permutation(12)[:10] for _ in range(120)])
    label = np.where(rng.random((120, 10)) < right[:, None], truth[:, None], 1 - truth[:, None])
    item = np.repeat(np.arange(120), 10)
    known = np.where(item < gold, truth[item].astype(str), "")
    labels = {"item": item, "rater": rater.ravel(), "label": label.ravel().astype(str), "gold": known}
    return models.Labels.from_table(labels, gold="gold")


def words_of(labels, **prior):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
        tree = inference.sample(
            models.correlated_votes(labels, **prior), draws=200, thin=1, random_seed=1, progressbar=False
        )
    words, facts = vote_correlation.independence_in_words(tree, labels, 1)
    return words, facts["correlation"], tree


def test_both_certainties_and_the_source_of_the_correlation_are_said(golden):
    labels = table_of(0.2)
    words, facts, tree = words_of(labels)
    drawn = tree["posterior"]["vote_correlation"].to_numpy()
    assert facts["effective_answers"]["mean"] == pytest.approx((10 / (1 + 9 * drawn)).mean(), rel=1e-6)
    assert f"tell as much as {facts['effective_answers']['mean']:.1f} independent ones (" in words
    golden.says(words, "public studies")
    assert "err independently" not in words
    golden.says(words, "at random")
    independent = tree["posterior"]["independent_plausibility"].mean(("chain", "draw")).max("category").mean()
    assert facts["independent"]["mean"] == pytest.approx(float(independent), abs=2e-3)
    assert f"would claim {facts['independent']['mean']:.3f}" in words
    report = reports.make(tree, annotations=labels)
    (certainty,) = (section for section in report.sections if section.key == "certainty")
    assert words in certainty.text
    assert certainty.facts["mean"] < facts["independent"]["mean"] - 0.03


def test_gold_and_a_given_prior_are_the_source_that_is_said(golden):
    words, facts, _ = words_of(table_of(0.2, gold=50))
    assert "would tell" not in words
    golden.says(words, "public studies")
    assert facts["gold_items"] == 50
    words, facts, _ = words_of(table_of(0.2), vote_correlation=(20.0, 20.0))
    assert facts["source"] == "given"
    golden.says(words, "their correlation.")


def test_raters_who_look_independent_are_said_to(golden):
    words, facts, _ = words_of(table_of(0.0))
    sure = facts["independent_probability"]
    assert sure > 0.6 and f"independently: {100 * sure:.0f} % (50 %" in words
    golden.says(words, "independent raters")
    assert abs(facts["residual_correlation"] - facts["expected_residual_correlation"]) < 0.03


def test_answers_that_differ_in_number_are_those_of_a_typical_item(golden):
    labels = table_of(0.2)
    table = labels.to_table()
    fewer = {name: np.asarray(table[name])[5:] for name in ("item", "rater", "label")}
    words = words_of(models.Labels.from_table(fewer))[0]
    golden.says(words, "typical item")


@pytest.mark.parametrize(
    ("model", "said"),
    [
        ("dawid_skene", "this model claimed"),
        ("one_coin", "dawid_skene, which"),
        ("ebcc", "given the kind of the item: on 14 public studies with known truth dawid_skene, whose"),
    ],
)
def test_a_model_of_independent_raters_is_seen_from_outside(model, said):
    labels = table_of(0.2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", inference.ConvergenceWarning)  # few draws
        tree = inference.sample(getattr(models, model)(labels), draws=200, random_seed=1, progressbar=False)
    words, facts = vote_correlation.independence_in_words(tree, labels, 1)
    assert "on 14 public studies with known truth" in words and said in words
    assert facts == {"public_studies": {"studies": 14, "claimed": 0.96, "right": 0.87}}


def test_other_models_have_nothing_to_say_of_it():
    labels = table_of(0.0)
    tree = inference.sample(models.dirichlet(labels), draws=50, random_seed=1, progressbar=False)
    assert vote_correlation.independence_in_words(tree, labels, 1) == ("", {})


@pytest.mark.parametrize(
    ("kinds", "offered"),
    [({"kind": ["person"] * 3 + ["llm"] * 9}, True), ({"kind": ["llm"] * 12}, False), ({}, False)],
)
def test_groups_that_may_share_errors_are_offered_shared_guess(kinds, offered, golden):
    rater = np.tile(np.arange(12), 5)
    columns = {"item": np.repeat(np.arange(5), 12), "rater": rater, "label": np.resize(["a", "b"], 60)}
    columns |= {name: np.array(values)[rater] for name, values in kinds.items()}
    words = vote_correlation.groups_in_words(models.Labels.from_table(columns, rater_attributes=list(kinds)))
    assert bool(words) == offered
    if offered:
        golden.says(words, "raters are")
        golden.says(words, "models.shared_guess")


@pytest.mark.parametrize(("gold", "independent", "said"), [(0, [], True), (10, [], False), (0, [0], False)])
def test_one_group_of_all_raters_is_said_to_rest_on_what_is_not_copied(gold, independent, said):
    labels = table_of(0.2, gold)
    groups = {rater: "people" if rater in independent else "llm" for rater in labels.raters.tolist()}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # few draws, all raters in one group
        model = models.shared_guess(labels, groups, "people" if independent else ())
        tree = inference.sample(model, draws=50, random_seed=1, progressbar=False)
    words, facts = vote_correlation.independence_in_words(tree, labels, 1)
    assert words.startswith("All raters are of the group llm: the truth and what they share") == said
    assert (words == "") == (not said) and facts == {}


def test_a_group_for_every_rater_is_not_offered():
    columns = {
        "item": [0, 0, 1, 1],
        "rater": [0, 1, 0, 1],
        "label": ["a", "b", "a", "a"],
        "kind": ["p", "q", "p", "q"],
    }
    assert (
        vote_correlation.groups_in_words(models.Labels.from_table(columns, rater_attributes=["kind"])) == ""
    )
