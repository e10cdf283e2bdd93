"""The committed evidence is whole and good, its statistics are those of the committed ranks, and the page lists it."""

import re
import subprocess

import numpy as np
import pytest
from raterzoo import models

from evidence import records, runner
from evidence.calibration import deviation
from evidence.chains import KEPT
from evidence.page import write_page
from evidence.records import read, read_ranks, write
from evidence.studies import STUDIES, methods_of
from evidence.tasks import Outcome, Task, all_tasks
from evidence.twins import DOSE

# studies that were not run in full yet; the page says what is missing
PENDING: set[str] = set()  # studies that were not run yet
TASKS = [task for task in all_tasks() if task.study not in PENDING]
COMMIT = 40 * "a"


@pytest.mark.parametrize("task", TASKS, ids=lambda task: task.name)
def test_every_verdict_is_good(task):
    record = read(task)
    assert record and record["passed"]
    assert len(record["commit"]) == 40 and {"python", "numpy", "numba", "pymc"} <= set(record["versions"])
    assert (record["statistic"] < record["threshold"]) is not task.is_wrong
    assert record["notes"].get("equals inference.sample", True)
    if task.kind == "calibration":
        assert record["simulations"] >= task.simulations
        if task.twin is None:
            ranks, names = read_ranks(task)
            assert ranks.shape == (record["simulations"], len(names)) and ranks.max() <= KEPT
            assert abs(deviation(ranks).max() - record["statistic"]) < 1e-3


def test_every_record_is_of_a_task():
    files = (records.FOLDER / "records").glob("*.json")
    pending = {task.name for task in all_tasks()} - {task.name for task in TASKS}
    assert {path.stem for path in files} - pending == {task.name for task in TASKS}


def test_the_page_lists_every_model_and_method():
    page = (records.FOLDER / "README.md").read_text()
    for entry in models.catalog.values():
        for method in entry.methods:
            start = f"| {entry.name} | {method} | "
            lines = [line for line in page.splitlines() if line.startswith(start)]
            (row,) = [line for line in lines if line.count("|") == 10]  # those of doses and twins have fewer
            assert row.endswith("| good |") or (entry.name in PENDING and "missing" in row)


def test_what_is_pending_is_a_study():
    assert set(STUDIES) > PENDING


def test_the_evidence_is_small():
    assert sum(path.stat().st_size for path in records.FOLDER.rglob("*")) < 8_000_000


