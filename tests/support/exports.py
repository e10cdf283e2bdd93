"""Small exports of each tool, made here by their documented fields, and how they are written to files."""

import json
from zipfile import ZipFile
from zlib import crc32

import pyarrow as pa
from raterzoo.models.data.exports.records import ZSTANDARD

__all__ = [
    "ALPACA_EVAL",
    "ARGILLA", "ARGILLA_1", "ARGILLA_1_FLAT", "ARGILLA_FLAT", "DEEPEVAL", "HARNESS", "INSPECT", "LABEL_STUDIO", "PAIRWISE",
    "PRODIGY", "PROMPTFOO", "VOTES",
    "write_archive", "write_json", "write_lines",
]  # fmt: skip


def write_json(path, value):
    """Write a value as JSON."""
    path.write_text(json.dumps(value))
    return path


def write_lines(path, values):
    """Write values as JSON lines."""
    path.write_text("".join(json.dumps(value) + "\n" for value in values))
    return path


def write_archive(path, log, *, zstandard=True):
    """Write a log of Inspect as an archive, by default compressed by Zstandard, which `zipfile` cannot write."""
    header = {name: value for name, value in log.items() if name != "samples"}
    files = {"_journal/summaries/1.json": "not read", "header.json": json.dumps(header)}
    for sample in log["samples"]:
        files[f"samples/{sample['id']}_epoch_{sample['epoch']}.json"] = json.dumps(sample)
    with ZipFile(path, "w") as archive:
        for name, text in files.items():
            content = text.encode()
            archive.writestr(name, pa.compress(content, "zstd", asbytes=True) if zstandard else content)
            if zstandard:
                own = archive.getinfo(name)
                own.compress_type, own.CRC, own.file_size = ZSTANDARD, crc32(content), len(content)
    return path


def _graded(value, answer):
    return {"value": value, "answer": answer, "explanation": "because", "metadata": {"grading": [1, {}]}}


INSPECT = {
    "version": 2,
    "status": "success",
    "eval": {"task": "arithmetic", "model": "openai/small", "run_id": "r"},
    "plan": {"steps": []},
    "samples": [
        {"id": 1, "epoch": 1, "input": "1 + 1?", "target": "2",
         "scores": {"strict": _graded("C", "2"), "judge": _graded("C", "2")}},
        {"id": 2, "epoch": 1, "input": "2 + 2?", "target": ["4", "four"],
         "scores": {"strict": _graded("I", "5"), "judge": _graded("C", "5")}},
        {"id": 3, "epoch": 1, "input": "?", "target": "", "error": {"message": "lost"}},
    ],
}  # fmt: skip


ALPACA_EVAL = [
    {"instruction": f"task {task}", "generator_1": "base", "generator_2": "new", "output_1": "x", "output_2": "y",
     "annotator": "judge", "preference": preference}
    for task, preference in enumerate([1.0, 2.0, 1.5, 1.993, None, 0])
]  # fmt: skip


def _assertion(kind, passed, score, **more):
    return {"pass": passed, "score": score, "reason": "so", "assertion": {"type": kind, **more}}


def _result(test, provider, output, components):
    return {
        "promptIdx": 0, "testIdx": test, "provider": {"id": provider, "label": ""}, "vars": {"q": "?"},
        "response": {"output": output}, "success": True, "score": 1, "failureReason": 0,
        "gradingResult": {"pass": True, "score": 1, "reason": "", "componentResults": components},
    }  # fmt: skip


PROMPTFOO = {
    "evalId": "eval-1",
    "results": {
        "version": 3,
        "results": [
            _result(0, "openai:small", "yes", [
                _assertion("llm-rubric", True, 0.9, metric="polite", provider="openai:large"),
                _assertion("human", False, 0, metric="polite"),
                _assertion("equals", True, 1),
            ]),
            _result(1, "openai:small", "no", [
                _assertion("llm-rubric", False, 0.25, metric="polite", provider={"id": "openai:large"}),
                {**_assertion("human", True, 1, metric="polite"), "metadata": {"graderError": True}},
            ]),
            {**_result(2, "openai:small", None, []), "failureReason": 2, "gradingResult": None},
        ],
        "stats": {"successes": 1},
    },
}  # fmt: skip


def _metric(name, success, score, **more):
    return {"name": name, "threshold": 0.5, "success": success, "score": score, "reason": "so", **more}


