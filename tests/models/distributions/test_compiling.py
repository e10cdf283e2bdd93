"""What is kept between runs belongs to the source as it is, helpers included."""

import gc
import os
import subprocess
import sys

import numba as nb
import numpy as np
import pytest
from numba.core import event
from raterzoo.models.distributions import compiling

HELPER = "import numba as nb\n\n@nb.njit\ndef helper(x):\n    return x + {}\n"
SCRIPT = """
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
    (tmp_path / "entry.py").write_text(SCRIPT)
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
    @compiling.inner_njit()
    def inner(x):
        return x + 1

    @nb.njit
    def outer(x):
        return inner(x)

    assert outer(1) == inner(1) == 2
    assert inner(1.5) == outer(1.5) == 2.5


@pytest.mark.parametrize("decorator", [compiling.inner_njit, compiling.cached_njit, nb.njit])
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
    compiling._imported.cache_clear(), compiling.source_digest.cache_clear()
    return compiling.source_digest(str(path))


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
    @compiling.cached_njit(error_model="numpy")
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

    @compiling.inner_njit()
    def inner(x):
        return x + 1

    @nb.njit(**compiling.ENTRY)
    def entry(x):
        return inner(x)

    with event.install_listener("numba:compile", Listener()):
        assert entry(1) == 2
    assert enabled == [True, False]  # before the entry, before its part
    assert gc.isenabled()

    @nb.njit(**compiling.ENTRY)
    def impossible(x):
        return x.nothing

    with pytest.raises(nb.TypingError):
        impossible(1)
    assert gc.isenabled()


INTERRUPTED = """
import signal
import numba as nb
from numba.core import codegen
from raterzoo.models.distributions.compiling import {options}

hook = codegen.JITCodeLibrary._object_compiled_hook
armed = False

def interrupted(*arguments):
    if armed:
        signal.raise_signal(signal.{number})
    return hook(*arguments)

def stop(number, frame):
    raise KeyboardInterrupt

codegen.JITCodeLibrary._object_compiled_hook = classmethod(lambda cls, *rest: interrupted(*rest))
signal.signal(signal.{number}, stop)
nb.njit(cache=True)(lambda x: x)(1)  # numba sets itself up
armed = True

@nb.njit(cache=True, **{options})
def entry(x):
    return x + 1

try:
    print(entry(1))
except KeyboardInterrupt:
    armed = False
    print("stopped", entry(1), signal.getsignal(signal.{number}) is stop)
"""


@pytest.mark.slow
@pytest.mark.parametrize(("options", "number"), [("ENTRY", "SIGTERM"), ("SELF_CONTAINED", "SIGINT")])
def test_a_signal_waits_until_numba_has_compiled(tmp_path, options, number):
    """LLVM calls Python back when a function has its code, and drops what a handler of signals raises there."""
    script = INTERRUPTED.format(options=options, number=number)
    (tmp_path / "ours.py").write_text(script)
    (tmp_path / "plain.py").write_text(script.replace(f"**{options}", ""))
    ours, plain = (
        subprocess.run([sys.executable, str(tmp_path / name)], capture_output=True, text=True)
        for name in ("ours.py", "plain.py")
    )
    assert ours.stdout.split() == ["stopped", "2", "True"] and not ours.stderr
    assert "stopped" not in plain.stdout and plain.stderr


@nb.njit(fastmath=True)
def power_sum(x, power):
    total = 0.0
    for value in x:
        total += value**power
    return total


def shared_functions(options):
    """Compile a caller of `power_sum`; return names of its functions that other machine code could stand in for."""

    @nb.njit(**options)
    def caller(x):
        return power_sum(x, 2) + power_sum(x[1:], 3) + power_sum(x[2:], 5)

    x = np.arange(5.0)
    assert caller(x) == (x**2).sum() + (x[1:] ** 3).sum() + (x[2:] ** 5).sum()
    (made,) = caller.overloads.values()
    functions = made.library.get_defined_functions()
    return [f.name for f in functions if f.linkage.name == "linkonce_odr"]


def test_a_self_contained_function_shares_no_code():
    assert not shared_functions(compiling.SELF_CONTAINED)
    assert shared_functions({})


WITHOUT_PRIVATE_NAMES = """
import numba.core.codegen as codegen
{hidden}
import numpy as np
from raterzoo import inference, models
from raterzoo.models.distributions import compiling

simulated = models.simulators.labels(items=30, raters=4, categories=2, random_seed=1)
found = inference.dawid_skene_em(simulated.data)
print(compiling.HAS_PARTS, *found["plausibility"].to_numpy()[:, 0].tolist())
"""


@pytest.mark.slow
def test_kernels_are_compiled_by_plain_numba_where_it_lacks_the_private_names(tmp_path):
    results = []
    for hidden in ("", "codegen.JITCodeLibrary = type('Renamed', (), {})"):
        environment = os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / str(bool(hidden)))}
        script = WITHOUT_PRIVATE_NAMES.format(hidden=hidden)
        done = subprocess.run(
            [sys.executable, "-c", script], env=environment, capture_output=True, text=True, check=True
        )
        results.append(done.stdout.split())
    assert [own[0] for own in results] == ["True", "False"]
    ours, plain = (np.array(own[1:], float) for own in results)
    np.testing.assert_allclose(plain, ours, rtol=1e-9)
