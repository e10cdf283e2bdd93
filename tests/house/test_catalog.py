"""The catalog is collected from the files of the models, and nothing above them lists their names."""

import ast
import re
from importlib import import_module
from inspect import signature

import pytest
from raterzoo import models
from raterzoo.models._catalog import spec_of
from raterzoo.posterior.schema import RELIABILITY

from tests.house.test_imports import ROOT, SOURCES
from tests.support.data_parts import annotation_kinds

ABOVE_MODELS = [p for p in SOURCES if p.relative_to(ROOT).parts[0] not in ("posterior", "models")]
SCALES = {  # files where a name is that of a scale
    "evaluation/raters/agreement_coefficients.py": {"ordinal"},
    "reports/sections/agreement.py": {"ordinal"},
}
TEXTS = ("reference", "studies", "assumes", "needs", "fails")


def names_in(text):
    """Return the constants of a module that equal the name of a model, and its attributes `models.<name>`."""
    nodes = list(ast.walk(ast.parse(text)))
    constants = {
        node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)
    }
    attributes = {
        node.attr for node in nodes if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "models"
    }
    return (constants | attributes) & set(models.catalog)


@pytest.mark.parametrize("path", ABOVE_MODELS, ids=lambda p: str(p.relative_to(ROOT)))
def test_no_module_above_models_names_one(path):
    assert not names_in(path.read_text()) - SCALES.get(path.relative_to(ROOT).as_posix(), set())


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("x = name == 'glad'", {"glad"}),
        ("x = {1: ('mace', 2)}", {"mace"}),
        ("def f(link='thurstone'): ...", {"thurstone"}),
        ("x = models.ebcc(data)", {"ebcc"}),
        ("x = 'glad or mace', other.ebcc, ebcc", set()),
    ],
)
def test_a_name_of_a_model_is_found(text, named):
    assert names_in(text) == named


def test_role_of_the_reliability_is_known_of_every_model_that_has_one():
    assert set(RELIABILITY) == {
        name for name, entry in models.catalog.items() if "reliability" in entry.options
    }


def test_models_in_a_role_are_of_their_kind():
    for kind in annotation_kinds.values():
        named = {
            name
            for field, name in vars(kind).items()
            if name and field.endswith(("model", "anonymous", "features", "tags"))
        }
        assert named and all(models.catalog[name].data == kind.name for name in named)
        if kind.sharing_model:
            assert models.catalog[kind.sharing_model].shared_errors == "groups"
        assert not kind.rater_model or not models.catalog[kind.rater_model].raters_alike


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


def test_a_misspelt_argument_names_the_nearest():
    labels = models.simulators.labels(items=4, raters=3, random_seed=1).data
    with pytest.raises(TypeError, match="'confusion_concentration'"):
        models.dawid_skene(labels, **{"confusion_prior": 2})


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
