"""What is packaged is what is there."""

import re
import runpy
import tomllib
from hashlib import sha256
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_packaged_folders_are_the_folders():
    unpackaged = {"tests", "notebooks", "benchmarks", "evidence", "build", "dist"}
    patterns = CONFIG["tool"]["setuptools"]["package-data"]["raterzoo"]
    packaged = {pattern.removesuffix("/**") for pattern in patterns if pattern.endswith("/**")}
    assert packaged == {init.parent.name for init in ROOT.glob("[a-z]*/__init__.py")} - unpackaged


def test_version_is_the_same_everywhere():
    import raterzoo

    version = CONFIG["project"]["version"]
    assert raterzoo.__version__ == version
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()
    assert f'version: "{version}"' in (ROOT / ".ci/conda/recipe.yaml").read_text()


def test_recipe_has_the_dependencies():
    of_conda = {
        "matplotlib": "matplotlib-base",
        "pymc": "pymc-base",
        "pytensor": "pytensor-base",
    }  # without tools for building
    recipe = (ROOT / ".ci/conda/recipe.yaml").read_text()
    run = dict(
        re.findall(
            r"^    - ([\w-]+) ?(.*)$", recipe.partition("  run:")[2].partition("tests:")[0], re.MULTILINE
        )
    )
    needed = [
        re.fullmatch(r"([\w-]+)(?:\[(.*)\])?(.*)", own).groups() for own in CONFIG["project"]["dependencies"]
    ]
    wanted = {of_conda.get(name, name): bound for name, _, bound in needed}
    brought = {
        extra: ""
        for _, extras, _ in needed
        for extra in (extras or "").split(",")
        if extra not in ("", "matplotlib")
    }
    assert run == wanted | brought | {"python": ">=${{ python_min }}"}
    assert f'python_min: "{CONFIG["project"]["requires-python"].removeprefix(">=")}"' in recipe


def test_the_recipe_of_a_release_has_the_sum_of_its_source(tmp_path):
    filled = runpy.run_path(str(ROOT / ".ci/conda/fill_source.py"))["filled"]
    sdist = tmp_path / f"raterzoo-{CONFIG['project']['version']}.tar.gz"
    sdist.write_bytes(b"packed")
    recipe = filled(sdist, f"https://example.org/{sdist.name}")
    source = recipe.partition("source:\n")[2].partition("\n\n")[0].splitlines()
    assert source == [
        f"  url: https://example.org/{sdist.name}",
        f"  sha256: {sha256(b'packed').hexdigest()}",
    ]
    kept = (ROOT / ".ci/conda/recipe.yaml").read_text()
    assert recipe.partition("\nbuild:")[2] == kept.partition("\nbuild:")[2] != ""
    with pytest.raises(SystemExit):
        filled(sdist, "https://example.org/raterzoo-0.0.1.tar.gz")


def test_released_versions_have_a_date():
    headings = re.findall(r"^## (.*)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    first, *released = headings
    assert first == "Unreleased" or re.search(r"\d{4}-\d{2}-\d{2}", first)
    assert released and all(re.fullmatch(r"[\d.]+ \(\d{4}-\d{2}-\d{2}\)", name) for name in released)


def test_tasks_run_what_is_there():
    tasks = CONFIG["tool"]["poe"]["tasks"]
    assert {"test", "docs", "bench"} <= set(tasks)
    for name, task in tasks.items():
        words = task["cmd"].split()
        module = words[words.index("-m") + 1] if words[:2] == ["python", "-m"] else None
        places = (
            [ROOT / f"{module.replace('.', '/')}{end}" for end in (".py", "/__main__.py")] if module else []
        )
        assert not module or any(place.exists() for place in places), name
        assert all((ROOT / word).exists() for word in words if word.startswith(".ci/")), name


def test_hooks_before_a_commit_download_nothing():
    hooks = (ROOT / ".pre-commit-config.yaml").read_text()
    assert set(re.findall(r"^\s*- repo: (.*)$", hooks, re.MULTILINE)) == {"local"}
    assert {
        entry.split()[:2] == ["uv", "run"] or "--offline" in entry
        for entry in re.findall(r"entry: (.*)", hooks)
    } == {True}
