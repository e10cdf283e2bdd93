"""Pytest plugin that records which lines of the package each test runs, by `sys.monitoring`.

Lines that a fixture of a module or a cached helper runs count for every test that uses its value. Functions compiled by numba
run unseen: those that a function names, directly or through others, count as run with it.
"""

import contextlib
import functools
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import pytest

from .mutation_operators import functions_of

TOOL = sys.monitoring.COVERAGE_ID
EVENTS = sys.monitoring.events
Lines = set[tuple[str, int]]
Place = tuple[str, str]  # file and function
Reached = dict[str, dict[str, list[int]]]  # file -> function -> lines from the function's first


class Scope:
    """A test, fixture or call of a cached helper: the lines it runs, and its CPU seconds without what others share."""

    def __init__(self) -> None:
        self.lines: Lines = set()
        self.shared: set[Scope] = set()  # fixtures and helpers whose values it uses
        self.elsewhere = 0.0  # CPU seconds of those that it has run
        self.seconds = -time.process_time()

    def end(self) -> None:
        """Stop the clock."""
        self.seconds += time.process_time() - self.elsewhere

    def use(self, scope: "Scope | None") -> None:
        """Add what a shared scope has run."""
        if scope is not None:
            self.lines |= scope.lines
            self.shared |= {scope, *scope.shared}


