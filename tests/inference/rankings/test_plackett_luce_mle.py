"""Maximum-likelihood worths: against other programs, direct optimisation and the border by hand."""

from itertools import permutations, product

import choix
import numpy as np
import pytest
from raterzoo import models
from raterzoo.inference import plackett_luce_mle
from scipy.optimize import minimize
from scipy.special import softmax

from tests.support.monte_carlo import assert_rejects_twin, seed_of

LETTERS = np.array(list("abcdefghijklmnopqrstuvwxyz"))


def rankings_of(annotations):
    """One item; annotations are written like "a bc d": a first, then b and c tied, then d."""
    nested = {"item": {i: [list(b) for b in text.split()] for i, text in enumerate(annotations)}}
    return models.PartialRankings.from_blocks(nested, categories=LETTERS)


def plausibility(estimate):
    labels = estimate["plausibility"]["category"].values.tolist()
    return dict(zip(labels, estimate["plausibility"].values.tolist(), strict=True))


def log_likelihood(annotations, letters, worth):
    """Log probability of the rankings, ties by enumeration of their orders."""
    index = {letter: k for k, letter in enumerate(letters)}
    total = 0.0
    for text in annotations:
        blocks = [[index[letter] for letter in block] for block in text.split()]
        unranked = set(range(len(letters))) - {k for block in blocks for k in block}
        rest = list(unranked)
        for block in reversed(blocks):
            after = worth[rest].sum()
            probability = 0.0
            for order in permutations(block):
                racing = after + np.cumsum(worth[list(order)][::-1])[::-1]
                probability += np.prod(worth[list(order)] / racing)
            total += np.log(probability)
            rest += block
    return total


def optimised(annotations, letters):
    """Maximise over log worths, directly."""

    def loss(log_worth):
        return -log_likelihood(annotations, letters, softmax(log_worth))

    found = minimize(loss, np.zeros(len(letters)), method="BFGS", options={"gtol": 1e-9})
    return softmax(found.x), -found.fun


def random_annotations(name, n_letters, n_annotations, *, ties):
    """Rankings of the first letters, with ties and unranked letters if `ties`."""
    rng = np.random.default_rng(seed_of(name))
    worth = rng.dirichlet(np.full(n_letters, 2.0))
    for _ in range(n_annotations):
        order = np.argsort(-np.log(worth) - rng.gumbel(size=n_letters))
        letters = LETTERS[order].tolist()
        if not ties:
            yield " ".join(letters)
            continue
        letters = letters[: rng.integers(1, n_letters + 1)]
        blocks = [letters[0]]
        for letter in letters[1:]:
            if rng.random() < 0.5:
                blocks[-1] += letter
            else:
                blocks.append(letter)
        yield " ".join(blocks)


def test_full_rankings_equal_choix():
    annotations = list(random_annotations("choix", 7, 40, ties=False))
    estimate = plackett_luce_mle(rankings_of(annotations))
    ranked = [[int(np.flatnonzero(LETTERS == x)[0]) for x in text.split()] for text in annotations]
    for expected in (choix.ilsr_rankings(7, ranked, tol=1e-12), choix.mm_rankings(7, ranked, tol=1e-12)):
        np.testing.assert_allclose(estimate["plausibility"], softmax(expected), rtol=1e-8)
    assert estimate["attained"].all()
    assert estimate.attrs["converged"] == 1


def test_choices_of_the_best_equal_choix():
    # "a" alone: a before all the others, who are unranked.
    rng = np.random.default_rng(seed_of("top-1"))
    winners = np.concatenate([np.arange(5), rng.integers(0, 5, 20)])
    estimate = plackett_luce_mle(rankings_of(LETTERS[winners].tolist()))
    choices = [(w, [k for k in range(5) if k != w]) for w in winners]
    expected = softmax(choix.ilsr_top1(5, choices, tol=1e-12))
    np.testing.assert_allclose(estimate["plausibility"], expected, rtol=1e-8)
    np.testing.assert_allclose(estimate["plausibility"], np.bincount(winners) / 25, rtol=1e-8)


