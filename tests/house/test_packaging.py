"""What is packaged is what is there."""

import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[2]
CONFIG = tomllib.loads((ROOT / "pyproject.toml").read_text())


def test_packaged_folders_are_the_folders():
    unpackaged = {"tests", "notebooks", "benchmarks", "evidence", "build", "dist"}
    folders = {
        ".".join(["raterzoo", *init.relative_to(ROOT).parent.parts])
        for init in ROOT.rglob("__init__.py")
        if not any(part in unpackaged or part.startswith(".") for part in init.relative_to(ROOT).parts)
    }
    assert set(CONFIG["tool"]["setuptools"]["packages"]) == folders


def test_version_is_the_same_everywhere():
    import raterzoo

    version = CONFIG["project"]["version"]
    assert raterzoo.__version__ == version
    assert f"version: {version}" in (ROOT / "CITATION.cff").read_text()
    assert f"## {version}" in (ROOT / "CHANGELOG.md").read_text()


def test_every_file_of_data_is_packaged():
    patterns = CONFIG["tool"]["setuptools"]["package-data"]
    for package, globs in patterns.items():
        folder = ROOT.joinpath(*package.split(".")[1:])
        for pattern in globs:
            assert list(folder.glob(pattern)), f"nothing matches {pattern} in {package}"
