"""A driver that is asked to end leaves no temporary files, and does not wait for its workers."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from raterzoo import inference, models
from raterzoo.inference.storage.interruptions import cleaned_up

DRIVER = """
import time
from raterzoo.inference.scale.sharded_answers import label_work
from raterzoo.models import Labels
if __name__ == "__main__":
    labels = Labels.from_table({"item": ["a", "b"], "rater": ["r", "r"], "label": ["x", "y"]})
    with label_work(labels, 1, 2, None) as work:
        next(work.workers.run(time.sleep, [(0,)]))
        print(work.shards[0], flush=True)
        next(work.workers.run(time.sleep, [(300,)]))
"""


@pytest.fixture
def temporary():
    """A folder of a short name, as sockets need it."""
    with TemporaryDirectory() as folder:
        yield Path(folder)


@pytest.mark.slow
def test_a_driver_that_is_terminated_cleans_up(tmp_path, temporary):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    environment = os.environ | {"TMPDIR": str(temporary)}
    driver = subprocess.Popen([sys.executable, str(script)], env=environment, stdout=subprocess.PIPE)  # fmt: skip
    assert driver.stdout is not None and driver.stdout.readline()
    kinds = {path.name.rstrip("0123456789").rsplit("-", 1)[0] for path in temporary.iterdir()}
    assert kinds >= {"raterzoo-labels", "raterzoo"}
    driver.send_signal(signal.SIGTERM)
    assert driver.wait(20) == 128 + signal.SIGTERM
    driver.stdout.close()
    assert not list(temporary.iterdir())


class Asked:
    """Is asked to end when it is given work."""

    count = 1

    def submit(self, function, *arguments):
        assert signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
        signal.raise_signal(signal.SIGTERM)


VOTES = {"item": ["a", "b"], "rater": ["r", "r"], "label": ["x", "y"]}


@pytest.mark.parametrize("call", ["scatter", "dawid_skene_gibbs", "dawid_skene_em"])
def test_calls_end_as_by_an_exception(call, tmp_path):
    labels, where = models.Labels.from_table(VOTES), {"store": tmp_path / "d.zarr"}
    with pytest.raises(SystemExit) as ended:
        if call == "scatter":
            inference.scatter(models.dirichlet, labels, Asked(), progressbar=False, **where)
        elif call == "dawid_skene_gibbs":
            inference.dawid_skene_gibbs(labels, executor=Asked(), progressbar=False, **where)
        else:
            inference.dawid_skene_em(labels, executor=Asked(), restarts=0)
    assert ended.value.code == 128 + signal.SIGTERM
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_whoever_handles_the_signal_goes_on_to():
    asked = []
    before = signal.signal(signal.SIGTERM, lambda number, frame: asked.append(number))
    try:
        with cleaned_up():
            signal.raise_signal(signal.SIGTERM)
    finally:
        signal.signal(signal.SIGTERM, before)
    assert asked == [signal.SIGTERM]
