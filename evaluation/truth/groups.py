"""Mappings from categories to groups or values, and their completeness for splitting OTHER."""

from collections.abc import Iterable, Mapping

import numpy as np

from ...posterior.errors import EvaluationError
from ...posterior.plausibility import Plausibility
from ...posterior.schema import OTHER
from ...posterior.top_labels import NO_LABEL, OtherAs


def with_mapping(view: Plausibility, keys: Iterable[str], argument: str, *, complete: bool) -> Plausibility:
    """Return the posterior with every key of a mapping as a category; raise if a category is not covered.

    A key OTHER is not a category if OTHER is pooled. `argument` names the mapping in messages; `complete`:
    whether it must cover the declared categories that no rater ranked.
    """
    covered = {key: None for key in keys if key != OTHER or not view.has_other.any()}
    for label in view.categories.tolist():
        if label not in covered:
            raise EvaluationError(f"{argument}= lacks category {label!r}; add it")
    extended = view.with_categories(covered)
    declared = view.declared_count()
    if complete and declared is not None and declared > len(covered):
        raise EvaluationError(
            f"{argument}= covers {len(covered)} of {declared} declared categories, and {OTHER} stands for "
            'the rest: cover them all, or leave OTHER out by other="exclude" where that argument exists'
        )
    return extended


def group_by_code(
    view: Plausibility, groups: Mapping[object, object], other: OtherAs
) -> tuple[Plausibility, np.ndarray, np.ndarray]:
    """Return the posterior with every key of a mapping as a category, the group of every code, and the groups.

    The groups (group,) and their numbers (code,) are in order of appearance; the last entry is -1, no group. With OTHER
    split, the mapping must cover every declared category; raises if a category has no group.
    """
    group_of = {str(label): group for label, group in groups.items()}
    view = with_mapping(view, group_of, "groups", complete=other == "split")
    names = [*view.categories.tolist(), *([OTHER] if other == "label" else [])]
    number = {group: i for i, group in enumerate(dict.fromkeys(group_of.values()))}
    for name in names:
        if name not in group_of:
            raise EvaluationError(f"groups= has no group for {name!r}; add it")
    codes = np.array([*(number[group_of[name]] for name in names), NO_LABEL], np.int32)
    return view, codes, np.array(list(number))
