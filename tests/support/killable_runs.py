"""Runs in processes that are there to be killed; what is compiled is loaded here, and the processes are forked from this one."""

import warnings

from raterzoo import inference

from tests.support.resumable_runs import BUILD, KILLABLE, plan_of
from tests.support.runs import begin_run

begin_run(BUILD["plackett_luce"](), plan_of(1)).advance(1)


def go(store):
    """Begin a run, or go on with it."""
    warnings.simplefilter("ignore")
    if store.exists():
        inference.resume(store, cores=1, progressbar=False)
    else:
        inference.sample(BUILD["plackett_luce"](), store=store, **KILLABLE)
