"""`raterzoo.read` and the command line read a file alike."""

import warnings

import pytest
import raterzoo
from raterzoo.models import DataError, DataWarning

from tests.support.cli_parts import read_container

DECIMAL_COMMAS = "item;rater;score\na;x;1,5\na;y;2\nb;x;3,25\nb;y;1\n"
GUARDED = "item,rater,label\na,x,'=yes\na,y,no\nb,x,no\nb,y,'=yes\n"
WIDE_WITH_GOLD = "item,ann,bob,gold\na,yes,no,yes\nb,no,no,no\n"
COUNTS_WITH_NOTES = "item,yes,no,note\na,3,1,good\nb,0,4,bad\n"
SYNONYMS = "task,annotator,verdict\na,x,yes\na,y,no\nb,x,no\n"
WINNERS = "winner,loser,voter\na,b,x\nb,c,x\na,c,y\n"
CASES = {
    "decimal commas": (DECIMAL_COMMAS, "scores", {}, {}),
    "wide decimal commas": ("item;x;y\na;1,5;2\nb;3,25;1\n", "scores", {}, {"layout": "wide"}),
    "guarded formulas": (GUARDED, "labels", {}, {}),
    "wide with gold": (WIDE_WITH_GOLD, "labels", {}, {"layout": "wide"}),
    "some raters": (WIDE_WITH_GOLD, "labels", {"rater": ["ann", "bob"]}, {"layout": "wide"}),
    "counts with notes": (COUNTS_WITH_NOTES, "labels", {}, {"layout": "counts"}),
    "synonyms": (SYNONYMS, "labels", {}, {}),
    "named columns": (SYNONYMS, "labels", {"item": "task", "rater": "annotator", "label": "verdict"}, {}),
    "winner and loser": (WINNERS, "comparisons", {}, {}),
}


@pytest.mark.parametrize("case", CASES)
def test_a_file_is_the_same_container(tmp_path, case):
    text, kind, columns, options = CASES[case]
    path = tmp_path / "t.csv"
    path.write_text(text)
    renamings = [
        f"{role}={name}"
        for role, names in columns.items()
        for name in ([names] if isinstance(names, str) else names)
    ]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        own = raterzoo.read(path, kind, columns=columns, **options)
    assert own == read_container(path, kind, renamings, **options)


@pytest.mark.parametrize("case", ["decimal commas", "wide with gold", "counts with notes", "synonyms"])
def test_what_is_not_plain_is_a_warning(tmp_path, case, golden):
    text, kind, _, options = CASES[case]
    path = tmp_path / "t.csv"
    path.write_text(text)
    with golden.warns(DataWarning):
        raterzoo.read(path, kind, **options)


def test_a_column_that_shares_no_label_with_the_others_is_named(golden):
    table = {"item": ["a", "b"], "ann": ["yes", "no"], "bob": ["no", "no"], "comment": ["good", "bad"]}
    with golden.warns(DataWarning):
        raterzoo.read(table, "labels", layout="wide")


@pytest.mark.parametrize(
    ("table", "options"),
    [
        ({"item": ["a"], "rater": ["x"], "answr": ["yes"]}, {"kind": "labels"}),
        ({"item": ["a"], "rater": ["x"], "label": ["yes"], "sort": ["p"]}, {"rater_attributes": ["kind"]}),
        ({"item": ["a"], "rater": ["x"], "label": ["yes"]}, {"bounds": (0, 1)}),
        ({"item": ["a"], "x": ["yes"], "y": ["no"]}, {"kind": "labels", "layout": "wide", "keep": "last"}),
        ({"case": ["a"], "task": ["b"], "rater": ["x"], "label": ["yes"]}, {"kind": "labels"}),
    ],
)
def test_remedies_name_arguments_of_read(table, options, golden):
    with golden.raises(DataError):
        raterzoo.read(table, **options)


def test_a_remedy_works_when_followed():
    table = {"item": ["a", "b"], "rater": ["x", "x"], "answr": ["yes", "no"]}
    with pytest.raises(DataError) as refused:
        raterzoo.read(table, "labels")
    assert "columns={'label': 'answr'}" in refused.value.remedy
    assert len(raterzoo.read(table, "labels", columns={"label": "answr"})) == 2
