"""Answers that are no truth: "unsure", "n/a", -1 are said, and left out by name, in every container and on the command line."""

import warnings

import numpy as np
import pandas as pd
import pytest
import raterzoo
from raterzoo import models
from raterzoo.models import Comparisons, DataError, DataWarning, Labels, PartialRankings, Scores

from tests.support.command_line import run, write


def long_table(answers):
    """Return a table with a row for each answer of each item, by raters r0, r1..."""
    rows = [
        (f"i{item}", f"r{rater}", own)
        for item, given in enumerate(answers)
        for rater, own in enumerate(given)
    ]
    return {name: [row[place] for row in rows] for place, name in enumerate(("item", "rater", "label"))}


SNORKEL = long_table([[1, 1, 1, -1], [-1, -1, -1, 1], [0, -1, 0, -1], [-1, 0, -1, 0], [-1, -1, -1, -1]])
WORDS = long_table([["yes", "n/a"], ["no", "Unsure"], ["yes", "yes"], ["no", "None"]])


def warned(read):
    """Return what a reader returned, and all that it warned of."""
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        data = read()
    return data, [str(own.message) for own in found if issubclass(own.category, DataWarning)]


def test_answers_that_may_be_none_are_said_once_with_their_number(golden):
    with golden.warns(DataWarning):
        labels = Labels.from_table(SNORKEL)
    assert labels.categories.tolist() == [-1, 0, 1]
    with golden.warns(DataWarning):
        Labels.from_table(WORDS)
    assert "-1" in labels.report().split("categories that may be missing")[1]


@pytest.mark.parametrize(
    "categories",
    [[-1, 1], [0, 1], [1, 2, 9], ["yes", "no"], [-2, -1, 0, 1, 2], ["-1", "a"], [1, 2, 99, 100], [0.5, 99.0]],
)
def test_scales_are_no_codes(categories):
    """Two signs, scales of both signs, and high numbers of a long scale are answers."""
    found = models.data.no_answers.suspects(np.array(categories))
    assert found == []


@pytest.mark.parametrize(
    ("categories", "odd"),
    [
        ([-1, 0, 1], [-1]),
        (["-1", "0", "3"], ["-1"]),
        ([1, 2, 3, 4, 5, 99], [99]),
        ([0, 1, -99], [-99]),
        (["cat", "CANNOT_JUDGE", "don’t  know", "n/a"], ["CANNOT_JUDGE", "don’t  know", "n/a"]),
    ],
)
def test_codes_and_words_of_no_answer(categories, odd):
    assert models.data.no_answers.suspects(np.array(categories)) == odd


def test_a_truth_is_an_answer():
    """A gold label, or a declared set, says that a word is a category."""
    table = {"item": ["a", "b"], "rater": ["r", "r"], "label": ["none", "some"], "gold": ["none", ""]}
    assert warned(lambda: Labels.from_table(table, gold="gold"))[1] == []
    assert warned(lambda: Labels.from_table(table, categories=["none", "some"]))[1] == []


@pytest.mark.parametrize("frame", [dict, pd.DataFrame])
def test_they_are_left_out_of_labels(frame, golden):
    """All answers of an item agree, and -1 is none of them; the item without another has none, and that is said."""
    with golden.warns(DataWarning):
        labels = Labels.from_table(frame(SNORKEL), no_answer=[-1])
    assert labels.categories.tolist() == [0, 1] and labels.items.tolist() == ["i0", "i1", "i2", "i3", "i4"]
    assert labels.counts.tolist() == [[0, 3], [0, 1], [2, 0], [2, 0], [0, 0]]


def test_one_name_in_any_case_is_enough():
    labels, said = warned(lambda: raterzoo.read(WORDS, no_answer="UNSURE"))
    assert labels.categories.tolist() == ["None", "n/a", "no", "yes"]
    assert len(said) == 2  # what is left out, and what else may be no answer
    labels, said = warned(lambda: raterzoo.read(WORDS, no_answer=["unsure", "n/a", "none"]))
    assert labels.categories.tolist() == ["no", "yes"] and len(said) == 1


def test_a_name_that_no_answer_has_is_said(golden):
    table = long_table([["yes", "no"], ["no", "no"]])
    with golden.warns(DataWarning):
        assert Labels.from_table(table, no_answer=["unsre"]) == Labels.from_table(table)


def test_rows_keep_their_numbers():
    table = long_table([["unsure", "yes"], ["no", ""]])
    with pytest.raises(DataError) as error, pytest.warns(DataWarning):
        Labels.from_table(table, no_answer="unsure")
    assert (error.value.row, error.value.column) == (4, "label")
    with pytest.warns(DataWarning):
        labels = Labels.from_table(table, no_answer="unsure", missing="drop")
    assert len(labels) == 2