@pytest.mark.parametrize("n_letters", [3, 4, 5])
def test_ties_equal_direct_optimisation(n_letters):
    annotations = list(random_annotations(f"tied {n_letters}", n_letters, 12, ties=True))
    annotations += [" ".join(LETTERS[:n_letters]), " ".join(LETTERS[:n_letters][::-1])]
    assert any(len(block) > 1 for text in annotations for block in text.split())
    estimate = plackett_luce_mle(rankings_of(annotations))
    assert estimate["attained"].all()
    worth, maximum = optimised(annotations, LETTERS[:n_letters])
    np.testing.assert_allclose(estimate["plausibility"], worth, atol=1e-6)
    assert estimate["log_likelihood"].item() >= maximum - 1e-12
    at_estimate = log_likelihood(annotations, LETTERS[:n_letters], estimate["plausibility"].values)
    np.testing.assert_allclose(estimate["log_likelihood"].item(), at_estimate, rtol=1e-12)


def test_a_tied_block_is_not_one_stage():
    # The wrong twin breaks every tie in the order of the letters.
    annotations = ["abc d", "d a", "b ad c", "cd"]
    expected, _ = optimised(annotations, LETTERS[:4])

    def equals_optimum(texts):
        found = plackett_luce_mle(rankings_of(texts))["plausibility"]
        np.testing.assert_allclose(found, expected, rtol=1e-3)

    equals_optimum(annotations)
    assert_rejects_twin(equals_optimum, ["a b c d", "d a", "b a d c", "c d"])


def test_likelihood_never_falls():
    for repeat in range(5):
        annotations = list(random_annotations(f"rising {repeat}", 6, 8, ties=True))
        rankings = rankings_of(annotations)
        trace = [plackett_luce_mle(rankings, max_iterations=n)["log_likelihood"].item() for n in range(40)]
        assert (np.diff(trace) >= -1e-12).all()
        assert trace[-1] > trace[0]


def test_stopping_early_is_reported():
    annotations = list(random_annotations("early", 5, 9, ties=True))
    early = plackett_luce_mle(rankings_of(annotations), max_iterations=2)
    assert early["iterations"].item() == 2
    assert not early["converged"].item()
    assert early.attrs["converged"] == 0


def test_large_blocks():
    # 12 letters tied before one rest: the same worth, which one annotation of that rest balances.
    letters = "".join(LETTERS[:12])
    estimate = plackett_luce_mle(rankings_of([letters, "z", "z"]))
    found = plausibility(estimate)
    assert estimate["attained"].all()
    assert [found[x] for x in letters] == pytest.approx([found["a"]] * 12, rel=1e-10)

    def loss(log_ratio):  # p(twelve before z) and twice p(z before twelve), in closed form
        worth = np.exp(log_ratio)
        return np.log1p(1 / (worth * np.arange(1, 13))).sum() + 2 * np.log1p(12 * worth)

    best = minimize(lambda x: loss(x[0]), [0.0], options={"gtol": 1e-10})
    assert found["a"] / found["z"] == pytest.approx(float(np.exp(best.x[0])), rel=1e-6)
    assert estimate["log_likelihood"].item() == pytest.approx(-best.fun, rel=1e-10)


@pytest.mark.parametrize(
    ("annotations", "expected", "limit"),
    [
        (["a b c"], {"a": 1, "b": 0, "c": 0}, 0),
        (["a"], {"a": 1}, 0),
        (["ab"], {"a": 0.5, "b": 0.5}, 0),
        (["ab c", "abc"], {"a": 0.5, "b": 0.5, "c": 0}, 0),
        (["a b", "a c", "a b c"], {"a": 1, "b": 0, "c": 0}, 2 * np.log(2 / 3) + np.log(1 / 3)),
        (["a b c", "b a c"], {"a": 0.5, "b": 0.5, "c": 0}, 2 * np.log(0.5)),
        (["a b c", "a c b"], {"a": 1, "b": 0, "c": 0}, 2 * np.log(0.5)),
        (["ab c", "b a", "a b"], {"a": 0.5, "b": 0.5, "c": 0}, 2 * np.log(0.5)),
    ],
)
def test_border(annotations, expected, limit):
    estimate = plackett_luce_mle(rankings_of(annotations))
    assert plausibility(estimate) == pytest.approx(expected, abs=1e-9)
    assert estimate["log_likelihood"].item() == pytest.approx(limit, abs=1e-9)
    assert estimate["attained"].item() == (len(expected) == 1)
    assert estimate["converged"].item()


