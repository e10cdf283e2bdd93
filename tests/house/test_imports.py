"""Who may import whom: read from the source, so that a rule cannot be broken by an import that happens not to run."""

import ast
import sys
from functools import cache
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PACKAGES = ("posterior", "models", "inference", "evaluation", "papers", "reports", "cli")
SOURCES = sorted(p for name in PACKAGES for p in (ROOT / name).rglob("*.py"))
FAMILIES = ("rankings", "labels", "comparisons", "scores")
LAWS = {"models.data", "models.distributions"}
GROUND = {"lazy_loader", "_exports", "_messages", "posterior"}  # on which everything may stand

# package -> what it may import, besides the standard library, the ground and itself
MODELS = {
    "models.data": {"numpy", "narwhals", "pyarrow"},
    "models.distributions": {"numpy", "numba", "llvmlite", "pymc", "pytensor", "jax"},
    "models.simulators": {"numpy", "models._prior_arguments", "models.data"},
    **{
        f"models.{family}": {
            "numpy",
            "scipy",
            "pymc",
            "pytensor",
            "models._arguments",
            "models._catalog",
            "models._hierarchy",
            "models._item_features",
            "models._prior_arguments",
            "models._prior_predictions",
            *LAWS,
        }
        for family in FAMILIES
    },
}
ENGINE = {"inference.kernels", "inference.runs"}
INFERENCE = {
    "inference.kernels": {"numpy", "scipy", "numba", "threadpoolctl", "models.distributions"},
    "inference.runs": {
        "numpy", "scipy", "pymc", "pytensor", "xarray", "arviz", "rich", "threadpoolctl", "inference.kernels",
        "inference.diagnostics", *LAWS, "models._catalog", "models._hierarchy", "models._prior_predictions",
    },
    **{
        f"inference.{family}": {
            "numpy", "scipy", "pymc", "pytensor", "xarray", "arviz_stats", "rich", "threadpoolctl",
            "inference.storage",
            "inference.diagnostics", *ENGINE, *LAWS, "models._prior_arguments", *(f"models.{family}" for family in FAMILIES),
        }
        for family in FAMILIES
    },
    **{
        f"inference.{family}.kernels": {
            "numpy", "numba", "threadpoolctl", "inference.kernels", "models.distributions"
        }
        for family in FAMILIES
    },
    "inference.design": {
        "numpy", "scipy", "pymc", "xarray", *ENGINE, *(f"inference.{family}" for family in FAMILIES), *LAWS, "models._catalog",
        "models.labels", "models.simulators",
    },
}  # fmt: skip
EVALUATION = {
    "evaluation": {
        "numpy", "scipy", "xarray", "arviz", "krippendorff", "sklearn", "matplotlib", "arviz_plots", "arviz_stats", "rich",
    },
}  # fmt: skip
ABOVE = {
    "papers": {"inference", "evaluation"},
    "reports": {
        "numpy", "scipy", "xarray", "arviz", "arviz_stats", "pandas", "pymc", "jinja2", "markupsafe",
        "matplotlib", "models", "inference", "evaluation", "papers", "inspect_ai",
    },
}  # fmt: skip
POSTERIOR = {"posterior": {"numpy", "scipy", "xarray"}}
ALLOWED = POSTERIOR | MODELS | INFERENCE | EVALUATION | ABOVE

# floors of inference, from the top: a module imports its own floor and those below
FLOORS = (
    {"label_aggregator"},
    {"sampling", "scale", "design"},
    {"checkpoints", "kept_draws", "posterior_predictive", "rater_priors", "updating"},
    {"nuts"},
    {"methods"},
    {*FAMILIES},
    {"storage", "diagnostics"},
    {"runs"},
    {"kernels"},
)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def resolved(node: ast.ImportFrom, package: tuple[str, ...]) -> list[str]:
    """Return the modules that a statement imports from, relative ones resolved within the root."""
    base = package[: len(package) - node.level + 1] if node.level else ()
    home = ".".join([*base, *(node.module or "").split(".")]).strip(".")
    of_package = node.level and (ROOT / home.replace(".", "/")).is_dir()
    return [f"{home}.{a.name}".strip(".") if of_package else home for a in node.names]


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
            found += resolved(node, package)
    return tuple(found)


