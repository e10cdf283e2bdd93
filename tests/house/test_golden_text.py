"""Golden text: its files have entries of tests that exist, and what is said is compared with them."""

import ast
import warnings
from types import SimpleNamespace

import pytest

from tests.support import golden_text
from tests.support.golden_text import (
    FOLDER,
    TESTS,
    Golden,
    normalised,
    owner_of,
    parsed,
    sentence_about,
    written,
)

FILES = sorted(path.relative_to(FOLDER) for path in FOLDER.rglob("*.txt"))


def names_of(module):
    """Return the names of the tests of a module that have golden text, without running it."""
    return {
        node.name if owner is tree else f"{owner.name}::{node.name}"
        for tree in [ast.parse(module.read_text(encoding="utf-8"))]
        for owner in [tree, *(one for one in tree.body if isinstance(one, ast.ClassDef))]
        for node in owner.body
        if isinstance(node, ast.FunctionDef) and "golden" in {argument.arg for argument in node.args.args}
    }


def test_every_entry_is_of_a_test_that_exists():
    assert FILES
    for file in FILES:
        module = (TESTS / file).with_name(f"test_{file.stem}.py")
        assert module.exists(), f"{file} is of no module of tests"
        text = (FOLDER / file).read_text(encoding="utf-8")
        entries = parsed(text)
        assert written(entries) == text, f"{file}: `pytest --rewrite-golden` writes it"
        assert {owner_of(key).partition("[")[0] for key in entries} <= names_of(module), file


def test_what_is_written_is_read():
    entries = {"test_a": "one\n\n  two\n  ", "test_b[x: y]": "three", "test_b[x: y] (2)": ""}
    assert parsed(written(entries)) == entries
    assert [owner_of(key) for key in entries] == ["test_a", "test_b[x: y]", "test_b[x: y]"]


def test_what_varies_is_left_out(tmp_path):
    text = f"{tmp_path}/a b.csv, '{tmp_path}' {TESTS}/x <object at {hex(id(tmp_path))}> \n"
    assert normalised(text) == "<tmp>/a b.csv, '<tmp>' <repository>/tests/x <object at <address>>"


def test_a_fragment_is_the_sentence_or_the_element_of_a_page():
    assert (
        sentence_about("<p>The mean is -0.251. It leans</p>\n<b>No mean</b>", "mean")
        == "The mean is -0.251.\nNo mean"
    )
    with pytest.raises(AssertionError, match="median"):
        sentence_about("The mean is 2.", "median")


@pytest.fixture
def book(tmp_path, monkeypatch):
    """Return golden text of one test, with an entry and a second one."""
    monkeypatch.setattr(golden_text, "FOLDER", tmp_path)
    (tmp_path / "house").mkdir()
    (tmp_path / "house" / "x.txt").write_text(
        written({"test_x": "one", "test_x (2)": "two", "test_y": "one"})
    )
    config = SimpleNamespace(getoption=lambda name: False)
    return Golden(
        SimpleNamespace(path=TESTS / "house" / "test_x.py", nodeid="tests/test_x.py::test_x", config=config)
    )


def test_what_is_said_is_compared(book):
    with book.raises(ValueError):
        raise ValueError("one")
    with pytest.raises(pytest.fail.Exception, match="rewrite-golden"):
        book.says("three")
    with pytest.raises(pytest.fail.Exception, match="rewrite-golden"), book.warns(UserWarning):
        warnings.warn("one", UserWarning, stacklevel=1)


def test_what_is_no_longer_said_is_refused(book):
    book.says("one")
    with pytest.raises(pytest.fail.Exception, match="not said"):
        book.close()
    book.says("the mean. two", "two")
    book.close()