def test_border_is_the_limit_of_ever_more_unequal_worths():
    # {a, b} leave {c, d, e} behind, and those leave f.
    annotations = ["a b cd e", "b a", "ab d c e", "a b e c", "b a ce d f", "ab de c"]
    letters = LETTERS[:6]
    estimate = plackett_luce_mle(rankings_of(annotations))
    assert not estimate["attained"].item()
    found = plausibility(estimate)
    assert [found[x] for x in "cdef"] == [0, 0, 0, 0]

    def best(gap):
        levels = np.array([0, 0, -gap, -gap, -gap, -2 * gap])

        def loss(x):
            return -log_likelihood(annotations, letters, np.exp(levels + x))

        return minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-8})

    supremum = estimate["log_likelihood"].item()
    gaps = [supremum + best(gap).fun for gap in (8, 16)]
    assert 0 <= gaps[0] < 1e-2
    assert -1e-9 <= gaps[1] < 1e-6
    near = best(16)
    np.testing.assert_allclose(found["a"] / found["b"], np.exp(near.x[0] - near.x[1]), rtol=1e-4)


def test_items_are_independent():
    nested = {
        "one": {"r": [["a"], ["b"]], "s": [["b"], ["a"]], "t": [["a", "b"], ["c"]]},
        "two": {"r": [["c"]], "s": [["d"], ["c"]]},
        "three": {"r": [["d"]]},
    }
    together = plackett_luce_mle(models.PartialRankings.from_blocks(nested, categories=LETTERS))
    assert together["items"].values.tolist() == ["one", "two", "three"]
    for name, annotations in nested.items():
        one = models.PartialRankings.from_blocks({name: annotations}, categories=LETTERS)
        alone = plackett_luce_mle(one)
        own = together["plausibility"]["item"].values == name
        np.testing.assert_array_equal(together["plausibility"].values[own], alone["plausibility"])
        place = together["items"].values.tolist().index(name)
        for statistic in ("log_likelihood", "attained", "converged", "iterations"):
            assert together[statistic][place].item() == alone[statistic].item()


def test_trust_in_a_rater_is_repetition():
    annotations = ["a b", "b c a", "ca", "b"]
    weighed = plackett_luce_mle(rankings_of(annotations), reliability={0: 3, 1: 1, 2: 2, 3: 1})
    repeated = plackett_luce_mle(rankings_of(["a b"] * 3 + ["b c a"] + ["ca"] * 2 + ["b"]))
    np.testing.assert_allclose(weighed["plausibility"], repeated["plausibility"], rtol=1e-9)
    expected = log_likelihood(annotations, LETTERS[:3], weighed["plausibility"].values)
    assert weighed["log_likelihood"].item() == pytest.approx(expected, rel=1e-12)
    once, thrice = (plackett_luce_mle(rankings_of(annotations), reliability=r) for r in (1, 3))
    np.testing.assert_allclose(once["plausibility"], thrice["plausibility"], rtol=1e-9)
    assert once["log_likelihood"].item() == pytest.approx(thrice["log_likelihood"].item())


@pytest.mark.parametrize("reliability", [0, -1, np.inf, np.nan, {0: 1, 1: 0}])
def test_powers_must_be_positive(reliability, golden):
    with golden.raises(ValueError):
        plackett_luce_mle(rankings_of(["a b", "b a"]), reliability=reliability)


def test_every_rater_needs_a_power(golden):
    with golden.raises(ValueError):
        plackett_luce_mle(rankings_of(["a b", "b a"]), reliability={0: 1})


def test_published_cases():
    estimate = plackett_luce_mle(models.published_ddx_cases())
    totals = estimate["plausibility"].groupby("item").sum()
    np.testing.assert_allclose(totals, 1, rtol=1e-14)
    assert estimate.attrs["converged"] == 1
    assert (estimate["plausibility"] > 0).all() == estimate["attained"].all()


def test_attained_means_that_a_cycle_joins_all():
    # All sets of two strict pairs among three letters: attained only if every letter is beaten.
    pairs = list(permutations("abc", 2))
    for choice in product(pairs, repeat=3):
        estimate = plackett_luce_mle(rankings_of([" ".join(pair) for pair in choice]))
        labels = plausibility(estimate)
        beats = np.zeros((3, 3), bool)
        for first, second in choice:
            i, j = "abc".index(first), "abc".index(second)
            k = 3 - i - j
            beats[i, [j, k]] = beats[j, k] = True
        reach = np.linalg.matrix_power(np.eye(3) + beats, 3) > 0
        named = ["abc".index(x) for x in labels]
        joined = reach[np.ix_(named, named)].all()
        assert estimate["attained"].item() == joined
        assert (min(labels.values()) > 0) == joined
