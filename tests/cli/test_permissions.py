"""Files of `--anonymize` are of the user alone, whatever the umask is and whatever was there before."""

import os
import stat

import pytest
from raterzoo.inference.storage import store as draw_stores

from tests.support.command_line import run, said, write
from tests.support.runs import Run
from tests.support.stores import journal_of

VOTES = {"item": list("aabb"), "rater": list("rsrs"), "label": list("xxxy")}
QUICK = ("--kind", "labels", "--model", "dirichlet", "--draws", 60, "--chains", 2, "--seed", 3)


@pytest.fixture(autouse=True)
def open_umask():
    before = os.umask(0o022)
    yield
    os.umask(before)


@pytest.fixture
def votes(tmp_path):
    return write(tmp_path / "votes.csv", VOTES)


def modes(path):
    """Permissions of a file, or of a folder and of everything in it."""
    found = [path, *path.rglob("*")] if path.is_dir() else [path]
    return {(file.is_dir(), oct(stat.S_IMODE(file.stat().st_mode))) for file in found}


PRIVATE = {(False, "0o600"), (True, "0o700")}


@pytest.mark.slow
def test_reports(votes, tmp_path):
    out = tmp_path / "report"
    assert run("report", votes, "--out", out, *QUICK).exit_code == 0
    assert modes(out) == {(False, "0o644"), (True, "0o755")}  # the twin
    out.chmod(0o700)
    (out / "mine.csv").write_text("x")  # not of the report: left alone
    os.utime(out / "mine.csv", (1, 1))
    result = run("report", votes, "--out", out, "--anonymize", *QUICK)
    assert result.exit_code == 0, said(result)
    (out / "mine.csv").unlink()
    assert modes(out) == PRIVATE


def test_posteriors(votes, tmp_path):
    path = tmp_path / "p.nc"
    path.touch(0o644)
    assert run("fit", votes, "-o", path, "--anonymize", *QUICK).exit_code == 0
    assert modes(path) == {(False, "0o600")}


@pytest.mark.slow
def test_stores_also_when_they_are_resumed(votes, tmp_path, monkeypatch):
    store, advance = tmp_path / "p.zarr", Run.advance

    def until(own, n):
        if own.drawn >= 20:
            raise KeyboardInterrupt
        return advance(own, n)

    with monkeypatch.context() as patched:
        patched.setattr(Run, "advance", until)
        patched.setattr(draw_stores, "FEWEST_BLOCKS", 6)
        assert run("fit", votes, "-o", store, "--anonymize", *QUICK).exit_code != 0
    assert modes(store) == modes(journal_of(store)) == PRIVATE
    result = run("fit", "--resume", store)
    assert result.exit_code == 0, said(result)
    assert modes(store) == PRIVATE
    assert run("fit", votes, "-o", tmp_path / "open.zarr", *QUICK).exit_code == 0
    assert modes(tmp_path / "open.zarr") == {(False, "0o644"), (True, "0o755")}
    assert os.umask(0o022) == 0o022


def test_tables_of_equivalence(votes, tmp_path):
    predicted = write(
        tmp_path / "predicted.csv", {"item": ["a", "b"], "category": ["x", "y"], "rank": [1, 1]}
    )
    for name, options, mode in (("open.csv", (), "0o644"), ("own.csv", ("--anonymize",), "0o600")):
        result = run("equivalence", votes, predicted, "--out", tmp_path / name, *options)
        assert result.exit_code == 0, said(result)
        tables = [*tmp_path.glob(f"{name.removesuffix('.csv')}*")]
        assert tables and all(modes(table) == {(False, mode)} for table in tables)
