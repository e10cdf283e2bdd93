"""Exports of other tools become the tables that their fields mean."""

import json
from math import exp

import numpy as np
import pytest
from raterzoo import models
from raterzoo.models import Comparisons, DataError, Labels, PartialRankings, Scores, read_export
from raterzoo.models.data.exports import tools
from raterzoo.models.data.exports.records import read_document

from tests.support.data_parts import TOOLS
from tests.support.exports import (
    ALPACA_EVAL,
    ARGILLA,
    ARGILLA_1,
    ARGILLA_1_FLAT,
    ARGILLA_FLAT,
    DEEPEVAL,
    HARNESS,
    INSPECT,
    LABEL_STUDIO,
    PAIRWISE,
    PRODIGY,
    PROMPTFOO,
    VOTES,
    write_archive,
    write_json,
    write_lines,
)

pytestmark = pytest.mark.filterwarnings("ignore:.*left out of:raterzoo.models.DataWarning")
ALL = {
    "inspect": INSPECT,
    "promptfoo": PROMPTFOO,
    "deepeval": DEEPEVAL,
    "lm-eval": HARNESS,
    "arena": VOTES,
    "alpaca-eval": ALPACA_EVAL,
    "label-studio": LABEL_STUDIO,
    "argilla": ARGILLA,
    "prodigy": PRODIGY,
}


@pytest.fixture
def file(tmp_path):
    return lambda value, name="export.json": (write_lines if name.endswith("l") else write_json)(
        tmp_path / name, value
    )


def rows(table):
    return list(zip(*table.values(), strict=True))


def test_each_tool_is_recognised_and_a_plain_table_is_none(file):
    assert list(TOOLS) == list(ALL)
    for name, value in ALL.items():
        assert [own for own, tool in TOOLS.items() if tool.recognises(read_document(file(value)))] == [name]
        if isinstance(value, list):
            assert tools.recognised(read_document(file(value, "export.jsonl"))) == name
            assert (
                tools.recognised(read_document(write_lines(file(value), value))) == name
            )  # lines called .json
    for table in ([{"item": 1, "rater": "a", "label": "x"}], {"item": [1], "label": ["x"]}, [], {}, 3, [3], ["x"],
                  [{"model_a": "g", "model_b": "h", "winner": "g", "user": "u"}],
                  [{"id": 1, "text": "so", "mood": "good", "annotator": 3, "annotation_id": 9}]):  # fmt: skip
        assert tools.recognised(read_document(file(table))) is None


@pytest.mark.parametrize("written", ["json", "deflated", "zstandard"])
def test_scorers_of_inspect_are_raters(tmp_path, written, golden):
    path = tmp_path / ("log.json" if written == "json" else "log.eval")
    if written == "json":
        write_json(path, INSPECT)
    else:
        write_archive(path, INSPECT, zstandard=written == "zstandard")
    assert rows(read_export(path, "labels")) == [
        ("1", "strict", "C"), ("1", "judge", "C"), ("2", "strict", "I"), ("2", "judge", "C")
    ]  # fmt: skip
    found = tools.long_table(read_document(path), "inspect", "labels")
    assert found.records == [1, 1, 2, 2]
    golden.says(found.said)
    predicted = read_export(path, "predictions", question="judge")
    assert rows(predicted) == [("1", "2", "openai/small", 1), ("2", "5", "openai/small", 1)]
    with golden.raises(DataError):
        read_export(path, "predictions")
    with golden.raises(DataError):
        read_export(path, "scores")


def test_epochs_of_inspect_are_outputs_of_their_own(file):
    samples = [
        {"id": "s", "epoch": epoch, "scores": {"judge": {"value": {"kind": 2, "true": "C"}, "answer": "a"}}}
        for epoch in (1, 2)
    ]
    path = file(INSPECT | {"samples": samples})
    assert rows(read_export(path, "scores")) == [("s (epoch 1)", "judge", "2"), ("s (epoch 2)", "judge", "2")]
    assert read_export(path, "labels", question="true")["label"] == ["C", "C"]
    assert read_export(path, "predictions")["classifier"] == [
        "openai/small (epoch 1)",
        "openai/small (epoch 2)",
    ]


def test_assertions_of_promptfoo(file, golden):
    path = file(PROMPTFOO)
    one, two = "0/0/openai:small", "1/0/openai:small"
    polite = read_export(path, "labels", question="polite")
    judge = "llm-rubric by openai:large"
    assert rows(polite) == [(one, judge, "pass"), (one, "human", "fail"), (two, judge, "fail")]
    assert read_export(path, "scores", question="polite")["score"] == [0.9, "0", 0.25]
    assert rows(read_export(path, "labels", question="answer")) == [(one, "equals", "pass")]
    assert rows(read_export(path, "predictions")) == [
        ("0", "yes", "openai:small", 1),
        ("1", "no", "openai:small", 1),
    ]
    said = tools.long_table(read_document(path), "promptfoo", "labels", "polite").said
    golden.says(said, "failures of", "results without")
    assert (
        read_export(file(PROMPTFOO["results"]["results"], "r.jsonl"), "labels", question="polite") == polite
    )


