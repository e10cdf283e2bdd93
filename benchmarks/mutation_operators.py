"""Mutations of a source file, each one small change of its syntax tree.

A comparison, sign, operator, index, axis, weight, constant or condition is changed, or a statement dropped.
Not mutated are texts, annotations, docstrings, decorators, imports, what an error says, and ``strict=`` of `zip`, an assertion.
"""

import ast
import copy
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from hashlib import blake2b
from pathlib import Path
from typing import Any

__all__ = ["BY_HAND", "Mutation", "by_hand", "digest_of", "functions_of", "mutated", "mutations_of"]

COMPARISONS = {
    ast.Lt: (ast.LtE, ast.GtE), ast.LtE: (ast.Lt, ast.Gt), ast.Gt: (ast.GtE, ast.LtE), ast.GtE: (ast.Gt, ast.Lt),
    ast.Eq: (ast.NotEq,), ast.NotEq: (ast.Eq,), ast.Is: (ast.IsNot,), ast.IsNot: (ast.Is,), ast.In: (ast.NotIn,),
    ast.NotIn: (ast.In,),
}  # fmt: skip
ARITHMETIC = {
    ast.Add: ast.Sub, ast.Sub: ast.Add, ast.Mult: ast.Div, ast.Div: ast.Mult, ast.FloorDiv: ast.Div, ast.Mod: ast.Mult,
    ast.Pow: ast.Mult, ast.BitAnd: ast.BitOr, ast.BitOr: ast.BitAnd,
}  # fmt: skip
REDUCTIONS = {"sum", "mean", "std", "var", "max", "min", "any", "all", "prod", "median", "quantile"}
WEIGHTS = {"weights", "weight", "p"}
UNCHANGED = {
    "strict",
    "stacklevel",
    "dtype",
    "threads",
}  # arguments that no result depends on, or that only assert
SKIPPED = {"annotation", "returns", "decorator_list", "type_params", "type_comment", "msg", "exc", "cause"}

BY_HAND = "by hand"


@dataclass(frozen=True)
class Mutation:
    """One change of a file."""

    file: str  # relative to the repository
    function: str  # qualified name of the outermost function or method, "" at the top level
    operator: str
    line: int
    last_line: int
    before: str
    after: str
    number: int  # among mutations of the file that are equal in all of the above but the lines
    index: int  # among all mutations of the file, -1 if written by hand

    @property
    def key(self) -> str:
        """Digest that is the same until the statement changes."""
        parts = self.file, self.function, self.operator, self.before, self.after, str(self.number)
        return blake2b("|".join(parts).encode(), digest_size=6).hexdigest()


