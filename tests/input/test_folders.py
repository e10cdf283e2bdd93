"""Folders of table files: one file for each rater, whose name is the rater, or parts of one table."""

import pandas as pd
import pytest
import raterzoo
from raterzoo.models import DataError, DataWarning, Labels

from tests.support.command_line import run, said, write

OWN = {"ann": ["yes", "no", "yes"], "bob": ["no", "no", "yes"], "carl": ["yes", "no", "no"]}
ITEMS = ["i1", "i2", "i3"]


def expected():
    """Return the labels of all raters from one table."""
    rows = [
        (item, rater, label) for rater, own in OWN.items() for item, label in zip(ITEMS, own, strict=True)
    ]
    return Labels.from_table(pd.DataFrame(rows, columns=["item", "rater", "label"]))


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a file of each rater, one of them Parquet, and a note."""
    place = tmp_path / "answers"
    place.mkdir()
    for rater in ("ann", "bob"):
        write(place / f"{rater}.csv", {"item": ITEMS, "label": OWN[rater]})
    pd.DataFrame({"label": OWN["carl"], "item": ITEMS}).to_parquet(place / "carl.parquet")
    (place / "notes.txt").write_text("by hand")
    (place / ".hidden.csv").write_text("")
    return place


def test_files_without_raters_are_of_a_rater_each(folder, golden):
    with golden.warns(DataWarning):
        labels = raterzoo.read(folder, "labels")
    assert labels == expected()
    with pytest.warns(DataWarning):
        assert raterzoo.read(str(folder)) == expected()
    with pytest.warns(DataWarning):
        two = raterzoo.read([folder / "bob.csv", folder / "ann.csv"], "labels")
    assert sorted(two.raters.tolist()) == ["ann", "bob"]


def test_files_with_raters_are_parts_of_a_table(tmp_path):
    for number, rater in enumerate(OWN):
        write(tmp_path / f"part{number}.csv", {"item": ITEMS, "who": [rater] * 3, "label": OWN[rater]})
    assert raterzoo.read(tmp_path, "labels", columns={"rater": "who"}) == expected()


@pytest.mark.filterwarnings("ignore::raterzoo.models.DataWarning")
def test_errors_name_the_file(folder, golden):
    write(folder / "bob.csv", {"item": ITEMS, "label": ["no", "", "yes"]})
    with golden.raises(DataError) as found:
        raterzoo.read(folder, "labels")
    assert (found.value.row, found.value.column) == (2, "label")
    write(folder / "bob.csv", {"item": ITEMS, "label": OWN["bob"], "time": [1, 2, 3]})
    with golden.raises(DataError) as found:
        raterzoo.read(folder, "labels")
    assert found.value.column == "time"
    write(folder / "bob.csv", {"item": ITEMS, "label": OWN["bob"]})
    write(folder / "bob.tsv", {"item": ITEMS, "label": OWN["bob"]})
    with golden.raises(DataError) as found:
        raterzoo.read(folder, "labels")
    assert found.value.value == "bob"


def test_folder_without_tables(tmp_path, monkeypatch, golden):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    with golden.raises(DataError):
        raterzoo.read("empty", "labels")


def test_command_line_reads_folders(folder, golden):
    result = run("check", folder, "--kind", "labels")
    assert result.exit_code == 0, result.output
    golden.says(said(result))
    hidden = run("check", folder, "--kind", "labels", "--anonymize")
    assert hidden.exit_code == 2
    assert "bob" not in hidden.output
    golden.says(said(hidden))
    write(folder / "bob.csv", {"item": ITEMS, "label": ["no", "", "yes"]})
    broken = run("check", folder, "--kind", "labels")
    assert broken.exit_code == 2
    golden.says(said(broken))
