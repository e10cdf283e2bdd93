"""`python -m evidence`: run the tasks, write their records, and draw the page."""

import argparse
import os
import sys

for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS"):
    os.environ.setdefault(name, "1")  # a process is one thread


def main() -> int:
    """Run the tasks and draw the page; return 1 if any verdict is bad or missing, or a task failed."""
    parser = argparse.ArgumentParser(prog="python -m evidence", description=__doc__)
    parser.add_argument("--only", default="", help="tasks whose name holds this text")
    parser.add_argument("--cores", type=int, default=os.cpu_count(), help="processes")
    parser.add_argument("--quick", action="store_true", help="few tasks, few simulations, no records")
    parser.add_argument("--page", action="store_true", help="draw the page of what has been run, run nothing")  # fmt: skip
    asked = parser.parse_args()
    from .page import write_page
    from .runner import run_tasks
    from .tasks import all_tasks, quick_tasks

    tasks = quick_tasks() if asked.quick and not asked.only else all_tasks(asked.quick)
    named = [task for task in tasks if asked.only in task.name]
    good = asked.page or run_tasks(named, asked.cores, recorded=not asked.quick)
    if not asked.quick:
        good &= write_page(tasks)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