def digest_of(source: str) -> str:
    """Return a digest of a source file that does not depend on comments, docstrings or formatting."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef):
            node.body = [s for s in node.body if not _is_text(s)] or [ast.Pass()]
    return blake2b(ast.dump(tree).encode(), digest_size=8).hexdigest()


@cache
def functions_of(path: Path) -> list[tuple[int, int, str]]:
    """Return first line, last line and qualified name of the outermost functions and methods of a file."""
    found = []

    def visit(nodes: list[ast.stmt], prefix: str) -> None:
        for node in nodes:
            if isinstance(node, ast.ClassDef):
                visit(node.body, f"{prefix}{node.name}.")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                first = min([node.lineno, *(mark.lineno for mark in node.decorator_list)])
                found.append((first, node.end_lineno or first, prefix + node.name))

    visit(ast.parse(path.read_text(encoding="utf-8")).body, "")
    return found


def mutations_of(root: Path, file: str) -> list[Mutation]:
    """Return all mutations of a file."""
    found, seen = [], Counter()
    tree = ast.parse((root / file).read_text(encoding="utf-8"))
    for index, (site, new, operator) in enumerate(_changes(tree)):
        statement = site.statement
        shown: Any = (
            site.node
            if isinstance(statement, ast.If | ast.For | ast.While | ast.With | ast.FunctionDef)
            else statement
        )
        before, after = ast.unparse(shown), _after(site, new, shown)
        function = _function_at(root / file, site.line)
        number = seen[function, operator, before, after]
        seen[function, operator, before, after] += 1
        last = getattr(shown, "end_lineno", site.line)
        found.append(Mutation(file, function, operator, shown.lineno, last, before, after, number, index))
    return found


def by_hand(root: Path, file: str, before: str, after: str) -> Mutation:
    """Return the mutation that replaces a text, which stands once in a file."""
    source = (root / file).read_text(encoding="utf-8")
    if source.count(before) != 1:
        raise ValueError(f"{file} has {before!r} {source.count(before)} times, not once")
    line = source[: source.index(before)].count("\n") + 1
    function = _function_at(root / file, line)
    return Mutation(file, function, BY_HAND, line, line + before.count("\n"), before, after, 0, -1)


def _function_at(path: Path, line: int) -> str:
    return next((name for first, last, name in functions_of(path) if first <= line <= last), "")


def mutated(root: Path, mutation: Mutation) -> ast.Module:
    """Return the tree of a file with one mutation."""
    source = (root / mutation.file).read_text(encoding="utf-8")
    if mutation.operator == BY_HAND:
        return ast.parse(source.replace(mutation.before, mutation.after))
    tree = ast.parse(source)
    for index, (site, new, _) in enumerate(_changes(tree)):
        if index == mutation.index:
            site.put(new)
            return ast.fix_missing_locations(tree)
    raise IndexError(f"{mutation.file} has no mutation {mutation.index}")


@dataclass
class _Site:
    """A node and its place in the tree."""

    parent: ast.AST
    field: str
    place: int | None  # in a list
    node: ast.AST
    statement: ast.stmt

    @property
    def line(self) -> int:
        return getattr(self.node, "lineno", self.statement.lineno)

    def put(self, new: ast.AST | None) -> None:
        """Replace the node; None leaves it out of its list."""
        if self.place is None:
            setattr(self.parent, self.field, new)
        else:
            getattr(self.parent, self.field)[self.place : self.place + 1] = [] if new is None else [new]


def _after(site: _Site, new: ast.AST | None, shown: ast.AST) -> str:
    """Return the text of a node with the change."""
    if shown is site.node:
        return ast.unparse(new) if new else ""
    site.put(new)
    text = ast.unparse(shown)
    if new is None:
        getattr(site.parent, site.field).insert(site.place, site.node)
    else:
        site.put(site.node)
    return text


def _is_text(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


Change = tuple[_Site, ast.AST | None, str]


def _changes(tree: ast.Module) -> Iterator[Change]:
    """Yield every change: where, the new node, and the name of the operator. The tree may be changed between two."""
    sites = [
        site
        for statement in tree.body
        if not (isinstance(statement, ast.Assign) and ast.unparse(statement.targets[0]) == "__all__")
        for site in _sites(tree, "body", tree.body.index(statement), statement, statement)
    ]
    bound = _rebinding(tree)
    for site in sites:
        for new, operator in _replacements(site, bound):
            yield site, new, operator


def _sites(
    parent: ast.AST, field: str, place: int | None, node: ast.AST, statement: ast.stmt
) -> Iterator[_Site]:
    """Yield the node and all below it that may be mutated, in the order of the source."""
    if isinstance(node, ast.JoinedStr | ast.Import | ast.ImportFrom | ast.TypeAlias) or _is_text(node):
        return
    if isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test):
        return
    if isinstance(node, ast.stmt):
        statement = node
    yield _Site(parent, field, place, node, statement)
    if isinstance(node, ast.Expr) and "warn(" in ast.unparse(node):
        return
    for name, value in ast.iter_fields(node):
        if name in SKIPPED:
            continue
        for number, child in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(child, ast.keyword) and child.arg in UNCHANGED:
                continue
            if isinstance(child, ast.AST):
                yield from _sites(node, name, number if isinstance(value, list) else None, child, statement)


def _replacements(site: _Site, bound: set[ast.stmt]) -> Iterator[tuple[ast.AST | None, str]]:
    """Yield new nodes for a node, with the names of the operators."""
    node = site.node
    match node:
        case ast.Compare(ops=[first, *_]) if type(first) in COMPARISONS:
            for number, operation in enumerate(node.ops):
                for other in COMPARISONS[type(operation)]:
                    new = copy.deepcopy(node)
                    new.ops[number] = other()
                    yield new, "comparison"
        case ast.BinOp(op=op) if type(op) in ARITHMETIC:
            yield ast.BinOp(node.left, ARITHMETIC[type(op)](), node.right), "arithmetic"
            if isinstance(op, ast.Mult):
                yield node.left, "weight"
        case ast.AugAssign(op=op) if type(op) in ARITHMETIC:
            yield ast.AugAssign(node.target, ARITHMETIC[type(op)](), node.value), "arithmetic"
            yield ast.Pass(), "statement"
        case ast.UnaryOp(op=ast.USub()) if not _is_number(node.operand):
            yield node.operand, "sign"
        case ast.UnaryOp(op=ast.Not()):
            yield node.operand, "boolean"
        case ast.BoolOp(op=op):
            yield ast.BoolOp(ast.Or() if isinstance(op, ast.And) else ast.And(), node.values), "boolean"
        case ast.Constant(value=bool(value)):
            yield ast.Constant(not value), "boolean"
        case ast.keyword(arg="axis", value=value) if _is_number(_unsigned(value)):
            yield ast.keyword("axis", ast.Constant({0: 1, 1: 0}.get(ast.literal_eval(value), 0))), "axis"
        case ast.keyword(arg=name) if name in WEIGHTS:
            yield None, "weight"
        case ast.Subscript():
            yield from ((new, "index") for new in _indices(node))
        case ast.Call(func=ast.Attribute(attr=name), args=[ast.Tuple(elts=[first, *rest]) as dims, *_]) if (
            name in REDUCTIONS and rest and isinstance(first, ast.Constant) and isinstance(first.value, str)
        ):
            del dims
            new = copy.deepcopy(node)
            new.args[0] = ast.Tuple(new.args[0].elts[:-1], ast.Load())  # type: ignore[attr-defined]
            yield new, "axis"
        case ast.Constant(value=int(value) | float(value)) if not _is_index(site):
            yield ast.Constant(value + 1 if isinstance(value, int) else 2 * value or 1.0), "constant"
        case ast.IfExp():
            yield ast.IfExp(ast.UnaryOp(ast.Not(), node.test), node.body, node.orelse), "boolean"
        case ast.expr() if site.field == "test" and isinstance(site.parent, ast.If | ast.While):
            yield ast.UnaryOp(ast.Not(), node), "boolean"
        case ast.Expr(value=ast.Call()) | ast.Raise() | ast.Continue() | ast.Break():
            yield ast.Pass(), "statement"
        case ast.stmt() if node in bound:
            yield ast.Pass(), "statement"


def _unsigned(node: ast.AST) -> ast.AST:
    return node.operand if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) else node


def _is_number(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Constant)
        and isinstance(node.value, int | float)
        and not isinstance(node.value, bool)
    )


def _is_index(site: _Site) -> bool:
    """Whether a constant is mutated as an index or an axis."""
    parents = ast.Subscript | ast.Slice
    return isinstance(site.parent, parents) or (
        isinstance(site.parent, ast.keyword) and site.parent.arg == "axis"
    )


def _indices(node: ast.Subscript) -> Iterator[ast.Subscript]:
    """Yield the subscript with one index moved by one or one end of a slice left out."""
    whole = node.slice
    places = range(len(whole.elts)) if isinstance(whole, ast.Tuple) else [None]
    for place in places:
        part = whole if place is None else whole.elts[place]  # type: ignore[union-attr]
        for new in _moved(part):
            changed = copy.deepcopy(node)
            if place is None:
                changed.slice = new
            else:
                changed.slice.elts[place] = new  # type: ignore[attr-defined]
            yield changed


def _moved(part: ast.expr) -> Iterator[ast.expr]:
    if _is_number(_unsigned(part)):
        value = ast.literal_eval(part)
        yield ast.Constant(value + 1 if value >= 0 else value - 1)
    elif isinstance(part, ast.Slice):
        if part.lower is not None:
            yield ast.Slice(None, part.upper, part.step)
        if part.upper is not None:
            yield ast.Slice(part.lower, None, part.step)


def _rebinding(tree: ast.Module) -> set[ast.stmt]:
    """Return assignments to elements, attributes and names that are bound before, and returns before the end of a function."""
    found = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef):
            continue
        every = [*function.args.posonlyargs, *function.args.args, *function.args.kwonlyargs]
        known = {argument.arg for argument in every}
        for node in sorted(
            (n for n in ast.walk(function) if isinstance(n, ast.stmt)), key=lambda n: n.lineno
        ):
            if isinstance(node, ast.Assign):
                target = node.targets[0]
                names = {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}
                if isinstance(target, ast.Subscript | ast.Attribute) or names <= known:
                    found.add(node)
                known |= names
            elif isinstance(node, ast.Return) and node is not function.body[-1]:
                found.add(node)
    return found
