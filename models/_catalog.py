"""Catalog of all models: data, methods, options and reference of each; the only list of the models."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import wraps
from inspect import signature
from types import MappingProxyType
from typing import Any
from weakref import WeakKeyDictionary


@dataclass(frozen=True)
class AnnotationKind:
    """Kind of annotation."""

    name: str  # on the command line
    container: str  # name of the class in `raterzoo.models`
    default_model: str  # of the command line without ``--model``
    options: tuple[str, ...]  # of the command line, for every model of this kind
    arguments: tuple[str, ...] = ()  # options that are arguments of the builders
    default_of_anonymous: str | None = (
        None  # default where no rater is named, if the other default needs names
    )
    default_with_features: str | None = (
        None  # default where items have features, if the other default takes none
    )


_LAW_OF_VOTES = ("ties", "left_side", "left_bias", "signed", "groups", "independent")
_OF_ALL = ("anonymize", "drop_duplicates", "merge_look_alikes")
_KINDS = (
    AnnotationKind("rankings", "PartialRankings", "plackett_luce", ("categories", *_OF_ALL)),
    AnnotationKind(
        "labels",
        "Labels",
        "correlated_votes",
        ("categories", "rater_attribute", *_OF_ALL),
        default_with_features="dawid_skene",
    ),
    AnnotationKind(
        "comparisons",
        "Comparisons",
        "bradley_terry",
        (*_LAW_OF_VOTES, "raters", "rater_attribute", "vote_covariate", "largest_component", *_OF_ALL),
        _LAW_OF_VOTES,
    ),
    AnnotationKind(
        "scores",
        "Scores",
        "hierarchical_scores",
        ("bounds", "threshold", "rater_attribute", *_OF_ALL),
        default_of_anonymous="normal_scores",
    ),
)
annotation_kinds: Mapping[str, AnnotationKind] = MappingProxyType({kind.name: kind for kind in _KINDS})


@dataclass(frozen=True)
class CatalogEntry:
    """Entry of one model in the catalog.

    Attributes
    ----------
    name : str
        Name of the builder in `raterzoo.models`.
    summary : str
        The model in one line.
    data : {"rankings", "labels", "comparisons", "scores"}
        Kind of annotation, a key of `annotation_kinds`.
    methods : tuple of str
        Methods of `raterzoo.inference.sample` for this model; ``method="auto"`` takes the first.
    reference : str
        Paper, with section and identifier.
    options : tuple of str
        Arguments of the builder that the command line offers for this model, besides those of its kind.
    default_reliability : int
        Reliability of the annotations by default on the command line; builders have 1.
    ties : tuple of str
        Values of the argument `ties`, for comparisons.
    needs_order : bool
        Whether the builder needs the order of the categories, as argument ``order``.
    needs_groups : bool
        Whether the builder needs an attribute of the raters for its argument ``groups``.
    nuts_options : mapping
        Default options of `pymc.sample`.
    nuts_thinning : int
        NUTS draws for each kept draw by default: runs of default length on 5,000 answers then converge.
    marks : tuple of str
        Variables by which a changed model is recognised (label models drawn by NUTS); of several models whose
        variables are all there, that with the most.
    independent_items : bool
        Whether the posterior is a product over items: the first method can draw shards of items separately.
    distributed_sampler : str or None
        Function of `raterzoo.inference` that divides one posterior of all items among workers.
    averages_hard_items : bool
        Whether the confusion matrices are averages over items of unequal difficulty.
    raters_alike : bool
        Whether raters of labels share one law, so that the posterior does not tell one from another.
    independent_raters : bool
        Whether raters err independently of each other given the true category, whatever the item.

    Examples
    --------
    >>> from raterzoo import models
    >>> entry = models.catalog["dawid_skene"]
    >>> entry.data, entry.methods
    ('labels', ('gibbs', 'nuts'))
    >>> [name for name, entry in models.catalog.items() if entry.data == "scores"]
    ['hierarchical_scores', 'normal_scores']
    """

    name: str
    summary: str
    data: str
    methods: tuple[str, ...]
    reference: str
    options: tuple[str, ...] = ()
    default_reliability: int = 1
    ties: tuple[str, ...] = ()
    needs_order: bool = False
    needs_groups: bool = False
    nuts_options: Mapping[str, Any] = field(default_factory=dict)
    nuts_thinning: int = 1
    marks: tuple[str, ...] = ()
    independent_items: bool = False
    distributed_sampler: str | None = None
    averages_hard_items: bool = False
    raters_alike: bool = False
    independent_raters: bool = False


_PAPER = "Stutz et al. 2025, arXiv:2307.02191"

_ENTRIES = (
    CatalogEntry(
        name="bradley_terry",
        summary="Comparisons won by a logistic law of quality, with raters of unequal reliability and ties",
        data="comparisons",
        methods=("hmc", "nuts"),
        reference="Bradley and Terry 1952, doi:10.1093/biomet/39.3-4.324; ties: Davidson 1970",
        ties=("auto", "davidson", "none"),
        nuts_thinning=2,  # with a taste that judges share, reliability and scale lie along a ridge
    ),
    CatalogEntry(
        name="class_conditional",
        summary="Raters with one ability for each true category; other labels are alike",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Li and Yu 2014, arXiv:1411.4086, section 2.2",
        independent_raters=True,
    ),
    CatalogEntry(
        name="correlated_votes",
        summary="Dawid-Skene whose answers to an item count by their effective number: raters err together",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Dawid and Skene 1979, doi:10.2307/2346806; Kish 1965, section 8.2",
        marks=("vote_correlation", "independent_plausibility"),
    ),
    CatalogEntry(
        name="dawid_skene",
        summary="Raters with a confusion matrix each, the true category summed out",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Dawid and Skene 1979, doi:10.2307/2346806",
        options=("features",),
        distributed_sampler="dawid_skene_gibbs",
        independent_raters=True,
    ),
    CatalogEntry(
        name="dirichlet",
        summary="Counts of labels as draws from the plausibilities; raters are alike",
        data="labels",
        methods=("exact", "nuts"),
        reference=f"{_PAPER}, appendix A",
        options=("reliability", "concentration", "prior_predictions", "classifier"),
        independent_items=True,
        raters_alike=True,
    ),
    CatalogEntry(
        name="ebcc",
        summary="Categories with subtypes of items, on which raters err together: a confusion matrix each for every subtype",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Li, Rubinstein and Cohn 2019, ICML, PMLR 97, section 4",
        options=("subtypes",),
        marks=("subtype_weight",),
        averages_hard_items=True,
    ),
    CatalogEntry(
        name="glad",
        summary="Raters with an ability and items with a difficulty, which is summed out; other labels are alike",
        data="labels",
        methods=("nuts",),
        reference="Whitehill et al. 2009, NIPS 22, sections 2 and 3",
        marks=("expected_difficulty",),
        averages_hard_items=True,
    ),
    CatalogEntry(
        name="hierarchical_dawid_skene",
        summary="Dawid-Skene whose confusion matrices come from a population of raters",
        data="labels",
        methods=("nuts",),
        reference="Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.3",
        options=("group", "features"),
        nuts_options={"target_accept": 0.9},  # spreads are small where raters hardly differ
        nuts_thinning=2,
        marks=("population_mean",),
        independent_raters=True,
    ),
    CatalogEntry(
        name="hierarchical_plackett_luce",
        summary="Plackett-Luce whose worths are raised to a reliability of each rater, learnt, from a population of raters",
        data="rankings",
        methods=("gibbs", "nuts"),
        reference=f"{_PAPER}, appendix B; raters: Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.3",
        options=("concentration", "unranked"),
        nuts_options={"target_accept": 0.9},  # spread and deviations, level of reliability and worths
    ),
    CatalogEntry(
        name="hierarchical_scores",
        summary="Scores by raters with a bias and a scale of their own, from populations or groups of raters",
        data="scores",
        methods=("gibbs", "nuts"),
        reference="Papaspiliopoulos et al. 2020, doi:10.1093/biomet/asz058",
        options=("group", "groups", "independent", "features"),
    ),
    CatalogEntry(
        name="item_difficulty",
        summary="Items that differ around the label probabilities of their category; raters are alike",
        data="labels",
        methods=("nuts",),
        reference="Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.4",
        nuts_options={"target_accept": 0.95},  # effects and prevalence lie along a curved ridge
        nuts_thinning=4,
        marks=("effect_mean",),
        raters_alike=True,
    ),
    CatalogEntry(
        name="item_states",
        summary="Items in one of a few states with label probabilities of their own: the law behind a survey power curve",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Resnick et al. 2021, arXiv:2106.01254, sections 4 and 7",
        raters_alike=True,
    ),
    CatalogEntry(
        name="logistic_random_effects",
        summary="Raters with log odds from a population, and items that are harder or easier for all of them",
        data="labels",
        methods=("nuts",),
        reference="Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.5",
        nuts_options={"target_accept": 0.95},  # effects and prevalence lie along a curved ridge
        nuts_thinning=2,
        marks=("effect_spread", "population_mean"),
        averages_hard_items=True,
    ),
    CatalogEntry(
        name="mace",
        summary="Raters who tell the true category or spam, each with a competence and a way to spam",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Hovy et al. 2013, aclanthology N13-1132, section 2",
        options=("features",),
        marks=("competence",),
        independent_raters=True,
    ),
    CatalogEntry(
        name="multinomial",
        summary="One confusion matrix that all raters share, the true category summed out",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Paun et al. 2018, doi:10.1162/tacl_a_00040, section 3.1",
        independent_raters=True,
        raters_alike=True,
    ),
    CatalogEntry(
        name="normal_scores",
        summary="Scores of an item as normal draws about its location; raters are alike",
        data="scores",
        methods=("exact", "nuts"),
        reference=f"{_PAPER}, appendix A",
        independent_items=True,
    ),
    CatalogEntry(
        name="one_coin",
        summary="Raters with one ability each; other labels are alike",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Zhang et al. 2016, arXiv:1406.3824, section 2",
        options=("features",),
        independent_raters=True,
    ),
    CatalogEntry(
        name="ordinal",
        summary="Ordered labels, cut from the item's place on a scale by thresholds and scale of each rater",
        data="labels",
        methods=("nuts",),
        reference="Samejima 1969 (graded response); raters: Johnson 1996, doi:10.1080/01621459.1996.10476661",
        needs_order=True,
        nuts_options={"target_accept": 0.9},  # spreads are small where raters hardly differ
        marks=("threshold",),
        averages_hard_items=True,
    ),
    CatalogEntry(
        name="plackett_luce",
        summary="Partial rankings with ties, drawn category by category in proportion to worth",
        data="rankings",
        methods=("gibbs", "nuts"),
        reference=f"{_PAPER}, section 2.4; Caron and Doucet 2012, doi:10.1080/10618600.2012.638220",
        options=("reliability", "concentration", "unranked", "prior_predictions", "classifier"),
        default_reliability=3,
        independent_items=True,
        raters_alike=True,
    ),
    CatalogEntry(
        name="prirn",
        summary="Dirichlet around the inverse-rank scores of the raters (no likelihood)",
        data="rankings",
        methods=("exact",),
        reference=f"{_PAPER}, section 2.4",
        options=("reliability", "tie_weight"),
        default_reliability=3,
        independent_items=True,
        raters_alike=True,
    ),
    CatalogEntry(
        name="shared_guess",
        summary="Raters with a confusion matrix each, of whom groups copy a guess that they share, and so share errors",
        data="labels",
        methods=("gibbs", "nuts"),
        reference="Dawid and Skene 1979, doi:10.2307/2346806; dependence: Li et al. 2019, ICML, section 3",
        options=("groups", "independent", "features"),
        needs_groups=True,
        nuts_options={"target_accept": 0.9},
        marks=("own_confusion", "shared"),
    ),
    CatalogEntry(
        name="tempered_plackett_luce",
        summary="Plackett-Luce whose worths are raised to the reliability of the rater",
        data="rankings",
        methods=("nuts",),
        reference=f"{_PAPER}, appendix B",
        options=("reliability", "concentration", "unranked"),
        default_reliability=3,
        raters_alike=True,
    ),
    CatalogEntry(
        name="thurstone",
        summary="Comparisons won by a normal law of quality, with raters of unequal reliability and ties",
        data="comparisons",
        methods=("hmc", "nuts"),
        reference="Thurstone 1927, doi:10.1037/h0070288; ties: Glenn and David 1960",
        ties=("auto", "threshold", "none"),
        nuts_thinning=2,
    ),
)
catalog: Mapping[str, CatalogEntry] = MappingProxyType({entry.name: entry for entry in _ENTRIES})

RECIPES: WeakKeyDictionary[Any, "Recipe"] = WeakKeyDictionary()


@dataclass(frozen=True)
class Recipe:
    """Name of a builder of `raterzoo.models`, its arguments with defaults filled in, and the variables it made."""

    builder: str
    arguments: Mapping[str, Any]
    variables: tuple[str, ...]


def recorded[**P, M](builder: Callable[P, M]) -> Callable[P, M]:
    """Decorate a builder: a `Recipe` of each model that it builds is kept as long as the model is."""
    parameters = signature(builder)

    @wraps(builder)
    def build(*args: P.args, **kwargs: P.kwargs) -> M:
        model: Any = builder(*args, **kwargs)
        given = parameters.bind(*args, **kwargs)
        given.apply_defaults()
        RECIPES[model] = Recipe(builder.__name__, dict(given.arguments), tuple(model.named_vars))
        return model

    return build


def recipe_of(model: object) -> Recipe | None:
    """Recipe of a model, or None if none was recorded; the model may have been changed since."""
    return RECIPES.get(model)


def entry_of(model: Any) -> CatalogEntry | None:
    """Entry of a model of the catalog whose variables are those of its builder; None for any other."""
    recipe = recipe_of(model)
    if recipe is None or recipe.variables != tuple(model.named_vars):
        return None
    return catalog.get(recipe.builder)
