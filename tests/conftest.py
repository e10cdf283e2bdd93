"""What all tests share."""

import os
import signal
import sys

import pytest

from tests.support.golden_text import (
    golden,
    pytest_addoption,
    pytest_collection_modifyitems,
    pytest_configure,
    pytest_pyfunc_call,
    pytest_sessionfinish,
    pytest_terminal_summary,
    pytest_testnodedown,
)

__all__ = [
    "ctrl_c",
    "golden",
    "pytest_addoption",
    "pytest_collection_modifyitems",
    "pytest_configure",
    "pytest_pyfunc_call",
    "pytest_sessionfinish",
    "pytest_terminal_summary",
    "pytest_testnodedown",
]

# PyTensor compiles functions by numba, and calls a C compiler only to fold constants: two seconds for each kind of operation,
# two thirds of the time of tests of models with empty caches. Without one it folds them in Python; processes inherit this.
flags = os.environ.get("PYTENSOR_FLAGS", "")
if "cxx=" not in flags:
    os.environ["PYTENSOR_FLAGS"] = f"{flags},cxx=".removeprefix(",")


# The tests start dozens of Pythons. Where the environment forbids files of compiled modules, each would compile all anew.
sys.dont_write_bytecode = False
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)


@pytest.fixture(autouse=True)
def ctrl_c():
    """Let Ctrl-C raise KeyboardInterrupt, also where the tests were started in the background, which ignores it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)
