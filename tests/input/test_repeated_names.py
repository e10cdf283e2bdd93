"""A header that has one name twice: no matter to who does not ask for it, else both positions are named."""

import pandas as pd
import pyarrow as pa
import pytest
from raterzoo import models
from raterzoo.models.data import read_table

from tests.support.command_line import run, said

TEXT = "note,item,rater,label,note,label\nu,a,r,x,v,y\nu,a,s,y,v,x\n"
COUNTED = TEXT.replace(",label\n", ",kind\n")


def csv_file(folder, text):
    (folder / "t.csv").write_text(text)
    return folder / "t.csv"


def excel_file(folder, text):
    rows = [line.split(",") for line in text.splitlines()]
    pd.DataFrame(rows[1:]).to_excel(folder / "t.xlsx", index=False, header=rows[0])
    return folder / "t.xlsx"


@pytest.mark.parametrize("file", [csv_file, excel_file])
class TestFiles:
    def test_nobody_asks_for_it(self, file, tmp_path, golden):
        path = file(tmp_path, COUNTED)
        result = run("check", path, "--kind", "labels")
        assert result.exit_code == 0 and "answers" in result.output, result.output
        result = run(
            "check", path, "--kind", "labels", "--column", "group=kind", "--rater-attribute", "group"
        )
        assert result.exit_code == 0, result.output
        with golden.warns(models.DataWarning):
            assert list(read_table(path)) == ["item", "rater", "label", "kind"]

    def test_both_positions_are_named(self, file, tmp_path, golden):
        result = run("check", file(tmp_path, TEXT), "--kind", "labels")
        assert result.exit_code == 2
        golden.says(said(result), "names 'label'")

    def test_a_wide_table_asks_for_all(self, file, tmp_path, golden):
        path = file(tmp_path, "item,r,s,r\na,x,y,x\nb,y,y,x\n")
        result = run("check", path, "--kind", "labels", "--layout", "wide")
        assert result.exit_code == 2, result.output
        golden.says(said(result))


def frames(text):
    rows = [line.split(",") for line in text.splitlines()]
    columns = [pa.array(cells) for cells in zip(*rows[1:], strict=True)]
    return [pd.DataFrame(rows[1:], columns=rows[0]), pa.Table.from_arrays(columns, rows[0])]


@pytest.mark.parametrize("frame", frames(COUNTED), ids=["pandas", "pyarrow"])
def test_frames_without_a_question(frame):
    assert len(models.Labels.from_table(frame)) == 2


@pytest.mark.parametrize("frame", frames(TEXT), ids=["pandas", "pyarrow"])
def test_frames_with_a_question(frame, golden):
    with golden.raises(models.DataError):
        models.Labels.from_table(frame)
