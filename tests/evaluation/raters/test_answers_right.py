"""Shares of right answers of raters: against truths that are certain, the law of their counts, and simulated truths."""

import warnings

import numpy as np
import pytest
import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.evaluation import EvaluationError

from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold
from tests.support.source_twins import altered

# item, rater and label of each answer, in no order; Ann repeats one, and Cy answers nothing
ITEM, RATER, LABEL = (
    np.array([2, 0, 1, 0, 2, 1, 0]),
    np.array([0, 0, 0, 1, 1, 1, 0]),
    np.array([1, 0, 1, 1, 1, 0, 0]),
)


def tree(plausibility):
    """A tree of these draws (chain, draw, item, category) given the answers above."""
    names = {"item": ["a", "b", "c"], "category": ["x", "y"], "rater": ["Ann", "Bob", "Cy"]}
    law = (("chain", "draw", "item", "category"), plausibility, {"truth": "category"})
    codes = {"annotation_item": ("annotation", ITEM), "annotation_rater": ("annotation", RATER)}
    posterior = xr.Dataset({"plausibility": law}, names)
    return xr.DataTree.from_dict(
        {
            "posterior": posterior,
            "observed_data": xr.Dataset({"observed_label": ("annotation", LABEL)}),
            "constant_data": xr.Dataset(codes),
        }
    )


def test_where_the_truth_is_certain_the_share_is_counted():
    truth = np.array([[0, 1, 1], [1, 0, 1]])  # of two draws
    found = evaluation.answers_right(tree(np.eye(2)[truth][None]))
    assert found["right"].dims == ("chain", "draw", "rater") and found["right"].shape == (1, 2, 3)
    np.testing.assert_allclose(found["right"][0, :, :2], [[1, 1 / 3], [1 / 4, 1]])
    assert found["right"].sel(rater="Cy").isnull().all()
    assert found["answers"].to_numpy().tolist() == [4, 3, 0]


def test_shares_have_the_law_of_counts_of_truths_that_are_drawn():
    p = np.array([[0.3, 0.7], [0.6, 0.4], [0.2, 0.8]])
    draws = 20_000
    drawn = tree(np.broadcast_to(p, (1, draws, 3, 2)))
    # Ann: item a twice x, b once y, c once y; the answers to one item are right together
    mean = (2 * 0.3 + 0.4 + 0.8) / 4
    variance = (4 * 0.21 + 0.24 + 0.16) / 16

    def check(shares):
        own = shares(drawn, random_seed=1)["right"].sel(rater="Ann").to_numpy().ravel()
        of_mean = (own.mean() - mean) / np.sqrt(variance / draws)
        squares = (own - mean) ** 2
        of_variance = (squares.mean() - variance) / (squares.std() / np.sqrt(draws))
        assert max(abs(of_mean), abs(of_variance)) < bonferroni_threshold(2), (of_mean, of_variance)

    check(evaluation.answers_right)
    of_best = "labels.draw(block, 1, rng)[0]", "block.draws.reshape(3, 2, -1).argmax(axis=1)"
    most_plausible = altered("answers_right", of_best).answers_right
    assert_rejects_twin(lambda: check(most_plausible))


@pytest.mark.slow
def test_intervals_cover_the_simulated_shares():
    covered = {"answers_right": [], "of the most plausible truths": []}
    certain = "block.draws.reshape(-1, 4, 600).mean(axis=2).argmax(axis=1)[:, None].repeat(600, axis=1)"
    of_one_truth = altered("answers_right", ("labels.draw(block, 1, rng)[0]", certain)).answers_right
    for seed in range(4):
        drawn = models.simulators.labels(items=60, raters=10, answers=4, categories=4, random_seed=seed)
        with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
            fitted = inference.sample(
                models.dawid_skene(drawn.data), draws=300, chains=2, random_seed=seed, progressbar=False
            )
        data, truth = drawn.data, drawn.truth["true_category"]
        hits = truth[data.annotation_item] == data.label_code
        share = np.bincount(data.annotation_rater, hits) / np.bincount(data.annotation_rater)
        for shares, own in zip((evaluation.answers_right, of_one_truth), covered.values(), strict=True):
            right = shares(fitted, random_seed=seed)["right"]
            lower, upper = right.quantile([0.05, 0.95], ("chain", "draw")).to_numpy()
            own.extend((lower - 1e-9 <= share) & (share <= upper + 1e-9))
    assert len(covered["answers_right"]) == 40

    def check(
        own,
    ):  # of 40 intervals that cover .9 of the shares 29 or fewer do in 1 of 10,000 cases, if they are independent
        assert sum(own) >= 30, own

    check(covered["answers_right"])
    assert_rejects_twin(check, covered["of the most plausible truths"])


def test_what_has_no_answers_of_named_raters_is_refused(golden):
    drawn = tree(np.full((1, 2, 3, 2), 0.5))
    nameless = xr.DataTree.from_dict({"posterior": drawn["posterior"].to_dataset()})
    for without in (nameless, drawn["posterior"]["plausibility"]):
        with golden.raises(EvaluationError):
            evaluation.answers_right(without)
    for kept in ({"item": [0, 1]}, {"rater": [0]}):
        few = drawn.copy()
        few["posterior"] = drawn["posterior"].to_dataset().isel(kept)
        with golden.raises(EvaluationError):
            evaluation.answers_right(few)
    drawn["posterior"]["plausibility"].attrs["truth"] = "distribution"
    with pytest.raises(EvaluationError, match="one true category"):
        evaluation.answers_right(drawn)
