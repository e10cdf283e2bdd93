"""Stutz et al. (2025) on their data: shares of figure E.16, correlations of section 3.3 and figure E.14.

Sections and figures are numbered as in arXiv:2307.02191v2.
"""

from functools import cache, lru_cache

import numpy as np
import pytest
from raterzoo import evaluation, inference, models, papers

from tests.support.dermatology import dermatology

pytestmark = pytest.mark.slow


@lru_cache(2)  # each is half a gigabyte
def fitted(name, **options):
    rankings, _ = dermatology()
    model = getattr(models, name)(rankings, **options)
    return inference.sample(model, random_seed=5, log_likelihood=False, progressbar=False)


def paper():
    """Medium reliability with the authors' pseudo-category."""
    return fitted("plackett_luce", concentration=1.0, unranked="single", reliability=3)


@cache
def certainty(name, **options):
    return evaluation.annotation_certainty(fitted(name, **options), random_seed=1).to_numpy()


def test_share_of_uncertain_items():
    # paper, figure E.16: 59 % at medium reliability; authors' code and exact computation .597
    values = evaluation.annotation_certainty(paper()).to_numpy()
    assert np.mean(values < 0.99) == pytest.approx(0.597, abs=0.01)


def test_share_of_items_with_uncertain_risk():
    # paper, figure E.16: 38.2 % at medium reliability
    values = evaluation.annotation_certainty(paper(), groups=dermatology()[1]).to_numpy()
    assert np.mean(values < 0.99) == pytest.approx(0.385, abs=0.015)


def test_correlation_with_prirn():
    # paper, section 3.3 and figure 7: .90, with the undivided weights of the authors' code; .83-.84 with eq. 3
    ours = evaluation.annotation_certainty(paper()).to_numpy()
    assert np.corrcoef(ours, certainty("prirn", reliability=30, tie_weight="full"))[0, 1] == pytest.approx(
        0.90, abs=0.015
    )
    assert np.corrcoef(ours, certainty("prirn", reliability=30))[0, 1] == pytest.approx(0.835, abs=0.02)


def test_correlation_with_agreement():
    # figure E.14: .85 on items with at least three raters; the weights of the authors' code
    rankings, _ = dermatology()
    found = papers.certainty_and_agreement(paper(), rankings, tie_weight="full")
    assert float(found["pearson"]) == pytest.approx(0.855, abs=0.01)
    assert found.attrs["items"] == (np.bincount(rankings.annotation_item) >= 3).sum()


@pytest.mark.parametrize(
    ("options", "top", "risk"),
    [
        ({}, 0.549, 0.353),  # exact pool, alpha = 1 / 419
        ({"unranked": "dropped", "concentration": 1.0}, 0.573, 0.365),
    ],
)
def test_treatments_of_the_unranked_differ(options, top, risk):
    tree = fitted("plackett_luce", reliability=3, **options)
    found = evaluation.annotation_certainty(tree, random_seed=1)
    assert np.mean(found < 0.99) == pytest.approx(top, abs=0.015)
    found = evaluation.annotation_certainty(tree, groups=dermatology()[1], random_seed=1)
    assert np.mean(found < 0.99) == pytest.approx(risk, abs=0.015)


def test_every_item_passes_the_gates_at_the_default_prior():
    diagnosis = inference.diagnose(fitted("plackett_luce", reliability=3))
    assert diagnosis.attrs["converged"] == 1, diagnosis.attrs["verdict"]


@pytest.mark.parametrize(
    ("gamma", "mean", "below", "risk"),
    [(10, 0.7844, 0.7781, 0.53), (30, 0.8636, 0.5449, 0.3313), (100, 0.9134, 0.3374, 0.1905)],
)
def test_prirn_certainties(gamma, mean, below, risk):
    # expected/prirn_certainty.json, 1,000 draws an item: Monte-Carlo error about .003 of the mean, more of the shares
    values = certainty("prirn", reliability=gamma)
    assert values.mean() == pytest.approx(mean, abs=0.006)
    assert np.mean(values < 0.99) == pytest.approx(below, abs=0.02)
    groups = evaluation.annotation_certainty(fitted("prirn", reliability=gamma), groups=dermatology()[1])
    assert np.mean(groups < 0.99) == pytest.approx(risk, abs=0.02)
