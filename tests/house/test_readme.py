"""The README tells the truth: its table is the catalog's, its example runs, and its commands print what it says."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.readme import BLOCK, NOT_RUN, agree, blocks, fresh_folder, output_of, table_of_models

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
BLOCKS = blocks(README)


def test_table_of_models_is_the_catalog():
    assert table_of_models() in README, "`python -m tests.support.readme` writes it"


def test_example_runs(capsys):
    (example,) = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    exec(compile(example, "README.md", "exec"), {})
    assert "converged" in capsys.readouterr().out


def test_links_lead_somewhere():
    linked = re.findall(r"\]\((?!https?:)(.*?)\)", README)
    linked += re.findall(r"`((?:examples|notebooks|benchmarks|docs|evidence)/[\w./-]*)`", README)
    assert len(linked) > 5
    for path in linked:
        assert (ROOT / path).exists(), path


@pytest.mark.parametrize("steps", BLOCKS, ids=lambda steps: steps[-1][0].partition("raterzoo ")[2][:40])
def test_commands_print_what_is_printed(steps, tmp_path, monkeypatch):
    monkeypatch.chdir(fresh_folder(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    for command, printed in steps:
        found = output_of(command)
        remedy = "if that is meant, `python -m tests.support.readme` writes it"
        assert printed is None or agree(printed, found), "\n".join([command, *found, remedy])


def test_few_commands_are_not_run():
    lines = [line for body in BLOCK.findall(README) for line in body.splitlines()]
    commands = [line for line in lines if re.match(r"(\$ )?(uv|pip) ", line)]
    kept_out = [line for line in commands if any(mark in line for mark in NOT_RUN)]
    assert len(kept_out) <= 2 < len(commands) - len(kept_out) == sum(map(len, BLOCKS))


@pytest.mark.parametrize(
    ("printed", "found"),
    [
        (["mean 0.69"], ["mean 0.74"]),
        (["mean 0.69"], ["median 0.69"]),
        (["12 items"], ["13 items"]),
        (["best 81%"], ["best 85%"]),
        (["bulk ESS >= 1,000"], ["bulk ESS >= 700"]),
        (["sd 7e-05"], ["sd 7e-04"]),
        (["a", "b"], ["a"]),
        (["a", "..."], ["b", "c"]),
        (["...", "wrote report.html"], ["wrote report.html"]),
    ],
)
def test_other_output_is_found(printed, found):
    assert agree(printed, [line.replace("...", "any\nthing") for line in printed])
    assert not agree(printed, found)


def test_example_tables_are_what_the_simulators_draw(tmp_path):
    for name in ("__main__.py", "patients.csv"):
        (tmp_path / "examples").mkdir(exist_ok=True)
        (tmp_path / "examples" / name).write_text((ROOT / "examples" / name).read_text())
    subprocess.run([sys.executable, "-m", "examples"], cwd=tmp_path, check=True)
    kept, drawn = ({p.name: p.read_text() for p in (f / "examples").glob("*.csv")} for f in (ROOT, tmp_path))
    assert kept == drawn
