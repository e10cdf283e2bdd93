"""Who may import whom: read from the source, so that a rule cannot be broken by an import that happens not to run."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("models", "inference", "evaluation", "reports", "cli")
SOURCES = sorted(p for name in PACKAGES for p in (ROOT / name).rglob("*.py"))

# package -> what it may import, besides the standard library and itself
ALLOWED = {
    "models.data": {"numpy", "narwhals", "pyarrow", "_exports", "_legible"},
    "models.distributions": {"numpy", "numba", "llvmlite", "pymc", "pytensor", "jax", "_exports"},
    "models.simulators": {"numpy", "networkx", "models.data", "_exports"},
    "models.labels": {"numpy", "scipy", "pymc", "pytensor", "models.data", "models.distributions"},
    "models.rankings": {"numpy", "pymc", "pytensor", "models.data", "models.distributions"},
    "models.comparisons": {"numpy", "pymc", "pytensor", "models.data", "models.distributions"},
    "models.scores": {"numpy", "pymc", "pytensor", "models.data", "models.distributions"},
    "inference.kernels": {"numpy", "numba", "threadpoolctl", "models.distributions"},
    "inference.steps": {
        "numpy", "pymc", "pytensor", "rich", "inference.kernels", "models.distributions",
    },
    "inference.point": {
        "numpy", "scipy", "xarray", "inference.kernels", "inference.shards", "models.data", "models.distributions",
    },
    "inference.design": {
        "numpy", "scipy", "xarray", "inference.kernels", "inference.point", "models.data", "models.simulators",
        "models.distributions", "_exports",
    },
    "evaluation": {
        "numpy", "scipy", "xarray", "arviz", "krippendorff", "sklearn", "matplotlib", "arviz_plots", "arviz_stats",
        "rich", "_exports", "_legible",
    },
    "reports": {
        "numpy", "xarray", "jinja2", "markupsafe", "matplotlib", "evaluation", "_exports",
    },
}  # fmt: skip


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@cache
def imports_of(path: Path) -> tuple[str, ...]:
    """Return every module a file imports, but for type checking; relative ones resolved within the root."""
    package = path.relative_to(ROOT).parent.parts
    tree = ast.parse(path.read_text())
    typing_only = {
        id(node)
        for test in ast.walk(tree)
        if isinstance(test, ast.If) and "TYPE_CHECKING" in ast.dump(test.test)
        for node in ast.walk(test)
    }
    found = []
    for node in ast.walk(tree):
        if id(node) in typing_only:
            continue
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else ()
            home = ".".join([*base, *(node.module or "").split(".")]).strip(".")
            of_package = node.level and (ROOT / home.replace(".", "/")).is_dir()
            found += [f"{home}.{a.name}".strip(".") if of_package else home for a in node.names]
    return tuple(found)


def home_of(module: str) -> str | None:
    """Return the most specific package with a rule."""
    fits = [name for name in ALLOWED if module == name or module.startswith(name + ".")]
    return max(fits, key=len, default=None)


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_package_imports_only_what_its_rule_allows(path):
    home = home_of(module_of(path))
    if home is None:
        return
    for imported in imports_of(path):
        top = imported.partition(".")[0]
        if top in sys.stdlib_module_names:
            continue
        inside = imported == home or imported.startswith(home + ".")
        allowed = any(imported == a or imported.startswith(a + ".") for a in ALLOWED[home])
        assert inside or allowed, f"{module_of(path)} imports {imported}"


def test_only_plots_draw():
    for path in SOURCES:
        module = module_of(path)
        if not module.startswith("evaluation") or module.startswith("evaluation.plots"):
            continue
        drawn = {
            m for m in imports_of(path) if m.partition(".")[0] in ("matplotlib", "arviz_plots")
        }
        assert not drawn, f"{module} imports {drawn}"


def test_inside_the_package_imports_are_relative():
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text())):
            absolute = isinstance(node, ast.ImportFrom) and not node.level and node.module
            assert not (absolute and node.module.startswith("raterzoo")), module_of(path)


def test_there_is_no_import_cycle():
    modules = {module_of(p): p for p in SOURCES}
    graph = {
        name: {m if m in modules else m.rpartition(".")[0] for m in imports_of(path)} & set(modules)
        for name, path in modules.items()
    }
    TopologicalSorter(graph).prepare()  # raises CycleError and shows the cycle


def test_imports_are_read():
    found = imports_of(ROOT / "models" / "rankings" / "candidates.py")
    assert {"numpy", "models.data.rankings"} <= set(found)
