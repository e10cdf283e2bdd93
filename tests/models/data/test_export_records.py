"""The record of an export, not its cell, says what an answer is: scorer, failure of a grader, filter, version."""

import copy
import json
import warnings

import pytest
import raterzoo
from raterzoo import models
from raterzoo.models import DataError, DataWarning, read_export

from tests.support.command_line import run
from tests.support.exports import ALPACA_EVAL, ARGILLA, PRODIGY, PROMPTFOO, VOTES, write_json, write_lines

VALUES = [1.0, 0.5, 0.0, 1]
GRADES = ["C", "I", "C", "I"]


def inspect_log(**scorers):
    samples = [
        {
            "id": row,
            "epoch": 1,
            "scores": {name: {"value": cells[row], "explanation": "so"} for name, cells in scorers.items()},
        }
        for row in range(len(VALUES))
    ]
    return {"version": 2, "status": "success", "eval": {"model": "m"}, "samples": samples}  # fmt: skip


def labels_of(path, **options):
    table = read_export(path, "labels", **options)
    return sorted(zip(table["item"], table["rater"], table["label"], strict=True))


def test_a_scorer_with_a_fraction_has_scores_and_no_labels(tmp_path, golden):
    path = write_json(tmp_path / "log.json", inspect_log(f1=VALUES, judge=GRADES, other=[*"CCIP"]))
    with golden.warns(DataWarning):
        found = labels_of(path)
    assert {label for _, rater, label in found if rater == "judge"} == {"C", "I"}
    assert [label for _, rater, label in found if rater == "other"] == [*"CCIP"]
    assert len(found) == 8
    assert read_export(path, "scores", question="f1")["score"] == [1.0, 0.5, 0.0, "1"]
    assert [rater for _, rater, _ in labels_of(path, question="judge")] == ["judge"] * 4
    assert raterzoo.read(path, "labels", columns={"label": "judge"}).categories.tolist() == ["C", "I"]
    result = run("check", path, "--kind", "labels", "--column", "label=judge")
    assert result.exit_code == 0 and "'f1'" not in result.output
    only = write_json(tmp_path / "only.json", inspect_log(f1=VALUES))
    with pytest.raises(DataError) as caught:
        read_export(only, "labels")
    assert caught.value.value == "labels" and "scores" in caught.value.allowed
    assert run("check", only, "--kind", "labels").exit_code == 2


@pytest.mark.parametrize(
    ("kind", "pooled", "apart"),
    [
        ("labels", {"a": GRADES, "b": [*"CCCC"]}, {"rubric": [1, 5, 3, 4]}),
        ("labels", {"a": [1, 5, 3, 4], "b": [2, 2, 2, 2]}, {"match": [0, 1, 1, 1]}),
        ("labels", {"a": ["safe", "unsafe", "safe", "safe"], "b": ["safe"] * 4}, {"tone": ["rude"] * 4}),
        ("scores", {"f1": VALUES, "rouge": [0.1, 0.2, 0.3, 1]}, {"rubric": [1, 5, 3, 4]}),
    ],
)
def test_scorers_on_different_scales_are_no_raters_of_one_question(tmp_path, kind, pooled, apart, golden):
    path = write_json(tmp_path / "log.json", inspect_log(**pooled, **apart))
    with golden.raises(DataError) as caught:
        read_export(path, kind)
    assert caught.value.value == [next(iter(pooled)), *apart]
    for scorer in (*pooled, *apart):
        assert len(read_export(path, kind, question=scorer)["item"]) == 4
    result = run("check", path, "--kind", kind)
    assert result.exit_code == 2 and f"--column {kind[:-1]}={next(iter(pooled))}" in result.output
    both = write_json(tmp_path / "both.json", inspect_log(**pooled))
    assert len(read_export(both, kind)["item"]) == 8