DEEPEVAL = {
    "testFile": "test_app.py",
    "testCases": [
        {"name": "refund", "input": "?", "actualOutput": "yes", "success": True, "metricsData": [
            _metric("Answer Relevancy", True, 0.9, evaluationModel="gpt-4.1"),
            _metric("Bias", False, 0.75, evaluationModel=None),
        ]},
        {"name": "refund", "input": "?", "actualOutput": "no", "success": False, "metricsData": [
            _metric("Answer Relevancy", False, 0.25, evaluationModel="gpt-4.1"),
            _metric("Bias", None, None, error="timed out"),
        ]},
    ],
    "conversationalTestCases": [],
}  # fmt: skip

HARNESS = [  # log likelihoods are written as text
    {"doc_id": 0, "doc": {"q": "?"}, "target": "1", "arguments": {}, "resps": [[["-3.0", "False"]]],
     "filtered_resps": [["-3.0", "False"], ["-1.0", "True"]], "filter": "none", "metrics": ["acc"], "acc": 1.0},
    {"doc_id": 1, "doc": {"q": "?"}, "target": "1", "arguments": {}, "resps": [],
     "filtered_resps": [["-1.0", "False"], ["-1.0", "True"]], "filter": "none", "metrics": ["acc"], "acc": 0.0},
]  # fmt: skip

VOTES = [
    {"question_id": "q1", "model_a": "oak", "model_b": "fir", "winner": "model_a", "judge": "Ann", "turn": 1,
     "conversation_a": [{"role": "user", "content": "?"}], "conversation_b": [], "anony": True, "tstamp": 1.5},
    {"question_id": "q2", "model_a": "fir", "model_b": "oak", "winner": "tie (bothbad)", "judge": "Bob", "turn": 1},
    {"question_id": "q3", "model_a": "fir", "model_b": "elm", "winner": "model_b", "judge": ["gpt-4", "pair-v2"]},
]  # fmt: skip


def _choice(name, *choices):
    return {
        "id": "x",
        "from_name": name,
        "to_name": "text",
        "type": "choices",
        "value": {"choices": [*choices]},
    }


_STARS = {"from_name": "stars", "to_name": "text", "type": "rating", "value": {"rating": 4}}
_SPAN = {
    "from_name": "span",
    "to_name": "text",
    "type": "labels",
    "value": {"start": 0, "end": 2, "labels": ["X"]},
}

LABEL_STUDIO = [
    {"id": 11, "data": {"text": "fine"}, "meta": {}, "annotations": [
        {"id": 1, "completed_by": 7, "was_cancelled": False, "result": [_choice("mood", "good"), _STARS, _SPAN]},
        {"id": 2, "completed_by": {"id": 8, "email": "b@x.org"}, "result": [_choice("mood", "bad")]},
        {"id": 3, "completed_by": 9, "was_cancelled": True, "result": []},
    ], "predictions": [{"model_version": "small-1", "score": 0.8, "result": [_choice("mood", "good")]}]},
    {"id": 12, "data": {"text": "so so"}, "annotations": [
        {"id": 4, "completed_by": 7, "result": [_choice("mood", "good", "bad")]},
        {"id": 5, "completed_by": 8, "result": [_choice("mood", "bad")]},
        {"id": 6, "completed_by": 1, "ground_truth": True, "result": [_choice("mood", "bad")]},
    ], "predictions": [{"model_version": "small-1", "result": [_choice("mood", "bad")]}]},
]  # fmt: skip


def _vote(side, name="pw"):
    return {"id": "x", "from_name": name, "to_name": name, "type": "pairwise", "value": {"selected": side}}


PAIRWISE = [  # the template of pairwise comparisons
    {"id": 21, "data": {"text1": "oak", "text2": "fir", "prompt": "?"}, "annotations": [
        {"id": 1, "completed_by": 7, "result": [_vote("left"), _choice("mood", "good")]},
        {"id": 2, "completed_by": 8, "result": [_vote("right")]},
        {"id": 3, "completed_by": 9, "was_cancelled": True, "result": [_vote("right")]},
        {"id": 4, "completed_by": 1, "ground_truth": True, "result": [_vote("left")]},
    ]},
    {"id": 22, "data": {"text1": "fir", "text2": "elm", "prompt": "!"}, "annotations": [
        {"id": 5, "completed_by": 7, "result": [_vote("right")]}], "predictions": []},
]  # fmt: skip

