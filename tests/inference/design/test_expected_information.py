"""What to ask next: the information against its definition, for every law, and what it leads to."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.inference.design import next_to_ask
from scipy.special import expit, ndtr, xlogy

from tests.support.monte_carlo import assert_rejects_twin

ITEMS, RATERS = ["a", "b", "c", "d"], [10, 20, 30]


def posterior(link="bradley_terry", tie=None, bias=None, draws=500, **changes):
    rng = np.random.default_rng(1)
    quality = np.array([0.0, 0.1, 1.0, 3.0]) + rng.normal(scale=[0.3, 0.3, 0.3, 0.5], size=(2, draws, 4))
    reliability = np.exp(rng.normal(loc=[0.7, 0, -2], scale=0.2, size=(2, draws, 3)))
    variables = {
        "quality": (("chain", "draw", "item"), quality),
        "reliability": (("chain", "draw", "rater"), reliability),
    }
    for name, value in (("tie", tie), ("left_bias", bias)):
        if value is not None:
            variables[name] = (("chain", "draw"), value * np.exp(rng.normal(scale=0.1, size=(2, draws))))
    dataset = xr.Dataset(variables | changes, {"item": ITEMS, "rater": RATERS})
    tree = xr.DataTree.from_dict({"posterior": dataset})
    tree.attrs["model"] = link
    return tree


def outcomes(link, x, tie):
    """Probabilities (outcome, draw) by the printed formulas."""
    if link == "bradley_terry":
        weights = np.array([np.exp(x / 2), np.exp(-x / 2)] + ([] if tie is None else [tie]))
        return weights / weights.sum(axis=0)
    t = 0 if tie is None else tie
    first, second = ndtr(x - t), ndtr(-x - t)
    return np.array([first, second] if tie is None else [first, second, 1 - first - second])


def entropy(p):
    return -xlogy(p, p).sum(axis=0)


@pytest.mark.parametrize("link", ["bradley_terry", "thurstone"])
@pytest.mark.parametrize("tie", [None, 0.6])
@pytest.mark.parametrize("bias", [None, 0.4])
def test_information_is_its_definition(link, tie, bias):
    tree = posterior(link, tie, bias)
    p = tree["posterior"].to_dataset().stack(s=("chain", "draw"))
    for about in ("quality", "ranks"):
        found = next_to_ask(tree, about=about)
        assert found.sizes["question"] == 6 * 3 and (np.diff(found["gain"]) <= 0).all()
        for question in range(18):
            one = found.isel(question=question)
            d = (p["quality"].sel(item=one["left"]) - p["quality"].sel(item=one["right"])).to_numpy()
            x = p["reliability"].sel(rater=one["rater"]).to_numpy() * d
            x = x + (0 if bias is None else p["left_bias"].to_numpy())
            law = outcomes(link, x, None if tie is None else p["tie"].to_numpy())
            exact = entropy(law.mean(axis=1))
            if about == "quality":
                exact -= entropy(law).mean()
            else:
                exact -= sum(
                    np.mean(side) * entropy(law[:, side].mean(axis=1))
                    for side in (d > 0, d <= 0)
                    if side.any()
                )
            assert float(one["gain"]) == pytest.approx(exact, abs=1e-12)
            assert -1e-12 <= float(one["gain"]) <= np.log(len(law))


def test_each_rater_is_asked_with_their_own_side():
    shared = [posterior(bias=own) for own in (0.4, -0.7, 2.0)]
    biases = np.stack([tree["posterior"]["left_bias"].to_numpy() for tree in shared], axis=-1)
    by_rater = posterior(left_bias=(("chain", "draw", "rater"), biases))
    for k, rater in enumerate(RATERS):
        for asked in (None, [rater]):
            found = next_to_ask(by_rater, raters=asked, about="ranks")
            own = found.isel(question=found["rater"].to_numpy() == rater)
            expected = next_to_ask(shared[k], raters=[rater], about="ranks")
            np.testing.assert_allclose(np.sort(own["gain"]), np.sort(expected["gain"]), rtol=1e-12)


def test_close_pairs_and_good_raters_tell_the_order():
    best = next_to_ask(posterior(), about="ranks").isel(question=0)
    assert {str(best["left"].item()), str(best["right"].item())} == {"a", "b"} and best["rater"] == 10


def test_a_known_posterior_has_nothing_to_learn():
    """An answer that is uncertain for lack of difference tells nothing; the twin ranks by the entropy of the answer."""
    tree = posterior()
    certain = tree["posterior"].to_dataset().map(lambda v: v * 0 + v.mean(("chain", "draw")))
    known = xr.DataTree.from_dict({"posterior": certain})
    gain = next_to_ask(known, link="bradley_terry")["gain"].to_numpy()

    def check(gain):
        np.testing.assert_allclose(gain, 0, atol=1e-12)

    check(gain)
    x = certain["reliability"].isel(chain=0, draw=0).to_numpy()
    assert_rejects_twin(check, entropy(np.array([expit(x), expit(-x)])))


def test_chosen_questions_keep_their_sides():
    found = next_to_ask(posterior(bias=0.5), [("d", "a"), ("b", "c")], [30, 10])
    assert set(zip(found["left"].to_numpy(), found["right"].to_numpy(), strict=True)) == {
        ("d", "a"),
        ("b", "c"),
    }
    assert set(found["rater"].to_numpy().tolist()) == {10, 30}


def test_raters_alike_are_anyone():
    tree = posterior()
    alike = xr.DataTree.from_dict({"posterior": tree["posterior"].to_dataset()[["quality"]]})
    found = next_to_ask(alike, link="thurstone")
    assert found["rater"].to_numpy().tolist() == ["anyone"] * 6


@pytest.mark.parametrize(
    "options",
    [
        {"candidates": [("a", "z")]},
        {"candidates": [("a", "a")]},
        {"candidates": ["a"]},
        {"raters": [99]},
        {"about": "luck"},
        {"link": "probit"},
    ],
)
def test_what_the_tree_does_not_have_is_refused(options, golden):
    with golden.raises(ValueError):
        next_to_ask(posterior(), **options)


def test_trees_of_something_else_are_refused(golden):
    with golden.raises(ValueError):
        next_to_ask(xr.DataTree())
    with pytest.raises(ValueError, match="which link"):
        next_to_ask(posterior(link="labels"))
