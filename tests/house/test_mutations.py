"""The driver of the mutation tests: what it changes, which tests it runs against a change, and its page."""

import ast
import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks import mutations
from benchmarks.mutation_operators import by_hand, digest_of, mutated, mutations_of

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("statement", "operator", "after"),
    [
        ("r = a < b", "comparison", {"r = a <= b", "r = a >= b"}),
        ("r = a in b", "comparison", {"r = a not in b"}),
        ("r = a + b", "arithmetic", {"r = a - b"}),
        ("r = a * b", "weight", {"r = a"}),
        ("r = f(a, weights=b)", "weight", {"r = f(a)"}),
        ("r = -a", "sign", {"r = a"}),
        ("r = a[0, b:]", "index", {"r = a[1, b:]", "r = a[0, :]"}),
        ("r = a[-1]", "index", {"r = a[-2]"}),
        ("r = a.sum(axis=-1)", "axis", {"r = a.sum(axis=0)"}),
        ("r = a.mean(('chain', 'draw'))", "axis", {"r = a.mean(('chain',))"}),
        ("r = 0.05", "constant", {"r = 0.1"}),
        ("r = not a", "boolean", {"r = a"}),
        ("r = a and b", "boolean", {"r = a or b"}),
        ("f(True)", "boolean", {"f(False)"}),
        ("f(a)", "statement", {"pass"}),
        ("a = b", "statement", {"pass"}),
        ("a[b] = 'x'", "statement", {"pass"}),
        ("r = 'text'", "statement", set()),
        ("raise ValueError(f'{a - 1} is negative')", "arithmetic", set()),
        ("r: tuple[int, 2] = b", "index", set()),
    ],
)
def test_operators(statement, operator, after, tmp_path):
    source = f"def g(a, b):\n    {statement}\n    return r\n"
    (tmp_path / "one.py").write_text(source)
    found = [own for own in mutations_of(tmp_path, "one.py") if own.operator == operator]
    assert {own.after for own in found} == after
    for own in found:
        new = mutated(tmp_path, own).body[0]
        assert isinstance(new, ast.FunctionDef) and ast.unparse(new.body[0]) == own.after
        assert own.function == "g" and own.line == 2
    assert (tmp_path / "one.py").read_text() == source


def test_a_mutation_by_hand_replaces_a_text_that_stands_once(tmp_path):
    (tmp_path / "one.py").write_text("def f(a):\n    return a + a\n")
    found = by_hand(tmp_path, "one.py", "a + a", "a")
    assert ast.unparse(mutated(tmp_path, found)) == "def f(a):\n    return a" and found.function == "f"
    for text in ("a", "b"):
        with pytest.raises(ValueError, match=f"has '{text}' . times, not once"):
            by_hand(tmp_path, "one.py", text, "c")


def test_comments_and_docstrings_do_not_run_a_file_again():
    source = "def f(x):\n    return x + 1\n"
    same = 'def f(x):\n    """Add one."""\n    return x + 1  # more\n'
    assert digest_of(source) == digest_of(same) != digest_of(source.replace("1", "2"))


PACKAGE = """
def add(a):
    total = a
    total += 1
    return total

def double(a):
    return 2 * a

def unused(a):
    return a
"""
TESTS = """
from functools import cache
import pytest
from pkg import one

@cache
def doubled():
    sum(range(10**6))
    return one.double(2)

@pytest.fixture(scope="module")
def added():
    sum(range(10**6))
    return one.add(1)

def test_a(added):
    assert added == 2

def test_b(added):
    assert added == doubled() - 2

def test_c():
    assert doubled() == 4

def test_d():
    pass
"""
DRIVER = """
import json, sys
from pathlib import Path
import pytest
from benchmarks.reached_lines import ReachedLines

root = Path(sys.argv[1])
plugin = ReachedLines(root, ("pkg",))
plugin.start()
pytest.main(["-q", "-p", "no:cacheprovider", "--rootdir", str(root), str(root / "tests")], plugins=[plugin])
print(json.dumps(plugin.tests))
"""


