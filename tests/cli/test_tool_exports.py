"""The commands take the exports of other tools as annotations and as predictions, and say so in one line."""

import json
from pathlib import Path

import pytest
from raterzoo.cli import tables
from raterzoo.cli.exports import chosen_question
from raterzoo.cli.options import Source
from raterzoo.models import Comparisons, DataError, read_export

from tests.support.cli_parts import read_container, read_predictions
from tests.support.command_line import run, said
from tests.support.data_parts import TOOLS
from tests.support.exports import (
    ARGILLA,
    HARNESS,
    INSPECT,
    LABEL_STUDIO,
    PAIRWISE,
    PRODIGY,
    VOTES,
    write_archive,
    write_json,
    write_lines,
)
from tests.support.printed_code import agree, outputs, steps

PAGES = Path(__file__).parents[2] / "docs"


@pytest.fixture
def project(tmp_path):
    return write_json(tmp_path / "project.json", LABEL_STUDIO)


def test_every_tool_has_a_format():
    assert [own.value for own in Source] == ["table", *TOOLS]


def test_check_reads_an_export_and_says_so_in_one_line(project, tmp_path, golden):
    result = run("check", project, "--kind", "labels", "--column", "label=mood")
    assert result.exit_code == 0, result.output
    golden.says(result.output, "project.json: reading")
    golden.says(result.output, "known truth")
    log = write_archive(tmp_path / "log.eval", INSPECT)
    result = run("check", log, "--kind", "labels")
    assert result.exit_code == 0
    golden.says(result.output, "Inspect (left")
    votes = write_lines(tmp_path / "votes.jsonl", VOTES)
    result = run("check", votes, "--kind", "comparisons")
    assert result.exit_code == 0
    golden.says(result.output, "comparisons from")
    golden.says(result.output, "'tie (bothbad)'")
    assert read_container(votes, "comparisons", []) == Comparisons.from_table(
        read_export(votes, "comparisons")
    )
    order = write_json(tmp_path / "records.json", ARGILLA)
    assert run("check", order).exit_code == 0  # rankings


def test_an_export_with_several_questions_names_them(project, tmp_path, golden):
    result = run("check", project, "--kind", "labels")
    assert result.exit_code == 2
    golden.says(said(result))
    assert "--column label=mood" in said(result) and "question=" not in result.output
    result = run("check", project, "--kind", "labels", "--column", "item=id")
    assert result.exit_code == 2
    golden.says(said(result))
    result = run("check", project, "--kind", "comparisons")
    assert result.exit_code == 2
    golden.says(said(result))
    named = write_json(tmp_path / "pairs.json", json.loads(json.dumps(PAIRWISE).replace("text", "model_")))
    result = run("check", named, "--kind", "comparisons")
    assert result.exit_code == 2
    golden.says(said(result))
    result = run(
        "check", named, "--kind", "comparisons", "--column", "left=model_1", "--column", "right=model_2"
    )
    assert result.exit_code == 0, said(result)
    golden.says(result.output, "comparisons from")
    result = run("check", named, "--kind", "comparisons", "--column", "rater=x")
    assert result.exit_code == 2
    golden.says(said(result))


def test_the_format_can_be_named(project, tmp_path, golden):
    rest = ("--kind", "labels", "--column", "label=mood")
    assert run("check", project, *rest, "--format", "label-studio").exit_code == 0
    result = run("check", project, *rest, "--format", "prodigy")
    assert result.exit_code == 2
    golden.says(said(result))
    result = run("check", project, "--kind", "labels", "--format", "table")
    assert result.exit_code == 2
    golden.says(said(result))
    result = run("check", project, "--kind", "labels", "--format", "label_studio")
    assert result.exit_code == 2
    golden.says(said(result))
    result = run("check", project, "--kind", "labels", "--layout", "wide", "--format", "argilla")
    assert result.exit_code == 2
    golden.says(said(result))
    (tmp_path / "t.csv").write_text("item,rater,label\na,r,x\na,s,y\n")
    result = run("check", tmp_path / "t.csv", "--kind", "labels", "--format", "argilla")
    assert result.exit_code == 2
    golden.says(said(result))


