"""Tasks on workers that fail, die and are slow: bounded, ordered, and named."""

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from raterzoo.inference.scale import workers as scale_workers


def large(n=2**20):
    """Return arrays of many kinds."""
    numbers = np.arange(n, dtype=np.float32)
    group = xr.Dataset({"x": ("draw", numbers), "y": ("draw", numbers > 3)}, attrs={"seed": 1})
    return {"group": group, "text": np.array(["a", None], object), "none": numbers[:0]}


def assert_same(found, made):
    xr.testing.assert_identical(found["group"], made["group"])
    assert found["text"].tolist() == made["text"].tolist()
    assert found["none"].shape == (0,) and found["none"].dtype == np.float32


def test_a_result_passes_through_a_file(tmp_path):
    path = scale_workers.call_to_file(str(tmp_path), large, 9)
    assert [Path(path)] == list(tmp_path.iterdir())
    assert_same(scale_workers.load_result(path), large(9))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
def test_processes_return_large_results_in_the_order_of_tasks():
    with scale_workers.workers_of(2) as workers:
        for found in workers.ordered(large, ((2**20,) for _ in range(5))):
            assert_same(found, large())


def test_an_error_is_raised_with_the_name_of_its_task():
    with ThreadPoolExecutor(2) as threads, scale_workers.workers_of(threads) as workers:
        with pytest.raises(ZeroDivisionError) as raised:
            list(workers.run(lambda n: 1 // n, [(1,), (0,)], lambda number: f"item {number}"))
    assert raised.value.__notes__ == ["while working on item 1"]


def test_tasks_are_taken_as_workers_are_free():
    taken = []

    def tasks():
        for number in range(50):
            taken.append(number)
            yield (number,)

    with ThreadPoolExecutor(2) as threads, scale_workers.workers_of(threads) as workers:
        for done, _ in enumerate(workers.run(lambda n: n, tasks())):
            assert len(taken) <= done + 4  # two workers, each with a task ahead


KILL = "import os, signal; os.kill(os.getpid(), signal.SIGKILL)"


@pytest.mark.parametrize("own", [True, False])
def test_a_killed_process_is_an_error_with_the_remedies(own):
    with (
        ProcessPoolExecutor(1, get_context("spawn")) as pool,
        scale_workers.workers_of(2 if own else pool) as workers,
    ):
        with pytest.raises(RuntimeError, match="dask") as raised:
            list(workers.run(exec, [(KILL,)] * 3))
    assert "memory" in str(raised.value)


def ones(number):
    """Return a result that a pipe would take some time for."""
    return np.full(2**22, number, np.uint8)


def kill_a_process(workers):
    """Kill one of the processes at a random time, while they send."""
    time.sleep(np.random.default_rng().exponential(0.05))
    os.kill(next(iter(workers.submit.func.__self__._processes)), signal.SIGKILL)


def test_a_process_killed_while_it_sends_keeps_nobody_waiting():
    with ThreadPoolExecutor(1) as thread, pytest.raises(RuntimeError), scale_workers.workers_of(2) as workers:
        for number, _ in enumerate(workers.run(ones, ((k % 200,) for k in range(100_000)))):
            if number == 4:
                thread.submit(kill_a_process, workers)


DRIVER = """
import os, time
from raterzoo.inference.scale.workers import workers_of
if __name__ == "__main__":
    with workers_of(1) as workers:
        print(next(workers.ordered(os.getpid, [()])), flush=True)
        time.sleep(60)
"""


def test_processes_end_with_a_driver_that_is_killed(tmp_path):
    script = tmp_path / "driver.py"
    script.write_text(DRIVER)
    driver = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE, text=True)
    assert driver.stdout is not None
    worker = int(driver.stdout.readline())
    os.kill(worker, 0)
    driver.kill()
    driver.wait()
    driver.stdout.close()
    for _ in range(200):
        try:
            os.kill(worker, 0)
        except ProcessLookupError:
            return
        time.sleep(0.05)
    pytest.fail("the worker outlives its driver")


UNGUARDED = """
from raterzoo.inference.scale.workers import workers_of
with workers_of(1) as workers:
    print(list(workers.run(abs, [(-1,), (-2,), (-3,)])))
"""


def test_a_script_without_a_guard_is_told_of_it(tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    ended = subprocess.run([sys.executable, str(script)], capture_output=True, text=True)
    assert ended.returncode == 1 and not ended.stdout
    assert "`if __name__ == '__main__':`" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("executor", [0, True, object()])
def test_an_executor_takes_work(executor):
    with pytest.raises(ValueError, match="executor="), scale_workers.workers_of(executor):
        pass
