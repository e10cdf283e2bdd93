"""The README and the pages of the site tell the truth: their code runs as it stands, and prints what is printed."""

import re
import runpy
import subprocess
import sys
from pathlib import Path

import pytest
import typer
from matplotlib.testing.compare import compare_images

from tests.support.cli_parts import app
from tests.support.printed_code import BLOCK, NOT_RUN, PAGES, agree, commands, fresh_folder, outputs, steps

ROOT = Path(__file__).parents[2]
LONG = {  # the README stays
    ROOT / "docs" / name
    for name in (
        "planning.md", "recipes/features.md", "recipes/resume.md", "recipes/label_studio.md", "recipes/many_items.md",
        "start/labels.md", "start/rankings.md", "start/scores.md", "start/votes.md", "skill/SKILL.md",
    )
}  # fmt: skip
LONGEST = {ROOT / "docs/outreach/description.md"}  # what the README has, and more of it
RUN = [
    pytest.param(
        page,
        id=page.relative_to(ROOT).as_posix(),
        marks=[pytest.mark.slow] * (page in LONG) + [pytest.mark.long] * (page in LONGEST),
    )
    for page in PAGES
    if steps(page.read_text())
]
OWN_TESTS = {
    "bricks.md": "tests/models/test_change_a_model.py",
    "change_a_model.md": "tests/models/test_change_a_model.py",
    "foreign_posteriors.md": "tests/evaluation/truth/test_foreign_posteriors.py",
    "formats.md": "tests/cli/test_tool_exports.py",
}  # pages whose code needs files, or more warnings, than those of a fresh folder
COMMAND = re.compile(r"raterzoo ([a-z]+(?: (?:list|fetch)\b)?)([^`\n]*)")
OPTION = re.compile(r"(?<![\w-])--?[a-z][a-z-]*")


@pytest.mark.parametrize("page", RUN)
def test_code_runs_and_prints_what_is_printed(page, tmp_path, monkeypatch):
    monkeypatch.chdir(fresh_folder(tmp_path))
    monkeypatch.setenv("COLUMNS", "80")
    on_page = steps(page.read_text())
    for (code, printed, _), found in zip(on_page, outputs(on_page), strict=True):
        remedy = (
            f"if that is meant, `python -m tests.support.printed_code {page.relative_to(ROOT)}` writes it"
        )
        assert printed is None or agree(printed, found), "\n".join([code, *found, remedy])


def untested(pages, tested):
    """Return the names of the pages with code that are not among those tested."""
    return {page.name for page in pages if steps(page.read_text())} - {page.name for page in tested}


def test_the_code_of_every_page_is_tested():
    docs = [page for page in (ROOT / "docs").rglob("*.md") if not {"generated", "_build"} & set(page.parts)]
    assert untested(docs, PAGES) == set(OWN_TESTS)
    for page, test in OWN_TESTS.items():
        assert f'"{page}"' in (ROOT / test).read_text()
    (resume,) = (page for page in docs if page.name == "resume.md")
    assert untested(docs, set(PAGES) - {resume}) - set(OWN_TESTS) == {"resume.md"}


@pytest.mark.parametrize("name", ["README.md", "AGENTS.md", "llms.txt", "docs/skill/SKILL.md"])
def test_links_lead_somewhere(name):
    page = ROOT / name
    linked = re.findall(r"\]\((?!https?:)(.*?)\)", page.read_text())
    assert linked
    for path in linked:
        assert (page.parent / path).exists(), path
    shown = r"(?<=`)(?:examples|notebooks|benchmarks|docs|evidence)/[\w./-]*(?=`)|\btests/[\w/]+\.py"
    for path in re.findall(shown, page.read_text()):
        assert (ROOT / path).exists(), path


def test_few_commands_are_not_run():
    bodies = [
        body for page in PAGES for kind, body, _ in BLOCK.findall(page.read_text()) if kind == "console"
    ]
    found = [command for body in bodies for command, _ in commands(body)]
    kept_out = [command for command in found if any(mark in command for mark in NOT_RUN)]
    assert len(kept_out) <= 3
    run = [code for page in PAGES for code, _, kind in steps(page.read_text()) if kind == "console"]
    assert len(run) == len(found) - len(kept_out) > 5


def options_of_commands(command, name=""):
    """Yield each command without commands below it, and its options."""
    for own, below in getattr(command, "commands", {}).items():
        yield from options_of_commands(below, f"{name} {own}".strip())
    if not hasattr(command, "commands"):
        yield name, {"--help"}.union(*(option.opts + option.secondary_opts for option in command.params))


def options_shown(text, known):
    """Yield the options of the commands that a text shows, each with its command."""
    for name, rest in COMMAND.findall(text):
        if name in known:
            yield from ((name, option) for option in OPTION.findall(rest))


def test_commands_that_are_shown_have_only_options_that_exist():
    known = dict(options_of_commands(typer.main.get_command(app)))
    pages = [ROOT.glob("*.md"), (ROOT / "docs").rglob("*.md"), ROOT.glob("[be]*/README.md")]
    own = [page for folder in pages for page in folder if not {"generated", "_build"} & set(page.parts)]
    shown = [pair for page in own for pair in options_shown(page.read_text(), known)]
    assert len(shown) > 90
    assert [(name, option) for name, option in shown if option not in known[name]] == []
    (wrong,) = options_shown("`raterzoo rank votes.csv --best 5`", known)
    assert wrong == ("rank", "--best") and wrong[1] not in known["rank"]


def test_the_picture_of_the_readme_is_drawn_by_its_script(tmp_path):
    pictures = runpy.run_path(str(ROOT / "docs/_extensions/pictures.py"))
    pictures["draw"](ROOT / "docs/figures/certainty.py", tmp_path / "found.png")
    remedy = "if that is meant, `python docs/_extensions/pictures.py` draws it"
    assert compare_images(pictures["OF_THE_README"], tmp_path / "found.png", tol=5) is None, remedy


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


def test_blocks_of_a_page_are_read_in_order():
    page = "```python\nx = 1\n```\n\ntext\n\n```python\nprint(x)\n```\n\n```text\n2\n```\n"
    (_, nothing, _), (code, printed, _) = on_page = steps(page)
    assert (nothing, printed) == (None, ["2"])
    assert [*outputs(on_page)] == [[], ["1"]]
    assert not agree(printed, ["1"]), code


def test_example_tables_are_what_the_simulators_draw(tmp_path):
    for name in ("__main__.py", "patients.csv"):
        (tmp_path / "examples").mkdir(exist_ok=True)
        (tmp_path / "examples" / name).write_text((ROOT / "examples" / name).read_text())
    subprocess.run([sys.executable, "-m", "examples"], cwd=tmp_path, check=True)
    kept, drawn = ({p.name: p.read_text() for p in (f / "examples").glob("*.csv")} for f in (ROOT, tmp_path))
    assert kept == drawn
