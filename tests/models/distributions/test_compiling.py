"""What is kept between runs belongs to the source as it is, helpers included."""

import os
import subprocess
import sys

from raterzoo.models.distributions.compiling import kept, source_stamp

HELPER = "import numba as nb\n\n@nb.njit\ndef helper(x):\n    return x + {}\n"
ENTRY = """
import sys
from helper import helper
from raterzoo.models.distributions.compiling import kept

@kept()
def entry(x):
    return helper(x)

print(entry(0), sum(entry.stats.cache_hits.values()))
"""


def run(folder):
    environment = os.environ | {"NUMBA_CACHE_DIR": str(folder / "cache")}
    command = [sys.executable, str(folder / "entry.py")]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return tuple(map(int, done.stdout.split()))


def test_an_edited_helper_is_compiled_anew(tmp_path):
    (tmp_path / "entry.py").write_text(ENTRY)
    (tmp_path / "helper.py").write_text(HELPER.format(1))
    assert run(tmp_path) == (1, 0)
    assert run(tmp_path) == (1, 1)
    (tmp_path / "helper.py").write_text(HELPER.format(2))
    assert run(tmp_path) == (2, 0)


def test_stamp_is_of_all_files(tmp_path):
    (tmp_path / "one.py").write_text("1")
    before = source_stamp(tmp_path)
    source_stamp.cache_clear()
    (tmp_path / "two.py").write_text("2")
    assert source_stamp(tmp_path) != before != source_stamp()


def test_options_are_numbas():
    @kept(error_model="numpy")
    def inverse(x):
        return 1.0 / x

    assert inverse(0.0) == float("inf")
