"""Digests of definitions: of the code that a function reaches, wherever that code stands.

A definition is a function, a class or a constant at the top level of a module. Its digest is one of its syntax tree, and changes
with any arithmetic, number, default, decorator option or called function. It does not depend on

- docstrings, comments, formatting, annotations, and the texts of errors, warnings and assertions;
- paths, module names, import statements, the order of definitions, and the file that holds them;
- the name of the definition: a reference counts by the code that it refers to.

A definition reaches the definitions that its syntax names, directly or as attributes of modules, and all that those reach in
turn. A class is one definition with all its methods. Functions that are registered for a class (``@dispatch.register(Op)``) are
reached with the class.
"""

import ast
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache, cached_property
from hashlib import blake2b
from importlib.util import resolve_name
from inspect import unwrap
from pathlib import Path
from typing import Any, NamedTuple

import raterzoo

from .syntax import Writer, is_overload, names_defined_by, statements_of

__all__ = ["EVIDENCE", "FOLDERS", "Definition", "Form", "Sources"]

PACKAGE, EVIDENCE = "raterzoo", "evidence"
FOLDERS = {PACKAGE: Path(str(raterzoo.__file__)).parent, EVIDENCE: Path(__file__).parent}
DATA = "raterzoo.models.data"
LEFT_OUT = (
    "raterzoo.inference.costs",
    "raterzoo.models._catalog",
    "raterzoo.models._arguments",
    *(f"{DATA}.{module}" for module in ("reading", "container", "coded_rows", "errors", "published")),
    *(f"{DATA}.features.{own}" for own in ("_read", "_rows_of")),
    *(f"{DATA}.{own}" for own in ("labels.Labels", "rankings.PartialRankings", "scores.Scores")),
    *(
        f"{DATA}.{own}" for own in ("comparisons.Comparisons", "prior_arguments.LIKELIHOOD_POWER")
    ),  # and a text
    *(f"evidence.studies.{own}" for own in ("STUDIES", "FEW_DATA")),
)
"""Named in digests, not followed: estimates of costs, records and docstrings of builders, containers with what reads and
validates them, and the list of all studies.

Keys of the evidence have the contents of the containers instead, see `records.contents_of`, and of the studies their own.
All other functions of `raterzoo.models.data` are followed, but for those that can only raise: their names begin with one of
`ONLY_RAISING`.
"""

ONLY_RAISING = ("require_", "refuse_")

NOT_OURS = {"benchmarks", "evidence", "tests", "docs", "notebooks"}  # folders beside the package's
DEPTH = 8  # how far digests look into references; what is further away has a digest of its own in the list


class Definition(NamedTuple):
    """A definition, by its module and its name in there."""

    module: str
    name: str


class Form(NamedTuple):
    """The syntax of a definition as a text, and the definitions that it refers to, in the order of the text."""

    text: str
    references: tuple[Definition, ...]


class Module:
    """The definitions and imports of a file.

    Parameters
    ----------
    name : str
        Full name.
    path : Path
        Of the file.
    """

    def __init__(self, name: str, path: Path) -> None:
        self.name, self.tree = name, ast.parse(path.read_text(encoding="utf-8"))
        self._package = name if path.stem == "__init__" else name.rpartition(".")[0]
        self.definitions: dict[str, list[ast.stmt]] = {}
        self.calls: set[str] = set()  # made-up names of statements that define nothing
        for statement in statements_of(self.tree.body):
            names = names_defined_by(statement)
            if not names:
                names = [f"statement {len(self.calls)}"]
                self.calls.add(names[0])
            for own in names:
                self.definitions.setdefault(own, []).append(statement)
        self.definitions.pop("__all__", None)

    @cached_property
    def imports(self) -> dict[str, tuple[str, str | None]]:
        """Origin of each imported name, also inside functions: a module, and a part of it or None."""
        found: dict[str, tuple[str, str | None]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.ImportFrom):
                base = "." * node.level + (node.module or "")
                base = resolve_name(base, self._package) if node.level else base
                found |= {alias.asname or alias.name: (base, alias.name) for alias in node.names}
            elif isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.partition(".")[0]
                    found[alias.asname or top] = (alias.name if alias.asname else top, None)
        return found


