"""What a user waits for before the first answer: `python benchmarks/startup.py`.

Wall seconds of whole processes, the best of three after one that fills the compile caches.
"""

import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(sys.executable).parent
IMPORT = "from raterzoo import models, inference, evaluation"
COMMANDS = [
    ([HERE / "python", "-c", IMPORT], "limit .3 s"),
    ([HERE / "raterzoo", "--help"], "limit .5 s"),
    ([HERE / "raterzoo", "demo"], "limit 30 s"),
]


def seconds(command: list, folder: str) -> float:
    start = time.perf_counter()
    subprocess.run(command, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - start


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        for command, limit in COMMANDS:
            seconds(command, folder)
            best = min(seconds(command, folder) for _ in range(3))
            what = " ".join([command[0].name, *command[1:]])
            print(f"{what:64s} wall {best:6.2f} s   {limit}")
