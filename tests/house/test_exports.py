"""Every public name can be reached, twice, in any order, in a fresh process; and the face loads nothing heavy."""

import importlib
import json
import pickle
import subprocess
import sys
import warnings

import pytest

PACKAGES = (
    "raterzoo",
    "raterzoo.models",
    "raterzoo.models.simulators",
    "raterzoo.inference",
    "raterzoo.evaluation",
    "raterzoo.papers",
    "raterzoo.reports",
)
BEFORE = {"raterzoo.inference": 38, "raterzoo.evaluation": 78}  # names offered before some moved
KEPT = {"alternating_gradient", "annotator_agreement", "partial_average_overlap", "second_stage"}
NEW = {"least_squares"}  # of papers from the first
MOVED = [
    (package, name)
    for package in (*BEFORE, "raterzoo.inference.design")
    for name in sorted(importlib.import_module(package).MOVED)
]
TOUCH = """
import importlib, sys, random
order, *packages = sys.argv[1:]
modules = [importlib.import_module(package) for package in packages]
names = sorted((name, k) for k, module in enumerate(modules) for name in module.__all__)
random.Random(order).shuffle(names)
for turn in range(2):
    for name, k in names:
        first = getattr(modules[k], name)
        assert getattr(modules[k], name) is first, name
        assert name in dir(modules[k]), name
for name, k in names:
    value = getattr(modules[k], name)
    if callable(value):
        assert value.__name__ == name, (name, value)
"""
FACE = """
import json, sys, time
start = time.perf_counter()
import raterzoo
from raterzoo import models, inference, evaluation
print(json.dumps(sorted(m for m in sys.modules if "." not in m)))
"""


@pytest.mark.parametrize(
    "packages", [*(pytest.param((package,), marks=pytest.mark.slow) for package in PACKAGES), PACKAGES]
)
def test_public_names_load_in_any_order(packages):
    subprocess.run([sys.executable, "-c", TOUCH, str(len(packages)), *packages], check=True)


def test_face_loads_nothing_heavy():
    run = subprocess.run([sys.executable, "-c", FACE], check=True, capture_output=True, text=True)
    heavy = {"numpy", "pymc", "arviz", "xarray", "pandas", "numba", "matplotlib", "scipy", "jax"}
    assert heavy.isdisjoint(json.loads(run.stdout))


@pytest.mark.parametrize("package", PACKAGES)
def test_unknown_name_is_an_attribute_error(package):
    module = importlib.import_module(package)
    with pytest.raises(AttributeError, match="nonsense"):
        _ = module.nonsense
    if package == "raterzoo.models":
        with pytest.raises(AttributeError, match="did you mean 'dawid_skene'"):
            _ = module.dawid_skeen


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_are_documented(package):
    module = importlib.import_module(package)
    for name in module.__all__:
        value = getattr(module, name)
        if callable(value):
            assert value.__doc__, name


@pytest.mark.parametrize(("package", "name"), MOVED, ids=".".join)
def test_a_moved_name_warns_where_it_is_used_and_is_the_same(package, name):
    papers = importlib.import_module("raterzoo.papers")
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = getattr(importlib.import_module(package), name)
    if name in KEPT:
        assert not said
    else:
        (warning,) = said
        assert warning.category is FutureWarning and warning.filename == __file__
        assert str(warning.message).endswith(f"raterzoo.papers.{name}")
    assert found is getattr(papers, name) is pickle.loads(pickle.dumps(found))


@pytest.mark.parametrize("package", BEFORE)
def test_moved_names_are_a_fifth_of_what_completion_offered(package):
    offered = dir(importlib.import_module(package))
    moved = {name for own, name in MOVED if own == package}
    assert moved.isdisjoint(offered)
    assert len(moved) >= 0.2 * BEFORE[package]


def test_every_public_name_of_papers_is_new_or_has_moved_from_one_package():
    papers = importlib.import_module("raterzoo.papers")
    assert sorted([*NEW, *(name for _, name in MOVED)]) == sorted(papers.__all__)
