"""The judge of the fuzzer condemns what no door should do."""

import warnings

import numpy as np
import pytest
from raterzoo.models import DataError, Labels, PartialRankings, Scores

from tests.support import fuzz_doors
from tests.support.fuzz_doors import Finding, check_labels, check_rankings, check_scores, judged


def crash(_):
    return {}["missing"]


def foreign(_):
    np.array([1, 2]).reshape(3)


def warn(_):
    warnings.warn("something", stacklevel=1)


def hang(_):
    while True:
        pass


def hoard(_):
    np.ones(2**32)


def talk(_):
    # the error as doors raise it, so that the last frame is ours
    Labels.from_table({"item": ["x" * 60] * 2, "rater": [1, 1], "label": ["a", "b"]}, count="c" * 9_000)


@pytest.mark.parametrize("door", [crash, foreign, warn, hang, hoard])
def test_doors_that_are_condemned(door, monkeypatch):
    monkeypatch.setattr(fuzz_doors, "SECONDS", 0.5)
    with pytest.raises(Finding):
        judged(door, None)


def test_an_error_of_a_door_is_not(monkeypatch, golden):
    golden.says(judged(talk, None), "is no column")
    monkeypatch.setattr(DataError, "__str__", lambda error: error.problem + "\x1b")
    with pytest.raises(Finding, match="printable"):
        judged(talk, None)
    monkeypatch.setattr(DataError, "__str__", lambda error: error.problem * 100)
    with pytest.raises(Finding, match="characters"):
        judged(talk, None)
    monkeypatch.setattr(DataError, "__str__", lambda error: "no")
    with pytest.raises(Finding, match="says nothing"):
        judged(talk, None)


TABLE = {"item": [1, 1, 2], "rater": [1, 2, 1], "label": ["a", "b", "a"]}


@pytest.mark.parametrize(
    "name,value",
    [
        ("label_code", np.array([0, 2, 0], np.int32)),
        ("label_code", np.array([0, 1, 0])),
        ("annotation_item", np.array([1, 0, 0], np.int32)),
        ("count", np.array([1, 0, 1])),
        ("categories", np.array(["a", "a"])),
        ("items", np.array([1, 2], object)),
    ],
)
def test_labels_that_are_condemned(name, value, golden):
    labels = Labels.from_table(TABLE)
    check_labels(labels)
    object.__setattr__(labels, name, value)
    with golden.raises(Finding):
        check_labels(labels)


def test_other_containers_that_are_condemned(golden):
    ranked = {"item": [1, 1], "rater": [1, 1], "category": ["a", "b"], "rank": [1, 2]}
    rankings = PartialRankings.from_table(ranked)
    check_rankings(rankings)
    object.__setattr__(rankings, "block_start", np.array([0, 1, 1]))
    with pytest.raises(Finding, match="empty block"):
        check_rankings(rankings)
    scores = Scores.from_table({"item": [1], "rater": [1], "score": [2.0]})
    check_scores(scores)
    object.__setattr__(scores, "score", np.array([-0.0]))
    with golden.raises(Finding):
        check_scores(scores)