def test_fractions_of_one_rater_make_scores_of_a_question_of_numbers(tmp_path):
    def task(number, values):
        return {"id": number, "data": {}, "annotations": [
            {"id": 10 * number + who, "completed_by": who, "result": [
                {"from_name": "n", "to_name": "t", "type": "number", "value": {"number": value}}]}
            for who, value in enumerate(values)]}  # fmt: skip

    path = write_json(tmp_path / "export.json", [task(1, [2.0, 3.5]), task(2, [1.0, 2])])
    assert len(read_export(path, "scores")["score"]) == 4
    with pytest.raises(DataError):
        read_export(path, "labels")


@pytest.mark.filterwarnings("ignore:.*failures of a grader 1,:raterzoo.models.DataWarning")
@pytest.mark.parametrize(
    "reason",
    [
        "Could not extract JSON from llm-rubric response",
        "No output",
        "llm-rubric produced malformed response: SyntaxError",
        "API call error: 429",
    ],
)
def test_failures_of_graders_of_promptfoo_are_no_answers(tmp_path, reason, golden):
    log = copy.deepcopy(PROMPTFOO)
    component = log["results"]["results"][0]["gradingResult"]["componentResults"][0]
    path = write_json(tmp_path / "log.json", log)
    asked = component["assertion"].get("metric", "answer")
    before = labels_of(path, question=asked)
    component |= {"pass": False, "score": 0, "reason": reason}
    with golden.warns(DataWarning):
        assert len(labels_of(write_json(path, log), question=asked)) == len(before) - 1


def test_a_grade_that_inspect_has_not_found_is_no_answer(tmp_path, golden):
    log = inspect_log(judge=GRADES)
    log["samples"][1]["scores"]["judge"]["explanation"] = "Grade not found in model output: hm"
    with golden.warns(DataWarning):
        assert [item for item, _, _ in labels_of(write_json(tmp_path / "log.json", log))] == ["0", "2", "3"]


def sample(document, answer, **more):
    return {
        "doc_id": document,
        "filtered_resps": [answer],
        "target": "5",
        "exact_match": float(answer == "5"),
        **more,
    }


def test_filters_that_a_file_does_not_name_are_questions(tmp_path):
    found = [["[invalid]"] * 3, ["5", "4", "5"]]
    both = [sample(d, found[k][d], resps=[["it is 5"]]) for k in range(2) for d in range(3)]
    path = write_lines(tmp_path / "samples.jsonl", both)
    with pytest.raises(DataError) as caught:
        read_export(path, "labels")
    assert "1st" in caught.value.allowed and "2nd" in caught.value.allowed
    assert [label for _, _, label in labels_of(path, question="2nd")] == ["5", "4", "5"]
    assert read_export(path, "scores", question="exact_match,1st")["score"] == [0.0] * 3
    assert run("check", path, "--kind", "labels", "--column", "label=2nd").exit_code == 0
    joined = write_lines(tmp_path / "joined.jsonl", [*both[:3], sample(0, "5", filter="none"), both[0]])
    with pytest.raises(DataError) as caught:
        read_export(joined, "labels")
    assert caught.value.row is not None


def test_joined_samples_of_two_models_are_no_filters(tmp_path):
    """Filters share the responses of the model to a document; another model has others."""
    responses = [["the answer is 5"]], [["it is 4"]]
    filters = [sample(d, answer, resps=responses[0]) for answer in ("[invalid]", "5") for d in range(3)]
    path = write_lines(tmp_path / "filters.jsonl", filters)
    assert [label for _, _, label in labels_of(path, question="2nd")] == ["5", "5", "5"]
    models = [sample(d, str(5 - k), resps=responses[k]) for k in range(2) for d in range(3)]
    for joined in (models, [own | {"filter": "none"} for own in models]):
        with pytest.raises(DataError) as caught:
            read_export(write_lines(tmp_path / "joined.jsonl", joined), "labels")
        assert caught.value.row == 4 and "file of its own" in caught.value.remedy


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"filter": "strict"}, {"filter": "strict"}),
        ({"arguments": [["Q", {}]]}, {"arguments": [["<user>Q", {}]]}),
        ({"resps": None}, {"resps": None}),
    ],
    ids=["filter named", "other requests", "no responses"],
)
def test_two_models_that_agree_are_no_filters_either(tmp_path, first, second):
    """A named filter finds one answer, and filters share what the model was asked; without responses nothing tells."""
    samples = [sample(d, "5", resps=[["it is 5"]]) | more for more in (first, second) for d in range(3)]
    with pytest.raises(DataError) as caught:
        read_export(write_lines(tmp_path / "joined.jsonl", samples), "scores")
    assert caught.value.row == 4 and "file of its own" in caught.value.remedy
    alike = [sample(d, "5", resps=[["it is 5"]]) | first | {"resps": [["it is 5"]]} for d in range(3)]
    unnamed = [{name: own for name, own in one.items() if name != "filter"} for one in (*alike, *alike)]
    read_export(write_lines(tmp_path / "filters.jsonl", unnamed), "labels", question="2nd")