def test_metrics_of_deepeval(file):
    path = file(DEEPEVAL)
    relevancy = read_export(path, "labels", question="Answer Relevancy")
    assert rows(relevancy) == [("refund", "gpt-4.1", "pass"), ("refund (2)", "gpt-4.1", "fail")]
    assert rows(read_export(path, "scores", question="Bias")) == [("refund", "Bias", 0.75)]
    assert read_export(path, "predictions") == {
        "item": ["refund", "refund (2)"],
        "category": ["yes", "no"],
        "rank": [1, 1],
    }


def test_samples_of_the_harness(file):
    path = file(HARNESS, "samples_task.jsonl")
    assert rows(read_export(path, "labels")) == [("0", "model", "1", "1"), ("1", "model", "0", "1")]
    assert read_export(path, "scores") == {"item": ["0", "1"], "score": [1.0, 0.0]}
    assert Scores.from_table(read_export(path, "scores"), rater=None).score.tolist() == [1.0, 0.0]
    probability = read_export(path, "predictions")["score"]
    np.testing.assert_allclose(probability, [1 / (1 + exp(2)), 1 / (1 + exp(-2)), 0.5, 0.5], rtol=1e-12)
    generated = [{"doc_id": 0, "target": "4", "filter": own, "exact_match": 1.0, "filtered_resps": [["4"]]}
                 for own in ("strict-match", "flexible-extract")]  # fmt: skip
    path = file(generated, "samples_gsm8k.jsonl")
    assert rows(read_export(path, "labels", question="strict-match")) == [("0", "model", "4")]
    assert read_export(path, "scores", question="exact_match,flexible-extract")["score"] == [1.0]


def test_votes_of_the_arena(file):
    found = Comparisons.from_table(read_export(file(VOTES), "comparisons"))
    assert found.raters.tolist() == ["Ann", "Bob", "gpt-4"] and found.outcome.tolist() == [0, 2, 1]
    marks = ({"winner_model_a": 1}, {"winner_model_b": 1, "winner_tie": 0}, {"winner_tie": 1.0})
    marked = [
        {"model_a": "oak", "model_b": "fir", "response_a": "x", "winner_tie": 0, **own} for own in marks
    ]
    table = read_export(file(marked), "comparisons")
    assert table == {"left": ["oak"] * 3, "right": ["fir"] * 3, "winner": ["left", "right", "tie"]}


def test_annotations_and_predictions_of_label_studio(file, golden):
    path = file(LABEL_STUDIO)
    table = read_export(path, "labels", question="mood")
    assert rows(table) == [
        ("11", "7", "good", None),
        ("11", "b@x.org", "bad", None),
        ("12", "8", "bad", "bad"),
    ]
    labels = Labels.from_table(table, gold="gold")
    assert labels.gold.tolist() == [-1, labels.categories.tolist().index("bad")]
    said = tools.long_table(read_document(path), "label-studio", "labels", "mood").said
    assert "on regions" in said
    golden.says(said, "cancelled annotations")
    assert rows(read_export(path, "scores")) == [("11", "7", "4")]
    assert rows(read_export(path, "predictions")) == [
        ("11", "good", "small-1", 1),
        ("12", "bad", "small-1", 1),
    ]
    taxonomy = {
        "from_name": "t",
        "to_name": "x",
        "type": "taxonomy",
        "value": {"taxonomy": [["bird", "owl"]]},
    }
    task = LABEL_STUDIO[0] | {"annotations": [{"completed_by": 1, "result": [taxonomy]}], "predictions": []}
    assert read_export(file(task), "labels")["label"] == ["bird / owl"]


def test_responses_and_suggestions_of_argilla(file, golden):
    path = file(ARGILLA)
    mood = read_export(path, "labels", question="mood")
    assert rows(mood) == [("a", "u1", "good"), ("a", "u2", "bad"), ("s2", "u1", "bad")]
    assert rows(read_export(path, "scores")) == [("a", "u1", "4")]
    order = read_export(path, "rankings")
    assert rows(order) == [("a", "u1", "x", "1"), ("a", "u1", "y", "2")]
    assert PartialRankings.from_table(order).categories.tolist() == ["x", "y"]
    assert rows(read_export(path, "predictions")) == [("a", "good", "small", 1)]
    flat = file(ARGILLA_FLAT, "records.jsonl")
    assert rows(read_export(flat, "labels")) == [("a", "u1", "good"), ("b", "u1", "bad")]
    golden.says(tools.long_table(read_document(flat), "argilla", "labels").said, "discarded responses")
    assert rows(read_export(flat, "predictions")) == [("a", "good", "small", 1)]


