"""A damaged export gives one typed error that names the file, the record and what was looked for."""

import json
import random
import sys
from zipfile import ZIP_DEFLATED, ZipFile

import pytest
from raterzoo.models import DataError, Labels, read_export
from raterzoo.models.data.exports import records
from raterzoo.models.data.exports.answers import KINDS

from tests.support.data_parts import TOOLS
from tests.support.exports import (
    ALPACA_EVAL,
    ARGILLA,
    ARGILLA_FLAT,
    DEEPEVAL,
    HARNESS,
    INSPECT,
    LABEL_STUDIO,
    PRODIGY,
    PROMPTFOO,
    VOTES,
    write_archive,
    write_json,
)
from tests.support.json_values import changed, without

pytestmark = pytest.mark.filterwarnings("ignore:.*left out of:raterzoo.models.DataWarning")
ALL = (INSPECT, PROMPTFOO, DEEPEVAL, HARNESS, VOTES, ALPACA_EVAL, LABEL_STUDIO, ARGILLA, PRODIGY)


def refused(path, kind="labels", **arguments):
    with pytest.raises(DataError) as caught:
        read_export(path, kind, **arguments)
    message = str(caught.value)
    assert caught.value.remedy and "\n" not in message and len(message) < 900
    return message


@pytest.mark.parametrize(
    "tool, value, kind, place",
    [
        ("inspect", without(INSPECT, "samples", 1, "id"), "labels", "sample 2: there is no 'id'"),
        ("inspect", without(INSPECT, "eval", "model"), "labels", "eval: there is no 'model'"),
        ("inspect", without(INSPECT, "samples"), "labels", "there is no 'samples'"),
        ("inspect", changed(INSPECT, [], "samples", 0, "scores"), "labels", "sample 1, scores: [] is an array"),
        ("promptfoo", without(PROMPTFOO, "results", "results", 1, "testIdx"), "labels", "result 2: there is no 'testIdx'"),
        ("promptfoo", without(PROMPTFOO, "results", "results", 0, "gradingResult", "componentResults", 2, "pass"),
         "labels", "result 1, gradingResult, componentResults, assertion 3: there is no 'pass'"),
        ("deepeval", without(DEEPEVAL, "testCases", 1, "name"), "labels", "test case 2: there is no 'name'"),
        ("deepeval", changed(DEEPEVAL, "yes", "testCases", 0, "metricsData", 0, "success"), "labels",
         "test case 1, metricsData, metric 1, success: 'yes' is text; allowed: true or false"),
        ("lm-eval", without(HARNESS, 1, "filtered_resps"), "labels", "sample 2: there is no 'filtered_resps'"),
        ("lm-eval", without(HARNESS, 1, "doc_id"), "scores", "sample 2: there is no 'doc_id'"),
        ("arena", without(VOTES, 1, "winner"), "comparisons", "vote 2: there is no 'winner' and no 'winner_model_a'"),
        ("arena", without(VOTES, 2, "model_b"), "comparisons", "vote 3: there is no 'model_b'"),
        ("label-studio", without(LABEL_STUDIO, 1, "annotations", 1, "completed_by"), "labels",
         "task 2, annotations, annotation 2: there is no 'completed_by'"),
        ("label-studio", without(LABEL_STUDIO, 1, "id"), "labels", "task 2: there is no 'id'"),
        ("label-studio", changed(LABEL_STUDIO, [7], 0, "annotations", 0, "completed_by"), "labels",
         "completed_by: [7] is an array; allowed: text or a whole number".replace("7", "'7'")),
        ("argilla", without(ARGILLA, 0, "responses", "mood", 1, "user_id"), "labels",
         "record 1, responses 'mood', response 2: there is no 'user_id'"),
        ("argilla", changed(ARGILLA_FLAT, ["u1"], 0, "mood.responses.users"), "labels",
         "record 1 'mood.responses': there are 3 responses, 1 users and 3 states"),
        ("prodigy", without(PRODIGY, 1, "_session_id"), "labels",
         "record 2: there is no '_annotator_id' and no '_session_id'"),
        ("prodigy", changed(PRODIGY, "maybe", 2, "answer"), "labels", "record 3: its answer is 'maybe'; allowed: accept"),
    ],
)  # fmt: skip
def test_a_needed_field_is_named_with_its_record(tmp_path, tool, value, kind, place):
    path = write_json(tmp_path / "export.json", value)
    message = refused(path, kind, tool=tool)
    assert message.startswith("export.json") and place in message


def test_a_truth_that_changes_is_refused(tmp_path, golden):
    other = changed(LABEL_STUDIO, True, 1, "annotations", 0, "ground_truth")
    other[1]["annotations"][0]["result"][0]["value"]["choices"] = ["good"]
    message = refused(write_json(tmp_path / "e.json", other), question="mood")
    golden.says(message)
    marks = [{"model_a": "g", "model_b": "h", "winner_model_a": 1, "winner_model_b": 1, "winner_tie": 0}]
    assert "2 of winner_model_a" in refused(write_json(tmp_path / "e.json", marks), "comparisons")


