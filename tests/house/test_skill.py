"""The skill for agents is true: its names exist, and each study of docs/skill/studies.json gives what it must."""

import contextlib
import io
import json
import re
import warnings
from pathlib import Path

import numpy
import pandas
import pytest
import raterzoo
from raterzoo import evaluation, inference, models

from tests.support.printed_code import fresh_folder

ROOT = Path(__file__).parents[2]
SKILL = (ROOT / "docs/skill/SKILL.md").read_text()
STUDIES = json.loads((ROOT / "docs/skill/studies.json").read_text())
NAMES = {
    "raterzoo": raterzoo, "models": models, "inference": inference, "evaluation": evaluation, "numpy": numpy, "pandas": pandas,
}  # fmt: skip


def found_in(study, folder):
    """Run the call of a study in a folder with the example tables; return what it gives."""
    names = dict(NAMES)
    with (
        contextlib.chdir(folder),
        warnings.catch_warnings(action="ignore", category=models.DataWarning),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        exec("\n".join(study["do"]), names)
        return {what: eval(what, names) for what in study["must_give"]}


def right(found, expected):
    """Whether a value is what is expected: a number with its tolerance, or the same."""
    if isinstance(expected, list) and all(isinstance(part, float) for part in expected):
        return abs(found - expected[0]) <= expected[1]
    return found == expected or (isinstance(expected, list) and list(found) == expected)


@pytest.mark.slow
@pytest.mark.parametrize("study", STUDIES, ids=[study["study"][:40] for study in STUDIES])
def test_a_study_gives_what_it_must(study, tmp_path):
    found = found_in(study, fresh_folder(tmp_path))
    wrong = {what: value for what, value in found.items() if not right(value, study["must_give"][what])}
    assert not wrong, study["must_give"]


@pytest.mark.slow
def test_five_runs_taken_as_five_raters_are_found_out(tmp_path):
    (study,) = (study for study in STUDIES if "five runs" in study["study"])
    naive = "\n".join(line for line in study["do"] if not line.startswith("effective"))
    naive = naive.replace("groups='kind', independent=('person',), ", "").replace(
        "shared_guess", "dawid_skene"
    )
    what = "(yes == truth).mean() > 0.85"
    found = found_in({"do": [naive], "must_give": {what: True}}, fresh_folder(tmp_path))
    assert not found[what]


def test_the_call_of_each_study_is_in_the_skill():
    assert len(STUDIES) == 10
    for study in STUDIES:
        assert set(study) == {"study", "do", "must_give", "must_not"}
        words = re.findall(
            r"kind='(\w+)'|model='(\w+)'|models\.([a-z]\w+)|(no_answer)=", "".join(study["do"])
        )
        assert all(word in SKILL for found in words for word in found), study["study"]


def test_names_of_the_skill_exist():
    named = re.findall(r"`(?:raterzoo\.)?((?:models|inference|evaluation|analyse)\b[\w.]*)", SKILL)
    assert len(named) > 8
    for name in named:
        value = raterzoo
        for part in name.split("."):
            value = getattr(value, part)
    for word in re.findall(r"model=\"(\w+)\"", SKILL):
        assert word in models.catalog
