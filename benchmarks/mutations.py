"""Mutation testing of evaluation and inference: `python -m benchmarks.mutations reach|run|judge|page`.

`reach [PATH ...]` runs tests once and notes which lines each runs. `run` takes a sample of mutations, stratified by folder, and
runs against each the tests that reach it, in a process forked from one that has loaded everything else, until one fails. A
mutated file is compiled in memory and never written. `judge KEY REASON` says why a survivor is equivalent; `page` writes
mutations.md. Results are in mutations.json: `run` again goes on, and repeats only what is in a changed file.
"""

import argparse
import ast
import contextlib
import gc
import importlib
import json
import os
import pkgutil
import resource
import signal
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from hashlib import blake2b
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, SourceFileLoader
from importlib.util import spec_from_file_location
from pathlib import Path
from typing import Any

import pytest

from .mutation_operators import BY_HAND, Mutation, by_hand, digest_of, functions_of, mutated, mutations_of
from .reached_lines import ReachedLines

ROOT = Path(__file__).parents[1]
FOLDERS = ("evaluation", "inference")
RECORD, PAGE = ROOT / "benchmarks" / "mutations.json", ROOT / "benchmarks" / "mutations.md"
SAMPLE, SEED = 600, 1
LOADED = (
    "arviz", "h5netcdf", "hypothesis", "matplotlib.pyplot", "narwhals", "numba", "pandas", "pyarrow", "pymc", "scipy.stats",
    "sklearn.metrics", "xarray", "zarr",
)  # fmt: skip
KNOWN = (
    (
        "evaluation/uncertainty/intervals.py",
        "[..., None] + np.nanmean(of_resample",
        "[..., None] - np.nanmean(of_resample",
    ),
    ("evaluation/uncertainty/intervals.py", "integers(0, self.n_items, ", "integers(0, self.n_items - 1, "),
    ("evaluation/surveys/resampling.py", "off = mean - float", "off = mean + float"),
    ("evaluation/surveys/resampling.py", "integers(0, n_items, ", "integers(0, n_items - 1, "),
    ("evaluation/comparisons/ranks.py", "ranks.best[leader]) >= prob", "ranks.best[leader]) > prob"),
    ("evaluation/sensitivity/reweighting.py", "relative_ess / (weights**2)", "1 / (weights**2)"),
    ("inference/diagnostics.py", " & (tail >= ess)", ""),
    ("inference/comparisons/quite.py", "fillna(sum(interval) / 2)", "fillna(interval[0])"),
)  # once seen by no test: file, text and its replacement
OPTIONS = [
    "-o",
    "addopts=",
    "--import-mode=importlib",
    "--strict-markers",
    "-p",
    "no:cacheprovider",
    "-p",
    "no:xdist",
    "-q",
    "-W",
    "ignore::pytest.PytestAssertRewriteWarning",
]
MEMORY = 12 << 30  # address space of a process
COMPILING = 40  # CPU seconds beyond twice those of the tests: their imports, and mutated kernels compiled

Result = dict[str, Any]


# --- A process for each run, forked from one that has loaded what no mutation changes ---


def load_the_rest() -> None:
    """Load other packages and the models, which import neither evaluation nor inference."""
    for name in LOADED:
        importlib.import_module(name)
    import raterzoo.models

    for module in pkgutil.walk_packages(raterzoo.models.__path__, "raterzoo.models."):
        importlib.import_module(module.name)
    gc.collect()
    gc.freeze()  # forked processes share what is never collected


def forked(work: Callable[[], Any], cpu_seconds: float) -> tuple[Any, float]:
    """Return what a function returns in a forked process, None if that does not end, and its CPU seconds."""
    with tempfile.TemporaryDirectory() as folder:
        answer = Path(folder) / "answer.json"
        with warnings.catch_warnings():
            warnings.simplefilter(
                "ignore", DeprecationWarning
            )  # of threads of other packages, which do nothing here
            process = os.fork()
        if not process:
            _work(work, answer, int(cpu_seconds) + 1)
        until = time.monotonic() + 20 * cpu_seconds + 60
        try:
            while not (ended := os.wait4(process, os.WNOHANG))[0] and time.monotonic() < until:
                time.sleep(0.02)
        finally:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(process, signal.SIGKILL)
        if not ended[0]:
            ended = os.wait4(process, 0)
        found = json.loads(answer.read_text()) if answer.exists() else None
        return found, ended[2].ru_utime + ended[2].ru_stime


