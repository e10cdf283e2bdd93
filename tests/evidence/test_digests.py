"""Keys of the evidence change with what is computed, and not with where it stands or what is said about it."""

import ast
import shutil
from pathlib import Path

import numpy as np
import pytest
import raterzoo
from raterzoo.models.data.coded_rows import CodedRows

from evidence import designs, records
from evidence.digests import FOLDERS, ONLY_RAISING, Definition, Sources
from evidence.records import contents_of, key_of, roots_of
from evidence.studies import STUDIES as STUDIES_OF_ALL
from evidence.tasks import Task
from evidence.twins import TWINS
from tests.support.source_twins import changed

KERNEL = '''"""A kernel."""

import math

import numpy as np

from .options import compiled

SCALE, SHIFT = 2.0, 1.0


@compiled(nogil=True)
def _scaled(x: float, power: int = 2) -> float:
    """Return a power, scaled."""
    # (3)
    return SCALE * math.exp(np.log(x) * power)


def _unused(x):
    return x
'''
OPTIONS = "def compiled(**options):\n    return lambda f: f\n"
CHAIN = '''"""A chain."""

import warnings
from . import kernel
from .kernel import SHIFT as FIRST
from .data.numbers import number


class Chain:
    """Keeps draws."""

    start: float = FIRST

    def sweep(self, x, n):
        """Sweep n times."""
        if n < 0:
            raise ValueError(f"{n} is negative")
        if n > 9:
            warnings.warn("many sweeps", UserWarning, stacklevel=2)
        for kernel_ in range(n):
            x = kernel._scaled(x) + kernel_
        return x
'''
DOOR = """from .chain import Chain
from .data.numbers import number
from .dispatch import logp


def sample(x, n=3):
    chain = Chain()
    return chain.sweep(number(x), n)


@logp.register(Chain)
def of_chain(chain, x):
    return -chain.sweep(x, 1)
"""
DATA = "def number(x):\n    return float(x)\n"
HOUSE = {"kernel": KERNEL, "options": OPTIONS, "chain": CHAIN, "door": DOOR, "data/numbers": DATA}

MERGED = '''"""Another house: one room, other words, other order, another name."""

from functools import singledispatch

import numpy
from math import exp
from warnings import warn

from .deep.dispatch import logp
from .data.numbers import number

def compiled(**options):
    "Compile."
    return lambda f: f


class Chain:
    start = SHIFT

    def sweep(self, x: float, n: int) -> float:
        if n < 0:
            raise ValueError("n must not be negative; found %s" % n)
        if n > 9:
            warn(f"{n} are many")
        for kernel_ in range(n):
            x = (
                _power(x) + kernel_
            )
        return x


def sample(x: float, n: int = 3) -> float:
    """Sample."""
    from .data import numbers

    chain = Chain()
    return chain.sweep(numbers.number(x), n)

SCALE, SHIFT = 2.0, 1.00

@compiled(nogil=True)
def _power(x, power=2):
    return SCALE * exp(numpy.log(x) * power)

@logp.register(Chain)
def _density_of_chain(chain, x):
    return -chain.sweep(x, 1)
'''


def digests(folder, files, root):
    for name, text in files.items():
        path = folder / f"{name}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    sources = Sources({"zoo": folder}, ("zoo.data",))
    return sources.digests([Definition(root, "sample")])


@pytest.fixture
def usual(tmp_path):
    return digests(tmp_path / "usual", HOUSE, "zoo.door")