Found = Definition | Module | str | None
"""A definition, a module of ours, the full name of something of others, or nothing known."""


class Sources:
    """The definitions of packages, parsed when they are first asked for.

    Parameters
    ----------
    folders : mapping of str to Path, optional
        Packages and their folders; raterzoo and the evidence by default.
    left_out : tuple of str, optional
        Modules and definitions, by their full names, that are not followed, with all below them.
    """

    def __init__(self, folders: Mapping[str, Path] = FOLDERS, left_out: tuple[str, ...] = LEFT_OUT) -> None:
        self.folders, self.left_out = dict(folders), left_out
        self.module, self.form = cache(self._module), cache(self._form)
        self._looked_into = cache(self._look_into)

    def of(self, thing: Any) -> Definition:
        """Return the definition of a function or class, decorated or compiled or not."""
        plain = unwrap(getattr(thing, "py_func", thing))
        return Definition(plain.__module__, plain.__qualname__.partition(".")[0])

    def all_of(self, module: str) -> list[Definition]:
        """Return every definition of a module."""
        return [Definition(module, name) for name in self._known(module).definitions]

    def reached(self, roots: Iterable[Definition], within: str = "") -> frozenset[Definition]:
        """Return the definitions that roots reach, themselves among them.

        Parameters
        ----------
        roots : iterable of Definition
            Where to begin.
        within : str, optional
            The one package whose definitions are followed; all by default.
        """
        found: set[Definition] = set()
        left = list(roots)
        while left:
            definition = left.pop()
            if definition not in found and self._is_followed(definition, within):
                found.add(definition)
                left += self.form(definition).references
                left += self._registered.get(definition, ())
        return frozenset(found)

    def digests(self, roots: Iterable[Definition], within: str = "") -> list[str]:
        """Return the sorted digests of all definitions that roots reach; `within` is as of `reached`."""
        return sorted({self.digest(own, within) for own in self.reached(roots, within)})

    def digest(self, definition: Definition, within: str = "") -> str:
        """Return a digest of one definition, whose references count by their code, or by name beyond `within`."""
        return self._looked_into(definition, DEPTH, within)

    def of_lambda(self, function: Callable[..., Any]) -> Form:
        """Return the form of a lambda, wherever it stands in its module."""
        code, module = function.__code__, self._known(function.__module__)
        columns = {(line, first) for line, _, first, _ in code.co_positions()}
        found = [
            node
            for node in ast.walk(module.tree)
            if isinstance(node, ast.Lambda) and (node.body.lineno, node.body.col_offset) in columns
        ]
        assert len(found) == 1, f"{len(found)} lambdas are that of line {code.co_firstlineno}"
        return self._form_of(found[0], module)

    def of_member(self, definition: Definition, place: int) -> Form:
        """Return the form of one member of the tuple that a constant, a comprehension, runs over."""
        module = self._known(definition.module)
        (statement,) = module.definitions[definition.name]
        assert isinstance(statement, ast.AnnAssign) and statement.value
        (members,) = (node.iter for node in ast.walk(statement.value) if isinstance(node, ast.comprehension))
        assert isinstance(members, ast.Tuple)
        return self._form_of(members.elts[place], module)

    def _form_of(self, node: ast.AST, module: Module) -> Form:
        writer = Writer(Names(self, module))
        return Form(repr(writer.write(node)), tuple(writer.references))

    def _is_followed(self, definition: Definition, within: str) -> bool:
        inside = not within or _is_below(definition.module, within)
        if _is_below(definition.module, DATA) and definition.name.startswith(ONLY_RAISING):
            return False
        return inside and not any(_is_below(".".join(definition), own) for own in self.left_out)

    def _look_into(self, definition: Definition, depth: int, within: str) -> str:
        """Return the digest to a depth; of what is not followed, the name."""
        if not self._is_followed(definition, within):
            return definition.name
        form = self.form(definition)
        deeper = form.references if depth else ()
        further = [self._looked_into(own, depth - 1, within) for own in deeper]
        return blake2b(repr((form.text, further)).encode(), digest_size=8).hexdigest()

    def _module(self, name: str) -> Module | None:
        package = next((own for own in self.folders if _is_below(name, own)), None)
        if package is None:
            return None
        path = self.folders[package].joinpath(*name.split(".")[package.count(".") + 1 :])
        beside = path.parent / f"{path.name}.py"
        files = (beside, path / "__init__.pyi", path / "__init__.py")
        return next((Module(name, file) for file in files if file.is_file()), None)

    def _known(self, name: str) -> Module:
        module = self.module(name)
        assert module, f"there is no module {name} in {[*self.folders]}"
        return module

    def _form(self, definition: Definition) -> Form:
        module = self._known(definition.module)
        writer = Writer(Names(self, module))
        statements = [s for s in module.definitions[definition.name] if not is_overload(s)]
        text = repr([writer.definition(s, definition.name) for s in statements])
        return Form(text, tuple(writer.references))

    @cached_property
    def _registered(self) -> dict[Definition, list[Definition]]:
        """For each definition, functions whose decorators name it, and statements such as calls that do."""
        found: dict[Definition, list[Definition]] = {}
        for name in self._modules_that_register():
            for own, named in self._registrations(self._known(name)):
                found.setdefault(named, []).append(own)
        return found

    def _modules_that_register(self) -> Iterator[str]:
        for package, folder in self.folders.items():
            for path in folder.rglob("*.py"):
                parts = path.relative_to(folder).with_suffix("").parts
                if NOT_OURS & {*parts} or any(part.startswith(".") for part in parts):
                    continue
                if "register" in path.read_text(encoding="utf-8"):
                    yield ".".join([package, *(part for part in parts if part != "__init__")])

    def _registrations(self, module: Module) -> Iterator[tuple[Definition, Definition]]:
        """Yield registered definitions of a module, each with one that it is registered for."""
        for name, statements in module.definitions.items():
            writer = Writer(Names(self, module))
            for statement in statements:
                decorators = getattr(statement, "decorator_list", [])
                calls = [statement] if name in module.calls else decorators
                writer.write([call for call in calls if _is_registration(call)])
            yield from ((Definition(module.name, name), own) for own in writer.references)