def _work(work: Callable[[], Any], answer: Path, cpu_seconds: int) -> None:
    """Do the work of a forked process, which prints nothing, and end it."""
    try:
        os.setsid()
        for descriptor in (1, 2):
            os.dup2(
                os.open(os.environ.get("MUTATIONS_LOG", os.devnull), os.O_WRONLY | os.O_CREAT | os.O_APPEND),
                descriptor,
            )
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (cpu_seconds, cpu_seconds + 5))
        found = json.dumps(work())
        answer.with_suffix(".part").write_text(found)
        answer.with_suffix(".part").rename(answer)
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(0)


class _MutatedLoader(SourceFileLoader):
    """Loader of one file whose code is that of a mutated tree."""

    def __init__(self, name: str, path: str, tree: ast.Module) -> None:
        super().__init__(name, path)
        self.tree = tree

    def get_code(self, fullname: str) -> Any:
        return compile(self.tree, self.path, "exec")


class MutatedFinder(MetaPathFinder):
    """Import hook that loads one module of the package from a mutated tree."""

    def __init__(self, mutation: Mutation) -> None:
        self.path, self.tree = ROOT / mutation.file, mutated(ROOT, mutation)
        parts = Path(mutation.file).with_suffix("").parts
        self.name = ".".join(["raterzoo", *(part for part in parts if part != "__init__")])

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        """Return the specification of the mutated module, None of any other."""
        if fullname != self.name:
            return None
        loader = _MutatedLoader(fullname, str(self.path), self.tree)
        below = [str(self.path.parent)] if self.path.stem == "__init__" else None
        return spec_from_file_location(fullname, self.path, loader=loader, submodule_search_locations=below)


def compile_anew(path: Path) -> None:
    """Let numba keep no machine code, on disk, of functions that a mutated file is a part of."""
    from raterzoo.models.distributions import compiling

    kept = compiling.cached_njit

    def cached_njit(**options: Any) -> Callable[[Callable], Any]:
        def decorate(function: Callable) -> Any:
            found, new = set(), {Path(function.__code__.co_filename)}
            while new:
                found |= new
                new = {there for source in new for there in compiling._imported(source)} - found
            return (compiling.inner_njit if path in found else kept)(**options)(function)

        return decorate

    compiling.cached_njit = cached_njit


class Chosen:
    """Pytest plugin: runs the chosen tests, file by file, fastest first, and notes which failed first."""

    def __init__(self, seconds: dict[str, float]) -> None:
        self.seconds, self.failed, self.passed = seconds, "", 0
        self.files: Counter[str] = Counter()
        for test, cost in seconds.items():
            self.files[test.partition("::")[0]] += cost  # type: ignore[assignment]

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Keep the chosen tests, fast files first."""

        def order(item: pytest.Item) -> Any:
            file = item.nodeid.partition("::")[0]
            return self.files[file], file, self.seconds[item.nodeid]

        items[:] = sorted((item for item in items if item.nodeid in self.seconds), key=order)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Note whether a test fails."""
        if report.failed:
            self.failed = self.failed or report.nodeid
        elif report.when == "call":
            self.passed += 1

    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """Note whether a file of tests cannot be loaded."""
        if report.failed:
            self.failed = self.failed or report.nodeid


def outcome_of(mutation: Mutation | None, seconds: dict[str, float]) -> Result:
    """Run tests, of known seconds, against a mutation or the code as it is."""

    def work() -> dict[str, Any]:
        if mutation:
            sys.meta_path.insert(0, MutatedFinder(mutation))
            compile_anew(ROOT / mutation.file)
        chosen = Chosen(seconds)
        code = pytest.main([*OPTIONS, "-x", *sorted(chosen.files)], plugins=[chosen])
        return {"failed": chosen.failed, "passed": chosen.passed, "code": int(code)}

    found, cpu = forked(work, COMPILING + 2 * sum(seconds.values()))
    outcome: Result = {"seconds": round(cpu, 1)}
    if found is None:
        return outcome | {"outcome": "killed", "by": "time, memory or a crash"}
    if found["failed"] or found["code"] not in (0, 5):
        return outcome | {"outcome": "killed", "by": found["failed"] or "the start of the tests"}
    return outcome | {"outcome": "survived", "tests": found["passed"]}


# --- What reaches what ---