def test_a_bad_or_missing_verdict_is_shown(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    good, bad = Task("mace", "gibbs", "joint"), Task("mace", "gibbs", "invariance")
    missed = Task("dawid_skene", "gibbs", "invariance", 0)
    write(good, Outcome(1.0, 4.0, "spam[0]", 9, None, (), {}), 1.0, COMMIT)
    assert not write_page([good, bad])
    write(bad, Outcome(5.0, 4.0, "spam[1]", 9, None, (), {}), 1.0, COMMIT)
    write(missed, Outcome(3.9, 4.0, "spam[0]", 9, None, (), {}), 1.0, COMMIT)
    assert read(good)["passed"] and not read(bad)["passed"] and not read(missed)["passed"]


def test_a_placebo_that_is_caught_fails_the_page(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    placebo = next(task for task in TASKS if task.bug and task.bug.placebo)
    write(placebo, Outcome(3.9, 4.0, "spam[0]", 9, None, (), {}), 1.0, COMMIT)
    assert write_page([placebo]) and "| not caught |" in (tmp_path / "README.md").read_text()
    write(placebo, Outcome(4.1, 4.0, "spam[0]", 9, None, (), {}), 1.0, COMMIT)
    assert not write_page([placebo]) and "| **CAUGHT** |" in (tmp_path / "README.md").read_text()


def test_the_page_tells_commit_and_versions_and_lists_the_records_of_others(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    tasks = [
        next(
            task for task in TASKS if (task.method, task.kind, task.is_wrong) == ("nuts", "calibration", True)
        )
    ]
    tasks += [Task("mace", "gibbs", kind) for kind in ("few data", "joint", "invariance")]
    for task in tasks:
        write(task, Outcome(0.5, 1.0, "spam[0]", 9, None, (), {}), 1.0, COMMIT)
    write_page(tasks)
    (line,) = (own for own in (tmp_path / "README.md").read_text().splitlines() if COMMIT in own)
    assert f"numba {read(tasks[0])['versions']['numba']}" in line and "nutpie" in line and "mace" not in line
    write(tasks[2], Outcome(0.5, 4.0, "spam[0]", 9, None, (), {}), 1.0, "b")
    write_page(tasks)
    page = (tmp_path / "README.md").read_text()
    assert len(re.findall("^Of commit .*", page, re.MULTILINE)) == 2
    assert re.search(r"^Of commit `b`.*: `mace\.gibbs\.joint`\.$", page, re.MULTILINE)


def test_tasks_are_skipped_if_they_have_a_record_of_the_same_clean_commit_and_versions(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    monkeypatch.setattr(runner, "commit", lambda: "b")
    task = Task("mace", "gibbs", "joint")
    write(task, Outcome(1.0, 4.0, "spam[0]", 9, None, (), {}), 1.0, "b")
    before = read(task)
    assert runner.run_tasks([task], 1, recorded=True) and read(task) == before


def test_a_task_that_fails_or_is_bad_is_told(tmp_path, monkeypatch):
    """Without a commit nothing is written."""
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    good, wrong = Task("mace", "gibbs", "joint"), Task("dawid_skene", "gibbs", "invariance", 0)
    for statistic, passes in ((1.0, (True, False)), (5.0, (False, True)), (np.nan, (False, False))):
        monkeypatch.setattr(Task, "run", lambda _, s=statistic: Outcome(s, 4.0, "spam[0]", 9, None, (), {}))
        assert tuple(runner.run(task, None)[0] for task in (good, wrong)) == passes
    assert not [*tmp_path.iterdir()]


def test_a_commit_is_dirty_if_sources_differ_but_not_by_results(tmp_path, monkeypatch):
    folder = tmp_path / "evidence"
    (folder / "records").mkdir(parents=True)
    monkeypatch.setattr(records, "FOLDER", folder)
    (folder / "chains.py").write_text("one = 1\n")
    git = ("git", "-C", str(tmp_path), "-c", "user.name=a", "-c", "user.email=a")
    for arguments in (("init", "-q"), ("add", "."), ("commit", "-q", "-m", "one")):
        subprocess.run((*git, *arguments), check=True)
    (folder / "records" / "one.json").write_text("{}")
    (folder / "README.md").write_text("A page.")
    at = records.commit()
    assert len(at) == 40
    (tmp_path / "model.py").write_text("new = 2\n")
    assert records.commit() == f"{at}-dirty"


def test_the_page_shows_the_smallest_dose_of_all_kinds_and_marks_weak_ones(tmp_path, monkeypatch):
    monkeypatch.setattr(records, "FOLDER", tmp_path)
    tasks = [Task("mace", "gibbs", kind) for kind in ("invariance", "few data")]
    for task, dose in zip(tasks, (0.25, 0.06), strict=True):
        doses = {"concentration of spam": dose, "first shape of competence": 0.2, "sd of bias": 0.125}
        write(task, Outcome(1.0, 4.0, "spam[0]", 9, None, (), {"doses": doses}), 1.0, COMMIT)
    write_page(tasks)
    row = "| mace | gibbs | concentration of spam 0.060, **first shape of competence 0.200** | sd of bias 12.5 % |  |"
    assert row in (tmp_path / "README.md").read_text().splitlines()


def test_shapes_of_own_samplers_are_caught_from_a_dose_of_a_tenth_on():
    for task in TASKS:
        if task.twin is None and task.kind in ("few data", "closed form"):
            doses = read(task)["notes"]["doses"]
            added = {n: d for n, d in doses.items() if "shape" in n.split(" of ")[0] or "concentration" in n}
            assert doses and max(added.values(), default=0.0) <= DOSE, task.name


def test_power_is_stated_for_every_sampler_of_every_study():
    for name in set(STUDIES) - PENDING:
        for method in methods_of(name):
            own = Task(name, method, "closed form" if method == "exact" else "invariance")
            assert read(own)["notes"]["doses"], own.name


def test_repetition_agrees_with_the_stated_power():
    for task in TASKS:
        if task.kind == "power":
            assert read(task)["notes"]["caught"] >= 0.75 * read(task)["simulations"]


def test_a_band_is_left_by_ranks_that_are_not_uniform():
    rng = np.random.default_rng(1)
    ranks = rng.integers(0, KEPT, (1000, 3), endpoint=True)
    assert deviation(ranks).max() < 1
    ranks[:, 1] = rng.binomial(KEPT, 0.5, 1000)
    assert deviation(ranks).argmax() == 1 and deviation(ranks)[1] > 1