def test_moves_words_and_private_names_do_not_count(tmp_path, usual):
    dispatch = {"dispatch": "logp = print\n"}
    before = digests(tmp_path / "before", HOUSE | dispatch, "zoo.door")
    deep = {"one": MERGED, "deep/dispatch": "logp = print\n", "data/numbers": DATA}
    assert digests(tmp_path / "after", deep, "zoo.one") == before
    assert len(before) == 8  # sample, Chain, the registered function, _scaled, SCALE, SHIFT, compiled, logp


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("kernel", "SCALE, SHIFT = 2.0", "SCALE, SHIFT = 2.5"),  # three calls away
        ("kernel", "power: int = 2", "power: int = 3"),
        ("kernel", "nogil=True", "nogil=False"),
        ("kernel", "math.exp", "math.expm1"),
        ("kernel", "np.log(x) * power", "np.log(x) + power"),
        ("options", "lambda f: f", "lambda f: None"),
        ("chain", "SHIFT as FIRST", "SCALE as FIRST"),
        ("chain", "kernel._scaled(x)", "kernel._unused(x)"),
        ("chain", "if n > 9", "if n > 8"),
        ("chain", "raise ValueError", "raise TypeError"),
        ("chain", "in range(n)", "in range(n + 1)"),
        ("door", "n=3", "n=4"),
        ("door", "-chain", "chain"),
    ],
)
def test_whatever_computes_something_else_counts(tmp_path, usual, file, old, new):
    assert HOUSE[file].count(old) == 1
    changed = HOUSE | {file: HOUSE[file].replace(old, new)}
    assert digests(tmp_path / "changed", changed, "zoo.door") != usual


@pytest.mark.parametrize(
    ("file", "old", "new"),
    [
        ("kernel", "return x\n", "return -x\n"),
        ("data/numbers", "float(x)", "int(x)"),
        ("chain", "is negative", "is too small"),
        ("chain", '"many sweeps"', '"very many sweeps"'),
        ("chain", "start: float", "start: int"),
        ("kernel", "# (3)", "# equation (3)"),
    ],
)
def test_words_and_what_is_not_reached_or_left_out_do_not_count(tmp_path, usual, file, old, new):
    assert HOUSE[file].count(old) == 1
    changed = HOUSE | {file: HOUSE[file].replace(old, new)}
    assert digests(tmp_path / "changed", changed, "zoo.door") == usual


def test_a_local_name_is_not_that_of_a_module(tmp_path):
    """A kernel that is renamed must not change functions with a variable of the old name."""
    door = "from . import worth\n\n\ndef sample(x):\n    worth = x\n    return [worth for x in x]\n"
    renamed = door.replace("from . import worth", "from . import gibbs")
    one = digests(tmp_path / "one", {"door": door, "worth": ""}, "zoo.door")
    assert digests(tmp_path / "other", {"door": renamed, "gibbs": ""}, "zoo.door") == one


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    """Return a copy of the package's models and samplers."""
    folder = tmp_path_factory.mktemp("raterzoo")
    for part in ("models", "inference"):
        origin = Path(raterzoo.__file__).parent / part
        shutil.copytree(origin, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "twin", {t.study: t for t in TWINS if t.links and not t.placebo}.values(), ids=lambda t: t.name
)
def test_wrong_twins_of_the_samplers_count(copied, twin):
    def digests():
        sources = Sources(FOLDERS | {"raterzoo": copied})
        return sources.digests([sources.of(root) for root in roots_of(twin.study, twin.method)])

    before = digests()
    (name, *changes), *_ = twin.links  # what follows takes up the change
    path, own, wrong = changed(name, *changes)
    copy = copied / path.relative_to(Path(raterzoo.__file__).parent)
    text = copy.read_text()
    copy.write_text(text.replace(own, wrong))
    try:
        assert digests() != before
    finally:
        copy.write_text(text)


EDITS_OF_DATA = [  # file, text, other text, whether it computes something else for a model
    ("prior_arguments.py", "TOTAL, DIAGONAL = 8.0, 4.8", "TOTAL, DIAGONAL = 8.0, 4.9", True),
    ("labels.py", "(labels.annotation_item, labels.annotation_rater, labels.label_code)",
     "(labels.annotation_rater, labels.annotation_item, labels.label_code)", True),
    ("labels.py", 'remedy="check what was read or selected"', 'remedy="look at what was read"', False),
    ("labels.py", "if not total:", "if total < 1:", False),
    ("prior_arguments.py", "it is a power of the likelihood", "it is an exponent of the likelihood", False),
    ("container.py", "self.items[code], code, place", "self.items[code], code, place + 0", False),
    ("reading/columns.py", "def is_empty(", "def is_blank(", False),
    ("reading/numbers.py", "MAX_RANK =", "MAX_RANK = 1 +", False),
]  # fmt: skip


