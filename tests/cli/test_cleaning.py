"""Repeated answers and look-alikes: said by the commands that read a table, and taken out when asked."""

import numpy as np
import pytest
from raterzoo import models
from raterzoo.models.data.container import suspicious_ids
from raterzoo.models.data.look_alikes import look_alikes
from raterzoo.reports.composition import _summary_of

from tests.support.command_line import run, said, write

QUICK = ("--kind", "labels", "--model", "dirichlet", "--draws", 200, "--seed", 2)
ROWS = [
    ("m1", "Ann", "ham"),
    ("m1", "Bob", "HAM "),
    ("m1", "Bob", "HAM "),
    ("m2", "Ann", "spam"),
    ("m2", "bob ", "ham "),
]
ROWS += [("m3", "Ann", "ham"), ("m3", "Bob", "spam")]
CHANGED = [
    *ROWS,
    ("m2", "Ann", "ham"),
    ("m2", "Ann", "spam"),
]  # an answer that contradicts the first, and one that repeats it
TABLE = {name: [row[k] for row in ROWS] for k, name in enumerate(("item", "rater", "label"))}


@pytest.fixture
def table(tmp_path):
    return write(tmp_path / "mail.csv", TABLE)


def test_a_fit_says_what_it_counts_twice_and_apart(table, tmp_path, golden):
    result = run("fit", table, "-o", tmp_path / "p.nc", *QUICK)
    assert result.exit_code == 0, result.output
    golden.says(
        result.output,
        "categories that",
        "raters that",
        "annotations repeat",
        "--merge-look-alikes takes",
        "--drop-duplicates counts",
    )


def test_contradictions_are_told_apart_from_exact_repeats(tmp_path, golden):
    """One repeat was there before; of the two further answers one repeats exactly and one contradicts."""
    cells = {name: [row[k] for row in CHANGED] for k, name in enumerate(TABLE)}
    result = run("fit", write(tmp_path / "mail.csv", cells), "-o", tmp_path / "p.nc", *QUICK)
    assert result.exit_code == 0, result.output
    golden.says(result.output, "annotations repeat")
    golden.says(result.output, "annotations contradicts")
    labels = models.Labels.from_table(cells)
    golden.says(_summary_of(labels), "annotations contradicts")
    golden.says(labels.report(), "another label")
    assert labels.without_duplicates().contradictions() == 1
    assert models.Labels.from_table(TABLE).contradictions() == 0


def test_a_vote_contradicts_another_whichever_item_is_on_the_left(golden):
    votes = [
        ("Ann", "a", "b", "left"),
        ("Ann", "b", "a", "right"),
        ("Ann", "b", "a", "left"),
        ("Bob", "b", "a", "left"),
    ]
    votes += [("Ann", "a", "b", "tie"), ("Ann", "a", "b", "tie")]
    table = {name: [row[k] for row in votes] for k, name in enumerate(("rater", "left", "right", "winner"))}
    found = models.Comparisons.from_table(table, rater="rater")
    assert found.contradictions() == 2  # won by b, and a tie
    golden.says(found.report(), "another winner")
    anonymous = models.Comparisons.from_table({k: v for k, v in table.items() if k != "rater"})
    assert anonymous.contradictions() == 0


def test_a_report_says_it_too(golden):
    text = _summary_of(models.Labels.from_table(TABLE))
    assert "--drop-duplicates" in text
    golden.says(text, "annotations repeat")
    assert "--merge-look-alikes" in text
    golden.says(text, "Categories that")
    clean = models.Labels.from_table({"item": [1, 2], "rater": ["a", "a"], "label": ["x", "y"]})
    assert _summary_of(clean) == clean.report()


@pytest.mark.parametrize("command", ["fit", "equivalence"])
def test_the_options_take_them_out(table, tmp_path, command, golden):
    options = ("--merge-look-alikes", "--drop-duplicates")
    if command == "fit":
        result = run("fit", table, "-o", tmp_path / "p.nc", *QUICK, *options)
    else:
        law = {
            "item": ["m1", "m2", "m3"] * 2,
            "category": ["ham"] * 3 + ["spam"] * 3,
            "score": [0.9, 0.5, 0.5, 0.1, 0.5, 0.5],
        }
        result = run("equivalence", table, write(tmp_path / "law.csv", law), "--bootstrap", 0, *options)
    assert result.exit_code == 0, result.output
    golden.says(result.output, "takes categories")
    golden.says(result.output, "--drop-duplicates leaves")
    assert "be different" not in said(result) and "repeat another" not in said(result)


def test_counts_that_a_table_declares_are_no_duplicates(tmp_path):
    counted = {
        "item": ["a", "a", "b"],
        "rater": ["r", "s", "r"],
        "label": ["x", "y", "y"],
        "count": [3, 1, 2],
    }
    result = run("fit", write(tmp_path / "t.csv", counted), "-o", tmp_path / "p.nc", *QUICK)
    assert result.exit_code == 0 and "repeat" not in said(result), result.output


