"""Checks of models of rankings: agreement of the raters of an item, of pairs and groups of them, by ties and length.

The agreement of two rankings of an item is the cosine of the vectors of the inverse ranks of their categories; tied categories
have the mean inverse rank of their places, and unranked ones 0. Replicates have the block sizes of the observed rankings, so
that only the categories differ.

Models without replicates of their own (``candidates="ranked"``) have them here: the categories of an item arrive in the order of
exponential times whose rates are the worths, after the mass of OTHER has been divided among its members.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import xarray as xr
from scipy.sparse import csr_array

from ...posterior.errors import EvaluationError
from ...posterior.schema import SAMPLE, reliability_is
from .discrepancies import Check, Family, judged
from .replicates import Annotations, annotations_of, ratio, tables_of
from .scores import shared_checks, stacked

MOST_CELLS = 400_000  # annotations times categories of an item, of items drawn at random
MOST_IN_PAIRS = 24  # raters of whom pairs are compared: those with the most rankings
FEWEST_COMMON = 20  # items that both raters of a pair ranked, and rankings with and without ties
AGREE = "raters agree more than the model expects"
DISAGREE = "raters agree less than the model expects"


def ranking_checks(
    tree: xr.DataTree, by: str | None, replicates: int, rng: np.random.Generator
) -> xr.Dataset:
    """Return the checks of the rankings of a posterior."""
    constants = tree["constant_data"].to_dataset()
    block = tree["observed_data"]["observed_ranking"].to_numpy()
    flat = "candidate_of_place" in constants
    width = block.shape[1] + (int(constants["other_size"].max()) if flat else 0)
    item = constants["annotation_item"].to_numpy().astype(np.int64)
    own = annotations_of(tree, item, by, max(MOST_CELLS // width, 1), rng)
    entries = Entries.of(block[own.place])
    if not len(entries.annotation):
        raise EvaluationError(
            "model_checks: every category is unranked in the rankings of this tree; there is nothing to check"
        )
    if flat and "posterior_predictive" not in tree.children:
        tables = _own_tables(tree, own, entries, replicates, rng)
    else:
        drawn = tables_of(tree, "observed_ranking", replicates, rng)
        tables = (entries.places(blocks[own.place]) for blocks in drawn)
    named = constants.get("candidate_of_place", constants.get("category_of_place"))
    if named is not None:
        tables = (_named(codes, named.to_numpy()[own.place], entries.annotation) for codes in tables)
    numbers = _Numbers(own, entries)
    found = [numbers(codes) for codes in tables]
    return judged(_checks(own, found), _families(numbers, found), {"annotations": len(own.item)})


@dataclass(frozen=True)
class Entries:
    """Ranked entries of all annotations, best first; tied ones in the order of their places."""

    annotation: np.ndarray  # (entry,)
    rank: np.ndarray  # place in the ranking of the annotation, from 0 (entry,)
    first: np.ndarray  # whether the entry is in the first block (entry,)
    weight: np.ndarray  # mean inverse rank of the block; squares sum to one in an annotation (entry,)
    tied: np.ndarray  # whether two categories share a block (annotation,)
    length: np.ndarray  # number of ranked categories (annotation,)

    @classmethod
    def of(cls, block: np.ndarray) -> "Entries":
        """Return the entries of block numbers (annotation, place): the largest is unranked, -1 is padding."""
        unranked = block.max(axis=1, initial=0)
        ordered = np.sort(np.where(block < 0, unranked[:, None], block), axis=1)
        ranked = ordered < unranked[:, None]
        annotation, rank = np.nonzero(ranked)
        key = annotation * (int(unranked.max(initial=0)) + 1) + ordered[ranked]
        size = np.bincount(key)
        mean = ratio(np.bincount(key, 1 / (rank + 1)), size)[key]
        norm = np.bincount(annotation, mean**2, len(block))[annotation]
        length = ranked.sum(axis=1)
        tied = np.bincount(annotation, size[key] > 1, len(block)) > 0
        return cls(annotation, rank, ordered[ranked] == 0, mean / np.sqrt(norm), tied, length)

    def places(self, block: np.ndarray) -> np.ndarray:
        """Return the place in the layout of every entry of a table of block numbers (annotation, place) of these sizes."""
        padded = np.where(block < 0, np.iinfo(np.int16).max, block)
        order = np.argsort(padded, axis=1, kind="stable")
        return order[self.annotation, self.rank]


def _named(place: np.ndarray, named: np.ndarray, annotation: np.ndarray) -> np.ndarray:
    """Return the candidates at places (entry,), which annotations of an item need not share; members of OTHER have further codes.

    Shapes: named, the candidate of each place (annotation, place); annotation (entry,).
    """
    width = named.shape[1]
    own = named[annotation, np.minimum(place, width - 1)].astype(np.int64)
    return np.where(place < width, own, int(named.max()) + 1 + place - width)


def _own_tables(
    tree: xr.DataTree, own: Annotations, entries: Entries, replicates: int, rng: np.random.Generator
) -> Iterator[np.ndarray]:
    """Yield the categories (entry,) of the observed rankings, then of replicates drawn by the worths of flat candidates.

    Codes are places of the layout and, beyond them, members of OTHER.
    """
    constants = tree["constant_data"].to_dataset()
    block = tree["observed_data"]["observed_ranking"].to_numpy()[own.place]
    yield entries.places(block)
    candidate = constants["candidate_of_place"].to_numpy()[own.place]
    is_other = (constants["candidate_category"].to_numpy() < 0)[candidate] & (block >= 0)
    a = float(constants["other_concentration"]) if "other_concentration" in constants else np.nan
    learnt = tree["posterior"].to_dataset().get("reliability")  # of each rater
    tempered = learnt is not None or reliability_is(tree.attrs) == "exponent"
    sharpness = np.ones((len(block), 1))
    if learnt is None and tempered and "reliability" in constants:
        power = constants["reliability"].to_numpy()
        sharpness = np.broadcast_to(power[own.place] if power.ndim else power, len(block))[:, None]
    size = constants["other_size"].to_numpy() * bool(np.isfinite(a) and not tempered)
    of_item = size[constants["annotation_item"].to_numpy()[own.place]]  # members by annotation
    plausibility = tree["posterior"].to_dataset()["plausibility"].transpose(*SAMPLE, "candidate")
    draws, depth = (plausibility.sizes["chain"], plausibility.sizes["draw"]), int(entries.rank.max()) + 1
    for at in rng.permutation(draws[0] * draws[1])[:replicates]:
        if learnt is not None:
            of_raters = learnt.transpose(*SAMPLE, "rater")[np.unravel_index(at, draws)].to_numpy()
            sharpness = of_raters[constants["annotation_rater"].to_numpy()[own.place]][:, None]
        with np.errstate(divide="ignore"):
            log_worth = (
                np.log(plausibility[np.unravel_index(at, draws)].to_numpy().astype(float))[candidate]
                * sharpness
            )
        log_worth[block < 0] = -np.inf
        if of_item.any():
            log_worth = _divided(log_worth, is_other, (own.item, of_item, a), rng)
        # the first to arrive is ranked first: the log of an exponential variable of rate worth
        arrival = np.log(rng.standard_exponential(log_worth.shape)) - log_worth
        yield _first(arrival, depth)[entries.annotation, entries.rank]


def _first(arrival: np.ndarray, depth: int) -> np.ndarray:
    """Return the places of the first `depth` arrivals (annotation, place) in their order (annotation, rank)."""
    if depth < arrival.shape[1]:
        chosen = np.argpartition(arrival, depth - 1, axis=1)[:, :depth]
        own = np.take_along_axis(arrival, chosen, axis=1)
        return np.take_along_axis(chosen, np.argsort(own, axis=1), axis=1)
    return np.argsort(arrival, axis=1)


def _divided(
    log_worth: np.ndarray,
    is_other: np.ndarray,
    members: tuple[np.ndarray, np.ndarray, float],
    rng: np.random.Generator,
) -> np.ndarray:
    """Divide the worth of OTHER among its members, in the same way for all annotations of an item.

    Shapes: log_worth and is_other (annotation, place); members: item and number of members (annotation,) and their
    concentration; result (annotation, place + member).
    """
    item, size, a = members
    items, first = np.unique(item, return_index=True)
    shape = len(items), int(size.max())
    # log of Gamma(a, 1), which underflows for small a
    log_share = np.log(rng.standard_gamma(a + 1, shape)) + np.log1p(-rng.random(shape)) / a
    log_share[np.arange(shape[1]) >= size[first][:, None]] = -np.inf
    total = np.logaddexp.reduce(
        log_share, axis=1, keepdims=True, where=np.isfinite(log_share), initial=-np.inf
    )
    log_share -= np.where(np.isfinite(total), total, 0)  # no members, no shares
    mass = np.where(is_other, log_worth, -np.inf).max(axis=1, keepdims=True)
    some = size > 0
    named = np.where(is_other & some[:, None], -np.inf, log_worth)
    return np.hstack([named, np.where(some[:, None], mass + log_share[item], -np.inf)])


class _Numbers:
    """Callable that computes the numbers of one table of rankings, by name, from the categories of its entries."""

    def __init__(self, own: Annotations, entries: Entries) -> None:
        self._own, self._entries = own, entries
        self._item = own.item[entries.annotation]
        self._rater = own.rater[entries.annotation]
        self._group = own.group[self._rater]
        ranked = entries.length > 0
        self._others = (np.bincount(own.item, ranked, own.size[1])[own.item] - 1) * ranked
        self._first = np.where(entries.first, 1.0, 0.0)
        first = np.bincount(entries.annotation, self._first, len(own.item))[entries.annotation]
        self._first /= np.sqrt(np.maximum(first, 1))
        by_cell = np.bincount(
            own.item * len(own.groups) + own.group[own.rater], ranked, own.size[1] * len(own.groups)
        ).reshape(own.size[1], -1)
        self._pairs = (by_cell * (by_cell - 1)).sum(axis=0) / 2
        whole = by_cell.sum(axis=1)
        self._all_pairs = (whole * (whole - 1)).sum() / 2
        self.pairs, self._chosen, self._common = self._pairs_of_raters(ranked)

    @property
    def raters(self) -> list[str]:
        """Ids of the raters."""
        return self._own.raters

    def _pairs_of_raters(
        self, ranked: np.ndarray
    ) -> tuple[tuple[np.ndarray, np.ndarray], np.ndarray, np.ndarray]:
        """Return the compared pairs of raters, the row of each rater among those compared, and their common items."""
        own = self._own
        given = np.bincount(own.rater, ranked, own.size[2])
        busiest = np.argsort(-given, kind="stable")[: MOST_IN_PAIRS * (len(own.raters) > 1)]
        row = np.full(own.size[2], -1)
        row[busiest] = np.arange(len(busiest))
        kept = (row[own.rater] >= 0) & ranked
        shape = len(busiest), own.size[1]
        table = csr_array((np.ones(kept.sum()), (row[own.rater[kept]], own.item[kept])), shape=shape)
        common = (table @ table.T).toarray()
        first, second = np.triu_indices(len(busiest), 1)
        enough = common[first, second] >= FEWEST_COMMON
        pairs = first[enough], second[enough]
        return (busiest[pairs[0]], busiest[pairs[1]]), row, common[pairs]

    def __call__(self, codes: np.ndarray) -> dict[str, np.ndarray]:
        own, entries = self._own, self._entries
        key = self._item * (int(codes.max(initial=0)) + 1) + codes
        cell = np.unique(key, return_inverse=True)[1]
        cells = int(cell.max()) + 1
        whole = np.bincount(cell, entries.weight, cells)
        shared = np.bincount(
            entries.annotation, entries.weight * (whole[cell] - entries.weight), len(own.item)
        )
        agreement = ratio(shared, self._others)
        some = self._others > 0
        first = np.bincount(cell, self._first, cells)
        found = {
            "agreement": ratio(shared.sum() / 2, self._all_pairs),
            "first": ratio(((first**2).sum() - (self._first**2).sum()) / 2, self._all_pairs),
            "distinct": cells / own.size[1],
            "length": _correlation(entries.length[some].astype(float), agreement[some]),
            "ties": _difference(entries.tied[some], agreement[some]),
        }
        if len(own.raters) > 1:
            by_rater = np.bincount(own.rater[some], agreement[some], own.size[2])
            found["raters"] = by_rater / np.maximum(np.bincount(own.rater[some], minlength=own.size[2]), 1)
            found["pairs"] = self._by_pair(cell, cells)
        if len(own.groups) > 1:
            of_group = np.bincount(
                cell * len(own.groups) + self._group, entries.weight, cells * len(own.groups)
            ).reshape(cells, -1)
            alone = np.bincount(self._group, entries.weight**2, len(own.groups))
            within = ((of_group**2).sum(axis=0) - alone) / 2
            found["within"] = ratio(within, self._pairs)
            found["between"] = ratio(shared.sum() / 2 - within.sum(), self._all_pairs - self._pairs.sum())
        return {name: np.asarray(value, float) for name, value in found.items()}

    def _by_pair(self, cell: np.ndarray, cells: int) -> np.ndarray:
        """Return the mean agreement of each compared pair of raters."""
        row = self._chosen[self._rater]
        kept = row >= 0
        shape = int(self._chosen.max()) + 1, cells
        table = csr_array((self._entries.weight[kept], (row[kept], cell[kept])), shape=shape)
        product = (table @ table.T).toarray()
        return product[self._chosen[self.pairs[0]], self._chosen[self.pairs[1]]] / self._common


def _correlation(x: np.ndarray, y: np.ndarray) -> float:
    """Return the correlation of two variables, NaN if one is constant."""
    return float(np.corrcoef(x, y)[0, 1]) if len(x) and np.ptp(x) > 0 and np.ptp(y) > 0 else np.nan


def _difference(tied: np.ndarray, agreement: np.ndarray) -> float:
    """Return the mean agreement of rankings with ties less that of others, NaN if either are few."""
    if min(tied.sum(), (~tied).sum()) < FEWEST_COMMON:
        return np.nan
    return float(agreement[tied].mean() - agreement[~tied].mean())


AGREEMENT = "mean agreement of two raters of an item"
MAIN = {"agreement"}  # of the single numbers; the checks of groups are, too
SINGLE = {
    "agreement": (
        AGREEMENT,
        "raters of an item agree less than the model expects",
        "raters of an item agree more than the model expects",
    ),
    "first": (
        "mean agreement on the first place",
        "raters agree less on the first place than the model expects",
        "raters agree more on the first place than the model expects",
    ),
    "distinct": (
        "ranked categories of an item, of all raters",
        "raters of an item rank fewer different categories than the model expects",
        "raters of an item rank more different categories than the model expects",
    ),
    "length": (
        "correlation of the length of a ranking with its agreement",
        "longer rankings agree less with those of other raters than the model expects",
        "longer rankings agree more with those of other raters than the model expects",
    ),
    "ties": (
        "agreement of rankings with ties, less that of others",
        "rankings with ties agree less with those of other raters than the model expects",
        "rankings with ties agree more with those of other raters than the model expects",
    ),
}


def _checks(own: Annotations, found: list[dict[str, np.ndarray]]) -> list[Check]:
    """Return the checks of single numbers, and of groups of raters."""
    checks = []
    for name, texts in SINGLE.items():
        values = stacked(found, name)
        checks.append(Check(texts[0], float(values[0]), values[1:], *texts[1:], is_main=name in MAIN))
    if "within" in found[0]:
        checks += shared_checks(
            own, stacked(found, "within"), stacked(found, "between"), (DISAGREE, AGREE), "agreement"
        )
    return checks


def _families(numbers: _Numbers, found: list[dict[str, np.ndarray]]) -> list[Family]:
    """Return the checks of each rater, and of each pair of raters."""
    if "raters" not in found[0]:
        return []
    raters = numbers.raters
    values, pairs = stacked(found, "raters"), stacked(found, "pairs")
    names = [f"{raters[a]}, {raters[b]}" for a, b in zip(*numbers.pairs, strict=True)]
    text = "some raters agree with the others more or less than the model says"
    title = "agreement of each rater with the others"
    of_pairs = "some pairs of raters agree more or less than the model says"
    return [
        Family(title, "rater", raters, values[0], values[1:], text),
        Family("agreement of each pair of raters", "pair", names, pairs[0], pairs[1:], of_pairs),
    ]
