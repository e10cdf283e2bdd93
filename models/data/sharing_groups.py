"""Groups of raters who may share errors: those of two raters or more that are not independent."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._messages import OUR_FILES, first_reprs, short_repr
from .errors import DataWarning
from .labels import Labels
from .raters import rater_groups

NO_GROUP = -1  # of a rater who copies nobody
Groups = str | Mapping[Any, Any] | Sequence[Any] | np.ndarray | None


class SharingGroups(NamedTuple):
    """Groups whose raters may copy a guess."""

    names: np.ndarray  # (group,)
    group: np.ndarray  # int64 (rater,), code of the group or NO_GROUP


def sharing_groups(labels: Labels, groups: Groups, independent: str | Collection[Any]) -> SharingGroups:
    """Return the groups of two raters or more that are not independent; raise if there are none, warn of small ones."""
    names, code = _groups_of(labels, groups)
    apart, known = [independent] if isinstance(independent, str) else list(independent), names.tolist()
    if strange := [name for name in apart if name not in known]:
        raise ValueError(
            f"independent: {short_repr(strange[0])} is no group of the raters; the groups are {first_reprs(known)}"
        )
    size = np.bincount(code, minlength=len(names))
    kept = [g for g, name in enumerate(known) if name not in apart and size[g] > 1]
    if not kept:
        raise ValueError(
            "no group of two raters or more may share a guess, so that all raters are independent: use "
            f"models.dawid_skene, which is that law. The groups are {first_reprs(known)}, of them independent: "
            f"{first_reprs(apart)}"
        )
    _warn_of_groups(labels, known, [known[g] for g in np.flatnonzero(size == 1) if known[g] not in apart])
    place = np.full(len(names), NO_GROUP, np.int64)
    place[kept] = np.arange(len(kept))
    return SharingGroups(names[kept], place[code])


def _warn_of_groups(labels: Labels, known: list[Any], single: list[Any]) -> None:
    """Warn if groups have a single rater, or all raters are of one group."""
    if single:
        others = f", and so do those of {first_reprs(single[1:])}" if len(single) > 1 else ""
        warnings.warn(
            f"the only rater of the group {short_repr(single[0])} counts as independent{others}: copies need two",
            DataWarning,
            skip_file_prefixes=OUR_FILES,
        )
    if len(known) == 1 and not labels.has_gold:
        warnings.warn(
            f"all raters are of the group {short_repr(known[0])}: the truth and what they share are told apart only by the "
            "answers that are not copied. Gold labels of some items, or a few independent raters, would tell more",
            DataWarning,
            skip_file_prefixes=OUR_FILES,
        )


def _groups_of(labels: Labels, groups: Groups) -> tuple[np.ndarray, np.ndarray]:
    """Return names of groups in order of appearance, and codes (rater,)."""
    if groups is None:
        if not labels.rater_attributes:
            raise ValueError(
                "groups: the raters have no attribute, such as their kind. Read its column with "
                "from_table(..., rater_attributes=['kind']), or pass groups={rater: group}"
            )
        groups = next(iter(labels.rater_attributes))
    if isinstance(groups, str):
        return rater_groups(labels.raters, labels.rater_attributes, groups, "groups")
    raters = labels.raters.tolist()
    if isinstance(groups, Mapping):
        if strange := [name for name in groups if name not in raters]:
            raise ValueError(
                f"groups: {short_repr(strange[0])} is no rater of these labels; they are {first_reprs(raters)}"
            )
        if absent := [rater for rater in raters if rater not in groups]:
            raise ValueError(f"groups: rater {short_repr(absent[0])} has no group; name one for every rater")
        groups = [groups[rater] for rater in raters]
    if len(groups) != len(raters):
        raise ValueError(
            f"groups: {len(groups):,} groups for {len(raters):,} raters; pass one for each of labels.raters"
        )
    return rater_groups(labels.raters, {"groups": np.asarray(groups)}, "groups", "groups")
