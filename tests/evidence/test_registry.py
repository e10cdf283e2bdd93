"""The evidence covers the catalog, and its wrong twins still differ from the sources in what they say."""

import pickle
from collections import Counter

import pytest
from raterzoo import models

from evidence.exact_draws import EXACT
from evidence.predicted_chains import CHAINS
from evidence.studies import FEW_DATA, STUDIES, methods_of, model_of
from evidence.tasks import QUICK, all_tasks, kinds_of, quick_tasks
from evidence.twins import DOSE, GRADED, PLACEBOS, REPEATED, TWINS
from tests.support.source_twins import in_place_of, rebuilt


def test_every_model_and_method_has_all_its_kinds():
    assert {model_of(name) for name in STUDIES} == set(models.catalog) < set(STUDIES)
    assert set(FEW_DATA) == {name for name in STUDIES if "gibbs" in methods_of(name)} > set(REPEATED)
    assert set(EXACT) == {name for name in models.catalog if "exact" in methods_of(name)}
    tasks = [task for task in all_tasks() if task.twin is None and task.kind != "power"]
    found = Counter((task.study, task.method, task.kind) for task in tasks)
    expected = {
        (name, method, kind) for name in STUDIES for method in methods_of(name) for kind in kinds_of(method)
    }
    variants = set(STUDIES) - set(models.catalog)
    assert variants & set(FEW_DATA) == {
        *CHAINS,
        "dawid_skene_with_time",
        "hierarchical_scores_with_features",
        "one_coin_with_time",
        "plackett_luce_with_shown_sets",
    }
    assert all(STUDIES[name].name == name for name in variants)
    assert set(found) == expected and set(found.values()) == {1}


def test_simulations_are_as_many_as_promised():
    for task in all_tasks():
        if task.kind == "calibration":
            assert task.simulations >= (300 if task.method == "nuts" else 1000)


def test_twins_are_of_every_family_method_and_kind():
    assert len({twin.name for twin in TWINS}) == len(TWINS) >= 25
    kinds = {models.catalog[model_of(twin.study)].data for twin in TWINS}
    assert kinds == {"labels", "rankings", "comparisons", "scores"}
    assert {twin.method for twin in TWINS} == {"exact", "gibbs", "hmc", "nuts"}
    assert {twin.kind for twin in TWINS} == {"calibration", "invariance", "joint", "few data", "closed form"}
    for twin in TWINS:
        assert twin.method in methods_of(twin.study) and twin.kind in kinds_of(twin.method)
        assert bool(twin.links) + bool(twin.told) + bool(twin.spoil) == 1, twin.name
        assert not twin.spoil or twin.kind == "calibration", twin.name  # which alone spoils answers


def test_every_own_sampler_with_a_shape_has_a_graded_twin_and_every_method_a_placebo():
    own = {name for name in STUDIES if {"gibbs", "exact"} & {*methods_of(name)}}
    assert {twin.study for twin in GRADED} | {
        "dirichlet"
    } == own  # whose twin is the one of its concentrations
    for twin in (*GRADED, *(t for t in TWINS if t.bug == "concentrations + .1")):
        assert str(DOSE) in twin.bug.replace(" .", " 0.") and not twin.placebo
    assert all(twin.placebo for twin in PLACEBOS) and {twin.method for twin in PLACEBOS} == {
        "exact",
        "gibbs",
        "hmc",
        "nuts",
    }
    assert {twin.kind for twin in PLACEBOS} == {twin.kind for twin in TWINS}


@pytest.mark.parametrize("twin", [t for t in TWINS if t.links], ids=lambda twin: twin.name)
def test_bugs_are_of_the_present_sources(twin):
    with in_place_of(rebuilt(*twin.links)):
        pass


def test_tasks_go_to_other_processes():
    for task in all_tasks():
        assert pickle.loads(pickle.dumps(task)) == task


def test_quick_tasks_are_of_every_kind_and_have_twins_and_a_placebo():
    tasks = quick_tasks()
    assert len(tasks) == len(QUICK) and all(task.quick for task in tasks)
    kinds = {"calibration", "invariance", "joint", "few data", "closed form"}
    assert {task.kind for task in tasks if not task.bug} == kinds
    assert {task.kind for task in tasks if task.is_wrong} == kinds
    assert {task.method for task in tasks} == {"exact", "gibbs", "hmc", "nuts"}
    assert any(task.bug and task.bug.placebo for task in tasks)
