"""Small models, one for each sampler of the house, and how their runs are compared: to the last bit."""

import numpy as np
import xarray as xr
from raterzoo import models
from raterzoo.inference.runs.trees import Completion

from tests.support.label_designs import tiny_labels, tiny_tag_sets
from tests.support.runs import Draws, begin_run

SCORES = {
    "item": list("aabbccddaabb"),
    "rater": ["r", "s", "r", "s", "t", "s", "r", "t", "t", "u", "t", "u"],
    "score": [1.0, 1.4, 2.1, 2.6, 0.3, 0.1, 3.3, 2.9, 0.7, 1.2, 2.2, 2.9],
}
VOTES = {
    "left": list("abcabcdabd"),
    "right": list("bcdcdaabdc"),
    "winner": ["left", "tie", "right", "left", "left", "right", "right", "left", "tie", "left"],
    "rater": list("rrrsssttts"),
}
KILLABLE = {
    "draws": 3000,
    "chains": 2,
    "tune": 3,
    "thin": 2,
    "random_seed": 5,
    "progressbar": False,
    "cores": 1,
}
COUNTS = {"item": list("abcdef"), "x": [5, 4, 1, 2, 0, 0], "y": [5, 0, 3, 1, 3, 0]}


def votes():
    return models.Comparisons.from_table(VOTES)


def contradictory_votes():
    """Two raters of opposite opinions: the posterior has two centres."""
    first = {"left": ["a"] * 62, "right": ["b"] * 62, "winner": ["left"] * 32 + ["right"] * 30}
    return models.Comparisons.from_table(first | {"rater": ["r"] * 32 + ["s"] * 30})


BUILD = {
    "plackett_luce": lambda: models.plackett_luce(models.published_ddx_cases(), reliability=2),
    "prirn": lambda: models.prirn(models.published_ddx_cases()),
    "dirichlet": lambda: models.dirichlet(models.Labels.from_counts(COUNTS), concentration=0.3),
    "correlated_votes": lambda: models.correlated_votes(tiny_labels()),
    "cultural_consensus": lambda: models.cultural_consensus(tiny_labels()),
    "dawid_skene": lambda: models.dawid_skene(tiny_labels()),
    "one_coin": lambda: models.one_coin(tiny_labels()),
    "ebcc": lambda: models.ebcc(tiny_labels(), subtypes=2),
    "item_response": lambda: models.item_response(tiny_labels(), key={"a": "x", "b": "y"}),
    "multi_label": lambda: models.multi_label(tiny_tag_sets()),
    "ordinal": lambda: models.ordinal(tiny_labels(), order=["y", "x"]),
    "mace": lambda: models.mace(tiny_labels()),
    "shared_guess": lambda: models.shared_guess(tiny_labels(), ["x", "x", "y"], "y"),
    "item_states": lambda: models.item_states(models.Labels.from_counts(COUNTS), states=3),
    "normal_scores": lambda: models.normal_scores(models.Scores.from_table(SCORES)),
    "hierarchical_scores": lambda: models.hierarchical_scores(models.Scores.from_table(SCORES)),
    "bradley_terry": lambda: models.bradley_terry(votes(), ties="davidson"),
    "thurstone": lambda: models.thurstone(votes(), reliability_range=(0.5, 3), ties="threshold"),
    "two_centres": lambda: models.bradley_terry(contradictory_votes(), signed=True),
}  # fmt: skip


def plan_of(draws, cores=1, seed=7, **other):
    settings = {"tune": 5, "thin": 2, "dtype": "float32", "densities": True} | other
    return Draws(draws=draws, chains=3, cores=cores, seed=seed, progressbar=False, **settings)


def drawn(model, plan, pieces):
    """Return the groups of a run that goes on after each of these numbers of draws from a copy of its state."""
    completion, trees, run = Completion(model), [], begin_run(model, plan)
    for n in pieces:
        trees.append(completion(run.advance(n)))
        state, done = {name: array.copy() for name, array in run.state.items()}, run.drawn
        if done < plan.draws:
            run = begin_run(model, plan, run.tuning)
            run.restore(state, done)
    return joined(trees)


def joined(trees):
    """Return the groups of consecutive trees as those of one."""
    groups = {}
    for name, node in trees[-1].children.items():
        parts = [tree[name].to_dataset() for tree in trees]
        if "draw" in node.dims:
            joint = xr.concat(parts, "draw", data_vars="minimal", coords="minimal", compat="override")
            groups[name] = joint.assign_coords(draw=np.arange(joint.sizes["draw"]))
        else:
            groups[name] = parts[-1]
    return groups


def assert_same_bits(one, other):
    """Assert that two trees, or dicts of groups, hold the same numbers, ids and kinds."""
    assert set(one) == set(other)
    for name in one:
        first, second = (
            xr.DataTree(groups[name]) if isinstance(groups[name], xr.Dataset) else groups[name]
            for groups in (one, other)
        )
        first, second = first.to_dataset(), second.to_dataset()
        xr.testing.assert_identical(first, second)
        for variable in first.variables:
            a, b = first[variable].to_numpy(), second[variable].to_numpy()
            assert a.dtype == b.dtype and a.tobytes() == b.tobytes(), (name, variable)
