"""Run tasks over processes; a task whose record is up to date is skipped."""

import logging
import os
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from threading import Thread

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .records import key_of, read, write
from .tasks import Task

__all__ = ["run_tasks"]

LONGEST_FIRST = ("hmc", "nuts", "gibbs", "exact")


def run_tasks(tasks: list[Task], cores: int) -> None:
    """Run tasks in parallel.

    A task whose record has the key of the present sources is skipped, so that a stopped run continues where it was.

    Parameters
    ----------
    tasks : list of Task
        Tasks to run.
    cores : int
        Number of processes, which run at lowered priority.
    """
    left = [task for task in tasks if not _is_done(task)]
    left.sort(key=lambda task: (task.twin is not None, LONGEST_FIRST.index(task.method)))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())  # fmt: skip
    with (
        Progress(*columns) as progress,
        ProcessPoolExecutor(cores, get_context("spawn"), initializer=_quietly) as pool,
    ):
        bar = progress.add_task("evidence", total=len(tasks), completed=len(tasks) - len(left))
        running = {pool.submit(_run, task): task for task in left}
        for done in as_completed(running):
            progress.advance(bar)
            progress.console.print(f"{running[done].name}: {done.result()}", highlight=False)


def _is_done(task: Task) -> bool:
    record = read(task)
    return record is not None and record["key"] == key_of(task) and record["quick"] == task.quick


def _quietly() -> None:
    """Lower the priority of a process, end it with its parent, and silence warnings and progress of the samplers."""
    os.nice(10)
    Thread(target=_end_with, args=[os.getppid()], daemon=True).start()
    warnings.simplefilter("ignore")
    logging.getLogger("pymc").setLevel(logging.ERROR)


def _end_with(parent: int) -> None:
    """End this process when its parent has ended, as by a signal that left no time to end it."""
    while os.getppid() == parent:
        time.sleep(1)
    os._exit(1)


def _run(task: Task) -> str:
    """Run a task in this process and write its record; return a line about it."""
    if _is_done(task):
        return "already done by another run"
    began = time.process_time()
    try:
        outcome = task.run()
    except Exception:  # shown; the task has no record then, and the others go on
        return f"FAILED\n{traceback.format_exc()}"
    seconds = time.process_time() - began
    write(task, outcome, seconds)
    return f"{outcome.statistic:.2f} of {outcome.threshold:.2f} at {outcome.worst}, {seconds:.0f} CPU s"  # fmt: skip