def test_a_test_reaches_what_its_fixtures_and_cached_helpers_run(tmp_path):
    for file, text in {"pkg/one.py": PACKAGE, "tests/test_it.py": TESTS, "conftest.py": ""}.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text(text)
    path = {"PYTHONPATH": f"{tmp_path}:{ROOT}", "PATH": ""}
    command = [sys.executable, "-c", DRIVER, tmp_path]
    done = subprocess.run(command, capture_output=True, text=True, env=path, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    reached = {test.partition("::")[2]: own["reached"]["pkg/one.py"] for test, own in found.items()}
    assert {test: {*functions} for test, functions in reached.items()} == {
        "test_a": {"add"},
        "test_b": {"add", "double"},
        "test_c": {"double"},
    }
    assert reached["test_a"]["add"] == [1, 2, 3]
    assert all(own["shared"] > 0 for own in found.values())


def test_the_sample_has_a_share_of_every_folder_and_keeps_unchanged_statements(tmp_path, monkeypatch):
    for file, rows in {"a/one.py": 30, "a/two.py": 10, "b/one.py": 20}.items():
        (tmp_path / file).parent.mkdir(exist_ok=True)
        (tmp_path / file).write_text("".join(f"a{row} = b[0]\n" for row in range(rows)))
    monkeypatch.setattr(mutations, "ROOT", tmp_path)
    monkeypatch.setattr(mutations, "files", lambda: ["a/one.py", "a/two.py", "b/one.py"])
    before = mutations.sample(12, 1)
    assert [mutations.folder_of(own.file) for own in before] == ["a"] * 8 + ["b"] * 4
    assert mutations.sample(12, 1) == before != mutations.sample(12, 2)
    text = (tmp_path / "b/one.py").read_text()
    (tmp_path / "b/one.py").write_text("# moved\n" + text)
    assert [own.key for own in mutations.sample(12, 1)] == [own.key for own in before]


def test_tests_are_those_that_run_the_lines_or_the_function(tmp_path, monkeypatch):
    (tmp_path / "one.py").write_text("def f(a):\n    if a:\n        return -a\n    return 1\n")
    monkeypatch.setattr(mutations, "ROOT", tmp_path)
    reached = {"both": [1, 2, 3], "end": [1, 3], "slow": [1, 2], "other": []}
    kept = {
        name: {"seconds": 50.0 if name == "slow" else 1.0, "shared": 0.0, "reached": {"one.py": {"f": lines}}}
        for name, lines in reached.items()
        if name != "other"
    }
    (tmp_path / "reach.json").write_text(
        json.dumps(kept | {"other": {"seconds": 1.0, "shared": 0.0, "reached": {}}})
    )
    reach = mutations.Reach(tmp_path / "reach.json")
    (sign,) = (own for own in mutations_of(tmp_path, "one.py") if own.operator == "sign")
    assert reach.tests(sign, 100) == ({"both": 1.0, "slow": 50.0}, 0)
    assert reach.tests(sign, 10) == ({"both": 1.0}, 1)


def test_the_page_is_that_of_the_results():
    results = mutations.read_results()
    text = mutations.PAGE.read_text(encoding="utf-8")
    assert all(own["outcome"] == "survived" for own in results.values() if "equivalent" in own)
    assert text == mutations.page(results, mutations.sampled_of(text))


def test_scores_leave_out_what_is_equivalent():
    one = {"key": "", "file": "a/b.py", "function": "f", "operator": "sign", "before": "-x", "after": "x"}
    results = {
        "1": one | {"outcome": "killed"},
        "2": one | {"outcome": "survived", "equivalent": "x is zero"},
        "3": one | {"outcome": "survived"},
    }
    text = mutations.page(results, {"a": 5})
    assert "| a | 5 | 3 | 1 | 1 | 1 | 50 % |" in text and mutations.sampled_of(text) == {"a": 5}
    assert "- `a/b.py`, f: `-x` to `x`: x is zero" in text