class TestContainers:
    def test_labels(self):
        labels = models.Labels.from_table(
            {**TABLE, "truth": ["ham"] * 3 + ["", ""] + ["HAM "] * 2}, gold="truth"
        )
        merged = labels.with_look_alikes_merged()
        assert merged.categories.tolist() == ["ham", "spam"]
        assert len(merged) == len(labels) and merged.raters.tolist() == ["Ann", "Bob"]
        assert merged.counts.tolist() == [[3, 0], [1, 1], [1, 1]] and merged.gold.tolist() == [0, -1, 0]
        assert len(merged.without_duplicates()) == 6
        clean = merged.without_duplicates()
        assert clean.without_duplicates() == clean == clean.with_look_alikes_merged()

    def test_rankings_keep_the_better_rank(self):
        table = {
            "item": ["a"] * 3,
            "rater": ["r"] * 3,
            "category": ["acne", "eczema", "Acne"],
            "rank": [1, 2, 3],
        }
        merged = models.PartialRankings.from_table(table).with_look_alikes_merged()
        assert len(merged.categories) == 2 and merged.category_code.tolist() == [0, 1]
        assert merged.without_duplicates() is merged

    def test_comparisons_leave_out_votes_of_an_item_with_itself(self):
        table = {
            "left": ["a", "A", "b", "b"],
            "right": ["b", "a", "c", "c"],
            "winner": ["left"] * 4,
            "rater": list("rrss"),
        }
        merged = models.Comparisons.from_table(table).with_look_alikes_merged()
        assert len(merged) == 3 and len(merged.items) == 3 and len(merged.without_duplicates()) == 2

    def test_scores_and_anonymous_answers(self):
        table = {"item": ["x", "X", "y"], "score": [1.0, 1.0, 2.0]}
        merged = models.Scores.from_table(table, rater=None).with_look_alikes_merged()
        assert len(merged.items) == 2 and len(merged.without_duplicates()) == 3

    def test_one_category_is_refused(self, golden):
        labels = models.Labels.from_table({"item": ["a", "a"], "rater": ["r", "s"], "label": ["ham", "Ham"]})
        with golden.raises(models.DataError):
            labels.with_look_alikes_merged()

    def test_integers_have_no_look_alikes(self):
        labels = models.Labels.from_table({"item": [1, 2], "rater": [1, 2], "label": np.array([3, 4])})
        assert labels.with_look_alikes_merged() == labels


class TestCheck:
    """`raterzoo check` names the option that cleans a finding in the line of the finding."""

    def lines(self, path, *options):
        result = run("check", path, "--kind", "labels", *options)
        assert result.exit_code == 0, result.output
        return {line.strip().split("  ")[0]: line for line in result.output.splitlines()}

    @pytest.mark.filterwarnings("always")
    def test_each_finding_has_its_option(self, tmp_path):
        rows = {**TABLE, "label": [*TABLE["label"][:-1], "n/a"]}
        found = self.lines(write(tmp_path / "t.csv", rows))
        assert "--drop-duplicates" in found["repeated answers"]
        assert "--merge-look-alikes" in found["look-alike raters"]
        assert "--merge-look-alikes" in found["look-alike categories"]
        assert "--no-answer" in found["categories that may be missing"]
        assert not [name for name, line in found.items() if "--" in line and name in ("items", "answers")]

    def test_the_options_clean(self, table):
        found = self.lines(table, "--drop-duplicates", "--merge-look-alikes")
        assert "look-alike raters" not in found and "look-alike categories" not in found
        assert "--" not in found["repeated answers"]


ALIKE = {
    "Cyrillic а": ("ham", "h\u0430m", "CYRILLIC SMALL LETTER A"),
    "Cyrillic capitals": ("HAM", "\u041d\u0410\u041c", "CYRILLIC CAPITAL LETTER EN"),
    "Greek": ("Beta", "\u0392eta", "GREEK CAPITAL LETTER BETA"),
    "zero-width space": ("ham", "ha\u200bm", "ZERO WIDTH SPACE"),
    "joiner": ("ham", "ha\u200dm", "ZERO WIDTH JOINER"),
    "soft hyphen": ("ham", "ha\u00adm", "SOFT HYPHEN"),
    "byte order mark": ("ham", "\ufeffham", "ZERO WIDTH NO-BREAK SPACE"),
    "full-width": ("ham", "\uff48\uff41\uff4d", ""),
    "accents in two forms": ("caf\u00e9", "cafe\u0301", ""),
    "case of Cyrillic": ("\u041d\u0410\u041c", "\u043d\u0430\u043c", ""),
    "two steps": ("HAM", "h\u0430\u200bM ", "CYRILLIC SMALL LETTER A"),
}


class TestLookAlikes:
    @pytest.mark.parametrize("name", ALIKE)
    def test_they_are_found_named_and_merged(self, name):
        one, other, odd = ALIKE[name]
        table = {"item": [1, 2, 3, 3], "rater": ["r", other, one, one], "label": [one, other, one, "spam"]}
        labels = models.Labels.from_table(table)
        assert look_alikes(labels.categories) == [sorted([one, other], key=labels.categories.tolist().index)]
        assert labels.report().count(odd) >= 2 and "look-alike raters" in labels.report()
        merged = labels.with_look_alikes_merged()
        assert len(merged.categories) == 2 and len(merged.raters) == 2

    def test_what_differs_to_the_eye_is_none(self):
        apart = [
            "ham",
            "hem",
            "HAM1",
            "\u043d\u0430\u043c",
            "l1",
            "I1",
            "rn",
            "m",
            "0",
            "O",
            "resume",
            "r\u00e9sum\u00e9",
        ]
        assert look_alikes(np.array(apart)) == []

    def test_those_that_are_not_shown_are_counted(self, golden):
        names = [f"{letter}{spaces}x" for letter in "abcdefg" for spaces in ("", *"\u200b\u200c\u200d\u2060")]
        names += ["A\ufeffx", "a\u00adx"]
        lines = suspicious_ids({"items": np.array(names)})
        golden.says(lines["look-alike items"], "more; 'bx' /")
        golden.says(lines["look-alike items"], "more groups")
        assert lines["look-alike items"].count("more") == 2

    def test_the_letter_is_said(self, tmp_path, golden):
        table = {"item": ["a", "b"], "rater": ["r", "r"], "label": ["ham", "h\u0430m"]}
        result = run("check", write(tmp_path / "t.csv", table), "--kind", "labels")
        golden.says(result.output, "CYRILLIC SMALL")
