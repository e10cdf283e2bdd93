"""The catalog is the only list of the models: no table of their names stands anywhere else."""

import ast
from inspect import signature

import pytest
from raterzoo import models

from tests.house.test_imports import ROOT, SOURCES

ABOVE_MODELS = [p for p in SOURCES if p.relative_to(ROOT).parts[0] != "models"]
LINKS = {"bradley_terry", "thurstone"}  # also the names of the two links, which are not a list of models
MAY_LIST = {
    "cli/demo.py",  # the two models of the demonstration
    "evaluation/sensitivity/reweighting.py",  # evaluation gets trees, and may not import the models
}


def names_listed(tree):
    """Return the sets of names of models in the dicts, sets, lists and tuples of a module."""
    for node in ast.walk(tree):
        parts = [*node.keys, *node.values] if isinstance(node, ast.Dict) else []
        if isinstance(node, ast.Set | ast.List | ast.Tuple):
            parts = node.elts
        yield {part.value for part in parts if isinstance(part, ast.Constant)} & set(models.catalog)


def lists_models(text):
    return any(len(names - LINKS) + bool(names & LINKS) > 1 for names in names_listed(ast.parse(text)))


@pytest.mark.parametrize("path", ABOVE_MODELS, ids=lambda p: str(p.relative_to(ROOT)))
def test_only_the_catalog_lists_models(path):
    if str(path.relative_to(ROOT)) not in MAY_LIST:
        assert not lists_models(path.read_text())


@pytest.mark.parametrize(
    "text",
    ["x = {'glad': 1, 'mace': 2}", "x = {1: 'glad', 2: 'mace'}", "x = ('glad', 'thurstone')", "x in {'glad', 'mace'}"],
)  # fmt: skip
def test_a_list_of_models_is_found(text):
    assert lists_models(text)


@pytest.mark.parametrize("name", models.catalog)
def test_options_are_arguments_of_the_builder(name):
    entry, arguments = models.catalog[name], signature(getattr(models, name)).parameters
    assert set(entry.options) <= set(arguments)
    assert ("order" in arguments) == entry.needs_order
    assert ("ties" in arguments) == bool(entry.ties)