def test_of_the_data_what_models_compute_counts_and_readers_and_texts_do_not(copied):
    def digests():
        sources = Sources(FOLDERS | {"raterzoo": copied})
        roots = [Definition("raterzoo.models.labels.dawid_skene", "dawid_skene")]
        return sources.digests(roots, "raterzoo.models")

    before = digests()
    for file, old, new, counts in EDITS_OF_DATA:
        copy = copied / "models" / "data" / file
        text = copy.read_text()
        assert old in text, (file, old)
        copy.write_text(text.replace(old, new, 1))
        try:
            assert (digests() != before) is counts, (file, old)
        finally:
            copy.write_text(text)


def test_functions_that_are_left_out_as_only_raising_return_nothing():
    for path in (Path(raterzoo.__file__).parent / "models" / "data").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.FunctionDef) and node.name.startswith(ONLY_RAISING):
                assert isinstance(node.returns, ast.Constant) and node.returns.value is None, node.name


STUDIES = """SIZES = {"few": 3, "many": 9}
LISTED: dict[str, int] = {
    name: size
    for name, size in (
        ("first", 4),
        ("second", SIZES["few"]),
    )
}
"""


def test_a_member_of_a_list_has_a_form_of_its_own(tmp_path):
    def members(text):
        tmp_path.joinpath("studies.py").write_text(text)
        sources = Sources({"zoo": tmp_path})
        forms = [sources.of_member(Definition("zoo.studies", "LISTED"), place) for place in range(2)]
        return [(own.text, sources.digests(own.references)) for own in forms]

    before = members(STUDIES)
    for old, new, other in ((", 4)", ", 5)", 0), ('["few"]', '["many"]', 1), ('"few": 3', '"few": 2', 1)):
        after = members(STUDIES.replace(old, new))
        assert [place for place in range(2) if after[place] != before[place]] == [other]


def test_the_design_of_a_study_counts_for_its_own_keys_alone(monkeypatch):
    tasks = [Task(name, "nuts", "calibration") for name in ("glad", "mace")]
    before = [key_of(task) for task in tasks]
    of_member = Sources.of_member
    place_of_mace = [*STUDIES_OF_ALL].index("mace")

    def of_mace(self, definition, place):
        return of_member(self, definition, place_of_mace if definition.name == "STUDIES" else place)

    monkeypatch.setattr(Sources, "of_member", of_mace)
    assert [key_of(task) == key for task, key in zip(tasks, before, strict=True)] == [False, True]


def test_a_container_with_other_contents_changes_the_keys_of_its_studies(monkeypatch):
    """The rows of a container that are sorted by another rule change keys, though its code is not followed."""
    tasks = [Task(name, "gibbs", "few data") for name in ("dawid_skene", "plackett_luce")]
    made = (designs.labels, designs.rankings, contents_of)

    def forget():
        for function in made:
            function.cache_clear()

    forget()
    before = [key_of(task) for task in tasks]
    merged = CodedRows.merged

    def backwards(rows, n_raters):
        present, found = merged(rows, n_raters)
        return present, found.where(np.arange(len(found["count"]))[::-1]) if "label_code" in found else found

    monkeypatch.setattr(CodedRows, "merged", backwards)
    forget()
    try:
        assert [key_of(task) == key for task, key in zip(tasks, before, strict=True)] == [False, True]
    finally:
        monkeypatch.undo()
        forget()
    assert [key_of(task) for task in tasks] == before
    assert records.contents_of("mace") == records.contents_of("dawid_skene")  # of the same designs
