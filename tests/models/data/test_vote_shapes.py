"""Tables of votes as people have them: winner and loser, marks of outcomes, names of sides as winners, several prompts."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import raterzoo
from raterzoo import evaluation, inference, models

PAIRS = {"winner": ["a", "b", "c"], "loser": ["b", "c", "a"]}
ARENA = {
    "question_id": ["q1", "q2", "q2", "q3"],
    "model_a": ["model-A", "model-B", "model-A", "model-A"],
    "model_b": ["model-B", "model-A", "model-B", "model-B"],
    "winner": ["model_a", "model_a", "tie (bothbad)", "model_b"],
    "judge": ["u", "u", "v", "u"],
}
MARKS = {
    "winner_model_a": [1, 1, 0, 0],
    "winner_model_b": [0, 0, 0, 1],
    "winner_tie": [0, 0, 1, 0],
    "response_a": ["x", "y", "z", "x"],
    "response_b": ["y", "x", "y", "z"],
}


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pa.table])
@pytest.mark.parametrize(
    "names",
    [("winner", "loser"), ("Winner ID", "loser_id"), ("chosen_model", "rejected-model"), ("better", "worse")],
)
def test_winner_and_loser_are_votes(frame, names):
    table = frame(dict(zip(names, PAIRS.values(), strict=True)))
    for votes in (raterzoo.read(table), models.Comparisons.from_table(table, left=names[0], right=names[1])):
        assert votes.items.tolist() == ["a", "b", "c"] and votes.outcome.tolist() == [0, 0, 0]
        assert votes.left.tolist() == [0, 1, 2] and votes.right.tolist() == [1, 2, 0]


def test_columns_of_sides_count_beside_winner_and_loser():
    votes = models.Comparisons.from_table(PAIRS | {"left": [*"bba"], "right": [*"acc"]}, items=[*"abc"])
    assert votes.outcome.tolist() == [1, 1, 0]  # a-c, b-a, b-c


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
def test_names_of_the_columns_are_sides_whatever_the_items_are_called():
    votes = raterzoo.read(ARENA)
    plain = raterzoo.read(ARENA | {"winner": ["left", "left", "tie", "right"]})
    assert votes == plain and sorted(votes.outcome.tolist()) == [0, 0, 1, 2]
    by_id = raterzoo.read({**ARENA, "winner": ["model-A", "model-B", "tie", "model-B"]})
    assert by_id == votes


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
@pytest.mark.parametrize("frame", [dict, pd.DataFrame, pa.table])
def test_marks_of_outcomes_are_winners(frame):
    table = {name: cells for name, cells in ARENA.items() if name != "winner"} | MARKS
    assert raterzoo.read(frame(table)) == raterzoo.read(ARENA)
    words = {
        name: [str(bool(cell)) for cell in cells] if name.startswith("winner") else cells
        for name, cells in table.items()
    }
    assert raterzoo.read(words) == raterzoo.read(ARENA)


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
def test_two_marks_in_a_row_are_refused():
    table = {name: cells for name, cells in ARENA.items() if name != "winner"} | MARKS
    with pytest.raises(models.DataError) as caught:
        raterzoo.read(table | {"winner_tie": [0, 1, 1, 0]})
    assert (caught.value.row, caught.value.column) == (2, "winner_model_a")


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
def test_votes_on_other_prompts_are_no_duplicates():
    votes = raterzoo.read(ARENA)
    assert votes.several_prompts and votes.without_duplicates() is votes and votes.contradictions() == 0
    assert votes.select(items=votes.items).several_prompts
    same = raterzoo.read(ARENA | {"question_id": ["q1"] * 4})
    assert not same.several_prompts and same.contradictions() == 1
    with pytest.warns(models.DataWarning, match="1 of the 5 votes repeat"):
        again = models.Comparisons.from_table({name: [*cells, cells[-1]] for name, cells in ARENA.items()},
                                              left="model_a", right="model_b", rater="judge")  # fmt: skip
    assert again.several_prompts and len(again) == 5


@pytest.mark.parametrize("choice", [(0, 1, 2), (0, [1, 2])])
def test_a_choice_among_several_is_no_vote(choice):
    with pytest.raises(models.DataError) as caught:
        models.Comparisons.from_pairs([(0, 1), choice])
    assert caught.value.column == "pairs" and caught.value.value == choice


def test_standard_errors_hold_with_one_loser_of_each_choice_as_the_error_says():
    rng = np.random.default_rng(0)
    estimates, errors = [], []
    for _ in range(25):
        won = rng.integers(6, size=120)
        pairs = [(int(w), int((w + 1 + rng.integers(5)) % 6)) for w in won]
        found = inference.bradley_terry_mle(models.Comparisons.from_pairs(pairs))
        estimates.append(found["quality"].to_numpy())
        errors.append(found["standard_error"].to_numpy())
    assert 0.8 < np.std(estimates) / np.mean(errors) < 1.2  # pairs with all five losers: 1.73


def winner_first(n=200):
    rng = np.random.default_rng(3)
    quality = np.linspace(1.2, -1.2, 6)
    pairs = np.stack([rng.choice(6, 2, replace=False) for _ in range(n)])
    won = rng.random(n) < 1 / (1 + np.exp(quality[pairs[:, 1]] - quality[pairs[:, 0]]))
    first, second = np.where(won, *pairs.T), np.where(won, *pairs.T[::-1])
    return {"left": first, "right": second, "winner": first}, {
        "left": pairs[:, 0],
        "right": pairs[:, 1],
        "winner": first,
    }


@pytest.mark.slow
def test_a_winner_written_first_is_no_advantage_of_the_left_side():
    written, shuffled = (models.Comparisons.from_table(own, items=range(6)) for own in winner_first())
    trees = []
    for votes in (written, shuffled):
        model = models.bradley_terry(votes)
        tree = inference.sample(model, draws=800, chains=2, random_seed=1, progressbar=False)
        trees.append(tree["posterior"]["quality"].mean(("chain", "draw")))
        tree = inference.predict(tree, model, random_seed=1, progressbar=False)
        assert evaluation.model_checks(tree, random_seed=1).attrs["fits"] == 1
    np.testing.assert_allclose(*trees, atol=0.06)
    for side in ({"left_side": "shared"}, {"left_bias": True}):
        with pytest.warns(models.DataWarning, match="leave out left_side"):
            models.thurstone(written, **side)
    models.bradley_terry(shuffled, left_side="shared")


def test_chosen_and_rejected_are_votes_where_they_are_named():
    table = {"chosen": ["oak", "fir"], "rejected": ["fir", "elm"]}
    votes = models.Comparisons.from_table(table, left="chosen", right="rejected")
    assert votes.items.tolist() == ["oak", "fir", "elm"] and votes.outcome.tolist() == [0, 0]
    with pytest.raises(models.DataError):  # by default they are columns of texts
        models.Comparisons.from_table(table)


def test_a_column_of_losers_is_no_winner():
    votes = {"left": [*"ab"], "right": [*"bc"], "loser": [*"bc"]}
    for read in (raterzoo.read, models.Comparisons.from_table):
        roles = {"columns": {"winner": "loser"}} if read is raterzoo.read else {"winner": "loser"}
        with pytest.raises(models.DataError) as refused:
            read(votes, **roles)
        assert refused.value.column == "loser"


def test_a_column_of_ties_that_is_not_read_is_named():
    for votes in (PAIRS, {"left": [*"abc"], "right": [*"bca"], "winner": [*"aca"]}):
        with pytest.warns(models.DataWarning, match="'is_tie'"):
            raterzoo.read({**votes, "is_tie": [0, 1, 0]})
    with pytest.warns(models.DataWarning, match="'shown'"):
        raterzoo.read({"item": [1, 2], "rater": [*"ab"], "label": [*"xy"], "shown": ["x|y"] * 2})


def test_whole_numbers_with_a_point_are_the_same_item_in_all_columns():
    plain = models.Comparisons.from_table(
        {"left": [*"123"], "right": [*"231"], "winner": [*"133"]}, rater=None
    )
    table = {"left": [*"123"], "right": ["2.0", "3.0", "1.0"], "winner": ["1.0", "3.0", "3.0"]}
    with pytest.warns(models.DataWarning, match="with and without a point"):
        assert models.Comparisons.from_table(table, rater=None) == plain
    versions = {"left": ["1.5", "2"], "right": ["2.0", "1.5"], "winner": ["left", "left"]}
    assert models.Comparisons.from_table(versions, rater=None).items.tolist() == ["1.5", "2.0", "2"]


@pytest.mark.parametrize("names", [("A", "B"), ("model a", "Model_B")])
def test_names_of_items_that_could_be_sides_are_said_where_they_are_others(names, golden):
    one, two = names
    table = {"left": [one, two, two], "right": [two, one, one], "winner": [one, one, two]}
    with golden.warns(models.DataWarning):  # the item won, once on the left and once on the right
        votes = models.Comparisons.from_table(table, rater=None)
    assert votes.left.tolist() == [0, 1, 1] and votes.outcome.tolist() == [0, 0, 1]
    same = table | {"left": [one] * 3, "right": [two] * 3}
    assert models.Comparisons.from_table(same, rater=None).count.tolist() == [2, 1]
    words = table | {"winner": ["left", "right", "left"]}
    assert models.Comparisons.from_table(words, rater=None) == votes
    other = {
        "left": [*table["left"], "y"],
        "right": [*table["right"], "x"],
        "winner": [*table["winner"], one],
    }
    with golden.raises(models.DataError) as refused:
        models.Comparisons.from_table(other, rater=None)
    assert refused.value.row == 4 and "write left or right" in refused.value.remedy


@pytest.mark.parametrize(
    ("winners", "options", "outcome"),
    [
        (["left", "error", "model_b"], {"no_answer": ["error"]}, [0, 1]),
        (["1", "-1", "2"], {"no_answer": [-1], "levels": ["1", "2"]}, [0, 1]),
        ([0, -1, 1], {"no_answer": [-1], "levels": [0, 1]}, [0, 1]),
    ],
)
def test_the_remedy_of_a_winner_that_is_none_can_be_followed(winners, options, outcome, golden):
    table = {"left": ["x", "x", "x"], "right": ["y", "y", "y"], "winner": winners}
    with golden.raises(models.DataError) as refused:
        models.Comparisons.from_table(table, rater=None)
    assert all(f"{name}=[" in refused.value.remedy for name in options)
    if winners[0] != "1":  # which may be an id
        with pytest.raises(models.DataError) as numbered:
            models.Comparisons.from_table(table | {"left": [7] * 3, "right": [8] * 3}, rater=None)
        assert numbered.value.remedy == refused.value.remedy
    with pytest.warns(models.DataWarning, match="1 of 3 answers"):
        votes = models.Comparisons.from_table(table, rater=None, **options)
    assert votes.outcome.tolist() == outcome
