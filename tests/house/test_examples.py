"""The example of every public object runs, and prints what it says."""

import doctest
import importlib
import inspect

import pytest

PACKAGES = (
    "raterzoo.models",
    "raterzoo.models.distributions",
    "raterzoo.models.simulators",
    "raterzoo.inference",
    "raterzoo.inference.design",
    "raterzoo.evaluation",
    "raterzoo.evaluation.plots",
    "raterzoo.papers",
    "raterzoo.reports",
)
WITHOUT = {  # warnings, a mapping that CatalogEntry shows, and the modules that have a list of their own
    "ConvergenceWarning", "DataWarning", "EstimateWarning", "ResumeWarning", "ReweightingWarning", "LabelCombiner", "catalog",
    "distributions", "simulators", "design", "plots", "partial_ranking_logp",
}  # fmt: skip
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PUBLIC = [(p, n) for p in PACKAGES for n in importlib.import_module(p).__all__ if n not in WITHOUT]
PUBLIC += [("raterzoo", "analyse"), ("raterzoo", "read")]
IDS = [".".join(names) for names in PUBLIC]
# laws are sampled by NUTS, which compiles, and pages are fitted whole
SLOW = {
    "SharedGuess",
    "RaterLabels",
    "GuessGibbs",
    "analyse",
    "CountedLabels",
    "judge_change",
    "effective_raters",
    "Analysis",
}


def examples_of(package, name):
    """Return the doctests of a public object and its methods; each begins without any name."""
    value = getattr(importlib.import_module(package), name)
    found = doctest.DocTestFinder().find(value, name, module=False, globs={})
    return [test for test in found if test.examples]


@pytest.mark.parametrize(
    ("package", "name"),
    [
        pytest.param(*names, id=".".join(names), marks=[pytest.mark.slow] * (names[1] in SLOW))
        for names in PUBLIC
    ],
)
def test_example_runs(package, name, monkeypatch, tmp_path):
    monkeypatch.setenv("MPLBACKEND", "Agg")
    monkeypatch.chdir(tmp_path)
    tests = examples_of(package, name)
    assert tests, f"{package}.{name} has no example"
    said = []
    for test in tests:
        doctest.DocTestRunner(optionflags=FLAGS).run(test, out=said.append)
    assert not said, "".join(said)


@pytest.mark.parametrize(("package", "name"), PUBLIC, ids=IDS)
def test_public_functions_say_what_they_take_and_return(package, name):
    value = getattr(importlib.import_module(package), name)
    if not inspect.isfunction(value):
        return
    text = inspect.getdoc(value)
    takes = [n for n in inspect.signature(value).parameters if not n.startswith("_")]
    assert not takes or "Parameters\n---" in text, name
    assert "Returns\n---" in text or inspect.signature(value).return_annotation in (None, "None")


def test_a_wrong_example_is_found():
    parser, said = doctest.DocTestParser(), []
    wrong = parser.get_doctest(">>> 1 + 1\n3\n", {}, "wrong", None, 0)
    doctest.DocTestRunner(optionflags=FLAGS).run(wrong, out=said.append)
    assert said
