"""The labels of draws: the first of the largest, and members of OTHER that nobody named."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.posterior import top_labels
from raterzoo.posterior.top_labels import TopLabels

from tests.support.evaluation_parts import Plausibility
from tests.support.evaluation_trees import Case, as_flat, random_case
from tests.support.monte_carlo import assert_rejects_twin, bonferroni_threshold, seed_of


def drawn(view, other, top):
    labels = TopLabels(view, other)
    blocks = view.map_blocks(lambda block, rng: labels.draw(block, top, rng), 1)
    return np.concatenate(blocks, axis=1)


@pytest.mark.parametrize("n_categories", [1, 2, 3, 300])
def test_the_best_is_the_first_of_the_largest_and_none_of_nothing(n_categories):
    values = np.random.default_rng(61).random((2, 15, 40, n_categories)).astype(np.float32)
    values = np.round(np.where(values < 0.3, 0, values), 1)  # many ties, and rows of zeros
    categories = [f"{i:03d}" for i in range(n_categories)]
    tree = xr.DataArray(
        values,
        {"item": range(40), "category": categories},
        ("chain", "draw", "item", "category"),
        attrs={"truth": "distribution"},
    )
    expected = np.where(values.max(-1) > 0, values.argmax(-1), -1).reshape(30, 40).T
    for top in (1, 2):
        np.testing.assert_array_equal(drawn(Plausibility.of(tree), "exclude", top)[0], expected)


def test_members_of_other_are_none_of_the_named_labels_and_each_once():
    case = random_case(np.random.default_rng(62), 30, 9, shape=(2, 200), concentration=2.0)
    view = Plausibility.of(as_flat(case))
    codes = drawn(view, "split", 9)
    code_of = {name: code for code, name in enumerate(view.categories.tolist())}
    assert (np.sort(codes, axis=0) == np.arange(9)[:, None, None]).all()
    for own, named, draws in zip(codes.transpose(1, 2, 0), case.named, case.draws, strict=True):
        named_codes = np.array([code_of[f"label {label}"] for label in named])
        is_named = np.isin(own, named_codes)
        plausibilities = draws.reshape(400, -1)[:, :-1]
        in_order = named_codes[np.argsort(-plausibilities, axis=1)]
        np.testing.assert_array_equal(own[is_named].reshape(400, -1), in_order)


@pytest.mark.parametrize("flat", [False, True])
@pytest.mark.parametrize("top", [2, 3, 6])
def test_ranks_find_the_labels_that_insertion_finds(top, flat, monkeypatch):
    """With ties, zeros, fewer labels than asked for, and items that name other labels."""
    rng = np.random.default_rng(3)
    values = rng.integers(0, 4, (2, 30, 4, 5)) / 4
    items, categories = list("abcd"), list("vwxyz")
    coords = {"item": items, "category": categories}
    array = xr.DataArray(
        values, coords, ("chain", "draw", "item", "category"), attrs={"truth": "distribution"}
    )
    if flat:
        names = [list(categories), list("zyxwv"), list("vxwyz"), list("wvxyz")]
        along = {"item": ("candidate", np.repeat(items, 5)), "category": ("candidate", np.concatenate(names))}
        array = xr.DataArray(values.reshape(2, 30, 20), along, ("chain", "draw", "candidate"))
    view = Plausibility.of(array)
    labels = TopLabels(view, "exclude")
    (ranked,) = view.map_blocks(lambda block, rng: labels.draw(block, top, rng), 1)
    monkeypatch.setattr(top_labels, "MOST_RANKED", 0)
    (inserted,) = view.map_blocks(lambda block, rng: labels.draw(block, top, rng), 1)
    np.testing.assert_array_equal(ranked, inserted)


# --- OTHER among the best: members in their places against all members, each with its plausibility ---

NAMED, OF_OTHER, DRAWS = [0, 1, 2], 9, 60_000


def pooled(concentration, rng):
    """Draws of three named labels, the last far smaller, and a pool of nine members."""
    law = [1.0, 0.6, 0.1, concentration * OF_OTHER]
    return Case([NAMED], [rng.dirichlet(law, (1, DRAWS))], len(NAMED) + OF_OTHER, concentration)


def all_members(case, top, rng):
    """Return the best labels (top, draw) of plausibilities of all categories."""
    draws = case.draws[0][0]
    share = rng.dirichlet(np.full(OF_OTHER, case.concentration), DRAWS)
    return np.argsort(-np.hstack([draws[:, :-1], draws[:, -1:] * share]), axis=1)[:, :top].T


def assert_same_places(found, expected):
    """Compare how often each label has each place, each pair follows each other, and the moments of the number of members."""
    after = [codes[:-1] * 20 + codes[1:] for codes in (found, expected)]
    members = [(codes >= len(NAMED)).sum(axis=0) for codes in (found, expected)]
    pairs = [(x == code, y == code) for x, y in zip(found, expected, strict=True) for code in range(12)]
    pairs += [(x == p, y == p) for x, y in zip(*after, strict=True) for p in (0, 1, 3, 23, 41, 60, 64, 75)]
    pairs += [(members[0] ** power, members[1] ** power) for power in (1, 2)]
    z = []
    for a, b in pairs:
        error = np.sqrt((a.var() + b.var()) / DRAWS)
        z.append((a.mean() - b.mean()) / error if error else a.mean() - b.mean())
    assert np.abs(z).max() < bonferroni_threshold(len(z))


@pytest.mark.parametrize("concentration", [1 / 12, 1.0])
@pytest.mark.parametrize("top", [2, 6, 12])
def test_members_of_other_have_the_places_that_their_plausibilities_give_them(
    top, concentration, monkeypatch
):
    rng = np.random.default_rng(seed_of(f"places of members {top} {concentration}"))
    case = pooled(concentration, rng)
    view = Plausibility.of(as_flat(case))
    code = [view.categories.tolist().index(f"label {k}") for k in NAMED]
    assert code == NAMED
    expected = all_members(case, top, rng)
    assert_same_places(drawn(view, "split", top)[:, 0], expected)
    sizes = top_labels.largest_members
    monkeypatch.setattr(
        top_labels,
        "largest_members",
        lambda mass, floor, size, a, n, rng: sizes(mass, floor, size, 2 * a, n, rng),
    )
    assert_rejects_twin(assert_same_places, drawn(view, "split", top)[:, 0], expected)
    monkeypatch.setattr(top_labels, "largest_members", sizes)
    members = top_labels.distinct_members
    monkeypatch.setattr(
        top_labels, "distinct_members", lambda *given: np.sort(list(members(*given)), axis=0)
    )  # of the set of members the first by their numbers, not at random
    assert_rejects_twin(assert_same_places, drawn(view, "split", top)[:, 0], expected)


def test_sizes_of_members_are_drawn_only_where_one_can_exceed_a_named_label(monkeypatch):
    case = pooled(1 / 12, np.random.default_rng(63))
    asked, sizes = [], top_labels.largest_members

    def counted(mass, floor, *law):
        assert (mass > floor).all()
        asked.append(len(mass))
        return sizes(mass, floor, *law)

    monkeypatch.setattr(top_labels, "largest_members", counted)
    codes = drawn(Plausibility.of(as_flat(case)), "split", 12)[:, 0]
    draws = case.draws[0][0]
    assert sum(asked) == (draws[:, -1] > draws[:, :-1].min(axis=1)).sum() < DRAWS
    assert (np.sort(codes, axis=0) == np.arange(12)[:, None]).all()  # yet all have a place


def test_a_pool_without_mass_or_without_further_members_leaves_places_empty():
    draws = np.array([[[0.7, 0.3, 0.0], [0.1, 0.0, 0.9], [0.0, 0.0, 1.0]]])
    case = Case([[0, 1]], [draws], 4, 0.5)
    codes = drawn(Plausibility.of(as_flat(case)), "split", 4)[:, 0]
    assert codes[:, 0].tolist() == [0, 1, -1, -1]
    assert sorted(codes[:3, 1].tolist()) == [0, 2, 3] and codes[3, 1] == -1
    assert sorted(codes[:2, 2].tolist()) == [2, 3] and codes[2:, 2].tolist() == [-1, -1]
