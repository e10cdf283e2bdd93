"""A number is the same text everywhere: in annotations, predictions, groups and options."""

from typing import Annotated

import numpy as np
import pytest
import typer
import xarray as xr
from raterzoo.cli import options
from raterzoo.evaluation import EvaluationError, survey_equivalence

from tests.support.cli_parts import read_container, read_groups, read_orders, read_predictions, read_sides
from tests.support.command_line import run, said, write

NO_NUMBERS = (
    "0_9",
    "١",
    "１",
    "½",
    "1e400",
    "nan",
    "inf",
    "infinity",
    "0x1",
    "1e",
    "1,5",
    "--1",
    "+-1",
    "1 1",
    "True",
)
NUMBERS = {" 1": 1.0, "1.": 1.0, ".5": 0.5, "+1e0": 1.0, "0.50": 0.5, "1E-1": 0.1}


def parsed_option(text):
    """Return the number of an option, or raise as a reader does."""
    try:
        (option,) = options.declared("score", Annotated[float, "A score."]).__metadata__
        return option.parser(text)
    except typer.BadParameter as error:
        raise ValueError(str(error)) from None


def of_text(path, text):
    """Return readers of a table or an option with this text where a number belongs, each of the number."""
    two = {"item": ["i", "i", "j", "j"], "category": ["a", "b"] * 2, "score": [text, "0", "1", "0"]}
    order = {"item": ["i", "j"], "score": [text, "0"]}
    side = {"item": ["i", "j"], "probability": [text, "0"]}
    wide = {"item": ["i", "j"], "a": [text, "0"], "b": ["0", "0"]}
    group = {"category": ["a", "b"], "group": ["x", "y"], "value": [text, "0"]}
    scores = {"item": ["i", "j"], "rater": ["r", "r"], "score": [text, "0"]}
    files = {
        "predictions": (two, lambda p: read_predictions(p, []).sel(item="i", category="a").item()),
        "wide": (wide, lambda p: read_predictions(p, []).sel(item="i", category="a").item()),
        "orders": (order, lambda p: read_orders(p, [], np.array(["i", "j"])).sel(item="i").item()),
        "sides": (side, lambda p: read_sides(p, [], 0.0).sel(item="i").to_numpy()[1]),
        "groups": (group, lambda p: read_groups(p).value["a"]),
        "annotations": (scores, lambda p: read_container(p, "scores", []).score[0]),
    }
    for name, (table, read) in files.items():
        yield name, lambda t=table, r=read: r(write(path / "t.csv", t))
    yield "threshold", lambda: options.thresholds_of([text])[0]
    yield "option", lambda: parsed_option(text)
    yield "bounds", lambda: options.bounds_of(f"-1,{text}")[1]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", NO_NUMBERS)
def test_what_is_no_number_is_none_anywhere(tmp_path, text):
    for name, read in of_text(tmp_path, text):
        if text == "1,5" and name in ("threshold", "bounds"):
            continue  # two numbers
        with pytest.raises(ValueError, match=r"number|finite|columns") as caught:
            read()
        assert "Traceback" not in str(caught.value), name


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", NUMBERS)
def test_a_number_is_the_same_everywhere(tmp_path, text):
    assert {name: read() for name, read in of_text(tmp_path, text)} == dict.fromkeys(
        ("predictions", "wide", "orders", "sides", "groups", "annotations", "threshold", "option", "bounds"),
        NUMBERS[text],
    )


def test_ranks_and_scores_beyond_floats(tmp_path, golden):
    for text in ("1e400", "1_0"):
        table = {"item": ["i", "j"], "category": ["a", "b"], "rank": ["1", text]}
        with golden.raises(ValueError):
            read_predictions(write(tmp_path / "t.csv", table), [])
    table = {"item": ["i", "i"], "category": ["a", "b"], "score": ["0", "-inf"]}
    assert np.isneginf(read_predictions(write(tmp_path / "t.csv", table), []).sel(category="b")).all()


@pytest.mark.parametrize(
    ("option", "value"),
    [("--draws", "1_0"), ("--draws", "١0"), ("--seed", "1.0"), ("--prob", "0_1"), ("--prob", "０.9"), ("--top", "٣")],
)  # fmt: skip
def test_options_of_numbers(tmp_path, option, value):
    path = write(tmp_path / "v.csv", {"left": ["a"], "right": ["b"], "winner": ["left"]})
    result = run("rank", path, option, value)
    assert result.exit_code == 2 and "is not a " in said(result)


def test_categories_with_digits_of_other_scripts_are_no_numbers(golden):
    for third in ("0_9", "٣", "inf"):
        coords = {"item": ["i", "j"], "category": ["1", "2", third]}
        counts = xr.DataArray([[2, 1, 0], [1, 1, 2]], coords, ("item", "category"))
        with golden.raises(EvaluationError):
            survey_equivalence(
                counts, counts / counts.sum("category"), combiner="mean", scorer="pearson", bootstrap=0
            )
