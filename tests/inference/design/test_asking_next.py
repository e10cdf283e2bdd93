"""That asking for what `next_to_ask` puts first works: more certain, and more often right, than asking at random."""

from functools import cache

import numpy as np
import pytest
import xarray as xr
from raterzoo.inference.design import next_to_ask
from scipy.special import xlogy

from tests.support.evaluation_trees import tree_of
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of

LABELS = ["x", "y", "z"]
ALPHA = np.full(3, 0.6)


@cache
def law_of_top(counts):
    """Probability of each label to be the top one after these answers."""
    rng = np.random.default_rng(sum(3**k * n for k, n in enumerate(counts)))
    worth = rng.standard_gamma(ALPHA + counts, (100_000, 3))
    return np.bincount(worth.argmax(axis=1), minlength=3) / len(worth)


def tops(counts):
    return np.array([law_of_top(tuple(row)) for row in counts.tolist()])


def entropies(law):
    return -xlogy(law, law).sum(axis=1)


@cache
def annotated_once_more(seed):
    """Annotate 200 of 1,000 items: the first of the list, or others at random; return what either achieves.

    Columns: the drop of the entropy of the top labels, and how many more of them are right. And for all items, the drop less its
    gain.
    """
    rng = np.random.default_rng([seed, seed_of("annotated once more")])
    share = rng.dirichlet(ALPHA, 1000)
    counts = rng.multinomial(rng.integers(1, 9, 1000), share)
    worth = rng.standard_gamma(ALPHA + counts, (1, 400, 1000, 3))
    plausibility = xr.DataArray(
        worth / worth.sum(axis=-1, keepdims=True),
        {"item": np.arange(1000), "category": LABELS},
        ("chain", "draw", "item", "category"),
    )
    found = next_to_ask(tree_of(plausibility.to_dataset(name="plausibility")))
    more = counts + rng.multinomial(1, share)
    before, after = tops(counts), tops(more)
    drop = entropies(before) - entropies(after)
    truth = share.argmax(axis=1)
    right = (after.argmax(axis=1) == truth) - (before.argmax(axis=1) == truth).astype(float)
    first = found["item"].to_numpy()
    random = rng.permutation(1000), rng.permutation(1000)
    result = [[v[which[:200]].mean() for v in (drop, right)] for which in (first, *random)]
    return np.array(result), (drop - found.sortby("item")["gain"].to_numpy()).mean()


def z_of(values):
    return values.mean(axis=0) / (values.std(axis=0, ddof=1) / np.sqrt(len(values)))


@pytest.mark.slow
def test_annotating_the_first_items_tells_more_than_others_at_random():
    """The twin asks about items at random."""
    achieved = np.array([annotated_once_more(seed)[0] for seed in range(60)])

    def check(asked, random):
        assert (z_of(asked - random) > bonferroni_threshold(2)).all()

    check(achieved[:, 0], achieved[:, 1])
    assert_rejects_twin(check, achieved[:, 2], achieved[:, 1])


@pytest.mark.slow
def test_gain_is_the_mean_drop_of_the_entropy():
    """The gains of the twin are a hundredth of a nat too small."""
    missed = np.array([annotated_once_more(seed)[1] for seed in range(60)])

    def check(difference):
        assert abs(z_of(difference)) < bonferroni_threshold(1)

    check(missed)
    assert_rejects_twin(check, missed + 0.01)


def more_right(seed, at_random):
    """Ask one of four known raters about 60 of 300 items labelled once; return how many more are then right."""
    rng = np.random.default_rng([seed, seed_of("more right")])
    ability = np.array([0.9, 0.7, 0.5, 0.34])
    confusion = np.array([np.where(np.eye(3, dtype=bool), q, (1 - q) / 2) for q in ability])
    truth, rater = rng.integers(0, 3, 300), rng.integers(0, 4, 300)

    def answer(rater, item):
        point = rng.random((len(item), 1))
        return (confusion[rater, truth[item]].cumsum(axis=1) < point).sum(axis=1)

    p = confusion[rater, :, answer(rater, np.arange(300))]
    p /= p.sum(axis=1, keepdims=True)
    if at_random:
        item, rater = rng.permutation(300)[:60], rng.integers(0, 4, 60)
    else:
        posterior = xr.Dataset(
            {"plausibility": (("chain", "draw", "item", "category"), p[None, None], {"truth": "category"}),
             "confusion": (("chain", "draw", "rater", "category", "answer"), confusion[None, None])},
            {"item": np.arange(300), "rater": np.arange(4), "category": LABELS, "answer": LABELS},
        )  # fmt: skip
        found = next_to_ask(xr.DataTree.from_dict({"posterior": posterior}))
        item, first = np.unique(found["item"], return_index=True)
        item = item[np.argsort(first)][:60]
        rater = found["rater"].to_numpy()[np.sort(first)][:60]
    after = p.copy()
    after[item] *= confusion[rater, :, answer(rater, item)]
    return (after.argmax(axis=1) == truth).sum() - (p.argmax(axis=1) == truth).sum()


def test_asking_good_raters_about_doubtful_items_makes_more_of_them_right():
    """The twin asks anybody about anything."""
    asked, random = (
        np.array([more_right(seed, at_random) for seed in range(40)], float) for at_random in (False, True)
    )

    def check(gained):
        assert z_of(gained - random) > bonferroni_threshold(1)

    check(asked)
    assert_rejects_twin(check, np.array([more_right(seed, True) for seed in range(40, 80)], float))
