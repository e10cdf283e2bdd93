"""A mapping from categories, such as their risk: what it must cover so that OTHER can be split by it."""

from collections.abc import Iterable

from .errors import EvaluationError
from .plausibility import OTHER, Plausibility

__all__ = ["with_mapping"]


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
