"""Wrong twins of compiled code: a definition with a line of its source changed, and its module compiled anew."""

import ast
import re
from functools import cache
from pathlib import Path
from types import ModuleType

import raterzoo

FOLDER = Path(raterzoo.__file__).parent
PARTS = ("posterior", "models", "inference", "evaluation", "reports", "cli")  # folders of the package


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
    path, *change = changed(name, *changes)
    module = compiled_anew(path, change)
    vars(module).update(replaced)
    return module


def changed(name, *changes):
    """Return of the one definition of a name that holds the texts: its file, its source, and its changed source."""
    found = _definitions(name)
    assert found, f"raterzoo defines no {name}"
    fitting = [(path, own) for path, own in found if all(own.count(old) == 1 for old, _ in changes)]
    counts = {module_name(path): [own.count(old) for old, _ in changes] for path, own in found}
    assert len(fitting) == 1, f"{name} must hold each of {[old for old, _ in changes]} once: {counts}"
    ((path, own),) = fitting
    new = own
    for old, text in changes:
        assert new.count(old) == 1, f"{old!r} stands {new.count(old)} times in the changed {name}"
        new = new.replace(old, text)
    return path, own, new


def compiled_anew(path, *changes):
    """Return the module of a file, with pieces of its source replaced, and compiled functions that are not kept on disk."""
    source = path.read_text(encoding="utf-8")
    for own, new in changes:
        assert source.count(own) == 1, f"{own!r} stands {source.count(own)} times in {path}"
        source = source.replace(own, new)
    module = ModuleType(f"{module_name(path)}_twin")
    module.__package__ = module_name(path if path.stem == "__init__" else path.parent)
    source = source.replace("@cached_njit(", "@__import__('numba').njit(")
    exec(compile(source, f"twin of {module_name(path)}", "exec"), vars(module))
    return module


def module_name(path):
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
def names_defined_in(path):
    """Return the names that a file defines at its top level."""
    return {name for node in ast.parse(Path(path).read_text(encoding="utf-8")).body for name in _names(node)}  # fmt: skip


def _names(node):
    """Return the names that a statement defines."""
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {node.name}
    targets = getattr(node, "targets", [getattr(node, "target", None)])
    return {n.id for t in targets if t for n in ast.walk(t) if isinstance(n, ast.Name)}
