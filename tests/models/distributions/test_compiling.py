"""What is kept between runs belongs to the source as it is, helpers included."""

import gc
import os
import subprocess
import sys

import numba as nb
import pytest
from numba.core import event
from raterzoo.models.distributions.compiling import (
    _EntryCompiler,
    _imported,
    cached_njit,
    inner_njit,
    source_digest,
)

HELPER = "import numba as nb\n\n@nb.njit\ndef helper(x):\n    return x + {}\n"
ENTRY = """
import sys
from helper import helper
from raterzoo.models.distributions.compiling import cached_njit

@cached_njit()
def entry(x):
    return helper(x)

print(entry(0), sum(entry.stats.cache_hits.values()))
"""


def run(folder):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(folder / "entry.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


@pytest.mark.slow
def test_an_edited_helper_is_compiled_anew(tmp_path):
    (tmp_path / "entry.py").write_text(ENTRY)
    (tmp_path / "helper.py").write_text(HELPER.format(1))
    assert run(tmp_path) == (1, 0)
    assert run(tmp_path) == (1, 1)
    (tmp_path / "helper.py").write_text(HELPER.format(2))
    assert run(tmp_path) == (2, 0)


PARTS = """
import sys
import numpy as np
from numba.core.codegen import JITCodeLibrary
from raterzoo.models.distributions.compiling import cached_njit, inner_njit

translated = []
finalize = JITCodeLibrary._finalize_specific
JITCodeLibrary._finalize_specific = lambda self: (translated.append(self.name), finalize(self))

@{decorator}()
def inner(x):
    return x + 1

@cached_njit()
def middle(x):
    return 2 * inner(x)

@cached_njit()
def entry(x):
    return middle(x) + inner(x)

print(entry(1), *translated)
"""


@pytest.mark.parametrize(
    ("decorator", "parts"), [("inner_njit", True), ("cached_njit", True), ("nb.njit", False)]
)
def test_only_what_python_calls_becomes_machine_code(tmp_path, decorator, parts):
    """numba alone translates each function that the entry calls; ours are parts of the entry."""
    script = tmp_path / "parts.py"
    script.write_text(PARTS.replace("import sys", "import numba as nb").format(decorator=decorator))
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=True)
    value, *translated = done.stdout.split()
    assert value == "6" and "entry" in translated and "middle" not in translated
    assert ("inner" not in translated) == parts


def test_a_part_is_called_from_python_too():
    @inner_njit()
    def inner(x):
        return x + 1

    @nb.njit
    def outer(x):
        return inner(x)

    assert outer(1) == inner(1) == 2
    assert inner(1.5) == outer(1.5) == 2.5


@pytest.mark.parametrize("decorator", [inner_njit, cached_njit, nb.njit])
def test_a_part_has_its_own_arithmetic_whoever_calls_it_first(decorator):
    """numba's own takes over the options of the first caller in the process, here that sums may be reordered."""

    @decorator()
    def rest(x, y):
        return (x + y) - y

    @nb.njit(fastmath=True)
    def reordered(x, y):
        return rest(x, y)

    @nb.njit(fastmath=False)
    def in_order(x, y):
        return rest(x, y)

    assert reordered(1e-20, 1.0) == (1e-20 if decorator is nb.njit else 0.0)
    assert in_order(1e-20, 1.0) == (1e-20 if decorator is nb.njit else 0.0)


def digest_of(path):
    _imported.cache_clear(), source_digest.cache_clear()
    return source_digest(str(path))


def test_digest_is_of_the_file_and_all_it_imports_and_of_nothing_else(tmp_path):
    above, folder = tmp_path / "law.py", tmp_path / "kernels"
    folder.mkdir()
    one, two, other = (folder / f"{name}.py" for name in ("one", "two", "other"))
    one.write_text("from .two import (\n    f,\n)\n")
    two.write_text("from ..law import g\nfrom .one import h\nfrom math import exp\n")
    above.write_text("1"), other.write_text("1")
    seen = {digest_of(one)}
    for changed in (one, two, above):
        changed.write_text(changed.read_text() + "# changed\n")
        assert digest_of(one) not in seen
        seen.add(digest_of(one))
    other.write_text("2")
    assert digest_of(one) in seen


def test_whatever_a_kernel_imports_belongs_to_its_digest():
    """Every module of the package that is loaded with a kernel is in its digest, or compiles nothing."""
    script = """
import sys
from pathlib import Path
from raterzoo.models.distributions import compiling
before = set(sys.modules)
import raterzoo.inference.labels.kernels.gibbs as kernel
found, new = set(), {Path(kernel.__file__)}
while new:
    found |= new
    new = {there for source in new for there in compiling._imported(source)} - found
loaded = {Path(sys.modules[m].__file__) for m in set(sys.modules) - before if m.startswith("raterzoo.")}
missing = sorted(path.name for path in loaded - found if "njit" in path.read_text() or "@cached_njit" in path.read_text())
print(len(loaded), missing)
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded, missing = done.stdout.split(maxsplit=1)
    assert int(loaded) > 5 and missing.strip() == "[]"


def test_options_are_numbas():
    @cached_njit(error_model="numpy")
    def inverse(x):
        return 1.0 / x

    assert inverse(0.0) == float("inf")


def test_no_garbage_is_collected_while_numba_compiles():
    enabled = []

    class Listener(event.Listener):
        def on_start(self, event):
            enabled.append(gc.isenabled())

        def on_end(self, event):
            pass

    @inner_njit()
    def inner(x):
        return x + 1

    @nb.njit(pipeline_class=_EntryCompiler)
    def entry(x):
        return inner(x)

    with event.install_listener("numba:compile", Listener()):
        assert entry(1) == 2
    assert enabled == [True, False]  # before the entry, before its part
    assert gc.isenabled()

    @nb.njit(pipeline_class=_EntryCompiler)
    def impossible(x):
        return x.nothing

    with pytest.raises(nb.TypingError):
        impossible(1)
    assert gc.isenabled()