def choice(number, label, **more):
    result = {"from_name": "mood", "to_name": "text", "type": "choices", "value": {"choices": [label]}}
    return {"id": number, "completed_by": 1, "result": [result], **more}


def test_the_newest_version_of_an_annotation_counts(tmp_path, golden):
    tasks = [
        {"id": 1, "data": {}, "annotations": [choice(7, "b", updated_at="2026-02-01"), choice(8, "a", completed_by=2)]},
        {"id": 2, "data": {}, "annotations": [choice(7, "a")]},
        {"id": 1, "data": {}, "annotations": [choice(7, "a", updated_at="2026-01-01"), choice(8, "c", completed_by=2)],
         "predictions": [choice(3, "a", model_version="m")]},
        {"id": 1, "data": {}, "annotations": [], "predictions": [choice(3, "b", model_version="m")]},
    ]  # fmt: skip
    path = write_json(tmp_path / "export.json", tasks)
    with golden.warns(DataWarning):
        assert labels_of(path) == [("1", "1", "b"), ("1", "2", "c"), ("2", "1", "a")]
        assert read_export(path, "predictions")["category"] == ["b"]
    assert "earlier copies" in run("check", path, "--kind", "labels").output


def test_of_two_annotations_of_a_rater_the_newest_counts(tmp_path, golden):
    """Nobody is asked about a task twice: whatever their order, the one changed last; without times the last one."""
    own = [choice(8, "b", updated_at="2026-02-01"), choice(7, "a", updated_at="2026-01-01")]
    other = choice(9, "a", completed_by=2, updated_at="2026-03-01")
    path = tmp_path / "export.json"
    for annotations in (own, own[::-1]):
        write_json(path, [{"id": 1, "data": {}, "annotations": [*annotations, other]}])
        with golden.warns(DataWarning):
            labels = raterzoo.read(path, "labels")
        assert list(labels.to_table()["label"]) == ["b", "a"] and labels.contradictions() == 0
        found = run("check", path, "--kind", "labels").output
        assert "repeated answers         0" in found and "earlier copies" in found
    truth = choice(10, "b", ground_truth=True)
    untimed = [choice(8, "a"), choice(7, "b"), truth, choice(11, "a", was_cancelled=True)]
    write_json(
        path,
        [{"id": 1, "data": {}, "annotations": untimed}, {"id": 2, "data": {}, "annotations": untimed[:1]}],
    )
    with golden.warns(DataWarning):
        assert labels_of(path) == [("1", "1", "b"), ("2", "1", "a")]
    write_json(
        path, [{"id": 1, "data": {}, "annotations": [one]} for one in (choice(8, "a"), choice(7, "b"))]
    )
    with golden.warns(DataWarning):  # a task of two exports, whose annotations got ids of their own
        assert labels_of(path) == [("1", "1", "b")]


def test_later_copies_of_records_of_argilla_and_copies_of_prodigy_count_once(tmp_path, golden):
    path = write_json(tmp_path / "argilla.json", ARGILLA)
    question = next(iter(ARGILLA[0]["responses"]))
    once = labels_of(path, question=question)
    with golden.warns(DataWarning):
        assert labels_of(write_json(path, [*ARGILLA, *ARGILLA]), question=question) == once
    timed = [{**task, "_timestamp": row} for row, task in enumerate(PRODIGY)]
    kept = [task for task in timed if task["answer"] == "accept" and "options" in task]
    path = write_lines(tmp_path / "prodigy.jsonl", kept)
    once = labels_of(path)
    with golden.warns(DataWarning):
        assert labels_of(write_lines(path, [*kept, *kept])) == once


