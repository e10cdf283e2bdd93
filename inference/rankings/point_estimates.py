"""Point estimates of partial rankings: inverse rank normalisation, and maximum likelihood item by item."""

from collections.abc import Mapping
from typing import Literal, NamedTuple

import numpy as np
import xarray as xr

from ..._messages import short_repr, warn_user
from ...models.data.container import require_container
from ...models.data.errors import DataWarning
from ...models.data.rankings import PartialRankings, RankedPairs, inverse_rank_scores, ranked_pairs
from ...models.rankings.named_sets import refuse_shown_sets, warn_of_named_sets
from .kernels.mle import Races, maximise_worth, strong_components


def by_candidate(values: np.ndarray, rankings: PartialRankings, pairs: RankedPairs) -> xr.DataArray:
    """Label values (pair,) of ranked (item, category) pairs."""
    coords = {
        "item": ("candidate", rankings.items[pairs.item]),
        "category": ("candidate", rankings.categories[pairs.category]),
    }
    return xr.DataArray(values, coords, ("candidate",), name="plausibility")


# --- Inverse rank normalisation ---


def irn(rankings: PartialRankings, *, tie_weight: Literal["split", "full"] = "split") -> xr.DataArray:
    """Compute the inverse rank normalisation: the mean inverse rank of each category, normalised per item.

    Parameters
    ----------
    rankings : PartialRankings
        Rankings.
    tie_weight : {"split", "full"}, default "split"
        Whether tied categories share the weight of their block (eq. 3), or each takes all of it (the authors).

    Returns
    -------
    DataArray
        ``plausibility`` (candidate), with coordinates ``item`` and ``category``, of the categories that some
        rater of the item ranked. It sums to one per item; all other categories have none.

    Raises
    ------
    ValueError
        If `tie_weight` is neither of the two, or raters were shown some of the categories only.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> cases = models.PartialRankings.from_blocks([[[["a"], ["b"]], [["a", "b"]]]])
    >>> inference.irn(cases).to_numpy().round(2).tolist()
    [0.6, 0.4]

    References
    ----------
    Stutz et al. (2025), Evaluating medical AI systems in dermatology under uncertain ground truth, Medical
    Image Analysis, section 2.3.1 and eq. 3-5, arXiv:2307.02191v2.
    """
    require_container(rankings, PartialRankings)
    refuse_shown_sets(rankings, "irn")
    warn_of_named_sets(rankings)
    return by_candidate(inverse_rank_scores(rankings, tie_weight), rankings, ranked_pairs(rankings))


# --- Maximum likelihood ---


