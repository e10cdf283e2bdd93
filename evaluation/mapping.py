"""A mapping from categories, such as their risk: what it must cover so that OTHER can be split by it."""

from collections.abc import Iterable, Mapping

import numpy as np

from .errors import EvaluationError
from .plausibility import OTHER, Plausibility
from .top_labels import NO_LABEL, OtherAs

__all__ = ["group_by_code", "with_mapping"]


def with_mapping(
    view: Plausibility, keys: Iterable[str], argument: str, *, complete: bool
) -> Plausibility:
    """Return the posterior with every key of a mapping as a category.

    Parameters
    ----------
    view : Plausibility
        Posterior.
    keys : iterable of str
        Categories that the mapping covers; a key OTHER is no category where OTHER is pooled.
    argument : str
        Name of the mapping, for the message.
    complete : bool
        Whether the mapping must cover the declared categories that no rater ranked.

    Raises
    ------
    EvaluationError
        If a category is not covered.
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
            'the rest: cover them all, or leave OTHER out by other="exclude" where that can be asked'
        )
    return extended


def group_by_code(
    view: Plausibility, groups: Mapping[object, object], other: OtherAs
) -> tuple[Plausibility, np.ndarray]:
    """Return the posterior with every key of a mapping as a category, and the group of every code.

    Parameters
    ----------
    view : Plausibility
        Posterior.
    groups : mapping of label to group
        With OTHER split, of every declared category.
    other : {"split", "exclude", "label"}
        How OTHER is treated.

    Returns
    -------
    view : Plausibility
        Extended.
    group_of_code : ndarray of int
        Number of the group, in order of appearance; -1, no group, is the last.

    Raises
    ------
    EvaluationError
        If a category has no group.
    """
    group_of = {str(label): group for label, group in groups.items()}
    view = with_mapping(view, group_of, "groups", complete=other == "split")
    names = [*view.categories.tolist(), *([OTHER] if other == "label" else [])]
    number = {group: i for i, group in enumerate(dict.fromkeys(group_of.values()))}
    for name in names:
        if name not in group_of:
            raise EvaluationError(f"groups= has no group for {name!r}; add it")
    return view, np.array([*(number[group_of[name]] for name in names), NO_LABEL], np.int32)
