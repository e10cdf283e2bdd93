"""Annotation data, models of annotations (builders of a `pymc.Model`) and simulators."""

from typing import TYPE_CHECKING

from .._exports import lazy_exports

if TYPE_CHECKING:
    from . import simulators as simulators
    from ._catalog import catalog as catalog
    from .comparisons.bradley_terry import bradley_terry as bradley_terry
    from .comparisons.thurstone import thurstone as thurstone
    from .data import Comparisons as Comparisons
    from .data import DataError as DataError
    from .data import DataWarning as DataWarning
    from .data import Labels as Labels
    from .data import PartialRankings as PartialRankings
    from .data import Scores as Scores
    from .data import published_ddx_accuracies as published_ddx_accuracies
    from .data import published_ddx_cases as published_ddx_cases
    from .data import published_ddx_predictions as published_ddx_predictions
    from .labels.class_conditional import class_conditional as class_conditional
    from .labels.dawid_skene import dawid_skene as dawid_skene
    from .labels.dirichlet import dirichlet as dirichlet
    from .labels.glad import glad as glad
    from .labels.hierarchical_dawid_skene import (
        hierarchical_dawid_skene as hierarchical_dawid_skene,
    )
    from .labels.item_difficulty import item_difficulty as item_difficulty
    from .labels.item_states import item_states as item_states
    from .labels.logistic_random_effects import (
        logistic_random_effects as logistic_random_effects,
    )
    from .labels.mace import mace as mace
    from .labels.multinomial import multinomial as multinomial
    from .labels.one_coin import one_coin as one_coin
    from .labels.ordinal import ordinal as ordinal
    from .rankings.plackett_luce import plackett_luce as plackett_luce
    from .rankings.prirn import prirn as prirn
    from .rankings.tempered_plackett_luce import tempered_plackett_luce as tempered_plackett_luce
    from .scores.hierarchical import hierarchical_scores as hierarchical_scores
    from .scores.normal import normal_scores as normal_scores

__all__ = [
    "Comparisons",
    "DataError",
    "DataWarning",
    "Labels",
    "PartialRankings",
    "Scores",
    "bradley_terry",
    "catalog",
    "class_conditional",
    "dawid_skene",
    "dirichlet",
    "glad",
    "hierarchical_dawid_skene",
    "hierarchical_scores",
    "item_difficulty",
    "item_states",
    "logistic_random_effects",
    "mace",
    "multinomial",
    "normal_scores",
    "one_coin",
    "ordinal",
    "plackett_luce",
    "prirn",
    "published_ddx_accuracies",
    "published_ddx_cases",
    "published_ddx_predictions",
    "simulators",
    "tempered_plackett_luce",
    "thurstone",
]

__getattr__, __dir__ = lazy_exports(
    __name__,
    {
        "Comparisons": ".data",
        "DataError": ".data",
        "DataWarning": ".data",
        "Labels": ".data",
        "PartialRankings": ".data",
        "Scores": ".data",
        "bradley_terry": ".comparisons.bradley_terry",
        "catalog": "._catalog",
        "class_conditional": ".labels.class_conditional",
        "dawid_skene": ".labels.dawid_skene",
        "dirichlet": ".labels.dirichlet",
        "glad": ".labels.glad",
        "hierarchical_dawid_skene": ".labels.hierarchical_dawid_skene",
        "hierarchical_scores": ".scores.hierarchical",
        "item_difficulty": ".labels.item_difficulty",
        "item_states": ".labels.item_states",
        "logistic_random_effects": ".labels.logistic_random_effects",
        "mace": ".labels.mace",
        "multinomial": ".labels.multinomial",
        "normal_scores": ".scores.normal",
        "one_coin": ".labels.one_coin",
        "ordinal": ".labels.ordinal",
        "plackett_luce": ".rankings.plackett_luce",
        "prirn": ".rankings.prirn",
        "published_ddx_accuracies": ".data",
        "published_ddx_cases": ".data",
        "published_ddx_predictions": ".data",
        "simulators": ".simulators",
        "tempered_plackett_luce": ".rankings.tempered_plackett_luce",
        "thurstone": ".comparisons.thurstone",
    },
)