def measure_reach(paths: list[str], kept: Path, slow: bool) -> None:
    """Run tests and merge what they reach into a file."""

    def work() -> dict[str, Any]:
        plugin = ReachedLines(ROOT, FOLDERS)
        plugin.start()
        pytest.main([*OPTIONS, *([] if slow else ["-m", "not slow"]), *paths], plugins=[plugin])
        return {"tests": plugin.tests, "failed": sorted(plugin.failed)}

    found, cpu = forked(work, 24 * 3600)
    known = json.loads(kept.read_text()) if kept.exists() else {}
    known = {test: own for test, own in known.items() if not test.startswith(tuple(paths))}
    kept.write_text(json.dumps(known | found["tests"]))
    print(
        f"{len(found['tests'])} tests in {cpu:.0f} CPU s; not used, as they fail or are skipped here: {found['failed']}"
    )


class Reach:
    """Tests by what they reach, from the file that `reach` writes."""

    def __init__(self, kept: Path) -> None:
        known = json.loads(kept.read_text())
        self.seconds = {test: own["seconds"] for test, own in known.items()}
        self.shared = {test: own["shared"] for test, own in known.items()}
        self.of_file: dict[str, dict[str, dict[str, list[int]]]] = {}
        for test, own in known.items():
            for file, functions in own["reached"].items():
                self.of_file.setdefault(file, {})[test] = functions

    def cost(self, test: str) -> float:
        """Return the seconds of a test with its fixtures."""
        return self.seconds[test] + self.shared[test]

    def tests(self, mutation: Mutation, most: float) -> tuple[dict[str, float], int]:
        """Return the fastest tests that reach a mutation, with their seconds, and how many others would take too long."""
        known = self.of_file.get(mutation.file, {})
        first = next((a for a, _, name in functions_of(ROOT / mutation.file) if name == mutation.function), 0)
        lines = {*range(mutation.line - first, mutation.last_line - first + 1)}
        through = {test: own[mutation.function] for test, own in known.items() if mutation.function in own}
        found = [test for test, own in through.items() if lines & {*own} or not own]
        if not found:  # a default, or the file has changed since
            found = [*through]
        if not (mutation.function and found):  # of a module, or a function that only a compiler calls
            found = [*known]
        total, chosen, paid = 0.0, {}, Counter()
        for test in sorted(found, key=self.cost):
            file = test.partition("::")[0]
            cost = self.seconds[test] + max(0.0, self.shared[test] - paid[file])
            if total + cost <= most or not chosen:
                total, chosen[test] = total + cost, cost
                paid[file] = max(paid[file], self.shared[test])
        return chosen, len(found) - len(chosen)


# --- The sample and its results ---


@cache
def files() -> list[str]:
    """Return the files that are mutated."""
    found = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    return sorted(str(path.relative_to(ROOT)) for path in found)


@cache
def digest(file: str) -> str:
    """Return the digest of a file of the repository."""
    return digest_of((ROOT / file).read_text(encoding="utf-8"))


def known() -> list[Mutation]:
    """Return the mutations that were once seen by no test."""
    return [by_hand(ROOT, *one) for one in KNOWN]


def sample(number: int, seed: int) -> list[Mutation]:
    """Return mutations, of each folder its share; an unchanged statement stays in the sample of a changed file."""
    folders: dict[str, list[Mutation]] = {}
    for file in files():
        folders.setdefault(folder_of(file), []).extend(mutations_of(ROOT, file))
    folders = {folder: own for folder, own in sorted(folders.items()) if own}
    total = sum(map(len, folders.values()))
    place = partial(random_place, seed=seed)
    return [
        mutation
        for own in folders.values()
        for mutation in sorted(own, key=place)[: max(1, round(number * len(own) / total))]
    ]


def random_place(mutation: Mutation, seed: int) -> bytes:
    """Return the place of a mutation in a random order."""
    return blake2b(f"{seed}|{mutation.key}".encode(), digest_size=8).digest()


def folder_of(file: str) -> str:
    """Return the folder of a file."""
    return str(Path(file).parent)


def read_results() -> dict[str, Result]:
    """Return the results by the key of the mutation."""
    if not RECORD.exists():
        return {}
    return {own["key"]: own for own in json.loads(RECORD.read_text(encoding="utf-8"))}


def in_order(results: dict[str, Result]) -> list[Result]:
    """Return results in the order of the files."""
    return sorted(results.values(), key=lambda own: (own["file"], own["function"], own["key"]))


