"""What the command of the README runs, and what waits for the slow tests: a study and its wrong twins go together."""

import ast
import shlex
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
OPTIONS = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["pytest"]["ini_options"]
MODULES = sorted((ROOT / "tests").rglob("test_*.py"))
VERDICTS = {"calibrated", "within_sbc_band"}


def tiers_of(source):
    """Return for each test that simulates data sets whether it is marked as slow."""
    found, whole = {}, "\npytestmark = pytest.mark.slow\n" in source
    for test in ast.walk(ast.parse(source)):
        if not isinstance(test, ast.FunctionDef) or not test.name.startswith("test_"):
            continue
        called = {n.func.id for n in ast.walk(test) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}  # fmt: skip
        if called & VERDICTS:
            marks = [ast.unparse(mark) for mark in test.decorator_list]
            found[test.name] = whole or any("mark.slow" in mark for mark in marks)
    return found


def test_slow_tests_are_left_to_the_second_command():
    options = shlex.split(OPTIONS["addopts"])
    assert options[options.index("-m") + 1] == "not slow and not long"
    assert "--strict-markers" in options
    assert [mark.partition(":")[0] for mark in OPTIONS["markers"]] == ["slow", "long"]
    commands = [line for line in (ROOT / ".ci" / "run").read_text().splitlines() if line.startswith("uv run")]  # fmt: skip
    assert commands[:2] == ["uv run pytest", 'uv run pytest -m "slow and not long"']
    assert "\nuv run pytest\n" in (ROOT / "README.md").read_text()


def test_a_study_and_its_wrong_twins_are_in_the_same_tier():
    for path in MODULES:
        tiers = tiers_of(path.read_text())
        assert len(set(tiers.values())) <= 1, (path, tiers)


def test_a_twin_in_another_tier_is_found():
    study = "@pytest.mark.slow\ndef test_it_is():\n    assert calibrated(1)\n"
    assert tiers_of(study + "def test_it_is_not():\n    assert not calibrated(2)\n") == {
        "test_it_is": True,
        "test_it_is_not": False,
    }


def test_what_the_lowest_versions_are_tested_with_is_there():
    lines = (ROOT / ".ci" / "lowest-tests.txt").read_text().split()
    for path, _, name in (line.partition("::") for line in lines):
        assert (ROOT / path).exists(), path
        assert not name or f"def {name}(" in (ROOT / path).read_text(), name