class Names:
    """Resolution of the global names of a module.

    Parameters
    ----------
    sources : Sources
        Where other modules are found.
    module : Module
        The module.
    """

    def __init__(self, sources: Sources, module: Module) -> None:
        self._sources, self._module = sources, module

    def find(self, names: list[str]) -> tuple[Any, list[str]]:
        """Return what a dotted name stands for, see `Lookup`; a module of ours counts without its name."""
        found, *rest = self._of(self._module, names[0]), *names[1:]
        while isinstance(found, Module) and rest:
            found, *rest = self._attribute(found, rest[0]), *rest[1:]
        return ("a module" if isinstance(found, Module) else found), rest

    def is_class(self, found: Any) -> bool:
        """Whether a definition is one of a class."""
        module = self._sources.module(found.module)
        return bool(module) and isinstance(module.definitions[found.name][-1], ast.ClassDef)

    def _of(self, module: Module, name: str) -> Found:
        if name in module.definitions:
            return Definition(module.name, name)
        if name not in module.imports:
            return None
        base, part = module.imports[name]
        found = self._sources.module(base)
        if part is None:
            return found or base
        if found is None:
            return self._sources.module(f"{base}.{part}") or f"{base}.{part}"
        return self._attribute(found, part)

    def _attribute(self, module: Module, name: str) -> Found:
        """Return what an attribute of a module stands for: what it defines or imports, else a module below it."""
        itself = module.imports.get(name) == (module.name, name)  # from . import name
        found = None if itself else self._of(module, name)
        return found or self._sources.module(f"{module.name}.{name}") or f"{module.name}.{name}"


def _is_registration(call: ast.AST) -> bool:
    """Whether a decorator or statement calls a function whose name holds ``register``."""
    called = (node.func for node in ast.walk(call) if isinstance(node, ast.Call))
    return any("register" in ast.unparse(function) for function in called)


def _is_below(name: str, package: str) -> bool:
    """Whether a module is a package, or one of its modules."""
    return name == package or name.startswith(f"{package}.")
