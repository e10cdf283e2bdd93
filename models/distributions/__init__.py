"""Probability distributions that PyMC lacks."""

from typing import TYPE_CHECKING

from ..._exports import lazy_exports

if TYPE_CHECKING:
    from .partial_ranking import PartialRanking as PartialRanking
    from .ranking_op import partial_ranking_logp as partial_ranking_logp

__all__ = ["PartialRanking", "partial_ranking_logp"]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {"PartialRanking": ".partial_ranking", "partial_ranking_logp": ".ranking_op"},
)
