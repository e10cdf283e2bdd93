"""Tasks on workers that die, fail and are slow: bounded, repeated, and named."""

import os
import subprocess
import sys
import time
from concurrent.futures import Future, ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context

import pytest
from raterzoo.inference.scale.workers import Workers, WorkersLost, workers_of


class KilledWorker(Exception):
    """As dask says it."""


class Dying:
    """Does tasks at once; the worker of some of them dies a few times."""

    def __init__(self, deaths):
        self.deaths, self.begun = dict(deaths), []

    def submit(self, function, number, pure):
        assert not pure
        self.begun.append(number)
        future = Future()
        if self.deaths.get(number, 0):
            self.deaths[number] -= 1
            future.set_exception(KilledWorker())
        else:
            future.set_result(function(number))
        return future


def squares(workers, numbers):
    return list(workers.ordered(lambda n: n * n, ((n,) for n in numbers)))


def test_a_task_whose_worker_dies_is_done_again():
    executor = Dying({2: 3, 4: 1})
    workers = Workers(executor, 2, of_dask=True)
    assert squares(workers, range(6)) == [0, 1, 4, 9, 16, 25]
    assert workers.deaths == 4
    assert sorted(executor.begun) == sorted([*range(6), 2, 2, 2, 4])


def test_a_task_that_kills_every_worker_is_given_up_by_name():
    workers = Workers(Dying({2: 99}), 1, of_dask=True, most_tries=3)
    with pytest.raises(WorkersLost, match="task 2: the worker died 3 times"):
        squares(workers, range(6))


def test_an_error_is_raised_with_the_name_of_its_task():
    with ThreadPoolExecutor(2) as threads, workers_of(threads) as workers:
        with pytest.raises(ZeroDivisionError) as raised:
            list(workers.run(lambda n: 1 // n, [(1,), (0,)], lambda number: f"item {number}"))
    assert raised.value.__notes__ == ["while working on item 1"]


def test_tasks_are_taken_as_workers_are_free():
    taken = []

    def tasks():
        for number in range(50):
            taken.append(number)
            yield (number,)

    with ThreadPoolExecutor(2) as threads, workers_of(threads) as workers:
        for done, _ in enumerate(workers.run(lambda n: n, tasks())):
            assert len(taken) <= done + 4  # two workers, each with a task ahead


def test_a_broken_pool_of_somebody_else_is_said_to_be_broken():
    with ProcessPoolExecutor(1, get_context("forkserver")) as pool, workers_of(pool) as workers:
        with pytest.raises(WorkersLost, match="pass a number of processes"):
            list(workers.run(exec, [("import os, signal; os.kill(os.getpid(), signal.SIGKILL)",)]))


DRIVER = """
import os, time
from raterzoo.inference.scale.processes import Processes
if __name__ == "__main__":
    workers = Processes(1)
    print(workers.submit(os.getpid).result(), flush=True)
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
import sys
from multiprocessing import spawn
prepared = spawn.get_preparation_data
def loads_the_script(name):  # in the process that forks the others, as later versions of Python do
    data = prepared(name)
    return data | {"main_path": data["init_main_from_path"]} if name == "ignore" else data
if sys.argv[1:] == ["early"]:
    spawn.get_preparation_data = loads_the_script
from raterzoo.inference.scale.workers import workers_of
with workers_of(1) as workers:
    print(list(workers.run(abs, [(-1,), (-2,), (-3,)])))
"""


@pytest.mark.parametrize("when", ["early", "late"])
def test_a_script_without_a_guard_is_told_of_it(when, tmp_path):
    script = tmp_path / "unguarded.py"
    script.write_text(UNGUARDED)
    ended = subprocess.run([sys.executable, str(script), when], capture_output=True, text=True)
    assert ended.returncode == 1 and not ended.stdout
    assert "below `if __name__ == '__main__':`" in ended.stderr.splitlines()[-1]


@pytest.mark.parametrize("executor", [0, True, object()])
def test_an_executor_takes_work(executor):
    with pytest.raises(ValueError, match="executor="), workers_of(executor):
        pass