def test_votes_of_pairwise_controls_of_label_studio(file, golden):
    path = file(PAIRWISE)
    votes = [("oak", "fir", "left", "7"), ("oak", "fir", "right", "8"), ("fir", "elm", "right", "7")]
    table = read_export(path, "comparisons")
    assert rows(table) == votes and Comparisons.from_table(table).outcome.tolist() == [0, 1, 1]
    said = tools.long_table(read_document(path), "label-studio", "comparisons").said
    assert "cancelled annotations 1" in said
    golden.says(said, "ground truth")
    assert rows(read_export(path, "labels")) == [("21", "7", "good")]  # which needs no sides
    named = json.loads(json.dumps(PAIRWISE).replace("text1", "model_a").replace("text2", "model_b"))
    with golden.raises(DataError):
        read_export(file(named), "comparisons")
    assert rows(read_export(file(named), "comparisons", sides=("model_a", "model_b"))) == votes
    assert rows(read_export(file(named), "comparisons", sides=("model_b", "model_a")))[0] == (
        "fir",
        "oak",
        "left",
        "7",
    )
    assert read_export(file(named), "labels")["label"] == ["good"]
    with golden.raises(DataError):
        read_export(file(PAIRWISE), "comparisons", sides=("text1", "c"))
    with golden.raises(DataError):
        read_export(file(VOTES), "comparisons", sides=("a", "b"))
    with golden.raises(DataError):
        read_export(file(json.loads(json.dumps(PAIRWISE).replace('"right"', '"none"'))), "comparisons")
    for bad in ('"selected": "none"', '"selected": null', '"chosen": "left"'):
        path = file(json.loads(json.dumps(PAIRWISE).replace('"selected": "left"', bad)))
        assert rows(read_export(path, "labels")) == [("21", "7", "good")]
        said = tools.long_table(read_document(path), "label-studio", "labels").said
        assert "other types" not in said
        golden.says(said, "votes between")
        with pytest.raises(DataError, match=r"selected|is no side"):
            read_export(path, "comparisons")
    guessed = [PAIRWISE[0] | {"predictions": [{"result": PAIRWISE[0]["annotations"][0]["result"]}]}]
    assert rows(read_export(file(guessed), "predictions")) == [("21", "good", 1)]
    said = tools.long_table(read_document(file(guessed)), "label-studio", "predictions").said
    golden.says(said, "other types", "votes between")
    two = json.loads(json.dumps(PAIRWISE).replace("pw", "tone", 2))
    with golden.raises(DataError):
        read_export(file(two), "comparisons")
    assert rows(read_export(file(two), "comparisons", question="tone")) == votes[:1]


@pytest.mark.parametrize(("records", "names"), [(ARGILLA_1, "ab"), (ARGILLA_1_FLAT, "12")])
def test_responses_and_suggestions_of_argilla_1(file, records, names, golden):
    first, second = names
    for path in (file(records), file(records, "records.jsonl")):
        assert tools.recognised(read_document(path)) == "argilla"
        mood = read_export(path, "labels", question="mood")
        assert rows(mood) == [(first, "u1", "good"), (second, "u1", "bad")]
        assert rows(read_export(path, "rankings")) == [(first, "u1", "x", "1"), (first, "u1", "y", "2")]
        assert rows(read_export(path, "predictions")) == [(first, "good", "small", 1)]
    said = tools.long_table(read_document(path), "argilla", "labels", "mood").said
    assert f"discarded responses {2 - (names == '12')}" in said
    nameless = [{name: cell for name, cell in own.items() if name != "external_id"} for own in ARGILLA_1]
    assert read_export(file(nameless), "scores")["item"] == ["s1"]
    broken = json.loads(json.dumps(ARGILLA_1_FLAT).replace("[1, 2]", "[1]"))
    with golden.raises(DataError):
        read_export(file(broken), "rankings")


def test_choices_and_accepted_labels_of_prodigy(file, golden):
    path = file(PRODIGY, "annotations.jsonl")
    assert rows(read_export(path, "labels")) == [
        ("-11", "ann", "good"),
        ("-11", "set-bob", "bad"),
        ("12", "ann", "bad"),
    ]
    said = tools.long_table(read_document(path), "prodigy", "labels").said
    golden.says(said, "rejected tasks")
    binary = [{"_input_hash": 1, "_session_id": who, "label": label, "answer": answer}
              for who, label, answer in (("a", "SPORT", "accept"), ("b", "SPORT", "reject"), ("a", "ART", "accept"))]  # fmt: skip
    path = file(binary, "binary.jsonl")
    assert rows(read_export(path, "labels", question="SPORT")) == [("1", "a", "accept"), ("1", "b", "reject")]


def test_a_field_that_is_not_used_never_stops_a_read(file, golden):
    strange = {"extra": [{"deep": None}], "lead_time": "soon", "data": 3, "meta": float("nan")}
    changed = [task | strange for task in LABEL_STUDIO]
    assert read_export(file(changed), "predictions") == read_export(file(LABEL_STUDIO), "predictions")
    path = file([])
    path.write_text('[{"id": 1, "data": {"x": 1, "x": 2}, "annotations": [{"completed_by": 1, "result": ['
                    '{"from_name": "m", "to_name": "t", "type": "choices", "value": {"choices": ["good"]}}]}]}]')  # fmt: skip
    assert rows(read_export(path, "labels")) == [("1", "1", "good")]
    path.write_text(path.read_text().replace('"completed_by": 1', '"completed_by": 1, "completed_by": 2'))
    with golden.raises(DataError):
        read_export(path, "labels")


def test_names_are_public():
    assert models.read_export is read_export and "read_export" in models.__all__
