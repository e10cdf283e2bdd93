"""What the site says of the package is so: every model can be chosen, errors are quoted verbatim, facts come from one place."""

import re
import runpy
from pathlib import Path

import pytest
from raterzoo import models

from tests.house.test_site import STUDIES
from tests.support.data_parts import annotation_kinds

ROOT = Path(__file__).parents[2]
FACTS = runpy.run_path(str(ROOT / "docs/_extensions/facts.py"))
CHOOSER = (ROOT / "docs/choose.md").read_text()
FILLED = FACTS["with_facts"](CHOOSER)
FAQ = (ROOT / "docs/faq.md").read_text()
PACKAGES = ("posterior", "models", "inference", "evaluation", "papers", "reports", "cli")
JOINT = re.compile(r'["\']\s*\n\s*f?["\']')  # between two literals of one message
PLACEHOLDER = re.compile(r"\{[^{}]*\}")


def quoted(page):
    """Return the fixed parts of the messages that are headings of a page."""
    return [
        part.strip(" ;:")
        for heading in re.findall(r"^### `(.*)`$", page, re.MULTILINE)
        for part in heading.split("...")
        if len(part.strip(" ;:?/")) > 3
    ]


@pytest.fixture(scope="module")
def source():
    """Return the source of the package with the literals of each message joined."""
    files = [*ROOT.glob("*.py"), *(path for folder in PACKAGES for path in ROOT.glob(f"{folder}/**/*.py"))]
    return PLACEHOLDER.sub("", JOINT.sub("", "\n".join(path.read_text() for path in files)))


def test_every_model_can_be_chosen():
    for name, entry in models.catalog.items():
        assert all((entry.studies, entry.assumes, entry.needs, entry.fails)), name
        assert f"](#choose-{name})" in FILLED and f"(choose-{name})=" in FILLED and entry.summary in FILLED, (
            name
        )


def missing_clicks(study, model, front, chooser):
    """Return which of the three clicks from the front page to a model's page are missing in the sources."""
    rows = [line for line in chooser.splitlines() if line.startswith("| ") and study in line]
    section = chooser.partition(f"(choose-{model})=")[2].partition("(choose-")[0]
    clicks = {
        "to the chooser": ":link: choose\n:link-type: doc" in front,
        "to the section": any(f"[{model}](#choose-{model})" in row for row in rows),
        "to the model": f"<generated/api/raterzoo.models.{model}>" in section,
    }
    return [name for name, there in clicks.items() if not there]


@pytest.mark.parametrize(("study", "model"), STUDIES)
def test_a_study_leads_to_its_model_in_three_clicks(study, model):
    front = (ROOT / "docs/index.md").read_text()
    assert missing_clicks(study, model, front, FILLED) == []
    assert missing_clicks(study, model, "", FILLED) == ["to the chooser"]
    assert missing_clicks(study, model, front, FILLED.replace(study, "")) == ["to the section"]
    without = FACTS["with_facts"](CHOOSER.replace("% models of", ""))
    assert "to the model" in missing_clicks(study, model, front, without)


def test_defaults_of_the_chooser_are_those_of_the_command_line():
    said = re.findall(r"\[(\w+)\]\(#choose-\w+\), the default", FILLED)
    assert sorted(said) == sorted(kind.default_model for kind in annotation_kinds.values())


def test_costs_are_those_of_the_page_of_speed():
    measured = FACTS["costs"]()
    assert set(measured) < set(models.catalog) and len(measured) > 10
    row = measured["dawid_skene"]
    assert f"| {row['second']} | {row['memory']} |" in (ROOT / "docs/speed.md").read_text()
    assert row["of_process"] in FACTS["cost_of"](models.catalog["dawid_skene"], measured)


def test_glossary_of_the_site_is_that_of_the_reports():
    text = FACTS["with_facts"]((ROOT / "docs/glossary.md").read_text())
    rows = FACTS["rows_of"](ROOT / "reports/glossary.tsv")
    assert len(rows) > 40 and all(f"{row['term']}\n: {row['meaning']}" in text for row in rows)


def test_errors_are_quoted_verbatim(source):
    parts = quoted(FAQ)
    assert len(parts) > 18
    for part in parts:
        assert part in source, part


def test_a_message_that_has_changed_is_found(source):
    changed = FAQ.replace("every item needs one", "each item needs one")
    assert [part for part in quoted(changed) if part not in source]
