"""Places that cannot be written are refused before anything is read or computed."""

import pytest

from tests.support.command_line import run, said


@pytest.mark.parametrize(
    "command",
    [
        ("demo", "--out"),
        ("report", "no.csv", "--out"),
        ("fit", "no.csv", "-o"),
        ("fit", "no.csv", "-o", "{file}/p.zarr"),
        ("rank", "no.csv", "--out"),
        ("evaluate", "no.nc", "no.csv", "--out"),
        ("equivalence", "no.csv", "no.csv", "--out"),
        ("equivalence", "no.csv", "no.csv", "--plot"),
    ],
    ids=" ".join,
)
def test_a_file_is_no_folder(tmp_path, command):
    file = tmp_path / "kept.txt"
    file.write_text("kept")
    last = command[-1].format(file=file)
    place = () if last != command[-1] else (file if command[0] in ("demo", "report") else file / "x.nc",)
    if place and command[0] in ("rank", "evaluate", "equivalence"):
        place = (file / ("x.svg" if last == "--plot" else "x.csv"),)
    result = run(*command[:-1], last, *place)
    assert result.exit_code == 2 and "kept.txt is a file, not a folder; name another place" in said(result)
    assert file.read_text() == "kept"


def test_a_folder_is_no_file(tmp_path):
    (tmp_path / "p.nc").mkdir()
    result = run("fit", "no.csv", "-o", tmp_path / "p.nc")
    assert result.exit_code == 2 and "p.nc: that is a folder; name a file in it" in said(result)
