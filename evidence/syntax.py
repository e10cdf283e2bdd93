"""Canonical text of syntax trees: computations without layout, docstrings, messages and annotations.

Left out are docstrings, comments, formatting, annotations, import statements, and the arguments of errors and warnings. A global
name is written as a reference to the definition that it stands for, so that imports and names of modules do not matter; a name
from another package is written in full (``np.log`` as ``numpy.log``).
"""

import ast
import re
from collections.abc import Iterator
from typing import Any, Protocol

__all__ = ["Lookup", "Writer", "is_overload", "is_text", "names_defined_by", "statements_of"]

FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
SCOPES = (*FUNCTIONS, ast.Lambda, ast.ClassDef, *COMPREHENSIONS)
NO_CODE = (ast.Import, ast.ImportFrom, ast.Pass, ast.Global, ast.Nonlocal, ast.TypeAlias)
KINDS = ("posonlyargs", "args", "vararg", "kwonlyargs", "kwarg")  # of arguments
UNSAID = {"annotation", "returns", "type_comment", "type_params", "ctx", "kind", "simple"}  # fields
Names = frozenset[str]


class Lookup(Protocol):
    """Tells a writer what names of a module stand for."""

    def find(self, names: list[str]) -> tuple[Any, list[str]]:
        """Return what a dotted name stands for and the names that are left over.

        The first is a definition, the full name of something of another package, or None if the module does not know the name.
        """
        ...

    def is_class(self, found: Any) -> bool:
        """Whether a definition is one of a class."""
        ...