def write_results(results: dict[str, Result]) -> None:
    """Write one result a line, in the order of the files."""
    lines = ",\n".join(json.dumps(own, ensure_ascii=False) for own in in_order(results))
    RECORD.write_text(f"[\n{lines}\n]\n", encoding="utf-8")


def check_tests(reach: Reach) -> None:
    """Stop if one of the fastest tests of four files fails without any mutation: kills would mean nothing."""
    fastest: dict[str, str] = {}
    for test in sorted(reach.seconds, key=reach.cost):
        fastest.setdefault(test.partition("::")[0], test)
    found = outcome_of(None, {test: reach.cost(test) for test in [*fastest.values()][:4]})
    if found["outcome"] == "killed":
        raise SystemExit(f"{found['by']} fails without a mutation: measure again what tests reach")


def run(mutations: list[Mutation], reach: Reach, most: float, minutes: float) -> None:
    """Run tests against mutations, and write each result at once."""
    until = time.monotonic() + 60 * minutes
    for mutation in mutations:
        if time.monotonic() > until:
            break
        chosen, left_out = reach.tests(mutation, most)
        found = (
            outcome_of(mutation, chosen) if chosen else {"outcome": "survived", "tests": 0, "seconds": 0.0}
        )
        results = read_results()
        if found["outcome"] == "survived":
            found |= {"left out": left_out} if left_out else {}
            judged = results.get(mutation.key, {}).get("equivalent")
            found |= {"equivalent": judged} if judged else {}
        fields = ("key", "file", "function", "operator", "before", "after")
        result = (
            {name: getattr(mutation, name) for name in fields} | {"source": digest(mutation.file)} | found
        )
        write_results(results | {mutation.key: result})
        print(
            f"{found['outcome']:8s} {found['seconds']:6.1f} s  {mutation.operator:10s} {mutation.file}:{mutation.line}",
            flush=True,
        )
        if found["outcome"] == "survived":
            print(
                f"    {mutation.key}  {found['tests']} tests\n    {mutation.before}\n    {mutation.after or 'dropped'}",
                flush=True,
            )


# --- The page ---

INTRODUCTION = """# Mutation testing

`python -m benchmarks.mutations page` writes this page from `mutations.json`; [README.md](README.md) says how to run and continue.
A mutation changes one comparison, sign, operator, index, axis, weight, constant or condition, or drops one statement, in memory.
It is killed if one of the tests that reach it fails. The score is the share of killed among the mutations that are not
equivalent: an equivalent one changes nothing that a user can see or that is promised, and has its reason below.

A survivor gets a test, so the score of what has been run is not that of the rest of the sample: of the first 275 that were run,
when only the survivors of the first 83 had their tests, 221 of 264 that are not equivalent were killed, 84 %. Of the next 202,
160 of 182 that are not equivalent were killed by tests that were there before, 88 %. Of the next 110
101 are not equivalent: 87 were killed by tests that were there, 86 %, seven by new or stronger ones, and one was of a default
that nobody used. Those listed below have not been run again since tests were added for them, or reach slow tests alone, which
were not run.
"""


def page(results: dict[str, Result], sampled: dict[str, int]) -> str:
    """Return the page."""
    every = in_order(results)
    ran = [own for own in every if own["operator"] != BY_HAND]
    parts = [INTRODUCTION, f"Sampled {sum(sampled.values())}, run {len(ran)}.\n", "## By folder\n"]
    parts += [
        _table(
            "folder",
            {folder: [own for own in ran if folder_of(own["file"]) == folder] for folder in sampled},
            sampled,
        )
    ]
    operators = sorted({own["operator"] for own in ran})
    parts += [
        "\n## By operator\n",
        _table("operator", {name: [r for r in ran if r["operator"] == name] for name in operators}),
    ]
    parts += ["\n## Once seen by no test\n"]
    parts += [f"{_line(own)}: {own['outcome']}" for own in every if own["operator"] == BY_HAND]
    open_ones = [own for own in ran if own["outcome"] == "survived" and "equivalent" not in own]
    if open_ones:
        parts += ["\n## Survivors that need a test\n", *map(_line, open_ones)]
    equivalent = [own for own in ran if "equivalent" in own]
    if equivalent:
        parts += ["\n## Equivalent\n", *(f"{_line(own)}: {own['equivalent']}" for own in equivalent)]
    return "\n".join(parts) + "\n"


