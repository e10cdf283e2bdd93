"""Wrong twins of compiled code: a definition with a piece of its source changed, and its module compiled anew.

`altered` returns the changed module. `rebuilt` also compiles the callers of a changed function, directly or through others,
since a compiled function contains the functions that it called when it was compiled; `in_place_of` lets the package use them.
"""

import ast
import re
import sys
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import CodeType, ModuleType

import raterzoo
from raterzoo import inference

FOLDER = Path(raterzoo.__file__).parent
PARTS = (
    "posterior",
    "models",
    "inference",
    "evaluation",
    "papers",
    "reports",
    "cli",
)  # folders of the package


def altered(name, *changes, **replaced):
    """Return the module of a definition with pieces of the definition's source replaced, and some globals of the module.

    Parameters
    ----------
    name : str
        A function or class at the top level of a module. Of several with this name it is the one that holds the texts.
    *changes : tuple of str
        Pairs of texts, of which the first stands in the source of the definition exactly once.
    **replaced
        Globals of the new module. Compiled functions see them, for they are compiled at their first call and not kept on disk.
    """
    path, *change = _changed(name, *changes)
    module = _compiled_anew(path, change)
    vars(module).update(replaced)
    return module


def _changed(name, *changes):
    """Return of the one definition of a name that holds the texts: its file, its source, and its changed source."""
    found = _definitions(name)
    assert found, f"raterzoo defines no {name}"
    fitting = [(path, own) for path, own in found if all(own.count(old) == 1 for old, _ in changes)]
    counts = {_module_name(path): [own.count(old) for old, _ in changes] for path, own in found}
    assert len(fitting) == 1, f"{name} must hold each of {[old for old, _ in changes]} once: {counts}"
    ((path, own),) = fitting
    new = own
    for old, text in changes:
        assert new.count(old) == 1, f"{old!r} stands {new.count(old)} times in the changed {name}"
        new = new.replace(old, text)
    return path, own, new


def _compiled_anew(path, *changes):
    """Return the module of a file, with pieces of its source replaced, and compiled functions that are not kept on disk."""
    source = path.read_text(encoding="utf-8")
    for own, new in changes:
        assert source.count(own) == 1, f"{own!r} stands {source.count(own)} times in {path}"
        source = source.replace(own, new)
    module = ModuleType(f"{_module_name(path)}_twin")
    module.__package__ = _module_name(path if path.stem == "__init__" else path.parent)
    source = source.replace("@cached_njit(", "@__import__('numba').njit(")
    sys.modules[module.__name__] = module  # where dataclasses look up annotations that are text
    try:
        exec(compile(source, f"twin of {_module_name(path)}", "exec"), vars(module))
    finally:
        del sys.modules[module.__name__]
    return module


def _module_name(path):
    """Return the full name of a module, or package, by its file, or folder."""
    parts = path.relative_to(FOLDER).with_suffix("").parts
    return ".".join(["raterzoo", *(part for part in parts if part != "__init__")])


@cache
def _definitions(name):
    """Return file and source of every definition of a name in the package."""
    line = re.compile(rf"^\s*((async )?def |class )?{re.escape(name)}\b", re.MULTILINE)
    found = []
    for path in sorted(p for part in PARTS for p in (FOLDER / part).rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if not line.search(source):
            continue
        lines = source.splitlines(keepends=True)
        for node in ast.parse(source).body:
            if name in _names(node):
                first = min([node.lineno, *(d.lineno for d in getattr(node, "decorator_list", []))])
                own = "".join(lines[first - 1 : node.end_lineno])
                found.append((path, own))
    return found


@cache
def _names_defined_in(path):
    """Return the names that a file defines at its top level."""
    return {name for node in ast.parse(Path(path).read_text(encoding="utf-8")).body for name in _names(node)}  # fmt: skip


def _names(node):
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return {n.id for t in targets if t for n in ast.walk(t) if isinstance(n, ast.Name)}


def rebuilt(*links):
    """Compile wrong functions, and around them the compiled functions that call them.

    Parameters
    ----------
    *links : tuple
        Functions of raterzoo, by name, each with the changes of its source.

    Returns
    -------
    list of tuple of callable
        Each recompiled function and its twin.
    """
    assert inference.sample  # imports every sampler
    wrong = {}  # by module and function
    for name, *changes in links:
        path, *change = _changed(name, *changes)
        wrong.setdefault(_module_name(path), {})[name] = tuple(change)
    anew = _with_callers({(module, name) for module, own in wrong.items() for name in own})
    twins = {module: _twin_of(module, wrong.get(module, {})) for module, _ in anew}
    pairs = [(vars(sys.modules[m])[name], vars(twins[m])[name]) for m, name in sorted(anew)]
    known = {id(function): twin for function, twin in pairs}
    for module, twin in twins.items():  # what is not made anew is shared, classes too
        for name, value in vars(sys.modules[module]).items():
            if not name.startswith("__"):
                vars(twin)[name] = known.get(id(value), value)
    for function, twin in pairs:
        stale = known.keys() & _called_by(getattr(twin, "py_func", twin))
        assert not stale, (
            f"the twin of {function} was made around a function that is wrong: name that one's caller"
        )
    return pairs


def _twin_of(module, changes):
    return _compiled_anew(Path(sys.modules[module].__file__), *changes.values())


def _with_callers(wrong):
    """Return functions, and the compiled functions that call them, directly or through others."""
    compiled = {
        (name, own): value.py_func
        for name, module in _ours().items()
        for own, value in vars(module).items()
        if hasattr(value, "py_func") and own in _names_defined_in(module.__file__)
    }
    found, size = set(wrong), 0
    while len(found) > size:
        size = len(found)
        known = {id(vars(sys.modules[module])[name]) for module, name in found}
        found |= {place for place, function in compiled.items() if known & _called_by(function)}
    return found


def _called_by(function):
    """Return the ids of the objects that a function names, or the functions inside of it."""
    names = _names_in(function.__code__)
    found = [function.__globals__[name] for name in names & {*function.__globals__}]
    found += [part for module in found if isinstance(module, ModuleType)
              for name, part in vars(module).items() if name in names]  # fmt: skip
    enclosed = [cell.cell_contents for cell in function.__closure__ or ()]
    inner = [_called_by(part.py_func) for part in enclosed if hasattr(part, "py_func")]
    return {*map(id, found), *map(id, enclosed)}.union(*inner)


def _names_in(code):
    inner = [_names_in(part) for part in code.co_consts if isinstance(part, CodeType)]
    return set(code.co_names).union(*inner)


def _ours():
    """Return the imported modules of raterzoo and of the evidence."""
    return {n: m for n, m in sys.modules.items() if n.startswith(("raterzoo.", "evidence."))}


@contextmanager
def in_place_of(pairs):
    """Context manager: replace functions by their twins in all modules of raterzoo and of the evidence.

    Parameters
    ----------
    pairs : list of tuple of callable
        Functions and their twins.
    """
    known = {id(function): twin for function, twin in pairs}
    before = [
        (module, name, value)
        for module in _ours().values()
        for name, value in vars(module).items()
        if id(value) in known
    ]
    try:
        for module, name, value in before:
            setattr(module, name, known[id(value)])
        yield
    finally:
        for module, name, value in before:
            setattr(module, name, value)
