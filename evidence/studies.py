"""Studies: for every model of the catalog a small design, informative priors and the quantities to rank; others with few data."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.sort import argsort
from raterzoo import models
from raterzoo.models.distributions.marginal_labels import label_logp
from raterzoo.models.distributions.shared_guesses import guess_logp

from . import designs

__all__ = ["FEW_DATA", "STUDIES", "Study", "methods_of", "model_of"]

PRIOR_OF_SCORES = {"mean": 1.5, "mean_weight": 0.4, "shape": 1.7, "rate": 0.9}


@dataclass(frozen=True)
class Study:
    """A model on a small design.

    Attributes
    ----------
    name : str
        Name of the study: that of the model in the catalog, followed by the option that it is studied with, if any.
    design : str
        Design in words.
    data : callable
        Returns the design as a container; its annotations are replaced in every simulation.
    law : callable
        From that container to the model.
    derived : callable
        Quantities besides the free variables, see `JointLaw`.
    schedule : tuple of int
        Sweeps of our samplers before the first stored draw, and between stored draws.
    ranked : tuple of str, optional
        Free variables that are ranked; all by default.
    model : str, optional
        Name of the model in the catalog, if the study has another.
    methods : tuple of str, optional
        Methods that draw the model of this study, if they are not those of the catalog.
    """

    name: str
    design: str
    data: Callable[[], Any]
    law: Callable[[Any], pm.Model]
    derived: Callable[[pm.Model, Any], Mapping[str, Any]]
    schedule: tuple[int, int] = (200, 20)
    ranked: tuple[str, ...] | None = None
    model: str | None = None
    methods: tuple[str, ...] | None = None

    def build(self) -> pm.Model:
        """Build the model of the design."""
        return self.law(self.data())


def of_labels(model: pm.Model, answers: Any) -> dict[str, Any]:
    """Return the certainty of the first item and the accuracy of the first rater."""
    (observed,) = model.observed_RVs
    prevalence, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    nodes, n_labels = observed.owner.op.nodes, len(model.coords["answer"] or ())
    law = (start, rater * n_labels + pt.cast(answers, "int64"), known)
    state: Any = label_logp(prevalence, confusion, law, nodes)[1]
    found = {"certainty of item 0": state[0].max()}
    if nodes == 1:
        found["plausibility of item 0"] = state[0, 0]
        found["diagonal of rater 0"] = confusion[0, 0, 0]
        return found
    by_node = state[0].reshape((-1, nodes))
    return {
        "plausibility of item 0": by_node[0].sum(),
        "place of item 0": (by_node.sum(axis=0) * pt.arange(nodes)).sum(),
    }  # fmt: skip


def of_guesses(model: pm.Model, answers: Any) -> dict[str, Any]:
    """Return the certainty of the first item, and how often a guess and a rater who may copy are right."""
    (observed,) = model.observed_RVs
    *law, start, rater, group, known = observed.owner.op.dist_params(observed.owner)
    state: Any = guess_logp(*law, (start, rater, pt.cast(answers, "int64"), group, known))[1]
    confusion: Any = model["confusion"]
    return {
        "plausibility of item 0": state[0, 0],
        "certainty of item 0": state[0].max(),
        "diagonal of a copier": confusion[np.flatnonzero(group.data >= 0)[0], 0, 0],
    }


def of_effects(model: pm.Model, answers: Any) -> dict[str, Any]:
    """Return the quantities of labels and the average confusion of the first rater."""
    confusion: Any = model["confusion"]
    entry = confusion[0, 0, 0] if confusion.ndim == 3 else confusion[0, 0]
    return of_labels(model, answers) | {"average diagonal": entry}


def of_subtypes(model: pm.Model, answers: Any) -> dict[str, Any]:
    """Return quantities that are invariant to the order of the subtypes."""
    weight: Any = model["subtype_weight"]
    confusion: Any = model["subtype_confusion"]
    average: Any = model["confusion"]
    mean = average[0, 0, 0]
    return {
        "plausibility of item 0": of_labels(model, answers)["plausibility of item 0"],
        "average diagonal": mean,
        "sum of squared weights": (weight**2).sum(),
        "variance between subtypes": (weight[0] * (confusion[0, 0, :, 0] - mean) ** 2).sum(),
        "both raters wrong": (weight[0] * confusion[0, 0, :, 1] * confusion[1, 0, :, 1]).sum(),
    }


def of_populations(model: pm.Model, answers: Any) -> dict[str, Any]:
    """Return quantities that are invariant to the numbers of two populations, and of two categories."""
    (observed,) = model.observed_RVs
    joint, confusion, start, rater, known = observed.owner.op.dist_params(observed.owner)
    law = (start, rater * 2 + pt.cast(answers, "int64"), known)
    state: Any = label_logp(joint, confusion, law, 2)[1]
    membership: Any = model["membership"]
    return {
        "overlap": joint[0] + joint[3],
        "contested item 0": state[0, 1] + state[0, 2],
        "raters 0 and 1 in one population": pt.cast(pt.eq(membership[0], membership[1]), "float64"),
        "prevalence in both": joint[0] + (joint[1] + joint[2]) / 2,
    }


def of_thresholds(model: pm.Model, answers: Any) -> dict[str, Any]:
    """Return the quantities of labels, the first threshold and the prevalence."""
    threshold: Any = model["threshold"]
    prevalence: Any = model["prevalence"]
    return of_labels(model, answers) | {"threshold[0]": threshold[0], "prevalence[0]": prevalence[0]}  # fmt: skip


def of_items(model: pm.Model, answers: Any) -> dict[str, Any]:
    """Return the certainty of the first item."""
    plausibility: Any = model["plausibility"]
    return {"certainty of item 0": plausibility[0].max(), "sum of squares of item 0": (plausibility[0] ** 2).sum()}  # fmt: skip


def of_states(model: pm.Model, answers: Any) -> dict[str, Any]:
    """Return quantities that are invariant to the labels of the states: ordered states, and moments over them."""
    weight: Any = model["state_weight"]
    probability: Any = model["state_probability"]
    order: Any = argsort(probability[:, -1])
    mean = weight @ probability[:, 0]
    return {
        "probability of the lowest state": probability[order[0], -1],
        "probability of the highest state": probability[order[-1], -1],
        "weight of the lowest state": weight[order[0]],
        "mean probability": mean,
        "variance between states": weight @ (probability[:, 0] - mean) ** 2,
        "sum of squared weights": (weight**2).sum(),
    }


def of_places(variable: str) -> Callable[[pm.Model, Any], dict[str, Any]]:
    """Return a function that gives the rank of the first item by a variable, and its distance from the second."""

    def derived(model: pm.Model, answers: Any) -> dict[str, Any]:
        place: Any = model[variable]
        return {"rank of item 0": (place > place[0]).sum(), "item 0 less item 1": place[0] - place[1]}  # fmt: skip

    return derived


def _labels(
    name: str, categories: int = 2, items: int = 20, derived: Any = of_labels, **options: Any
) -> Study:
    return Study(
        name,
        f"{items} items, 4 raters, 3 answers an item, {categories} categories",
        lambda: designs.labels(categories, items),
        lambda data: getattr(models, name)(data, **options),
        derived,
    )


def _tree(items: int = 20, **options: Any) -> Study:
    design = f"{items} items, 4 raters, 3 answers an item, a tree of 4 leaves and 2 inner nodes, all answers leaves"
    return Study(
        "taxonomic",
        design,
        lambda: designs.tree_labels(items),
        lambda data: models.taxonomic(data, **options),
        of_labels,
    )


def _tags(items: int = 20, **options: Any) -> Study:
    return Study(
        "multi_label",
        f"{items} items, 4 raters, 3 answers an item, all sets of 2 tags",
        lambda: designs.tag_labels(items),
        lambda data: models.multi_label(data, **options),
        of_labels,
    )


def _featured(study: Study) -> Study:
    """Return the study of the same model with two features, which are correlated."""
    return replace(
        study,
        name=f"{study.name}_with_features",
        design=f"{study.design}, 2 features",
        law=lambda data: getattr(models, study.name)(
            data, features=designs.features(len(data.items)), **OF_FEATURES[study.name]
        ),
        model=study.name,
        methods=("nuts",),
    )


def _effects(name: str, derived: Any = of_effects) -> Study:
    return _labels(name, items=12, derived=derived)


def _guesses(items: int, **options: Any) -> Study:
    return Study(
        "shared_guess",
        f"{items} items, 2 people and 2 families of 2 judges, 4 answers an item, 2 categories",
        lambda: designs.grouped_labels(2, items),
        lambda data: models.shared_guess(data, "kind", "person", **options),
        of_guesses,
        (300, 30),
    )


def _states(items: int, weight: float, probability: float) -> Study:
    prior = {"weight_concentration": weight, "probability_concentration": probability}
    return Study(
        "item_states",
        f"{items} items, 3 labels of each, 2 states",
        lambda: designs.labels(2, items),
        lambda data: models.item_states(data, states=2, **prior),
        of_states,
        (500, 30),
        (),
    )


def _subtypes(items: int, **options: Any) -> Study:
    return Study(
        "ebcc",
        f"{items} items, 4 raters, 3 answers an item, 2 categories of 2 subtypes",
        lambda: designs.labels(2, items),
        lambda data: models.ebcc(data, subtypes=2, **options),
        of_subtypes,
        (400, 30),
        ("prevalence",),
    )


def _populations(items: int, **options: Any) -> Study:
    return Study(
        "cultural_consensus",
        f"{items} items, 4 raters of 2 populations, 3 answers an item, 2 categories",
        lambda: designs.labels(2, items),
        lambda data: models.cultural_consensus(data, **options),
        of_populations,
        (300, 30),
        ("ability",),
    )


def _comparisons(name: str, words: str, **options: Any) -> Study:
    return Study(
        name,
        f"27 votes of 3 raters on 4 items, {words}",
        designs.comparisons,
        lambda data: getattr(models, name)(data, **options),
        of_places("quality"),
        (50, 12),
    )


def _scores(design: str, data: Callable[[], Any]) -> Study:
    return Study(
        "hierarchical_scores",
        design,
        data,
        lambda scores: models.hierarchical_scores(scores, group="kind", mean=0.0, spread=1.0),
        of_places("location"),
        (300, 30),
    )


def scores_with_features(data: Any, features: Any = None) -> pm.Model:
    """Hierarchical scores with two features of the items, which are correlated, by default those of the study."""
    own = designs.features(len(data.items)) if features is None else features
    return models.hierarchical_scores(data, group="kind", mean=0.0, spread=1.0, features=own)


def _featured_scores(design: str, data: Callable[[], Any]) -> Study:
    return replace(
        _scores(f"{design}, 2 features", data),
        name="hierarchical_scores_with_features",
        law=scores_with_features,
        model="hierarchical_scores",
        methods=("gibbs", "nuts"),
    )


def _rankings(name: str, items: int = 2) -> Study:
    return Study(
        name,
        f"{items} items, 3 raters, partial rankings of 4 categories",
        lambda: designs.rankings(items),
        lambda data: getattr(models, name)(data, concentration=0.5, candidates="all"),
        of_items,
        (200, 10),
    )


def _shown_rankings(items: int = 2) -> Study:
    return replace(
        _rankings("plackett_luce"),
        name="plackett_luce_with_shown_sets",
        design=f"{items} items, 4 raters, each shown 3 of 4 categories, of which 1 or 2 are ranked",
        data=lambda: designs.shown_rankings(items),
        model="plackett_luce",
        methods=("gibbs",),
    )


def predicted_rankings(data: Any, concentration: float = 0.5) -> pm.Model:
    """Plackett-Luce with predictions."""
    options = {"prior_predictions": designs.predictions(data), "prediction_scale": 2.0}
    return models.plackett_luce(data, concentration=concentration, candidates="all", **options)


def predicted_labels(data: Any, concentration: float = 0.7) -> pm.Model:
    """Dirichlet counts with predictions."""
    return models.dirichlet(
        data, concentration=concentration, prior_predictions=designs.predictions(data), prediction_scale=2.0
    )


def votes_with_covariates(data: Any, sign: float = 1.0) -> pm.Model:
    """Bradley-Terry with ties, and two covariates of each vote; `sign` turns the first."""
    rng, table = np.random.default_rng(1), data.to_table()
    names = ("rater", "left", "right", "winner")
    votes = {name: np.repeat(np.asarray(table[name]), data.count).tolist() for name in names}
    covariates = {"length": sign * rng.normal(size=len(data)), "style": rng.integers(-1, 2, len(data))}
    return models.bradley_terry(data, ties="davidson", vote_covariates=votes | covariates)


def votes_with_taste(data: Any, groups: str = "abb") -> pm.Model:
    """Bradley-Terry with ties, whose raters of group b share a taste; `groups` has a letter for each rater."""
    return models.bradley_terry(data, ties="davidson", groups=list(groups), independent="a")


def votes_with_strength(data: Any) -> pm.Model:
    """Bradley-Terry of votes on a scale, whose strength has a weight."""
    return models.bradley_terry(data, strength="weighted")


def scores_with_shared_bias(data: Any, groups: str = "abaab") -> pm.Model:
    """Hierarchical scores whose raters of group b share a bias on each item; `groups` has a letter for each rater."""
    return models.hierarchical_scores(data, mean=0.0, spread=1.0, groups=list(groups), independent="a")


def guesses_with_random_shares(data: Any, size: float = 16.0) -> pm.Model:
    """Shared guesses whose shares follow a Beta law of random mean and size, which hardly ever rounds one to 0 or 1.

    By the law of ``shared_concentration="learned"`` some prior draws are 1 in double precision, where NUTS cannot start.
    """
    with pm.Model() as model:
        mean: Any = pm.Beta("shared_mean", 4.0, 4.0)
        total: Any = pm.Gamma("shared_size", size, 2.0)
        pair = mean * total, (1 - mean) * total
        models.shared_guess(data, "kind", "person", prevalence_concentration=2.0, shared_concentration=pair)
    return model


def _by_nuts(
    model: str,
    option: str,
    design: str,
    data: Callable[[], Any],
    law: Callable[..., pm.Model],
    of: Callable[..., Any],
) -> Study:
    """Return the study of a model with an option that only NUTS draws."""
    return Study(f"{model}_with_{option}", design, data, law, of, model=model, methods=("nuts",))


def _predicted_counts(design: str, data: Callable[[], Any]) -> Study:
    return Study(
        "dirichlet_with_predictions", design, data, predicted_labels, of_items, model="dirichlet", methods=WITH_STRENGTH,
        schedule=(200, 10),
    )  # fmt: skip


def _predicted_rankings(items: int, design: str) -> Study:
    alone = _rankings("plackett_luce", items)
    return replace(
        alone,
        name="plackett_luce_with_predictions",
        design=f"{alone.design}, {design}",
        law=predicted_rankings,
        schedule=(300, 20),
        model=alone.name,
        methods=WITH_STRENGTH,
    )


WITH_STRENGTH = ("gibbs", "nuts")  # methods that draw the strength of predictions

OF_FEATURES: Mapping[str, Mapping[str, Any]] = {
    "dawid_skene": {"prevalence_concentration": 2.0},
    "shared_guess": {
        "groups": "kind", "independent": "person", "prevalence_concentration": 2.0, "shared_concentration": (2.0, 1.5),
    },
}  # fmt: skip
"""Arguments of the models that are studied with features."""


def _in_time(name: str, categories: int, items: int = 12, **priors: Any) -> Study:
    """Return the study of a model whose raters change."""
    return Study(
        f"{name}_with_time",
        f"{items} items, 3 raters, 3 windows of their answers, {categories} categories",
        lambda: designs.timed_labels(categories, items),
        lambda data: getattr(models, name)(data, time=3, **priors),
        lambda model, answers: (
            of_labels(model, answers) | {"last skill": cast(Any, model["skill"])[0, 2].sum()}
        ),
        model=name,
        methods=("gibbs", "nuts"),
    )


def _responses(items: int, **options: Any) -> Study:
    """Return the study of models whose answers a key-maker judges."""
    study = _labels("item_response", 3, items, of_effects, key_makers=(0,), **options)
    return replace(study, design=f"{items} items, 3 models and a key-maker, 3 answers an item, 3 categories")


STUDIES: Mapping[str, Study] = {
    study.name: study
    for study in (
        _comparisons("bradley_terry", "with ties", ties="davidson"),
        _labels("class_conditional", 3),
        _labels("correlated_votes", confusion_concentration=None, prevalence_concentration=2.0, vote_correlation=(2.0, 3.0)),
        _populations(20),
        _labels("dawid_skene", prevalence_concentration=2.0),
        Study(
            "dirichlet",
            "1 to 5 labels of an item, 3 categories",
            lambda: designs.many_labels(3),
            lambda data: models.dirichlet(data, concentration=0.7),
            of_items,
        ),
        _subtypes(20, prevalence_concentration=2.0),
        # by the default prior there often is a second mode, where all categories are exchanged, that NUTS does not reach
        replace(
            _labels("glad", items=12, derived=of_effects, ability=(2.0, 0.7)),
            design="12 items, 4 raters, 3 answers an item, 2 categories, abilities that are mostly positive",
        ),
        _labels("hierarchical_dawid_skene"),
        replace(_rankings("hierarchical_plackett_luce"), schedule=(300, 30)),
        _scores("7 items, 5 raters of 2 groups, 3 scores an item", designs.scores),
        _effects("item_difficulty"),
        _responses(12, ability=(0.5, 1.0), prevalence_concentration=2.0),
        _states(20, 2.0, 1.0),
        _effects("logistic_random_effects"),
        _labels("mace", prevalence_concentration=2.0),
        _tags(skill_concentration=(6.0, 6.0), strength=(2.5, 0.5)),  # rates that round to 1 have no log odds
        _labels("multinomial", 3),
        Study(
            "normal_scores",
            "1 to 4 scores of an item",
            lambda: designs.many_scores(4),
            lambda data: models.normal_scores(data, **PRIOR_OF_SCORES),
            of_places("location"),
        ),
        _labels("one_coin", 3),
        _labels("ordinal", 3, items=12, derived=of_thresholds),
        _rankings("plackett_luce"),
        Study(
            "prirn",
            "3 raters, partial rankings of 4 categories",
            designs.rankings,
            lambda data: models.prirn(data, reliability=3.0, smoothing=0.2),
            of_items,
        ),
        _guesses(12, prevalence_concentration=2.0, shared_concentration=(2.0, 1.5)),
        _tree(prevalence_concentration=2.0),
        _rankings("tempered_plackett_luce"),
        _comparisons("thurstone", "with a side that may have an advantage", left_bias=True),
        _featured(_labels("dawid_skene", 3)),
        _featured(_guesses(12)),
        _predicted_counts(
            "12 items, 1 to 5 labels each, 3 categories, predictions of 11 items", lambda: designs.many_labels(12)
        ),
        _by_nuts(
            "bradley_terry",
            "vote_covariates",
            "27 votes of 3 raters on 4 items, with ties and 2 covariates of each vote",
            designs.comparisons,
            votes_with_covariates,
            of_places("quality"),
        ),
        _predicted_rankings(4, "predictions of 3 items"),
        _shown_rankings(),
        _in_time("dawid_skene", 3, prevalence_concentration=2.0),
        _in_time("one_coin", 2, prevalence_concentration=2.0),
        _by_nuts(
            "shared_guess",
            "random_shares",
            "12 items, 2 people and 2 families of 2 judges, 4 answers an item, 2 categories, random mean and size of the shares",
            lambda: designs.grouped_labels(2, 12),
            guesses_with_random_shares,
            of_guesses,
        ),
        _by_nuts(
            "bradley_terry",
            "taste",
            "180 votes of 3 raters on 4 items, with ties and a taste that 2 raters share",
            designs.many_comparisons,
            votes_with_taste,
            of_places("quality"),
        ),
        _by_nuts(
            "bradley_terry",
            "strength",
            "108 votes of 3 raters on 4 items, on a scale of 4 levels whose strength has a weight",
            designs.graded_comparisons,
            votes_with_strength,
            of_places("quality"),
        ),
        _by_nuts(
            "hierarchical_scores",
            "shared_bias",
            "7 items, 5 raters of whom 2 share a bias, 3 scores an item",
            designs.scores,
            scores_with_shared_bias,
            of_places("location"),
        ),
        _featured_scores("7 items, 5 raters of 2 groups, 3 scores an item", designs.scores),
    )
}  # fmt: skip

WEAK = {"prevalence_concentration": 0.8}
WEAK_ROWS = [[1.2, 0.6], [0.6, 1.2]]
ABILITIES = WEAK | {"ability_concentration": (1.2, 0.6)}

FEW_DATA: Mapping[str, Study] = {
    study.name: study
    for study in (
        _labels("class_conditional", 3, 5, **ABILITIES),
        _labels("correlated_votes", 2, 5, confusion_concentration=WEAK_ROWS, vote_correlation=(1.2, 0.8), **WEAK),
        _populations(5, overlap_concentration=(1.2, 0.8), share_concentration=0.7, ability_concentration=(1.2, 0.6)),
        _labels("dawid_skene", 2, 5, confusion_concentration=WEAK_ROWS, **WEAK),
        _subtypes(5, subtype_concentration=0.7, confusion_concentration=WEAK_ROWS, **WEAK),
        _scores("4 items, 12 raters of 2 groups, 3 scores an item", designs.few_scores),
        _featured_scores("4 items, 12 raters of 2 groups, 3 scores an item", designs.few_scores),
        _states(5, 0.8, 0.6),
        _in_time("dawid_skene", 2, 3, confusion_concentration=WEAK_ROWS, **WEAK),
        _in_time("one_coin", 2, 3, **ABILITIES),
        _responses(5, ability=(0.3, 1.0), key_reliability=(1.2, 0.6), **WEAK),
        _labels("mace", 2, 5, competence_concentration=(1.2, 0.6), spam_concentration=0.8, **WEAK),
        _tags(5, skill_concentration=(2.0, 4.0), strength=(3.0, 0.3), log_odds_ratio=(0.5, 0.7)),
        _labels("multinomial", 3, 5, confusion_concentration=0.6, **WEAK),
        _labels("one_coin", 3, 5, **ABILITIES),
        _labels("ordinal", 3, 5, of_thresholds),
        _tree(5, nearness_concentration=(1.2, 0.7), **ABILITIES),
        replace(_rankings("hierarchical_plackett_luce", 1), schedule=(300, 30)),
        _rankings("plackett_luce", 1),
        _guesses(5, confusion_concentration=WEAK_ROWS, guess_concentration=WEAK_ROWS, shared_concentration=(1.2, 0.8), **WEAK),
        _predicted_counts("3 items, 1 label each, 3 categories, predictions of 2 items", lambda: designs.few_labels(3)),
        _predicted_rankings(2, "predictions of 1 item"),
        _shown_rankings(1),
    )
}  # fmt: skip
"""Designs with few data and weak priors, on which a wrong prior has the largest effect: one for each Gibbs sampler."""


def model_of(name: str) -> str:
    """Return the name in the catalog of the model of a study."""
    return STUDIES[name].model or name


def methods_of(name: str) -> tuple[str, ...]:
    """Return the methods that draw the model of a study."""
    return STUDIES[name].methods or models.catalog[model_of(name)].methods
