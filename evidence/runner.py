"""Run tasks over processes."""

import logging
import os
import time
import traceback
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from threading import Thread

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from .records import commit, passed, read, versions_of, write
from .tasks import Task

__all__ = ["run", "run_tasks"]

LONGEST_FIRST = ("hmc", "nuts", "gibbs", "exact")


def run_tasks(tasks: list[Task], cores: int, *, recorded: bool) -> bool:
    """Run tasks in parallel.

    Parameters
    ----------
    tasks : list of Task
        Tasks to run.
    cores : int
        Number of processes, which run at lowered priority.
    recorded : bool
        Whether to write records. Tasks that have one of this commit and these versions are skipped then, so that a stopped run
        continues where it was.

    Returns
    -------
    bool
        Whether all that were run passed.
    """
    made_at = commit() if recorded else None
    left = [task for task in tasks if not _is_done(task, made_at)]
    left.sort(key=lambda task: (task.twin is not None, LONGEST_FIRST.index(task.method)))
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())  # fmt: skip
    good = True
    with (
        Progress(*columns) as progress,
        ProcessPoolExecutor(cores, get_context("spawn"), initializer=_quietly) as pool,
    ):
        bar = progress.add_task("evidence", total=len(tasks), completed=len(tasks) - len(left))
        running = {pool.submit(run, task, made_at): task for task in left}
        for done in as_completed(running):
            success, said = done.result()
            good &= success
            progress.advance(bar)
            progress.console.print(f"{running[done].name}: {said}", highlight=False)
    return good


def _is_done(task: Task, made_at: str | None) -> bool:
    if made_at is None or made_at.endswith("-dirty") or (record := read(task)) is None:
        return False
    return (record["commit"], record["versions"]) == (made_at, versions_of(task))


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


def run(task: Task, made_at: str | None) -> tuple[bool, str]:
    """Run a task in this process and write its record if there is a commit; return whether it passed, and a line about it."""
    began = time.process_time()
    try:
        outcome = task.run()
    except Exception:  # shown; the task has no new record then, and the others go on
        return False, f"FAILED\n{traceback.format_exc()}"
    seconds = time.process_time() - began
    if made_at is not None:
        write(task, outcome, seconds, made_at)
    success = passed(task, outcome)
    verdict = "" if success else "MISSED, " if task.is_wrong else "BAD, "
    found = f"{outcome.statistic:.2f} of {outcome.threshold:.2f} at {outcome.worst}"
    return success, f"{verdict}{found}, {seconds:.0f} CPU s"
