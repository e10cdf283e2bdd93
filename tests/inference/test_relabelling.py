"""Label switching is named, and undone."""

import numpy as np
import pymc as pm
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models

from tests.support.label_designs import tiny_labels


def rated(seed, raters=6, items=60, n=2):
    drawn = models.simulators.labels(
        items=items, raters=raters, categories=n, answers=raters, model="one_coin", random_seed=seed
    )
    return drawn.data, drawn.truth


def tree_of(order, n):
    """Draws of sharp confusion matrices whose categories are permuted draw by draw."""
    rng = np.random.default_rng(1)
    sharp = 0.8 * np.eye(n) + 0.2 / n
    confusion = np.stack([[sharp[o] for o in chain] for chain in order])[:, :, None]
    confusion = np.repeat(confusion, 3, axis=2) + rng.uniform(0, 0.02, (*confusion.shape[:2], 3, n, n))
    prevalence = np.stack([[np.arange(1.0, n + 1)[o] for o in chain] for chain in order])
    plausibility = np.stack([[np.tile(np.arange(n) * 1.0, (4, 1))[:, o] for o in chain] for chain in order])
    names = [f"c{k}" for k in range(n)]
    posterior = xr.Dataset(
        {
            "confusion": (("chain", "draw", "rater", "category", "answer"), confusion),
            "prevalence": (("chain", "draw", "category"), prevalence),
            "plausibility": (("chain", "draw", "item", "category"), plausibility),
            "other": (("chain", "draw"), np.zeros(prevalence.shape[:2])),
        },
        {"category": names, "answer": names},
    )
    return xr.DataTree.from_dict({"posterior": posterior})


@pytest.mark.parametrize("n", [2, 3, 6])
def test_permuted_draws_come_back(n):
    rng = np.random.default_rng(2)
    order = np.stack([[rng.permutation(n) for _ in range(20)] for _ in range(2)])
    tree = inference.relabel(tree_of(order, n))
    posterior = tree["posterior"]
    np.testing.assert_array_equal(posterior["prevalence"], np.broadcast_to(np.arange(1, n + 1), order.shape))
    np.testing.assert_array_equal(
        posterior["plausibility"][..., 0, :], np.broadcast_to(np.arange(n), order.shape)
    )
    diagonal = np.diagonal(posterior["confusion"].to_numpy(), axis1=3, axis2=4)
    assert diagonal.min() > 0.7
    assert posterior["confusion"].dims == ("chain", "draw", "rater", "category", "answer")
    assert posterior["category"].values.tolist() == [f"c{k}" for k in range(n)]
    back = np.take_along_axis(order, tree["sample_stats"]["naming"].to_numpy(), axis=2)
    np.testing.assert_array_equal(back, np.broadcast_to(np.arange(n), order.shape))


def test_chains_with_other_names_are_named(golden):
    order = np.tile(np.arange(3), (4, 50, 1))
    order[2] = [1, 0, 2]
    verdict = inference.diagnose(tree_of(order, 3)).attrs["verdict"]
    assert "NOT converged" in verdict
    golden.says(verdict, "label switching")
    order[2] = np.arange(3)
    diagnosis = inference.diagnose(tree_of(order, 3))
    assert "switching" not in diagnosis.attrs["verdict"] and (diagnosis["switched"] == 0).all()


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")
def test_a_flat_prior_switches_and_relabelling_undoes_it():
    data, truth = rated(seed=4)
    model = models.dawid_skene(data, confusion_concentration=1.0)
    start = {"confusion": np.stack([np.eye(2)[::-1] * 0.6 + 0.2] * len(data.raters))}
    with model:
        right = {"confusion": start["confusion"][:, ::-1]}
        tree = pm.sample(
            300, tune=300, chains=2, cores=1, random_seed=1, nuts_sampler="pymc", quiet=True,
            initvals=[start, right], progressbar=False, compute_convergence_checks=False,
        )  # fmt: skip
    tree = inference.label(tree, data)
    verdict = inference.diagnose(tree).attrs["verdict"]
    assert "label switching in chain 0" in verdict
    again = inference.relabel(tree)
    assert (
        inference.diagnose(again, var_names=["confusion", "prevalence"]).attrs["verdict"].count("switching")
        == 0
    )
    chosen = again["posterior"]["plausibility"].mean(("chain", "draw")).argmax("category")
    assert (chosen.to_numpy() == truth["true_category"]).mean() > 0.9


def test_trees_without_confusion_matrices_are_refused():
    tree = inference.sample(models.dirichlet(tiny_labels()), draws=5, random_seed=1, progressbar=False)
    with pytest.raises(ValueError, match="no 'confusion'"):
        inference.relabel(tree)


def test_abilities_have_no_other_names(golden):
    order = np.array([[[1, 0], [0, 1]]])
    tree = tree_of(order, 2)
    ability = (("chain", "draw", "rater"), np.full((1, 2, 3), 0.1))
    tree["posterior"] = tree["posterior"].to_dataset().assign(ability=ability)
    with golden.raises(ValueError):
        inference.relabel(tree)
    with golden.raises(ValueError):
        inference.relabel(5)


def kept_tree(order, step):
    """Draws that keep every `step`-th, with the means of all of them."""
    whole = tree_of(order, 2)
    posterior = whole["posterior"].to_dataset()
    posterior["plausibility"].attrs["truth"] = "category"
    plausibility = posterior["plausibility"] / posterior["plausibility"].sum("category")
    mean = plausibility.mean(("chain", "draw")).expand_dims(statistic=["mean"]).assign_attrs(truth="category")
    return xr.DataTree.from_dict(
        {
            "posterior": posterior.assign(plausibility=plausibility.assign_attrs(truth="category")).isel(
                draw=slice(step - 1, None, step)
            ),
            "shared_posterior": posterior.drop_vars("plausibility"),
            "item_summary": xr.Dataset({"plausibility": mean}),
            "diagnosis": xr.Dataset(),
        }
    )


def test_summaries_of_draws_under_other_names_are_left_out(golden):
    order = np.array([[[0, 1]] * 20, [[1, 0]] * 20])  # the chains have exchanged the categories
    tree = kept_tree(order, 4)
    probability = evaluation.truth_certainty(tree)["probability"]
    np.testing.assert_allclose(probability, 0.5)
    named = inference.relabel(tree)
    np.testing.assert_array_equal(evaluation.truth_certainty(named)["certainty"], 1)
    assert "item_summary" not in named.children and "diagnosis" not in named.children
    shared = named["shared_posterior"]["prevalence"].transpose(..., "category")
    np.testing.assert_array_equal(shared, np.broadcast_to([1.0, 2.0], order.shape))
    alone = xr.DataTree.from_dict(
        {
            name: tree[own].to_dataset()
            for name, own in (("posterior", "shared_posterior"), ("item_summary", "item_summary"))
        }
    )
    with golden.raises(ValueError):
        inference.relabel(alone)


def test_summaries_stay_where_no_draw_is_permuted():
    tree = kept_tree(np.tile([0, 1], (2, 20, 1)), 4)
    xr.testing.assert_identical(
        inference.relabel(tree)["item_summary"].to_dataset(), tree["item_summary"].to_dataset()
    )