def home_of(module: str) -> str | None:
    """Return the most specific package with a rule."""
    fits = [name for name in ALLOWED if module == name or module.startswith(name + ".")]
    return max(fits, key=len, default=None)


def floor_of(module: str) -> int | None:
    """Return the floor of a module of inference, 0 at the top; None of the package itself."""
    parts = module.split(".")
    if parts[0] != "inference" or len(parts) < 2:
        return None
    return next((k for k, floor in enumerate(FLOORS) if parts[1] in floor), None)


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_package_imports_only_what_its_rule_allows(path):
    home = home_of(module_of(path))
    if home is None:
        return
    for imported in imports_of(path):
        top = imported.partition(".")[0]
        if top in sys.stdlib_module_names or top in GROUND:
            continue
        inside = imported == home or imported.startswith(home + ".")
        allowed = any(imported == a or imported.startswith(a + ".") for a in ALLOWED[home])
        assert inside or allowed, f"{module_of(path)} imports {imported}"


@pytest.mark.parametrize("path", SOURCES, ids=module_of)
def test_inference_imports_no_higher_floor(path):
    own = floor_of(module_of(path))
    for imported in imports_of(path):
        other = floor_of(imported)
        assert None in (own, other) or own <= other, f"{module_of(path)} imports {imported}"


def test_every_module_of_inference_has_a_floor():
    names = {p.relative_to(ROOT / "inference").parts[0] for p in (ROOT / "inference").rglob("*.py")}
    assert {name.removesuffix(".py") for name in names} - {"__init__"} == set().union(*FLOORS)


def test_numba_stands_in_kernels_only():
    for path in SOURCES:
        compiled = {m for m in imports_of(path) if m.partition(".")[0] == "numba"}
        allowed = (
            "kernels" in path.parts or path.stem.endswith("_kernels") or path.parts[-2] == "distributions"
        )
        assert not compiled or allowed, module_of(path)


@pytest.mark.parametrize(
    ("package", "never"),
    [
        ("posterior", {"models", "inference", "evaluation", "papers", "reports", "cli", "pymc"}),
        ("models", {"inference", "evaluation", "papers", "reports", "cli"}),
        ("inference", {"evaluation", "papers", "reports", "cli"}),
        ("evaluation", {"models", "inference", "papers", "reports", "cli", "pymc"}),
        ("papers", {"reports", "cli"}),
        ("reports", {"cli"}),
    ],
)
def test_no_package_imports_one_beside_or_above_it(package, never):
    for path in SOURCES:
        if path.relative_to(ROOT).parts[0] == package:
            found = {m for m in imports_of(path) if m.partition(".")[0] in never}
            assert not found, f"{module_of(path)} imports {found}"


def test_families_do_not_import_each_other():
    for path in SOURCES:
        parts = module_of(path).split(".")
        if parts[0] not in ("models", "inference") or len(parts) < 2 or parts[1] not in FAMILIES:
            continue
        for imported in imports_of(path):
            other = imported.split(".")
            foreign = other[0] == parts[0] and len(other) > 1 and other[1] in FAMILIES
            assert not foreign or other[1] == parts[1], f"{module_of(path)} imports {imported}"


def test_only_plots_draw():
    for path in SOURCES:
        module = module_of(path)
        if not module.startswith("evaluation") or module.startswith("evaluation.plots"):
            continue
        drawn = {m for m in imports_of(path) if m.partition(".")[0] in ("matplotlib", "arviz_plots")}
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
    found = imports_of(ROOT / "models" / "rankings" / "observed.py")
    assert {"numpy", "models.data.rankings"} <= set(found)