@pytest.mark.parametrize(
    "name,content",
    [
        ("e.json", b""),
        ("e.json", b'[{"id": 1, "data"'),
        ("e.json", b"\xff\xfe[\x00"),
        ("e.json", b"[" * 100_000),
        ("e.jsonl", b'{"doc_id": 0, "filtered_resps": ["a"]}\n{"doc_id"\n'),
        ("e.eval", b"PK no archive"),
        ("e.csv", b"item,rater\n"),
    ],
)
def test_a_file_that_is_no_json(tmp_path, name, content, golden):
    path = tmp_path / name
    path.write_bytes(content)
    golden.says(refused(path, tool="lm-eval"))


def test_wrong_arguments_and_unknown_files(tmp_path, golden):
    path = write_json(tmp_path / "e.json", LABEL_STUDIO)
    golden.says(refused(path, "votes"))
    golden.says(refused(path, tool="labelstudio"))
    golden.says(refused(path, question="mod"))
    assert "question='mood'" in refused(path)
    golden.says(refused(path, "comparisons"))
    table = write_json(tmp_path / "t.json", [{"item": 1}])
    golden.says(refused(table))
    assert all(tool.title in refused(table) for tool in TOOLS.values())
    assert "does not exist" in refused(tmp_path / "no.json")


ODD = [
    None,
    True,
    0,
    -1.5,
    float("nan"),
    "",
    "text",
    [],
    [[]],
    [None],
    {},
    {"id": {}},
    [{"value": 1, "rank": []}],
]


def _places(value, path=()):
    """Paths of all members of a JSON value."""
    members = (
        value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    )
    for name, own in members:
        yield (*path, name)
        yield from _places(own, (*path, name))


@pytest.mark.parametrize("tool, value", [*zip(TOOLS, ALL, strict=True)])
def test_any_other_value_anywhere_is_read_or_refused(tmp_path, tool, value):
    path, rng = tmp_path / "export.json", random.Random(1)
    messages = set()
    for place in _places(value):
        for kind in rng.sample(KINDS, 2):
            other = changed(value, rng.choice(ODD), *place)
            try:
                table = read_export(write_json(path, other), kind, tool=tool)
            except DataError as error:
                messages.add(str(error))
            else:
                assert len({len(cells) for cells in table.values()}) == 1 and all(table.values())
    assert messages and all(own.startswith("export.json") for own in messages)


def test_archives_that_are_too_large_or_hold_a_file_twice(tmp_path, monkeypatch, golden):
    path = tmp_path / "log.eval"
    with ZipFile(path, "w", ZIP_DEFLATED) as archive:
        archive.writestr("header.json", '{"eval": {"model": "m"}}')
        archive.writestr("samples/1_epoch_1.json", json.dumps({"id": 1, "note": " " * 10**6}))
        archive.writestr("events/much.bin", b"\0" * 10**6)  # not read
    monkeypatch.setattr(records, "MAX_BYTES", 10**6)
    assert path.stat().st_size < 10**5
    golden.says(refused(path))
    monkeypatch.undo()
    with pytest.warns(UserWarning, match="Duplicate name"), ZipFile(path, "a") as archive:
        archive.writestr("samples/1_epoch_1.json", "{}")
    golden.says(refused(path))
    damaged = tmp_path / "damaged.eval"
    damaged.write_bytes(path.read_bytes()[:-100])
    golden.says(refused(damaged))


def test_archives_of_zstandard_that_are_damaged(tmp_path, monkeypatch, golden):
    path = write_archive(tmp_path / "log.eval", INSPECT)
    whole = path.read_bytes()
    start = whole.index(b"samples/1_epoch_1.json") + len("samples/1_epoch_1.json")
    for place in (start + 5, start + 30):  # of the compressed bytes
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        golden.says(refused(path))
    path.write_bytes(whole)
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    golden.says(refused(path))


def test_hostile_values_are_left_to_the_containers(tmp_path):
    nested = "[" * 500 + '"x"' + "]" * 500
    text = json.dumps(changed(PRODIGY, "DEEP", 0, "options")).replace('"DEEP"', nested)
    path = tmp_path / "e.json"
    path.write_text(text)
    assert read_export(path, "labels")["label"][0] == "good"  # the options are not looked into
    many = (
        '{"_input_hash": 1, "answer": "accept", "_session_id": "a", ' + '"x": 1, ' * 50_000 + '"label": "L"}'
    )
    path.write_text(f"[{many}]")
    assert read_export(path, "labels")["label"] == ["accept"]
    for odd in ("", "a\0b", "\ud800", "x" * 20_000):
        table = read_export(write_json(path, changed(PRODIGY, [odd], 0, "accept")), "labels")
        with pytest.raises(DataError, match="row 1"):
            Labels.from_table(table)