ARGILLA = [
    {"id": "a", "fields": {"text": "fine"}, "metadata": {}, "vectors": {}, "_server_id": "s1",
     "responses": {"mood": [{"value": "good", "user_id": "u1"}, {"value": "bad", "user_id": "u2"}],
                   "order": [{"value": [{"value": "x", "rank": 1}, {"value": "y", "rank": 2}], "user_id": "u1"}],
                   "stars": [{"value": 4, "user_id": "u1"}]},
     "suggestions": {"mood": {"value": "good", "score": 0.9, "agent": "small"}}},
    {"id": None, "fields": {"text": "so"}, "metadata": {}, "vectors": {}, "_server_id": "s2",
     "responses": {"mood": [{"value": ["bad"], "user_id": "u1"}]}, "suggestions": {}},
]  # fmt: skip

ARGILLA_1 = [  # FeedbackRecord of Argilla 1.x
    {"id": "s1", "external_id": "a", "fields": {"text": "fine"}, "metadata": {}, "vectors": {}, "responses": [
        {"user_id": "u1", "status": "submitted", "values": {
            "mood": {"value": "good"}, "stars": {"value": 4},
            "order": {"value": [{"value": "x", "rank": 1}, {"value": "y", "rank": 2}]}}},
        {"user_id": "u2", "status": "discarded", "values": {"mood": {"value": "bad"}}},
        {"user_id": "u3", "status": "draft", "values": None}],
     "suggestions": [{"question_name": "mood", "type": "model", "score": 0.9, "value": "good", "agent": "small"}]},
    {"id": "s2", "external_id": "b", "fields": {"text": "so"}, "metadata": {}, "responses": [
        {"user_id": "u1", "status": "submitted", "values": {"mood": {"value": ["bad"]}}}], "suggestions": []},
]  # fmt: skip

ARGILLA_1_FLAT = [  # the same as `format_as("datasets")` of 1.x writes it, without external_id
    {"text": "fine", "external_id": None, "metadata": "{}",
     "mood": [{"user_id": "u1", "value": "good", "status": "submitted"},
              {"user_id": "u2", "value": "bad", "status": "discarded"}],
     "mood-suggestion": "good", "mood-suggestion-metadata": {"type": "model", "score": 0.9, "agent": "small"},
     "order": [{"user_id": "u1", "value": {"value": ["x", "y"], "rank": [1, 2]}, "status": "submitted"}],
     "order-suggestion": None, "order-suggestion-metadata": {"type": None, "score": None, "agent": None}},
    {"text": "so", "external_id": None, "metadata": "{}", "mood": [{"user_id": "u1", "value": "bad", "status": "submitted"}],
     "mood-suggestion": None, "mood-suggestion-metadata": {"type": None, "score": None, "agent": None},
     "order": [], "order-suggestion": None, "order-suggestion-metadata": {"type": None, "score": None, "agent": None}},
]  # fmt: skip

ARGILLA_FLAT = [
    {"id": "a", "text": "fine", "mood.responses": ["good", "bad", "bad"],
     "mood.responses.users": ["u1", "u2", "u3"], "mood.responses.status": ["submitted", "draft", "discarded"],
     "mood.suggestion": "good", "mood.suggestion.agent": "small", "mood.suggestion.score": 0.9},
    {"id": "b", "text": "so", "mood.responses": ["bad"], "mood.responses.users": ["u1"],
     "mood.responses.status": ["submitted"], "mood.suggestion": None},
]  # fmt: skip


def _task(text, who, answer, **more):
    return {
        "text": text,
        "_input_hash": text,
        "_task_hash": 5,
        "_annotator_id": who,
        "answer": answer,
        **more,
    }


_OPTIONS = [{"id": "good", "text": "Good"}, {"id": "bad", "text": "Bad"}]
PRODIGY = [
    _task(-11, "ann", "accept", options=_OPTIONS, accept=["good"]),
    _task(-11, None, "accept", _session_id="set-bob", options=_OPTIONS, accept=["bad"]),
    _task(12, "ann", "accept", options=_OPTIONS, accept=["bad"]),
    _task(12, "ann", "ignore", options=_OPTIONS, accept=[]),
    _task(12, "bob", "reject", options=_OPTIONS, accept=["bad"]),
]