def plackett_luce_mle(
    rankings: PartialRankings,
    *,
    reliability: float | Mapping[str | int, float] = 1,
    max_iterations: int = 10_000,
    tolerance: float = 1e-10,
) -> xr.Dataset:
    """Estimate the plausibility of every ranked category by maximum likelihood.

        maximise  sum over annotations a of  r_a log p(ranking a | w),   a tie being the set of its orders

    The reliability is a power of the likelihood: a common power leaves the maximum where it is, so the
    estimate is the limit of the posterior at infinite reliability. Finite positive worths exist only among
    categories that beat one another, directly or through others. Otherwise the likelihood keeps rising as one
    group leaves another behind. Its limit is computed group by group: all plausibility goes to the unbeaten
    group, the others have none, and each group contributes the likelihood of the rankings within it.

    Parameters
    ----------
    rankings : PartialRankings
        Rankings.
    reliability : float or mapping of rater to float, default 1
        Power r of an annotation's likelihood. One number changes nothing; a mapping weights raters differently.
    max_iterations : int, default 10,000
        Largest number of steps per item.
    tolerance : float, default 1e-10
        Largest component of the gradient in the log worths of a converged item, by its number of annotations.

    Returns
    -------
    Dataset
        ``plausibility`` (candidate) of the categories that some rater of the item ranked, with coordinates
        ``item`` and ``category``; all other categories have none. By item, with ids in the coordinate
        ``items``: ``log_likelihood`` at power one, or its limit if no finite worths attain it; ``attained``,
        whether finite worths do; ``converged``; ``iterations``. Attribute ``converged``: 1 if every item has.

    Raises
    ------
    ValueError
        If a power is not positive and finite, or a rater has none.

    Notes
    -----
    Categories that every rater of the item ties first, so that no ranking separates them, share the
    plausibility equally: any split has the same likelihood. So do groups of categories that no rater was shown together, of which
    a warning tells.

    Examples
    --------
    >>> from raterzoo import inference, models
    >>> cases = models.PartialRankings.from_blocks([[[["a"], ["b"]], [["a"], ["b"]], [["b"], ["a"]]]])
    >>> estimate = inference.plackett_luce_mle(cases)
    >>> estimate["category"].to_numpy().tolist(), estimate["plausibility"].to_numpy().round(3).tolist()
    (['a', 'b'], [0.667, 0.333])

    References
    ----------
    Hunter (2004), MM algorithms for generalized Bradley-Terry models, Annals of Statistics 32(1), section 5,
    doi:10.1214/aos/1079120141. Stutz et al. (2025), Evaluating medical AI systems in dermatology under
    uncertain ground truth, Medical Image Analysis, figures 5-6, arXiv:2307.02191.
    """
    require_container(rankings, PartialRankings)
    warn_of_named_sets(rankings)
    power, pairs = _powers(rankings, reliability), ranked_pairs(rankings)
    rows = _rows(rankings, pairs)
    annotation_start = np.searchsorted(rankings.annotation_item, np.arange(len(rankings.items) + 1))
    component, unbeaten = strong_components(
        pairs.start, annotation_start, rows.start, rows.candidate, rows.block
    )
    if rankings.has_shown_sets:
        _warn_of_apart(rankings, pairs, component[unbeaten])
    races, contested = _races(rows, component, power)
    worth, log_likelihood, iterations, converged = maximise_worth(races, max_iterations, tolerance)

    plausibility = unbeaten.astype(float)
    plausibility[contested] *= worth
    plausibility /= np.bincount(pairs.item, plausibility)[pairs.item]
    item = pairs.item[contested[races.candidate_start[:-1]]]
    n_items = len(rankings.items)
    most = np.zeros(n_items, np.int64)
    np.maximum.at(most, item, iterations)
    data = {
        "plausibility": by_candidate(plausibility, rankings, pairs),
        "log_likelihood": ("item", np.bincount(item, log_likelihood, n_items)),
        "attained": ("item", np.bincount(pairs.item, component != pairs.start[pairs.item]) == 0),
        "converged": ("item", np.bincount(item, ~converged, n_items) == 0),
        "iterations": ("item", most),
    }
    return xr.Dataset(data, {"items": ("item", rankings.items)}, {"converged": int(converged.all())})


def _warn_of_apart(rankings: PartialRankings, pairs: RankedPairs, unbeaten: np.ndarray) -> None:
    """Warn if an item has several groups of categories that none beats, by the first category of each; unbeaten (category,)."""
    group = np.unique(unbeaten)
    item, number = np.unique(pairs.item[group], return_counts=True)
    if (number > 1).any():
        first = int(item[(number > 1).argmax()])
        own = group[pairs.item[group] == first]
        names = " and ".join(
            short_repr(rankings.categories[pairs.category[k]].item()) for k in own[:2].tolist()
        )
        warn_user(
            f"{(number > 1).sum():,} of {len(rankings.items):,} items have groups of categories that nothing compares, such as "
            f"those of {names} for {short_repr(rankings.items[first].item())}: they share the plausibility equally",
            DataWarning,
        )


class _Rows(NamedTuple):
    """Annotations as rankings of all candidates of their item, the unranked block last."""

    start: np.ndarray  # (annotation + 1,)
    annotation: np.ndarray  # (row,)
    candidate: np.ndarray  # (row,)
    block: np.ndarray  # (row,)


