"""`seed=` for `random_seed=`, or the reverse, is answered by every public function with the right name."""

import importlib
import inspect
import pickle

import pytest
import raterzoo
from raterzoo import evaluation, models

PACKAGES = ("models", "models.simulators", "inference", "inference.design", "evaluation", "papers", "reports")
SEEDS = {"seed", "random_seed"}


def functions():
    for package in PACKAGES:
        module = importlib.import_module(f"raterzoo.{package}")
        for name in module.__all__:
            function = getattr(module, name)
            if inspect.isfunction(function) and SEEDS & {*inspect.signature(function).parameters}:
                yield pytest.param(function, id=f"{package}.{name}")


SEEDED = [*functions()]
COUNTS = {"item": ["a"], "yes": [3], "no": [1]}


def stand_in(name):
    """A value for a required argument that is looked at before the names of the options."""
    if name == "model":
        return models.dirichlet(models.Labels.from_counts(COUNTS))
    return evaluation.top_k_accuracy(1) if name == "metric" else None


def test_there_are_some():
    assert len(SEEDED) > 30


@pytest.mark.parametrize("function", SEEDED)
def test_the_right_name_is_said(function):
    parameters = inspect.signature(function).parameters
    (right,) = SEEDS & {*parameters}
    (wrong,) = SEEDS - {right}
    needed = [own for own in parameters.values() if own.default is own.empty]
    given = {own.name: stand_in(own.name) for own in needed if own.kind is not own.VAR_KEYWORD}
    if function.__name__ == "rater_equivalence":
        given = {name: None for name in given}
    with pytest.raises((TypeError, ValueError), match=f"has no option '{wrong}'; did you mean '{right}'"):
        function(**given, **{wrong: 1})


@pytest.mark.parametrize("function", SEEDED)
def test_the_function_is_what_it_was(function):
    assert pickle.loads(pickle.dumps(function)) is function
    inner = inspect.unwrap(function)
    assert inspect.signature(function) == inspect.signature(inner)
    assert (function.__doc__, function.__name__) == (inner.__doc__, inner.__name__)


def test_a_warning_names_the_line_of_the_caller():
    tied = models.Comparisons.from_table(
        {"left": [*"ab"], "right": [*"bc"], "winner": [*"ab"], "rater": [*"rr"]}
    )
    with pytest.warns(Warning) as said:
        raterzoo.inference.quite(tied, max_iterations=1)
    assert {one.filename for one in said} == {__file__}
