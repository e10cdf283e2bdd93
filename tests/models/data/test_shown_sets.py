"""Sets of categories that raters were shown: three ways to say so, one container; what contradicts them is refused."""

import numpy as np
import pandas as pd
import pytest
import raterzoo
from raterzoo import evaluation, models
from raterzoo.models import DataError

R = models.PartialRankings
# x was shown A and B and ranked A; y was shown all three and ranked B, A
ROWS = {"item": [*"aaaaa"], "rater": [*"xxyyy"], "category": [*"ABABC"], "rank": [1, None, 2, 1, None]}
RANKED = {"item": [*"aaa"], "rater": [*"xyy"], "category": [*"AAB"], "rank": [1, 2, 1]}
SETS = [["A", "B"], ["A", "B", "C"], ["A", "B", "C"]]
NESTED = {"a": {"x": [["A"]], "y": [["B"], ["A"]]}}


def two_raters():
    return R.from_table({**RANKED, "shown": SETS}, shown="shown")


def test_the_layout_by_hand():
    found = two_raters()
    assert found.has_shown_sets
    assert (found.shown_start.tolist(), found.shown_code.tolist()) == ([0, 2, 5], [0, 1, 0, 1, 2])
    assert (found.category_code.tolist(), found.block_start.tolist()) == ([0, 1, 0], [0, 1, 2, 3])
    assert "2 to 3 (median 2.5) an annotation" in found.report()