def _rows(rankings: PartialRankings, pairs: RankedPairs) -> _Rows:
    """Extend every annotation to a ranking of all candidates of its item, of sets shown those that its rater was shown."""
    item = rankings.annotation_item
    n_candidates = np.diff(pairs.start)[item]
    start = np.concatenate([[0], np.cumsum(n_candidates)])
    annotation = np.repeat(np.arange(len(item)), n_candidates)
    shift = pairs.start[item] - start[:-1]  # from a row to its candidate
    block = np.diff(rankings.annotation_start)[annotation]
    block[pairs.entry - shift[pairs.entry_annotation]] = pairs.entry_block
    order = np.lexsort((block, annotation))
    candidate = (np.arange(len(annotation)) + shift[annotation])[order]
    block = block[order]
    if not rankings.has_shown_sets:
        return _Rows(start, annotation, candidate, block)
    n = len(rankings.categories)
    shown = np.repeat(np.arange(len(item)), np.diff(rankings.shown_start)) * n + rankings.shown_code
    kept = np.isin(annotation * n + pairs.category[candidate], shown)
    start = np.append(0, np.cumsum(np.bincount(annotation[kept], minlength=len(item))))
    return _Rows(start, annotation[kept], candidate[kept], block[kept])


def _races(rows: _Rows, component: np.ndarray, power: np.ndarray) -> tuple[Races, np.ndarray]:
    """Restrict the rankings to each strong component; return also the candidates of components above one."""
    order = np.lexsort((rows.block, rows.annotation, component[rows.candidate]))
    candidate, annotation, block = rows.candidate[order], rows.annotation[order], rows.block[order]
    new_ranking = _changes(component[candidate]) | _changes(annotation)
    new_block = new_ranking | _changes(block)

    # A ranking of a single block carries no information about the worths within it.
    ranking = np.cumsum(new_ranking) - 1
    informative = np.bincount(ranking, new_block)[ranking] > 1
    candidate, annotation = candidate[informative], annotation[informative]
    new_ranking, new_block = new_ranking[informative], new_block[informative]

    by_component = np.argsort(component, kind="stable")
    contested = by_component[np.bincount(component)[component[by_component]] > 1]
    number = np.zeros(len(component), np.int64)
    number[contested] = np.arange(len(contested))
    new_problem = _changes(component[candidate])
    races = Races(
        candidate_start=_starts(_changes(component[contested])),
        ranking_start=_starts(new_problem[new_ranking]),
        block_start=_starts(new_ranking[new_block]),
        member_start=_starts(new_block),
        member=number[candidate],
        weight=power[annotation[new_ranking]],
    )
    return races, contested


def _changes(codes: np.ndarray) -> np.ndarray:
    """Mask of codes that differ from the one before."""
    return np.diff(codes, prepend=-1) != 0


def _starts(first: np.ndarray) -> np.ndarray:
    """Return the first index of each run, and the length, given the mask of first elements."""
    return np.append(np.flatnonzero(first), len(first))


def _powers(rankings: PartialRankings, reliability: float | Mapping[str | int, float]) -> np.ndarray:
    """Return the likelihood power of every annotation, shape (annotation,)."""
    raters = rankings.raters.tolist()
    if not isinstance(reliability, Mapping):
        reliability = dict.fromkeys(raters, reliability)
    if missing := [rater for rater in raters if rater not in reliability]:
        share = f"{len(missing)} of {len(raters)} raters are missing"
        raise ValueError(f"reliability has no power for rater {missing[0]!r} ({share}); give every rater one")
    power = np.array([reliability[rater] for rater in raters], dtype=float)
    if wrong := np.flatnonzero(~(power > 0) | np.isinf(power)).tolist():
        raise ValueError(
            f"reliability={power[wrong[0]]} of rater {raters[wrong[0]]!r} must be a positive "
            "finite number; leave the annotations of a rater without trust out"
        )
    return power[rankings.annotation_rater]