def test_all_answers_out_is_an_error(golden):
    with golden.raises(DataError), pytest.warns(DataWarning):
        Labels.from_table(long_table([["unsure", "unsure"]]), no_answer="unsure")


def test_declared_categories_and_gold_without_them():
    table = long_table([["yes", "unsure"], ["no", "yes"]]) | {"gold": ["unsure", "unsure", "no", ""]}
    frame = pd.DataFrame(table).astype({"label": pd.CategoricalDtype(["no", "yes", "unsure"])})
    for own, declared in ((frame, None), (table, ["no", "yes", "unsure"])):
        with pytest.warns(DataWarning):
            labels = Labels.from_table(own, gold="gold", categories=declared, no_answer="unsure")
        assert labels.categories.tolist() == ["no", "yes"] and labels.gold.tolist() == [-1, 0]


def test_wide_tables_and_counts(golden):
    wide = {"item": ["a", "b"], "Ann": ["yes", "unsure"], "Bob": ["no", "yes"]}
    with golden.warns(DataWarning):
        labels = Labels.from_wide(wide, no_answer="unsure")
    assert labels.counts.tolist() == [[1, 1], [0, 1]]
    counts = {"item": ["a", "b"], "no": [1, 0], "yes": [2, 1], "unsure": [0, 3]}
    with golden.warns(DataWarning):
        labels = Labels.from_counts(counts, no_answer="unsure")
    assert labels.categories.tolist() == ["no", "yes"] and labels.counts.tolist() == [[1, 2], [0, 1]]
    for read, table in ((Labels.from_wide, wide), (Labels.from_counts, counts)):
        with pytest.warns(DataWarning, match="no_answer="):
            read(table)


def test_other_kinds():
    """A code among scores, a word among votes and among ranked categories."""
    scores = {"item": list("aabb"), "rater": list("rsrs"), "score": [4, -99, 3, 5]}
    with pytest.warns(DataWarning, match="no_answer="):
        Scores.from_table(scores)
    assert warned(lambda: Scores.from_table(scores, bounds=(-99, 5)))[1] == []
    with pytest.warns(DataWarning):
        assert len(Scores.from_table(scores, no_answer=-99)) == 3
    with pytest.warns(DataWarning):
        wide = {"item": ["a", "b"], "r": [4, "n/a"], "s": [3, 5]}
        assert len(Scores.from_wide(wide, no_answer="N/A")) == 3
    votes = {"left": list("aab"), "right": list("bcc"), "winner": ["left", "skip", "right"]}
    with pytest.raises(DataError) as error:
        Comparisons.from_table(votes, rater=None)
    assert error.value.row == 2 and "no_answer=['skip']" in error.value.remedy
    with pytest.warns(DataWarning):
        assert len(Comparisons.from_table(votes, rater=None, no_answer="skip")) == 2
    ranked = {"item": list("aaa"), "rater": list("rrs"), "category": ["x", "unsure", "y"], "rank": [1, 2, 1]}
    with pytest.warns(DataWarning):
        assert PartialRankings.from_table(ranked, no_answer="unsure").categories.tolist() == ["x", "y"]


@pytest.mark.slow
@pytest.mark.filterwarnings("always")
def test_commands_say_and_leave_them_out(tmp_path, golden):
    path = write(tmp_path / "abst.csv", SNORKEL)
    found = run("check", path, "--kind", "labels")
    golden.says(found.output, "--no-answer")
    found = run("check", path, "--kind", "labels", "--no-answer", "-1")
    assert found.exit_code == 0, found.output
    golden.says(found.output, "set apart", "categories")
    quick = ("--kind", "labels", "--model", "dirichlet", "--draws", 100, "--chains", 2, "--seed", 2)
    for command, out in (("fit", "p.nc"), ("report", "page")):
        found = run(
            command, path, "-o" if command == "fit" else "--out", tmp_path / out, *quick, "--no-answer", "-1"
        )
        assert found.exit_code == 0, found.output
        assert "'-1' 12" in found.output
    found = run("fit", path, "-o", tmp_path / "q.nc", *quick)
    golden.says(found.output, "--no-answer")


def test_analyse_passes_it_on():
    with pytest.warns(DataWarning, match="set apart"):
        analysis = raterzoo.analyse(
            SNORKEL, "labels", model="dirichlet", no_answer=[-1], draws=50, chains=2, progressbar=False
        )
    assert analysis.items["label"].tolist()[:4] == [1, 1, 0, 0]