@pytest.mark.parametrize(
    "read",
    [
        lambda: R.from_table(ROWS, shown="rank"),
        lambda: R.from_table(pd.DataFrame(ROWS), shown="rank", missing="drop"),
        lambda: R.from_table({**ROWS, "shown": [True] * 5}, shown="shown"),
        lambda: R.from_table(
            {name: [*own, more] for (name, own), more in zip(ROWS.items(), ["a", "x", "C", ""], strict=True)}
            | {"seen": ["1"] * 5 + ["0"]},
            shown="seen",
        ),
        lambda: R.from_table({**RANKED, "shown": ['["B","A"]', "['A', 'B', 'C']", '["C","B","A"]']}, shown="shown"),
        lambda: R.from_table({**RANKED, "shown": ["B|A", "A | B | C", "C|B|A"]}, shown="shown"),
        lambda: R.from_table({**RANKED, "shown": [np.array(own) for own in SETS]}, shown="shown"),
        lambda: R.from_blocks(NESTED, shown={"a": {"x": ["A", "B"], "y": ["A", "B", "C"]}}),
        lambda: R.from_table(two_raters().to_table(), shown="shown"),
        lambda: raterzoo.read(ROWS, "rankings", columns={"shown": "rank"}),
        lambda: raterzoo.read({**ROWS, "shown": [True] * 5}, "rankings"),
        lambda: R.from_table({**RANKED, "shown": [[*own, "unsure"] for own in SETS]}, shown="shown", no_answer="unsure"),
    ],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:no answer is one of")
def test_every_way_to_say_it_gives_one_container(read):
    assert read() == two_raters()


def test_sets_count_in_comparisons_and_all_is_none():
    plain = R.from_table(RANKED, categories=["A", "B", "C"])
    assert two_raters() != plain
    assert R.from_table({**RANKED, "shown": [["A", "B", "C"]] * 3}, shown="shown") == plain
    assert not plain.has_shown_sets and "categories shown" not in plain.report()
    assert set(plain.to_table()) == {"item", "rater", "category", "rank"}


def test_integers_stay_integers_also_beside_text_of_lists():
    table = {
        "item": [1, 1],
        "rater": [1, 2],
        "category": [7, 8],
        "rank": [1, 1],
        "shown": ["[7, 8]", "[8, 9]"],
    }
    found = R.from_table(table, shown="shown")
    assert found.categories.tolist() == [7, 8, 9] and found.shown_code.tolist() == [0, 1, 1, 2]
    as_text = {name: list(map(str, cells)) for name, cells in table.items()}
    assert R.from_table(as_text, shown="shown").categories.tolist() == ["7", "8", "9"]


def test_selection_new_names_and_predictions_keep_the_sets():
    drawn = models.simulators.rankings(
        items=4, categories=5, raters=3, block_sizes=(1, 1), shown=3, random_seed=1
    )
    data = drawn.data
    assert np.diff(data.shown_start).tolist() == [3] * 12
    part = data.select(items=data.items[[2, 0]])
    own = slice(*data.shown_start[[6, 9]])
    assert part.shown_code[:9].tolist() == data.shown_code[own].tolist()
    hidden = data.anonymized("all", random_seed=1)
    assert sorted(np.bincount(hidden.shown_code)) == sorted(np.bincount(data.shown_code))
    rows = {"item": data.items, "category": data.categories[:4], "classifier": ["net"] * 4, "rank": [1] * 4}
    predictions = evaluation.predictions_from_table(rows, rank="rank", classifier="classifier")
    joined = models.PartialRankings.from_table(
        {name: list(map(str, own)) if name in ("item", "rater", "category") else own for name, own in data.to_table().items()},
        shown="shown", categories=list("01234"),
    ).with_predictions(predictions.astype(str).assign_coords(item=predictions["item"].astype(str)))  # fmt: skip
    net = joined.raters.tolist().index("net")
    assert np.diff(joined.shown_start)[joined.annotation_rater == net].tolist() == [5] * 4
    assert np.diff(joined.shown_start)[joined.annotation_rater != net].tolist() == [3] * 12


@pytest.mark.parametrize(
    ("table", "row", "column", "found"),
    [
        ({**RANKED, "shown": [[]] * 3}, 1, "shown", "nothing"),
        ({**RANKED, "shown": [["B", "C"]] * 3}, 1, "shown", "'A'"),
        ({**RANKED, "shown": [["A", "Z"], *SETS[1:]]}, 1, "shown", "'Z'"),
        ({**RANKED, "shown": [*SETS[:2], ["A", "B"]]}, 3, "shown", "row 2"),
        ({**RANKED, "shown": [*SETS[:2], None]}, 3, "shown", "None"),
        ({**ROWS, "shown": [True, True, True, False, True]}, 4, "shown", "'B'"),
        ({**ROWS, "shown": [True, True, True, "maybe", True]}, 4, "shown", "'maybe'"),
        ({**ROWS, "rank": [None, None, 1, 2, 3], "shown": [True] * 5}, 1, "category", "nothing"),
        ({**ROWS, "category": [*"AAABC"], "shown": [True] * 5}, 2, "category", "'A'"),
    ],
)
def test_contradictions_are_refused_at_their_row(table, row, column, found, golden):
    with pytest.raises(models.DataError) as caught:
        R.from_table(table, shown="shown", categories=["A", "B", "C"])
    assert (caught.value.row, caught.value.column) == (row, column)
    assert found in str(caught.value)
    if column == "shown" or row == 1:
        assert "'a'" in str(caught.value) or found in ("'maybe'", "None")
    golden.says(str(caught.value))


def test_nested_sets_must_cover_every_annotation():
    with pytest.raises(models.DataError, match="'y'"):
        R.from_blocks(NESTED, shown={"a": {"x": ["A", "B"]}})


def test_the_remedy_for_a_choice_among_several_works():
    choices = [("A", ["B", "C"]), ("B", ["A"])]
    with pytest.raises(models.DataError) as caught:
        models.Comparisons.from_pairs(choices)
    code = caught.value.remedy.partition(": ")[2].partition(", and inference")[0]
    found = eval(code, {"PartialRankings": R, "choices": choices})  # the printed remedy
    assert (found.category_code.tolist(), found.shown_code.tolist()) == ([0, 1], [0, 1, 2, 0, 1])


def test_a_winner_beside_several_losers_is_a_choice_and_the_remedy_works(golden):
    """Read as the remedy says, the choices are those of the remedy for pairs in Python."""
    choices = {"winner": ["A", "B"], "losers": ["B,C", "A"]}
    for read in (models.Comparisons.from_table, lambda table: raterzoo.read(table, "comparisons")):
        with pytest.raises(DataError) as refused:
            read(choices)
        assert refused.value.column == "losers"
    golden.says(str(refused.value))
    table = {
        "item": ["q"] * 2,
        "rater": [0, 1],
        "category": ["A", "B"],
        "rank": [1, 1],
        "shown": ["A|B|C", "B|A"],
    }
    same = R.from_blocks([[[["A"]], [["B"]]]], shown=[[["A", "B", "C"], ["B", "A"]]], items=["q"])
    found = raterzoo.read(table, "rankings")
    assert found.shown_start.tolist() == same.shown_start.tolist() == [0, 3, 5]
    assert found.shown_code.tolist() == same.shown_code.tolist()


def test_a_simulated_set_holds_all_ranks():
    with pytest.raises(ValueError, match="shown=1 "):
        models.simulators.rankings(block_sizes=(1, 1), shown=1, random_seed=1)