class Writer:
    """Writes syntax as nested lists, and collects the definitions that it refers to.

    Parameters
    ----------
    lookup : Lookup
        Of the module of the syntax.
    """

    def __init__(self, lookup: Lookup) -> None:
        self.lookup, self.references = lookup, []

    def definition(self, statement: ast.stmt, name: str) -> Any:
        """Write a statement that defines a name at the top level, without the name."""
        nothing: Names = frozenset()
        if isinstance(statement, FUNCTIONS):
            return self._function(statement, nothing, nothing)
        if isinstance(statement, ast.ClassDef):
            return self._class(statement, nothing)
        if isinstance(statement, ast.Assign | ast.AnnAssign):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            own = [n.id == name for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
            return ["constant", own, self.write(statement.value, nothing)]
        return self.write(statement, nothing)

    def write(self, node: Any, local: Names = frozenset()) -> Any:
        """Write any piece of syntax, where some names are local."""
        if isinstance(node, list):
            return [self.write(part, local) for part in node if _is_code(part)]
        if not isinstance(node, ast.AST):
            return node
        if isinstance(node, ast.Constant):
            return [type(node.value).__name__, repr(node.value)]
        if isinstance(node, ast.Name | ast.Attribute):
            return self._name(node, local)
        if isinstance(node, FUNCTIONS):
            return [node.name, self._function(node, local, local)]
        if isinstance(node, ast.ClassDef):
            return [node.name, self._class(node, local)]
        if isinstance(node, ast.Raise):
            return ["Raise", self._raised(node.exc, local)]
        if isinstance(node, ast.Assert):
            return ["Assert", self.write(node.test, local)]
        if isinstance(node, ast.AnnAssign):
            return ["Assign", [self.write(node.target, local)], self.write(node.value, local)]
        if isinstance(node, ast.Call) and self._full_name(node.func, local) == "warnings.warn":
            return ["Call", "warnings.warn"]
        if isinstance(node, (ast.Lambda, *COMPREHENSIONS)):
            local |= _bound_in(node)
        return [type(node).__name__, *(self.write(getattr(node, f), local) for f in node._fields if f not in UNSAID)]  # fmt: skip

    def _function(self, node: Any, local: Names, outside: Names) -> Any:
        """Write a function; its decorators and defaults are evaluated outside, where a class has further names."""
        decorators, defaults = (self.write(node.decorator_list, outside), self._defaults(node.args, outside))
        arguments = [[part.arg for part in _arguments(node.args, kind)] for kind in KINDS]
        body = self.write(node.body, local | _bound_in(node))
        return [type(node).__name__, decorators, arguments, defaults, body]

    def _defaults(self, arguments: ast.arguments, local: Names) -> Any:
        return [self.write(arguments.defaults, local), [self.write(x, local) for x in arguments.kw_defaults]]

    def _class(self, node: ast.ClassDef, local: Names) -> Any:
        """Write a class; its methods do not see its other names."""
        head = [self.write(part, local) for part in (node.decorator_list, node.bases, node.keywords)]
        inside, body = local | _bound_in(node), []
        for part in filter(_is_code, node.body):
            if isinstance(part, FUNCTIONS):
                body.append([part.name, self._function(part, local, inside)])
            else:
                body.append(self.write(part, inside))
        return ["class", *head, body]

    def _raised(self, error: ast.expr | None, local: Names) -> Any:
        """Write the class of an error; a function that words it is not followed."""
        kind = error.func if isinstance(error, ast.Call) else error
        names = _dotted(kind)
        if names and names[0] not in local:
            found, _ = self.lookup.find(names)
            if isinstance(found, tuple) and not self.lookup.is_class(found):
                return "error"
        return self.write(kind, local)

    def _full_name(self, node: ast.expr, local: Names) -> str | None:
        """Return the full name of something of another package."""
        names = _dotted(node)
        if not names or names[0] in local:
            return None
        found, rest = self.lookup.find(names)
        return ".".join([found, *rest]) if isinstance(found, str) else None

    def _name(self, node: ast.Name | ast.Attribute, local: Names) -> Any:
        """Write a name, or a dotted one: local as it is, global as what it stands for."""
        names = _dotted(node)
        if names and names[0] not in local:
            found, rest = self.lookup.find(names)
            if isinstance(found, str):
                return ["outside", _without_folders(".".join([found, *rest]))]
            if found is not None:
                self.references.append(found)
                return ["reference", *rest]
        if isinstance(node, ast.Name):
            return ["name", node.id]
        return ["attribute", self.write(node.value, local), node.attr]


def statements_of(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """Yield the statements of a module, those inside of ``if`` and ``try`` too, but no imports."""
    for statement in body:
        if isinstance(statement, ast.If | ast.Try):
            parts = [getattr(statement, name, []) for name in ("body", "orelse", "finalbody")]
            parts += [handler.body for handler in getattr(statement, "handlers", [])]
            for part in parts:
                yield from statements_of(part)
        elif _is_code(statement):
            yield statement


def names_defined_by(statement: ast.stmt) -> list[str]:
    """Return the names that a statement of a module defines."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        return [statement.name]
    targets = statement.targets if isinstance(statement, ast.Assign) else [getattr(statement, "target", None)]  # fmt: skip
    plain = [part for t in targets for part in (t.elts if isinstance(t, ast.Tuple) else [t])]
    return [part.id for part in plain if isinstance(part, ast.Name)]


def is_overload(statement: ast.stmt) -> bool:
    """Whether a function only declares types."""
    return any((_dotted(d) or [""])[-1] == "overload" for d in getattr(statement, "decorator_list", []))  # fmt: skip


def is_text(statement: Any) -> bool:
    """Whether a statement is a docstring."""
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _is_code(part: Any) -> bool:
    return not isinstance(part, NO_CODE) and not is_text(part)


def _without_folders(name: str) -> str:
    """Return the full name of a helper of the tests without the folder that the helper stands in."""
    return re.sub(r"^tests\.(\w+\.)*(?=\w+\.\w+$)", "tests.", name)


def _dotted(node: Any) -> list[str] | None:
    """Return the parts of a dotted name, or None if it begins with something else."""
    if isinstance(node, ast.Name):
        return [node.id]
    before = _dotted(node.value) if isinstance(node, ast.Attribute) else None
    return [*before, node.attr] if before else None


def _arguments(arguments: ast.arguments, kind: str) -> list[ast.arg]:
    found = getattr(arguments, kind)
    return found if isinstance(found, list) else [found] if found else []


def _bound_in(scope: Any) -> Names:
    """Return the names that are local in a scope, but for those that it imports."""
    arguments = ast.walk(scope.args) if hasattr(scope, "args") else ()
    found = {node.arg for node in arguments if isinstance(node, ast.arg)}
    outside, left = set(), [*ast.iter_child_nodes(scope)]
    while left:
        node = left.pop()
        if isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, ast.Global):
            outside |= set(node.names)
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, ast.ExceptHandler | ast.MatchAs | ast.MatchStar) and node.name:
            found.add(node.name)
        if not isinstance(node, SCOPES):
            left += ast.iter_child_nodes(node)
    return frozenset(found - outside)