class ReachedLines:
    """Plugin whose `tests` map each test that passed to its CPU seconds, those of what it shares with others, and its lines.

    Parameters
    ----------
    root : Path
        Of the repository.
    folders : tuple of str
        Whose lines are recorded.
    """

    def __init__(self, root: Path, folders: tuple[str, ...]) -> None:
        self.root = root
        self.prefixes = tuple(f"{root / folder}/" for folder in folders)
        self.scopes: dict[str, Scope] = {}
        self.failed: set[str] = set()
        self._modules: dict[str, ModuleType] = {}  # of each test
        self._fixtures: dict[int, Scope] = {}
        self._running = [Scope()]
        self._in_function = functools.cache(self._line_in_function)

    def start(self) -> None:
        """Begin to record."""
        for prefix in self.prefixes:  # as the files are now, if they change meanwhile
            for path in Path(prefix).rglob("*.py"):
                functions_of(path)
        monitoring = sys.monitoring
        monitoring.use_tool_id(TOOL, "reached lines")
        monitoring.register_callback(TOOL, EVENTS.PY_START, self._on_start)
        monitoring.register_callback(TOOL, EVENTS.LINE, self._on_line)
        monitoring.set_events(TOOL, EVENTS.PY_START)
        functools.cache = self._recorded_cache(functools.cache)  # type: ignore[assignment]

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Function) -> Iterator[None]:
        """Record a test, and add what its fixtures ran."""
        self._running.append(Scope())
        sys.monitoring.restart_events()
        result = yield
        test = self._running.pop()
        for definitions in item._fixtureinfo.name2fixturedefs.values():
            for one in definitions:
                test.use(self._fixtures.get(id(one)))
        self.scopes[item.nodeid], self._modules[item.nodeid] = test, item.module  # type: ignore[assignment]
        test.end()
        return result

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: Any) -> Iterator[None]:
        """Record a fixture that several tests share."""
        if fixturedef.scope == "function":
            return (yield)
        with self._shared() as scope:
            self._fixtures[id(fixturedef)] = scope
            return (yield)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note tests that do not pass."""
        if not report.passed:
            self.failed.add(report.nodeid)

    @property
    def tests(self) -> dict[str, dict[str, Any]]:
        """CPU seconds, those of fixtures and helpers in `shared`, and reached lines of every test that passed and reaches any."""
        found = {}
        for test, scope in self.scopes.items():
            reached: Reached = {}
            for file, name, line in sorted(filter(None, (self._in_function(*line) for line in scope.lines))):
                reached.setdefault(file, {}).setdefault(name, []).append(line)
            compiled = self._compiled_by(reached, self._modules[test])
            for file, name in sorted(compiled):
                reached.setdefault(file, {}).setdefault(name, [])
            if reached and test not in self.failed:
                shared = sum(own.seconds for own in scope.shared)
                found[test] = {
                    "seconds": round(scope.seconds, 3),
                    "shared": round(shared, 3),
                    "reached": reached,
                }
        return found

    def _on_start(self, code: CodeType, offset: int) -> Any:
        if code.co_filename.startswith(self.prefixes):
            sys.monitoring.set_local_events(TOOL, code, EVENTS.LINE)
        return sys.monitoring.DISABLE

    def _on_line(self, code: CodeType, line: int) -> Any:
        self._running[-1].lines.add((code.co_filename, line))
        return sys.monitoring.DISABLE

    @contextlib.contextmanager
    def _shared(self) -> Iterator["Scope"]:
        """Record what several tests share, and count it for the one that runs."""
        self._running.append(Scope())
        sys.monitoring.restart_events()
        try:
            yield self._running[-1]
        finally:
            scope = self._running.pop()
            scope.end()
            self._running[-1].elsewhere += scope.seconds + scope.elsewhere
            self._running[-1].use(scope)

    def _recorded_cache(self, original: Callable) -> Callable:
        """Return `functools.cache` whose hits, in helpers of tests, count as the run of what they return."""

        def cache(function: Any) -> Any:
            kept: dict[Any, Scope] = {}
            cached = original(function)
            if (
                not getattr(function, "__module__", "").startswith("tests")
                and "/tests/" not in function.__code__.co_filename
            ):
                return cached

            @functools.wraps(function)
            def recorded(*args: Any, **options: Any) -> Any:
                key = args, tuple(sorted(options.items()))
                if key in kept:
                    self._running[-1].use(kept[key])
                    return cached(*args, **options)
                with self._shared() as kept[key]:
                    return cached(*args, **options)

            recorded.cache_clear = lambda: (kept.clear(), cached.cache_clear())  # type: ignore[attr-defined]
            return recorded

        return cache

    def _line_in_function(self, file: str, line: int) -> tuple[str, str, int] | None:
        """Return the file, function and line from the function's first of a line; None at the top level."""
        found = (
            (name, line - first) for first, last, name in functions_of(Path(file)) if first <= line <= last
        )
        name, below = next(found, ("", 0))
        return (str(Path(file).relative_to(self.root)), name, below) if name else None

    def _compiled_by(self, reached: Reached, module: ModuleType) -> set[Place]:
        """Return the compiled functions that reached functions name, or the module of the test."""
        named = self._compiled_names
        places = {(file, name) for file, functions in reached.items() for name in functions}
        found = {place for own in vars(module).values() if (place := self._place_of(own))}
        found |= {compiled for place in places for compiled in named.get(place, ())}
        left = [*found]
        while left:
            for further in named.get(left.pop(), set()) - found:
                found.add(further)
                left.append(further)
        return found

    @functools.cached_property
    def _compiled_names(self) -> dict[Place, set[Place]]:
        """For each function of the package, the compiled functions that it names."""
        found: dict[Place, set[Place]] = {}
        for name, module in [*sys.modules.items()]:
            if not name.startswith("raterzoo") or not getattr(module, "__file__", None):
                continue
            for own in [*vars(module).values()]:
                members = [*vars(own).values()] if isinstance(own, type) else [own]
                for member in members:
                    function = getattr(member, "py_func", getattr(member, "__func__", member))
                    function = getattr(function, "fget", None) or getattr(function, "func", None) or function
                    while hasattr(function, "__wrapped__"):
                        function = function.__wrapped__
                    if isinstance(function, FunctionType) and function.__code__.co_filename.startswith(
                        self.prefixes
                    ):
                        place = self._place(function)
                        found.setdefault(place, set()).update(self._named(function))
        return found

    def _named(self, function: FunctionType) -> set[Place]:
        """Return the compiled functions whose names stand in a function."""
        names, codes = set(), [function.__code__]
        while codes:
            code = codes.pop()
            names |= {*code.co_names}
            codes += [part for part in code.co_consts if isinstance(part, CodeType)]
        known = [function.__globals__.get(name) for name in names]
        for own in [
            function,
            *(getattr(own, "py_func", None) for own in known),
        ]:  # such as the density of a slice sampler
            for cell in getattr(own, "__closure__", None) or ():
                with contextlib.suppress(ValueError):  # of a name that has no value yet
                    known.append(cell.cell_contents)
        parts = [vars(own).get(name) for own in known if isinstance(own, ModuleType) for name in names]
        tables = [part for own in known if isinstance(own, dict) for part in own.values()]
        return {place for own in [*known, *parts, *tables] if (place := self._place_of(own))}

    def _place_of(self, thing: Any) -> Place | None:
        """Return the place of a function compiled by numba, None of anything else."""
        function = getattr(thing, "py_func", None)
        if not isinstance(function, FunctionType) or not function.__code__.co_filename.startswith(
            self.prefixes
        ):
            return None
        return self._place(function)

    def _place(self, function: FunctionType) -> Place:
        file = Path(function.__code__.co_filename).relative_to(self.root)
        return str(file), function.__qualname__.partition(".<locals>")[0]
