"""Maximum likelihood against closed forms, choix and evalica; when there is none."""

import os
from pathlib import Path

import choix
import numpy as np
import pandas as pd
import pytest
from raterzoo import models
from raterzoo.inference.comparisons.bradley_terry_mle import bradley_terry_mle
from scipy.special import expit
from scipy.stats import spearmanr

from tests.support.comparison_designs import simulated, table_of
from tests.support.comparison_samplers import pair_table
from tests.support.monte_carlo import assert_rejects_twin

folder = os.environ.get("RATERZOO_DATA")
needs_data = pytest.mark.skipif(not folder, reason="RATERZOO_DATA names no folder of data")


def test_two_items_are_the_log_odds():
    estimate = bradley_terry_mle(
        table_of([("r", "a", "b", "left", 30), ("s", "b", "a", "left", 10), ("s", "a", "b", "tie", 4)])
    )
    assert float(estimate["quality"].diff("item")[0]) == pytest.approx(-np.log(32 / 12), abs=1e-13)
    # the variance of the log odds is 1 / 32 + 1 / 12 at the maximum; a centred quality is half of them
    assert estimate["standard_error"].to_numpy() == pytest.approx(np.sqrt(1 / 32 + 1 / 12) / 2, rel=1e-12)
    assert estimate.attrs["converged"] == 1


@pytest.mark.parametrize("seed", range(3))
def test_equal_to_choix(seed):
    data = simulated(items=20, degree=6, seed=seed).data
    votes = [
        (int(i), int(j)) if outcome == 0 else (int(j), int(i))
        for i, j, outcome in zip(data.left, data.right, data.outcome, strict=True)
    ]
    estimate = bradley_terry_mle(data)
    exact = choix.ilsr_pairwise(20, votes, max_iter=1000, tol=1e-13)
    np.testing.assert_allclose(estimate["quality"], exact - exact.mean(), atol=1e-8)


@needs_data
def test_equal_to_the_scores_of_evalica():
    """Half a win each for a tie; up to the scale of the worths."""
    frame = pd.read_csv(Path(folder) / "llmfao_crowd_comparisons.csv")
    estimate = bradley_terry_mle(models.Comparisons.from_table(frame, rater="worker"))
    scores = pd.read_csv(Path(folder) / "llmfao_golden_scores_evalica.csv")
    theirs = scores[scores["algorithm"] == "bradley_terry"].set_index("item")["score"]
    theirs = theirs.loc[estimate["item"].to_numpy()].to_numpy()
    worth = np.exp(estimate["quality"].to_numpy())
    np.testing.assert_allclose(worth / worth.sum(), theirs / theirs.sum(), rtol=1e-12)
    assert spearmanr(worth, theirs)[0] == 1


def test_gradient_vanishes_and_errors_invert_the_information():
    data = simulated(items=16, degree=6, tie=0.5).data
    estimate, table = bradley_terry_mle(data), pair_table(data)
    q = estimate["quality"].to_numpy()
    pair = np.repeat(np.arange(len(table.first)), np.diff(table.start))
    d, half = (q[table.first] - q[table.second])[pair], table.ties / 2
    slope, bend = ((table.wins + half) * expit(-d) - (table.losses + half) * expit(d), expit(d) * expit(-d))
    incidence = np.zeros((16, len(d)))
    cells = np.arange(len(d))
    incidence[table.first[pair], cells], incidence[table.second[pair], cells] = 1, -1
    np.testing.assert_allclose(incidence @ slope, 0, atol=1e-10)
    information = incidence * ((table.wins + table.losses + table.ties) * bend) @ incidence.T
    exact = np.sqrt(np.diag(np.linalg.pinv(information, rtol=1e-10)))
    np.testing.assert_allclose(estimate["standard_error"], exact, rtol=1e-9)


def test_errors_are_those_of_repeated_votes():
    """Without rater effects, (estimate - truth) / error has variance one; the twin takes a tenth off the errors."""
    found = []
    for seed in range(150):
        drawn = simulated(
            items=12,
            degree=4,
            raters=60,
            alpha=1.0,
            seed=seed,
            reliability_range=(1, 1),
            quality_range=(-1, 1),
        )
        estimate, truth = bradley_terry_mle(drawn.data), drawn.truth["quality"]
        found.append((estimate["quality"] - (truth - truth.mean())) / estimate["standard_error"])
    z = np.array(found)

    def check(z):
        # items of one data set sum to zero: 11 free ones each
        assert abs(np.mean(z**2) - 1) < 4 * np.sqrt(2 / (11 * len(z)))

    check(z)
    assert_rejects_twin(check, z / 0.9)


def test_no_maximum_names_the_items(golden):
    votes = [("r", "a", "b", "left", 3), ("r", "b", "c", "left", 2), ("r", "c", "b", "left", 2)]
    with golden.raises(models.DataError):
        bradley_terry_mle(table_of(votes))
    back = [*votes, ("r", "c", "a", "left", 1)]
    assert bradley_terry_mle(table_of(back)).attrs["converged"] == 1
    with golden.raises(models.DataError):
        bradley_terry_mle(table_of([*back, ("r", "a", "d", "left", 5)]))
    assert bradley_terry_mle(table_of([*back, ("r", "a", "d", "tie", 5)])).attrs["converged"] == 1


def test_disconnected_comparisons_and_other_ties_are_refused():
    with pytest.raises(models.DataError, match="2 components"):
        bradley_terry_mle(table_of([("r", "a", "b", "left", 1), ("r", "c", "d", "left", 1)]))
    with pytest.raises(ValueError, match="ties='davidson'"):
        bradley_terry_mle(simulated(items=12, degree=4).data, ties="davidson")


def test_votes_over_many_orders_of_magnitude():
    rows = [
        ("r", str(i), str(i + 1), side, 1 if side == "right" else 10**6)
        for i in range(8)
        for side in ("left", "right")
    ]
    estimate = bradley_terry_mle(table_of(rows))
    np.testing.assert_allclose(estimate["quality"].diff("item"), -np.log(1e6), rtol=1e-9)
