"""The catalog is collected from the files of the models, and nothing above them lists their names."""

import ast
import re
from importlib import import_module
from inspect import signature

import pytest
from raterzoo import models
from raterzoo.models._catalog import annotation_kinds, spec_of

from tests.house.test_imports import ROOT, SOURCES

ABOVE_MODELS = [p for p in SOURCES if p.relative_to(ROOT).parts[0] != "models"]
LINKS = {"bradley_terry", "thurstone"}  # also the names of the two links, which are not a list of models
TEXTS = ("reference", "studies", "assumes", "needs", "fails")
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


@pytest.mark.parametrize("name", models.catalog)
def test_spec_that_is_read_is_that_of_the_module(name):
    module = import_module(getattr(models, name).__module__)
    assert models.catalog[name] == module.SPEC and module.SPEC.name == name
    assert module.__name__.split(".")[-2] == module.SPEC.data


def test_models_of_the_catalog_are_those_of_the_stub():
    stub = (ROOT / "models/__init__.pyi").read_text()
    public = re.findall(rf"^from \.(?:{'|'.join(annotation_kinds)})\.\w+ import (\w+)", stub, re.MULTILINE)
    assert sorted(public) == list(models.catalog)


def test_spec_is_read_without_an_import(tmp_path):
    spec, file = models.catalog["glad"], tmp_path / "toy.py"
    given = {name: getattr(spec, name) for name in ("summary", "methods", "nuts_options", *TEXTS)}
    arguments = "".join(f"    {name}={value!r},\n" for name, value in given.items())
    file.write_text(f"import absent\n\nSPEC = Spec(\n    name='toy',\n    data='labels',\n{arguments})\n")
    read = spec_of(file)
    assert (read.name, read.data) == ("toy", "labels") and all(getattr(read, k) == given[k] for k in given)
    file.write_text("import absent\n")
    assert spec_of(file) is None
    file.write_text("SUMMARY = 'x'\n\nSPEC = Spec(\n    name=SUMMARY,\n)\n")
    with pytest.raises(ValueError, match="malformed node"):
        spec_of(file)