def test_an_answer_that_is_refused_is_named_with_its_record(tmp_path, golden):
    tasks = json.loads(json.dumps(PRODIGY))
    tasks[2]["accept"] = [" "]
    path = write_lines(tmp_path / "tasks.jsonl", tasks)
    with golden.raises(DataError):
        read_container(path, "labels", [])


def test_names_in_an_export_can_be_replaced(tmp_path):
    path = write_lines(tmp_path / "tasks.jsonl", PRODIGY)
    result = run("check", path, "--kind", "labels", "--anonymize")
    assert result.exit_code == 0 and "ann" not in result.output.replace("annotations", ""), result.output
    twice = write_json(tmp_path / "log.json", INSPECT | {"samples": [{"id": 1, "scores": {"judge-of-x": 3}}]})
    result = run("check", twice, "--kind", "labels", "--anonymize")
    assert "judge-of-x" not in result.output


def test_predictions_of_an_export(project, capsys, golden):
    found = read_predictions(project, [])
    assert found.sel(item="11", position=0).item() == "good" and found.sizes["item"] == 2
    golden.says(capsys.readouterr().err, "project.json: reading")


def test_predictions_are_read_for_the_question_of_the_annotations(tmp_path, golden):
    tasks = json.loads(json.dumps(LABEL_STUDIO))
    tasks[0]["predictions"][0]["result"] += [{**tasks[0]["annotations"][0]["result"][1]}]
    path = write_json(tmp_path / "project.json", tasks)
    with golden.raises(DataError):
        read_predictions(path, [])
    question = chosen_question(["label=mood"], "labels")
    tables.check_prediction_header(path, "labels", question=question)
    assert read_predictions(path, [], question=question).equals(read_predictions(path, ["category=mood"]))
    assert chosen_question(["item=case"], "labels") is chosen_question([], "comparisons") is None


def test_the_default_model_of_scores_without_raters_is_that_of_a_table_without_them(tmp_path):
    samples = write_lines(tmp_path / "samples_task.jsonl", HARNESS)
    assert tables.model_without_raters(samples, "scores", [], "long") == "normal_scores"
    assert tables.model_without_raters(write_json(tmp_path / "a.json", ARGILLA), "scores", [], "long") is None


def test_plain_tables_in_json_are_read_as_before(tmp_path, capsys):
    rows = [
        {"model_a": "g", "model_b": "h", "winner": winner, "user": user}
        for winner, user in (("tie", "u"), ("h", "v"))
    ]
    path = write_json(tmp_path / "votes.json", rows)
    assert read_container(path, "comparisons", []).raters.tolist() == ["u", "v"]
    assert "export" not in capsys.readouterr().err


@pytest.mark.slow
def test_code_of_the_page_runs(project, tmp_path, monkeypatch):
    """The page docs/formats.md, with an export of each tool that it names."""
    write_archive(tmp_path / "log.eval", INSPECT)
    write_lines(tmp_path / "votes.jsonl", VOTES)
    monkeypatch.chdir(tmp_path)
    fit = ("fit", "project.json", "--kind", "labels", "--column", "label=mood", "-o", "posterior.nc")
    assert run(*fit, "--model", "dirichlet").exit_code == 0
    on_page = steps((PAGES / "formats.md").read_text())
    assert len(on_page) == 6
    for (code, printed, _), found in zip(on_page, outputs(on_page), strict=True):
        assert printed is None or agree(printed, found), "\n".join([code, *found])
    assert json.loads((tmp_path / "predictions.json").read_text())
    assert len((tmp_path / "results.jsonl").read_text().splitlines()) == 2
