"""Two sides of raters who agree within and not between: named where there are two truths, not where raters copy or are poor."""

import numpy as np
import pytest
from raterzoo import evaluation, inference, models
from raterzoo.evaluation.checks.labels import SHARE

from tests.support.monte_carlo import seed_of

pytestmark = pytest.mark.filterwarnings("ignore::raterzoo.inference.diagnostics.ConvergenceWarning")


def answers(said, seed, raters=15, items=240):
    """Labels of 7 raters an item, by `said` of (truth and chance of the item, rater, generator)."""
    rng = np.random.default_rng(seed)
    truth, chance = rng.integers(0, 2, items), rng.random(items)
    rows = [
        (i, int(k), int(said(truth[i], chance[i], k, rng)))
        for i in range(items)
        for k in rng.choice(raters, 7, replace=False)
    ]
    return models.Labels.from_table(
        dict(zip(("item", "rater", "label"), zip(*rows, strict=True), strict=True))
    )


def flipped(label, rng, right=0.9):
    return label if rng.random() < right else 1 - label


def of_schools(truth, chance, k, rng):
    """Raters from the tenth on have a truth of their own, which differs on half of the items."""
    return flipped(truth if k < 10 or chance < 0.5 else 1 - truth, rng)


def of_copiers(truth, chance, k, rng):
    """Raters from the tenth on repeat a guess as good as any in most of their answers."""
    copies = k >= 10 and rng.random() < 0.9
    guess = truth if chance < 0.8 else 1 - truth
    return guess if copies else flipped(truth, rng, 0.8)


def of_unequal(truth, chance, k, rng):
    """Raters from the tenth on are poor."""
    return flipped(truth, rng, 0.9 if k < 10 else 0.65)


def checked(labels, name="correlated_votes"):
    tree = inference.sample(getattr(models, name)(labels), draws=200, random_seed=1, progressbar=False)
    return evaluation.model_checks(tree, random_seed=1)


@pytest.mark.slow
def test_two_schools_are_named_and_a_model_of_them_fits():
    labels = answers(of_schools, seed_of("schools"))
    found = checked(labels)
    assert SHARE in found["check"].values[found["fails"].values]
    first, second = found.attrs["sides"]
    assert sorted(map(int, second)) == [10, 11, 12, 13, 14] and len(first) == 10
    assert not found.attrs["copying"]
    after = checked(labels, "cultural_consensus")
    assert after.attrs["fits"] and not after.attrs["sides"]


@pytest.mark.slow
def test_replicates_by_the_matrices_alone_would_not_fit():
    """The known-wrong twin: of a posterior with populations, but replicates whose raters err independently."""
    labels = answers(of_schools, seed_of("schools"))
    tree = inference.sample(models.cultural_consensus(labels), draws=200, random_seed=1, progressbar=False)
    tree["posterior"] = tree["posterior"].to_dataset().drop_vars("membership")
    assert not evaluation.model_checks(tree, random_seed=1).attrs["fits"]


@pytest.mark.slow
@pytest.mark.parametrize("said", [of_copiers, of_unequal])
def test_copiers_and_poor_raters_are_no_sides(said):
    found = checked(answers(said, seed_of(said.__name__)))
    assert not found.attrs["sides"]
    assert bool(found.attrs["fits"]) is (said is of_unequal)
