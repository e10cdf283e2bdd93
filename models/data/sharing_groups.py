"""Groups of raters who may share errors, a taste or a bias: those that are not independent."""

import warnings
from collections.abc import Collection, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._messages import OUR_FILES, first_reprs, short_repr
from .comparisons import Comparisons
from .errors import DataWarning
from .labels import Labels
from .raters import rater_groups
from .scores import Scores

NO_GROUP = -1  # of a rater who shares nothing
Groups = str | Mapping[Any, Any] | Sequence[Any] | np.ndarray | None


class SharingGroups(NamedTuple):
    """Groups whose raters share something."""

    names: np.ndarray  # (group,)
    group: np.ndarray  # int64 (rater,), code of the group or NO_GROUP


class Sharing(NamedTuple):
    """Meaning of sharing in a model, for its errors and warnings."""

    data: str  # name of the argument with the annotations
    fewest: int  # raters in a group that may share
    none: str  # end of the error if no group may share
    single: str  # why groups with fewer raters count as independent
    all_alike: str  # warning if all raters are of one group, after its name; "" if gold labels tell


GUESSES = Sharing(
    "labels",
    2,
    "no group of two raters or more may share a guess, so that all raters are independent: use models.dawid_skene, which is "
    "that law",
    "copies need two",
    "the truth and what they share are told apart only by the answers that are not copied. Gold labels of some items, or a "
    "few independent raters, would tell more",
)
TASTES = Sharing(
    "pairs",
    1,
    "all groups are independent, so that no raters share a taste: leave out groups= and independent=",
    "",
    "the votes tell quality plus taste, and only the prior how much of it is taste. Raters of another group, or some who "
    "are independent, would tell more",
)
BIASES = Sharing(
    "scores",
    2,
    "no group may share a bias, so that all raters are independent: leave out groups= and independent=",
    "with one score of an item its share of a bias cannot be told from its noise",
    "the scores tell location plus shared bias, and only the prior how much of it is bias. Raters of another group, or some "
    "who are independent, would tell more",
)


def sharing_groups(
    data: Labels | Comparisons | Scores,
    groups: Groups,
    independent: str | Collection[Any],
    sharing: Sharing = GUESSES,
) -> SharingGroups:
    """Return the groups that may share; raise if there are none, warn of groups that are too small and of a single one."""
    names, code = _groups_of(data, groups, sharing.data)
    apart, known = [independent] if isinstance(independent, str) else list(independent), names.tolist()
    if strange := [name for name in apart if name not in known]:
        raise ValueError(
            f"independent: {short_repr(strange[0])} is no group of the raters; the groups are {first_reprs(known)}"
        )
    size = np.bincount(code, minlength=len(names))
    few = size < sharing.fewest
    kept = [g for g, name in enumerate(known) if name not in apart and not few[g]]
    if not kept:
        raise ValueError(
            f"{sharing.none}. The groups are {first_reprs(known)}, of them independent: {first_reprs(apart)}"
        )
    _warn_of_small([known[g] for g in np.flatnonzero(few) if known[g] not in apart], sharing)
    if len(known) == 1 and not (isinstance(data, Labels) and data.has_gold):
        warnings.warn(
            f"all raters are of the group {short_repr(known[0])}: {sharing.all_alike}",
            DataWarning,
            skip_file_prefixes=OUR_FILES,
        )
    place = np.full(len(names), NO_GROUP, np.int64)
    place[kept] = np.arange(len(kept))
    return SharingGroups(names[kept], place[code])


def _warn_of_small(small: list[Any], sharing: Sharing) -> None:
    """Warn if groups have a single rater."""
    if small:
        others = f", and so do those of {first_reprs(small[1:])}" if len(small) > 1 else ""
        warnings.warn(
            f"the only rater of the group {short_repr(small[0])} counts as independent{others}: {sharing.single}",
            DataWarning,
            skip_file_prefixes=OUR_FILES,
        )


def _groups_of(
    data: Labels | Comparisons | Scores, groups: Groups, name: str
) -> tuple[np.ndarray, np.ndarray]:
    """Return names of groups in order of appearance, and codes (rater,)."""
    if groups is None:
        if not data.rater_attributes:
            raise ValueError(
                "groups: the raters have no attribute, such as their kind. Read its column with "
                "from_table(..., rater_attributes=['kind']), or pass groups={rater: group}"
            )
        groups = next(iter(data.rater_attributes))
    if isinstance(groups, str):
        return rater_groups(data.raters, data.rater_attributes, groups, "groups")
    raters = data.raters.tolist()
    if isinstance(groups, Mapping):
        if strange := [rater for rater in groups if rater not in raters]:
            raise ValueError(
                f"groups: {short_repr(strange[0])} is no rater of these {name}; they are {first_reprs(raters)}"
            )
        if absent := [rater for rater in raters if rater not in groups]:
            raise ValueError(f"groups: rater {short_repr(absent[0])} has no group; name one for every rater")
        groups = [groups[rater] for rater in raters]
    if len(groups) != len(raters):
        raise ValueError(
            f"groups: {len(groups):,} groups for {len(raters):,} raters; pass one for each of {name}.raters"
        )
    return rater_groups(data.raters, {"groups": np.asarray(groups)}, "groups", "groups")
