"""Kinds of annotation, and the catalog of all models, collected from the `SPEC` at the end of the file of each."""

import ast
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import wraps
from inspect import signature
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal, cast
from weakref import WeakKeyDictionary

from .._messages import warn_user
from .data.errors import DataWarning


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
    default_of_tags: str | None = None  # default where answers are sets of tags
    # other models in a role, where there are such
    rater_model: str = ""  # raters differ, and err independently of each other
    divided_model: str = ""  # drawn by several workers
    sharing_model: str = ""  # raters of a group share errors
    power_curve_model: str = ""  # the law behind a survey power curve


_LAW_OF_VOTES = ("ties", "left_side", "left_bias", "signed", "groups", "independent", "strength")
_OF_ALL = ("anonymize", "drop_duplicates", "merge_look_alikes", "no_answer", "keep_answers")
_KINDS = (
    AnnotationKind(
        "rankings",
        "PartialRankings",
        "plackett_luce",
        ("categories", *_OF_ALL),
        rater_model="hierarchical_plackett_luce",
    ),
    AnnotationKind(
        "labels",
        "Labels",
        "correlated_votes",
        ("categories", "tags", "rater_attribute", *_OF_ALL),
        default_with_features="dawid_skene",
        default_of_tags="multi_label",
        rater_model="dawid_skene",
        divided_model="dawid_skene",
        sharing_model="shared_guess",
        power_curve_model="item_states",
    ),
    AnnotationKind(
        "comparisons",
        "Comparisons",
        "bradley_terry",
        (
            *_LAW_OF_VOTES,
            "raters",
            "rater_attribute",
            "vote_covariate",
            "largest_component",
            "levels",
            *_OF_ALL,
        ),
        _LAW_OF_VOTES,
    ),
    AnnotationKind(
        "scores",
        "Scores",
        "hierarchical_scores",
        ("bounds", "threshold", "rater_attribute", *_OF_ALL),
        default_of_anonymous="normal_scores",
        rater_model="hierarchical_scores",
        divided_model="normal_scores",
    ),
)
annotation_kinds: Mapping[str, AnnotationKind] = MappingProxyType({kind.name: kind for kind in _KINDS})

# values of `Spec.shared_errors` by which confusion matrices are averages over items of unequal difficulty
SHARED_ON_ITEMS = ("items", "kinds")


@dataclass(frozen=True, kw_only=True)
class Spec:
    """Facts of one model, written once at the end of its file.

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
    studies : mapping
        Studies for which the model is a good choice, each with a remark (Markdown) or "".
    assumes, needs, fails : str
        What the model believes, which data it needs, and where it misleads.
    remedy : str
        Advice where a check of the model fails.
    options : tuple of str
        Arguments of the builder that the command line offers for this model, besides those of its kind.
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
    effective_reliability : bool
        Whether ``reliability="effective"`` counts the rankings of an item by their effective number.
    raters_alike : bool
        Whether raters share one law, so that the posterior does not tell one from another.
    shared_errors : {"independent", "average", "groups", "kinds", "items"}, optional
        Errors of raters of labels given the true category: independent of each other; correlated to the same
        degree between all raters; shared in groups of raters; shared on kinds of items, or on items that are
        hard for all. None where no rater errs about a true category.

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
    studies: Mapping[str, str]
    assumes: str
    needs: str
    fails: str
    remedy: str = ""
    options: tuple[str, ...] = ()
    ties: tuple[str, ...] = ()
    needs_order: bool = False
    needs_groups: bool = False
    nuts_options: Mapping[str, Any] = field(default_factory=dict)
    nuts_thinning: int = 1
    marks: tuple[str, ...] = ()
    independent_items: bool = False
    distributed_sampler: str | None = None
    effective_reliability: bool = False
    raters_alike: bool = False
    shared_errors: Literal["independent", "average", "groups", "kinds", "items"] | None = None


def spec_of(file: Path) -> Spec | None:
    """Return the spec at the end of a model's file, or None without one.

    The literal arguments are read, not imported: a builder imports PyMC, which takes seconds, and the command line lists models,
    checks tables and prints its help without it.
    """
    _, found, arguments = file.read_text(encoding="utf-8").rpartition("\nSPEC = Spec(")
    if not found:
        return None
    call = cast(ast.Call, ast.parse(f"Spec({arguments}", mode="eval").body)
    return Spec(**{str(own.arg): ast.literal_eval(own.value) for own in call.keywords})


_FILES = (file for kind in annotation_kinds for file in Path(__file__).with_name(kind).glob("*.py"))
_SPECS = sorted((spec for file in _FILES if (spec := spec_of(file))), key=lambda spec: spec.name)
catalog: Mapping[str, Spec] = MappingProxyType({spec.name: spec for spec in _SPECS})

RECIPES: WeakKeyDictionary[Any, "Recipe"] = WeakKeyDictionary()
"""Recipe of each model that a builder built; the model may have been changed since."""


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
        if unknown := [name for name in kwargs if name not in parameters.parameters]:
            options = [*parameters.parameters][1:]
            near = get_close_matches(unknown[0], options, 1, 0.5)
            meant = f"did you mean {near[0]!r}? It takes" if near else "it takes"
            raise TypeError(
                f"{builder.__name__} has no argument {unknown[0]!r}; {meant} {', '.join(options)}"
            )
        model: Any = builder(*args, **kwargs)
        given = parameters.bind(*args, **kwargs)
        data: Any = next(iter(given.arguments.values()), None)
        stated = getattr(data, "probabilities", None)
        if "probability" not in parameters.parameters and stated is not None and (stated < 1).any():
            both = f"; {annotation_kinds['labels'].rater_model} reads both" * (len(data.categories) == 2)
            text = f"{builder.__name__} reads the labels, not the probabilities that raters state{both}"
            warn_user(text, DataWarning)
        given.apply_defaults()
        RECIPES[model] = Recipe(builder.__name__, dict(given.arguments), tuple(model.named_vars))
        return model

    return build


def shared_errors_of(tree: Any) -> str | None:
    """Return the errors that raters share by the model of a posterior, `Spec.shared_errors`; None outside the catalog."""
    spec = catalog.get(str(tree.attrs.get("model")))
    return None if spec is None else spec.shared_errors
