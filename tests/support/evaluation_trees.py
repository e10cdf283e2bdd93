"""Small posteriors with known answers, in both layouts, for the tests of evaluation."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import xarray as xr

__all__ = ["Case", "as_dense", "as_flat", "distributions", "random_case", "tree_of"]


@dataclass(frozen=True)
class Case:
    """Draws over named labels of each item, and the mass of OTHER.

    Attributes
    ----------
    named : list of list of int
        Category codes of each item, ascending.
    draws : list of ndarray, shape (chain, draw, label)
        Plausibilities of the named labels, and last of OTHER.
    n_categories : int
        Declared categories.
    concentration : float
        Of the members of OTHER.
    """

    named: list[list[int]]
    draws: list[np.ndarray]
    n_categories: int
    concentration: float

    @property
    def categories(self) -> list[str]:
        return [f"label {code}" for code in range(self.n_categories)]

    @property
    def items(self) -> list[str]:
        return [f"case {i}" for i in range(len(self.named))]


def random_case(
    rng: np.random.Generator,
    n_items: int = 5,
    n_categories: int = 6,
    shape: tuple[int, int] = (2, 30),
    concentration: float = 0.5,
    worth: float = 1.0,
) -> Case:
    """Draw a case whose OTHER has the law of a pool."""
    named, draws = [], []
    for _ in range(n_items):
        m = int(rng.integers(1, n_categories - 1))
        named.append(sorted(rng.choice(n_categories, m, replace=False).tolist()))
        law = [worth] * m + [concentration * (n_categories - m)]
        draws.append(rng.dirichlet(law, shape))
    return Case(named, draws, n_categories, concentration)


def tree_of(posterior: xr.Dataset, **constant: object) -> xr.DataTree:
    if "plausibility" in posterior:
        posterior = posterior.copy()
        posterior["plausibility"].attrs.setdefault("truth", "distribution")
    return xr.DataTree.from_dict({"posterior": posterior, "constant_data": xr.Dataset(constant)})


def as_flat(case: Case, *, integers: bool = False, concentration: float | None = None) -> xr.DataTree:
    """Return the tree of a ranking model, with OTHER pooled."""
    labels = [str(c) for c in range(case.n_categories)] if integers else case.categories
    pairs = [
        (item, label)
        for item, named in zip(case.items, case.named, strict=True)
        for label in [*(labels[c] for c in named), "OTHER"]
    ]
    item, category = map(list, zip(*pairs, strict=True))
    plausibility = xr.DataArray(
        np.concatenate(case.draws, axis=-1),
        dims=("chain", "draw", "candidate"),
        coords={
            "item": ("candidate", item),
            "category": ("candidate", category, {"kind": "integer" if integers else "text"}),
        },
    )
    size = [case.n_categories - len(named) for named in case.named]
    return tree_of(
        plausibility.to_dataset(name="plausibility"),
        other_size=xr.DataArray(size, {"item": case.items}, ("item",)),
        other_concentration=case.concentration if concentration is None else concentration,
    )


def distributions(draws: np.ndarray, items: Sequence[str], categories: Sequence[str]) -> xr.DataArray:
    """Return draws (chain, draw, item, category) of the distributions of labels."""
    return xr.DataArray(
        draws,
        {"item": items, "category": categories},
        ("chain", "draw", "item", "category"),
        name="plausibility",
        attrs={"truth": "distribution"},
    )


def as_dense(case: Case, rng: np.random.Generator | None = None) -> xr.DataTree:
    """Return the tree over all categories: OTHER left out, or with a generator split by brute force."""
    n_items, shape = len(case.named), case.draws[0].shape[:-1]
    dense = np.zeros((*shape, n_items, case.n_categories))
    for i, (named, draws) in enumerate(zip(case.named, case.draws, strict=True)):
        dense[..., i, named] = draws[..., :-1]
        rest = np.setdiff1d(np.arange(case.n_categories), named)
        if rng is not None:
            share = rng.dirichlet([case.concentration] * len(rest), shape)
            dense[..., i, rest] = draws[..., -1:] * share
    return tree_of(distributions(dense, case.items, case.categories).to_dataset())