def sampled_of(text: str) -> dict[str, int]:
    """Return the numbers of sampled mutations by folder, from a page."""
    rows = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return {row[0]: int(row[1]) for row in rows if len(row) == 7 and row[1].isdigit() and row[0] != "all"}


def _table(title: str, groups: dict[str, list[Result]], sampled: dict[str, int] | None = None) -> str:
    """Return a table of counts with a row for each group and one for all."""
    groups = groups | {"all": [own for group in groups.values() for own in group]}
    head = [title, *(["sampled"] if sampled else []), "run", "killed", "equivalent", "survived", "score"]
    rows = [head, ["---"] * len(head)]
    for name, own in groups.items():
        killed = sum(one["outcome"] == "killed" for one in own)
        equivalent = sum("equivalent" in one for one in own)
        judged = len(own) - equivalent
        score = f"{100 * killed / judged:.0f} %" if judged else "-"
        number = [sum(sampled.values()) if name == "all" else sampled[name]] if sampled else []
        rows.append([name, *map(str, [*number, len(own), killed, equivalent, judged - killed]), score])
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _line(result: Result) -> str:
    """Return one survivor as an entry of a list."""
    before, after = (" ".join(result[name].split()) for name in ("before", "after"))
    return f"- `{result['file']}`, {result['function'] or 'top level'}: `{before}` to `{after or 'nothing'}`"


def write_page() -> None:
    """Write the page of the results that belong to the sample, and forget the others."""
    chosen = sample(SAMPLE, SEED)
    found = read_results()
    results = {own.key: found[own.key] for own in [*known(), *chosen] if own.key in found}
    write_results(results)
    counts = Counter(folder_of(own.file) for own in chosen)
    PAGE.write_text(page(results, dict(sorted(counts.items()))), encoding="utf-8")


def judge(key: str, reason: str) -> None:
    """Note why a survivor is equivalent."""
    results = read_results()
    if results.get(key, {}).get("outcome") != "survived":
        raise SystemExit(f"{key} is not a mutation that survived")
    results[key]["equivalent"] = reason
    write_results(results)


def arguments() -> argparse.Namespace:
    """Return the arguments of the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    default = Path(tempfile.gettempdir()) / "raterzoo-reach.json"
    parser.add_argument("--kept", type=Path, default=default, help="file of what tests reach")
    commands = parser.add_subparsers(dest="command", required=True)
    reach = commands.add_parser("reach", help="measure what tests reach")
    reach.add_argument("paths", nargs="*", default=["tests/evaluation", "tests/inference"])
    reach.add_argument("--slow", action="store_true", help="slow tests as well")
    ran = commands.add_parser("run", help="run tests against the mutations that have no result")
    ran.add_argument("--only", nargs="*", default=[""], help="files whose paths begin so")
    ran.add_argument("--minutes", type=float, default=60)
    ran.add_argument("--most", type=float, default=60, help="CPU seconds of tests for a mutation")
    ran.add_argument("--survivors", action="store_true", help="run survivors again that are not equivalent")
    ran.add_argument("--known", action="store_true", help="mutations by hand, which no test saw once")
    judged = commands.add_parser("judge", help="say why a survivor is equivalent")
    judged.add_argument("key")
    judged.add_argument("reason")
    commands.add_parser("page", help="write mutations.md")
    return parser.parse_args()


def main() -> None:
    """Run one command."""
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    given = arguments()
    if given.command == "judge":
        return judge(given.key, given.reason)
    if given.command == "page":
        return write_page()
    load_the_rest()
    if given.command == "reach":
        return measure_reach(given.paths, given.kept, given.slow)
    found = read_results()
    every = known() if given.known else sample(SAMPLE, SEED)
    chosen = [own for own in every if own.file.startswith(tuple(given.only))]
    if given.survivors:
        left = {key for key, own in found.items() if own["outcome"] == "survived" and "equivalent" not in own}
        chosen = [own for own in chosen if own.key in left]
    else:
        chosen = [own for own in chosen if found.get(own.key, {}).get("source") != digest(own.file)]
    reach = Reach(given.kept)
    check_tests(reach)
    chosen.sort(key=partial(random_place, seed=SEED))  # what is run is a fair sample wherever it stops
    run(chosen, reach, given.most, given.minutes)


if __name__ == "__main__":
    main()
