"""The labels of draws: the first of the largest, and members of OTHER that nobody named."""

import numpy as np
import pytest
import xarray as xr
from raterzoo.evaluation.truth import top_labels
from raterzoo.evaluation.truth.plausibility import Plausibility
from raterzoo.evaluation.truth.top_labels import TopLabels

from tests.support.evaluation_trees import as_flat, random_case


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
