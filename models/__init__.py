"""What is believed: annotation data, the laws that PyMC lacks, and the models, each a function that returns a `pymc.Model`."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:
    from . import simulators as simulators
    from ._catalog import catalog as catalog
    from .data import DataError as DataError
    from .data import Labels as Labels
    from .data import PartialRankings as PartialRankings
    from .data import published_ddx_accuracies as published_ddx_accuracies
    from .data import published_ddx_cases as published_ddx_cases
    from .data import published_ddx_predictions as published_ddx_predictions
    from .rankings.plackett_luce import plackett_luce as plackett_luce
    from .rankings.prirn import prirn as prirn
    from .rankings.tempered_plackett_luce import tempered_plackett_luce as tempered_plackett_luce

__all__ = [
    "DataError",
    "Labels",
    "PartialRankings",
    "catalog",
    "plackett_luce",
    "prirn",
    "published_ddx_accuracies",
    "published_ddx_cases",
    "published_ddx_predictions",
    "simulators",
    "tempered_plackett_luce",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "DataError": ".data",
        "Labels": ".data",
        "PartialRankings": ".data",
        "catalog": "._catalog",
        "plackett_luce": ".rankings.plackett_luce",
        "prirn": ".rankings.prirn",
        "published_ddx_accuracies": ".data",
        "published_ddx_cases": ".data",
        "published_ddx_predictions": ".data",
        "simulators": ".simulators",
        "tempered_plackett_luce": ".rankings.tempered_plackett_luce",
    },
)