def test_alpaca_eval(tmp_path, golden):
    path = write_json(tmp_path / "annotations.json", ALPACA_EVAL)
    with golden.warns(DataWarning):
        votes = raterzoo.read(path, "comparisons")
    assert votes.items.tolist() == ["base", "new"] and votes.raters.tolist() == ["judge"]
    assert votes.count.tolist() == [1, 2, 2] and votes.outcome.tolist() == [0, 1, 2]
    assert votes.several_prompts
    assert run("check", path, "--kind", "comparisons").exit_code == 0
    for wrong in (3, "a", True, -1):
        with pytest.raises(DataError) as caught:
            read_export(write_json(path, [{**ALPACA_EVAL[0], "preference": wrong}]), "comparisons")
        assert caught.value.row == 1


PREFLIB = """# FILE NAME: town.toi
# TITLE: Town
# ALTERNATIVE NAME 1: Oak, north
# ALTERNATIVE NAME 2: Fir
# ALTERNATIVE NAME 10: Elm
2: 10,{1, 2}
1: 2
"""


def test_files_of_preflib(tmp_path):
    path = tmp_path / "town.toi"
    path.write_text(PREFLIB)
    rankings = raterzoo.read(path)
    table = rankings.to_table()
    rows = sorted(zip(table["rater"], table["category"], table["rank"].tolist(), strict=True))
    ranked = [("Elm", 1), ("Fir", 2), ("Oak, north", 2)]
    assert rows == [(f"town, voter {v}", *own) for v in (1, 2) for own in ranked] + [
        ("town, voter 3", "Fir", 1)
    ]
    assert rankings.items.tolist() == ["town"]
    result = run("check", path, "--kind", "rankings")
    assert result.exit_code == 0
    for line, content in ((6, PREFLIB.replace("2: 10", "2; 10")), (7, PREFLIB.replace("1: 2", "1: 3"))):
        path.write_text(content)
        with pytest.raises(DataError) as caught:
            models.data.read_table(path)
        assert caught.value.row == line
        assert run("check", path, "--kind", "rankings").exit_code == 2
    path.write_text("3\n1,Oak\n")
    with pytest.raises(DataError):
        raterzoo.read(path)


def test_voters_of_two_preflib_files_are_others(tmp_path):
    for name in ("town", "village"):
        (tmp_path / f"{name}.toi").write_text(PREFLIB)
    rankings = raterzoo.read(tmp_path)
    assert rankings.items.tolist() == ["town", "village"]
    assert len(rankings.raters) == 6


def test_a_preflib_file_that_was_cut_is_refused(tmp_path):
    path = tmp_path / "town.toi"
    for voters in (3, 4):
        path.write_text(PREFLIB.replace("# TITLE", f"# NUMBER VOTERS: {voters}\n# TITLE"))
        if voters == 3:
            assert len(raterzoo.read(path).raters) == 3
            continue
        with pytest.raises(DataError) as caught:
            raterzoo.read(path)
        assert caught.value.row == 2


@pytest.mark.parametrize(
    ("write", "records", "container"),
    [
        (write_json, ALPACA_EVAL, models.Comparisons),
        (write_json, VOTES, models.Comparisons),
        (write_lines, PRODIGY, models.Labels),
    ],
)
def test_exports_of_one_kind_need_no_kind(tmp_path, write, records, container):
    path = write(tmp_path / ("export.json" if write is write_json else "export.jsonl"), records)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert isinstance(raterzoo.read(path), container)
    result = run("check", path)
    assert result.exit_code == 0
    assert result.stdout.split()[0] == container.__name__.lower()


def test_what_is_said_on_the_command_line_is_warned_of_in_python(tmp_path, golden):
    log = inspect_log(judge=GRADES)
    del log["samples"][0]["scores"]
    path = tmp_path / "log.json"
    path.write_text(json.dumps(log))
    with golden.warns(DataWarning):
        assert len(raterzoo.read(path, "labels")) == 3
