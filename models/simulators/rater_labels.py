"""Simulator of labels: one generative law for each model of labels."""

import warnings
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations
from statistics import NormalDist
from typing import Literal, NamedTuple

import numpy as np

from .._prior_arguments import confusion_concentrations
from ..data.errors import DataWarning
from ..data.labels import Labels
from ..data.reading.tag_sets import bits_of_sets, tag_sets
from .partial_rankings import normalised
from .simulated import KINDS, LARGEST, SMALLEST, Simulated, check_numbers, check_whole, draw_columns, families

RIGHT_LOG_ODDS = 2.0  # mean log odds of the right label against each other one
SUBTYPES = 3  # of each category
OF_ALL_FEATURES = 2.0  # standard deviation of the log odds of an item by its features
SCALE, SCALE_SD, INCREMENT_SD, SPREAD = 0.55, 0.5, 0.75, 0.5  # of ordinal raters


class Design(NamedTuple):
    """Item and rater of each annotation, and the prevalence."""

    item: np.ndarray  # int (annotation,)
    rater: np.ndarray  # int (annotation,)
    items: int
    raters: int
    prevalence: np.ndarray  # (category,)
    log_odds: np.ndarray | None = None  # (item, category), of the features


Law = tuple[dict[str, np.ndarray], np.ndarray]  # truth, label probabilities (annotation, label)


def _mace(rng: np.random.Generator, design: Design) -> Law:
    """MACE: raters answer correctly with probability competence, and otherwise spam."""
    n = len(design.prevalence)
    competence, spam = rng.beta(2.0, 1.0, design.raters), rng.dirichlet(np.ones(n), design.raters)
    known, truth = _true_categories(rng, design)
    right = competence[:, None, None]
    confusion = right * np.eye(n) + (1 - right) * spam[:, None]
    truth |= {"competence": competence, "spam": spam, "confusion": confusion}
    return truth, confusion[design.rater, known]


def _shared_guess(rng: np.random.Generator, design: Design) -> Law:
    """Shared guess: people err on their own; judges of a family copy its guess, or answer for themselves."""
    n, group = len(design.prevalence), families(design.raters)
    own, guess = (
        dirichlet_rows(rng, confusion_concentrations(n), count) for count in (design.raters, group.max() + 1)
    )
    shared = np.where(group >= 0, rng.uniform(size=design.raters), 0.0)
    known, truth = _true_categories(rng, design)
    guesses = np.stack([draw_columns(rng, each[truth["true_category"]]) for each in guess], axis=1)
    copied, of = shared[:, None, None], np.maximum(group, 0)
    confusion = copied * guess[of] + (1 - copied) * own
    truth |= {
        "own_confusion": own,
        "guess": guess,
        "shared": shared,
        "confusion": confusion,
        "guesses": guesses,
    }
    said = np.eye(n)[guesses[design.item, of[design.rater]]]
    return truth, copied[design.rater, 0] * said + (1 - copied[design.rater, 0]) * own[design.rater, known]


def _glad(rng: np.random.Generator, design: Design) -> Law:
    """GLAD: raters with abilities, items with an easiness."""
    ability, easiness = rng.normal(1, 1, design.raters), np.exp(rng.normal(1, 1, design.items))
    known, truth = _true_categories(rng, design)
    right = _logistic(ability[design.rater] * easiness[design.item])[:, None]
    n = len(design.prevalence)
    law = np.where(known[:, None] == np.arange(n), right, (1 - right) / (n - 1))
    return truth | {"ability": ability, "easiness": easiness}, law


def _item_response(rng: np.random.Generator, design: Design) -> Law:
    """Item response: models with abilities, items with a difficulty, and a published key of them all with errors."""
    n = len(design.prevalence)
    ability, spread = rng.normal(0, 2, design.raters), np.abs(rng.normal(0, 2))
    difficulty, reliability = rng.normal(0, spread, design.items), rng.beta(19.0, 1.0)
    known, truth = _true_categories(rng, design)
    right = _logistic(ability[design.rater] - difficulty[design.item])[:, None]
    law = np.where(known[:, None] == np.arange(n), right, (1 - right) / (n - 1))
    other = (truth["true_category"] + rng.integers(1, n, design.items)) % n
    key = np.where(rng.random(design.items) < reliability, truth["true_category"], other)
    truth |= {"ability": ability, "difficulty": difficulty, "difficulty_spread": np.array(spread), "key": key}
    return truth | {"key_reliability": np.array(reliability)}, law


def _cultural_consensus(rng: np.random.Generator, design: Design) -> Law:
    """Cultural consensus: two populations of raters, each with a truth of every item; the first has most raters."""
    n = len(design.prevalence)
    joint = rng.dirichlet(np.where(np.eye(n, dtype=bool), 4 / n, 1 / (n * (n - 1))).ravel())
    ability = rng.beta(RIGHT, WRONG, design.raters)
    membership = (rng.random(design.raters) < rng.beta(5.0, 5.0)).astype(np.int64)
    drawn = rng.choice(n * n, design.items, p=joint)
    truths = np.stack([drawn // n, drawn % n], axis=1)
    if 2 * membership.sum() > design.raters:
        membership, truths, joint = 1 - membership, truths[:, ::-1], joint.reshape(n, n).T.ravel()
    known, right = truths[design.item, membership[design.rater]], ability[design.rater, None]
    law = np.where(known[:, None] == np.arange(n), right, (1 - right) / (n - 1))
    truth = {
        "prevalence": joint.reshape(n, n).sum(axis=1),
        "true_category": truths[:, 0],
        "true_categories": truths,
    }
    return truth | {"joint_prevalence": joint, "membership": membership, "ability": ability}, law


def _item_difficulty(rng: np.random.Generator, design: Design) -> Law:
    """Item difficulty: log odds of an item vary about those of its category, the same for all raters."""
    mean = _mean_log_odds(rng, len(design.prevalence))
    spread = np.abs(rng.standard_normal(mean.shape))
    _, truth = _true_categories(rng, design)
    own = truth["true_category"]
    effect = rng.normal(mean[own], spread[own])
    truth |= {"effect_mean": mean, "effect_spread": spread, "effect": effect}
    return truth, _probability(effect[design.item])


def _logistic_random_effects(rng: np.random.Generator, design: Design) -> Law:
    """Logistic random effects: log odds of raters from a population, minus the item effect."""
    mean = _mean_log_odds(rng, len(design.prevalence))
    population, spread = np.abs(rng.standard_normal((2, *mean.shape)))
    log_odds = rng.normal(mean, population, (design.raters, *mean.shape))
    known, truth = _true_categories(rng, design)
    effect = rng.normal(0.0, spread[truth["true_category"]])
    truth |= {"population_mean": mean, "population_spread": population, "log_odds": log_odds}
    truth |= {"effect_spread": spread, "effect": effect}
    return truth, _probability(log_odds[design.rater, known] - effect[design.item])


def _ebcc(rng: np.random.Generator, design: Design) -> Law:
    """EBCC: subtypes of the categories, on which raters have confusion matrices of their own."""
    n = len(design.prevalence)
    weight = rng.dirichlet(np.ones(SUBTYPES), n)
    shape = (design.raters, n, SUBTYPES, n)
    drawn = rng.standard_gamma(np.broadcast_to(confusion_concentrations(n)[:, None], shape))
    own = drawn / drawn.sum(axis=3, keepdims=True)
    known, truth = _true_categories(rng, design)
    subtype = draw_columns(rng, weight[truth["true_category"]])
    truth |= {"subtype": subtype, "subtype_weight": weight, "subtype_confusion": own}
    truth |= {"confusion": (weight[:, :, None] * own).sum(axis=2)}
    return truth, own[design.rater, known, subtype[design.item]]


def _multi_label(rng: np.random.Generator, design: Design) -> Law:
    """Multi-label: sets of tags that go together in pairs, each tag found or missed by rates about the skill of the rater."""
    n = len(design.prevalence)
    has = bits_of_sets(n.bit_length() - 1)
    n_tags = has.shape[1]
    weight, pairs = rng.normal(0, 2, n_tags), list(combinations(range(n_tags), 2))
    ratio = rng.normal(0, 1.5, len(pairs))
    score = has @ weight + sum(
        r * (has[:, t] - 0.5) * (has[:, v] - 0.5) for r, (t, v) in zip(ratio, pairs, strict=True)
    )
    skill, strength = rng.beta(2, 1, design.raters), rng.lognormal(np.log(8), 1, design.raters)
    right, wrong = ((strength * (1 + side * skill) / 2)[:, None, None] for side in (1, -1))
    rate = rng.beta(right, wrong, (design.raters, n_tags, 2))  # of answers no and yes that are right
    sets = design._replace(prevalence=normalised(score))
    known, truth = _true_categories(rng, sets)
    of_right = np.where(has[:, None], rate[:, None, None, :, 1], rate[:, None, None, :, 0])
    confusion = np.where(has[:, None] == has, of_right, 1 - of_right).prod(axis=-1)
    truth |= {
        "tag_log_odds": weight,
        "log_odds_ratio": ratio,
        "rater_skill": skill,
        "rater_strength": strength,
    }
    truth |= {"sensitivity": rate[..., 1], "specificity": rate[..., 0], "confusion": confusion}
    return truth, confusion[design.rater, known]


def _ordinal(rng: np.random.Generator, design: Design) -> Law:
    """Ordinal: items on a line, raters with thresholds and a scale; the truth is a typical rater's label."""
    n = len(design.prevalence)
    quantile = NormalDist(0, np.hypot(1, SCALE * np.pi / np.sqrt(3))).inv_cdf
    increment = np.diff([quantile(place / n) for place in range(1, n)])
    increment *= np.exp(rng.normal(0, INCREMENT_SD, n - 2))
    steps = np.append(0.0, np.cumsum(increment))
    threshold = rng.normal() + steps - steps.mean()
    scale = SCALE * np.exp(rng.normal(0, SCALE_SD))
    shift_spread, scale_spread = np.abs(rng.normal(0, SPREAD, 2))
    shift = rng.normal(0, shift_spread, design.raters)
    own = scale * np.exp(rng.normal(0, scale_spread, design.raters))
    location = rng.standard_normal(design.items)
    typical = _between(threshold - location[:, None], np.full(design.items, scale))
    truth = {"true_category": draw_columns(rng, typical), "location": location, "threshold": threshold}
    truth |= {"scale": np.array(scale), "rater_shift": shift, "rater_scale": own}
    away = threshold + shift[design.rater, None] - location[design.item, None]
    return truth, _between(away, own[design.rater])


def _true_categories(rng: np.random.Generator, design: Design) -> tuple[np.ndarray, dict[str, np.ndarray]]:
    """Draw the true categories; return them for each annotation (annotation,), and the truth so far."""
    if design.log_odds is None:
        drawn = rng.choice(len(design.prevalence), design.items, p=design.prevalence)
    else:
        drawn = draw_columns(rng, normalised(np.log(design.prevalence) + design.log_odds))
    return drawn[design.item], {"prevalence": design.prevalence, "true_category": drawn}


def _features(
    rng: np.random.Generator, items: int, n: int, informative: int, useless: int
) -> dict[str, np.ndarray]:
    """Draw standard normal features (item, feature), and their effects (feature, category), zero for the useless ones."""
    values = rng.standard_normal((items, informative + useless))
    effect = np.zeros((informative + useless, n))
    effect[:informative] = rng.normal(0, OF_ALL_FEATURES / np.sqrt(max(informative, 1)), (informative, n))
    return {"features": values, "feature_effect": effect - effect.mean(axis=1, keepdims=True)}


def _mean_log_odds(rng: np.random.Generator, n: int) -> np.ndarray:
    """Draw mean log odds of the labels but the last against the last, shape (category, contrast)."""
    right = np.eye(n)
    return rng.normal(RIGHT_LOG_ODDS * (right[:, :-1] - right[:, -1:]), 1.0)


def _probability(log_odds: np.ndarray) -> np.ndarray:
    """Probabilities of all labels; the last has log odds 0."""
    return normalised(np.append(log_odds, np.zeros((len(log_odds), 1)), axis=1))


def _logistic(x: np.ndarray) -> np.ndarray:
    """Logistic function 1 / (1 + e^-x)."""
    return np.exp(-np.logaddexp(0.0, -x))


def _between(away: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Logistic probabilities between thresholds, given as distances from the location."""
    below = _logistic(away / scale[:, None])
    return np.diff(below, axis=1, prepend=0.0, append=1.0)


EFFECTS: dict[str, Callable[[np.random.Generator, Design], Law]] = {
    "cultural_consensus": _cultural_consensus,
    "mace": _mace,
    "shared_guess": _shared_guess,
    "ebcc": _ebcc,
    "glad": _glad,
    "item_difficulty": _item_difficulty,
    "item_response": _item_response,
    "logistic_random_effects": _logistic_random_effects,
    "multi_label": _multi_label,
    "ordinal": _ordinal,
}

LabelModel = Literal[
    "dawid_skene", "multinomial", "one_coin", "class_conditional", "cultural_consensus", "hierarchical_dawid_skene",
    "dirichlet", "mace", "shared_guess", "ebcc", "glad", "item_difficulty", "item_response", "logistic_random_effects",
    "multi_label", "ordinal",
]  # fmt: skip

RIGHT, WRONG = 4.0, 2.0
SILENT = 4.0  # concentration of the probability of no answer


def labels(
    *,
    model: LabelModel = "dawid_skene",
    items: int = 100,
    raters: int = 10,
    categories: int = 3,
    answers: int = 3,
    prevalence_concentration: float = 1.0,
    gold: float = 0.0,
    features: int = 0,
    useless_features: int = 0,
    no_answer: float = 0.0,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Labels]:
    """Simulate labels by raters, from the generative law of a model of labels.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        T_i ~ Categorical(p),   y_a ~ Categorical(pi_k,T_i),   p ~ Dirichlet(prevalence_concentration)

    or with features x of the items, T_i ~ Categorical(softmax(log p + x_i W)), x_if ~ Normal(0, 1), W_fj ~ Normal(0, 2 / sqrt(d))
    less the mean over j, for d informative features; with confusion matrices pi by the model:

        dawid_skene               rows ~ Dirichlet, 4.8 on the diagonal and 8 in the whole row
        multinomial               the same, one matrix for all raters
        one_coin                  ability ~ Beta(4, 2) of each rater, other labels alike
        class_conditional         ability ~ Beta(4, 2) of each rater and category, other labels alike
        hierarchical_dawid_skene  log odds ~ Normal(zeta, Omega), zeta ~ Normal(2 on the diagonal, 1),
                                  Omega ~ HalfNormal(1)
        mace                      T_i with probability theta_k ~ Beta(2, 1), else from xi_k ~ Dirichlet(1)

        shared_guess              a guess of the rater's family with probability s_k ~ Beta(1, 1), from
                                  Phi_g,T_i, else from pi_k,T_i, both ~ Dirichlet as of dawid_skene; s_k = 0 of
                                  people, the first third of the raters

    and other laws, with the default priors of the models:

        cultural_consensus        two populations of raters, shares ~ Dirichlet(5), each with a truth of every item;
                                  the pair ~ Categorical(Dirichlet), ability ~ Beta(4, 2) of each rater
        dirichlet                 no truth: y_a ~ Categorical(lambda_i),
                                  lambda_i ~ Dirichlet(prevalence_concentration)
        ebcc                      rows ~ Dirichlet as in dawid_skene, for each of three subtypes of a category,
                                  whose shares ~ Dirichlet(1)
        glad                      right with probability logistic(alpha_k beta_i),
                                  alpha_k and log beta_i ~ Normal(1, 1)
        item_difficulty           log odds of item i ~ Normal(eta, Chi) of its category, for all raters
        item_response             right with probability logistic(theta_k - d_i), theta_k ~ Normal(0, 2),
                                  d_i ~ Normal(0, s), s ~ HalfNormal(2); beside the answers a key, right with
                                  probability ~ Beta(19, 1)
        logistic_random_effects   log odds of rater k ~ Normal(zeta, Omega), minus the effect of item i,
                                  ~ Normal(0, Chi)
        multi_label               all sets of log2 categories tags, "a", "b", ...: log odds of tags ~ Normal(0, 2), of pairs
                                  ~ Normal(0, 1.5); rates of rater k ~ Beta about a skill
        ordinal                   thresholds and scale of rater k, location of item i ~ Normal(0, 1)

    Parameters
    ----------
    model : str
        Generative law, by the name of the model.
    items, raters, categories : int
        Numbers of items, raters and categories.
    answers : int
        Answers to each item, by different raters as far as there are enough.
    prevalence_concentration : float
        Dirichlet concentration of the prevalence, or plausibilities ("dirichlet"); unused by "ordinal",
        "multi_label" and "cultural_consensus".
    gold : float
        Share of items with a gold label.
    features, useless_features : int
        Numbers of features of the items that tell about the true category, and that do not; the informative ones are first.
    no_answer : float
        Mean probability a that a rater, when asked, gives none, -1, of dawid_skene: ~ Beta(4 a, 4 (1 - a)) for each rater and
        category.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Labels with integer ids. ``truth``: ``true_category`` (item), except under "dirichlet", and

        - dawid_skene, multinomial, one_coin, class_conditional, hierarchical_dawid_skene: ``prevalence``
          (category), ``confusion`` (rater, category, answer);
        - cultural_consensus: ``prevalence``, ``joint_prevalence`` (truths), ``true_categories`` (item, population),
          ``membership`` (rater), 0 for the population with most raters, whose truth ``true_category`` is, ``ability`` (rater);
        - dirichlet: ``plausibility`` (item, category);
        - mace: ``prevalence``, ``confusion``, ``competence`` (rater), ``spam`` (rater, answer);
        - shared_guess: ``prevalence``, ``own_confusion`` and, copied or not, ``confusion``, ``shared`` (rater),
          ``guess`` (group_of_raters, category, answer), ``guesses`` (item, group_of_raters). The attribute ``kind`` of the
          raters is "person", "judge a" or "judge b";
        - ebcc: ``prevalence``, ``confusion``, ``subtype`` (item), ``subtype_weight`` (category, subtype),
          ``subtype_confusion`` (rater, category, subtype, answer);
        - glad: ``prevalence``, ``ability`` (rater), ``easiness`` (item);
        - item_difficulty: ``prevalence``, ``effect_mean`` and ``effect_spread`` (category, contrast),
          ``effect`` (item, contrast);
        - item_response: ``prevalence``, ``ability`` (rater), ``difficulty`` and ``key`` (item), ``difficulty_spread``,
          ``key_reliability``;
        - logistic_random_effects: ``prevalence``, ``population_mean``, ``population_spread`` and
          ``effect_spread`` (category, contrast), ``log_odds`` (rater, category, contrast), ``effect`` (item,
          contrast);
        - multi_label: ``prevalence``, ``confusion``, ``tag_log_odds`` (tag), ``log_odds_ratio`` (tag_pair), ``rater_skill`` and
          ``rater_strength`` (rater), ``sensitivity`` and ``specificity`` (rater, tag);
        - ordinal: ``location`` (item), ``threshold`` (cut), ``scale``, ``rater_shift`` and ``rater_scale``
          (rater); ``true_category`` is a typical rater's answer.

        With `no_answer` also ``no_answer`` (rater, category), the probability of none.
        With features also ``feature_effect`` (feature, category); the features are in the attribute ``features``, as the models
        take them. Row k of raters is of the rater with id k, who is not in ``data.raters`` without an answer; these are in the
        order of their first answers, so that ``truth["confusion"][data.raters]`` is in the order of a posterior.

    Raises
    ------
    ValueError
        If the model is unknown, or a number is out of range.

    Examples
    --------
    >>> from raterzoo import models
    >>> simulated = models.simulators.labels(items=20, raters=4, random_seed=1)
    >>> simulated.data
    Labels(20 items, 4 raters, 60 answers, 3 categories)
    >>> {name: values.shape for name, values in simulated.truth.items()}
    {'prevalence': (3,), 'confusion': (4, 3, 3), 'true_category': (20,)}

    References
    ----------
    Dawid and Skene (1979), doi:10.2307/2346806. Paun et al. (2018), doi:10.1162/tacl_a_00040, section 3. Hovy
    et al. (2013), aclanthology N13-1132 (MACE). Li et al. (2019), ICML (EBCC). Whitehill et al. (2009), NIPS 22
    (GLAD). Samejima (1969), Psychometrika monograph 17 (ordinal).
    """
    check_whole(items=items, raters=raters, answers=answers)
    check_whole(2, categories=categories)
    if model not in LabelModel.__args__:
        raise ValueError(f"model={model!r} is not one of {', '.join(LabelModel.__args__)}")
    if model == "multi_label" and categories not in (4, 8, 16, 32, 64):
        raise ValueError(f"categories={categories}: the sets of two to six tags are 4, 8, 16, 32 or 64")
    check_numbers(0, 1, gold=gold)
    check_numbers(SMALLEST, LARGEST, prevalence_concentration=prevalence_concentration)
    if gold and model == "dirichlet":
        raise ValueError(f"gold={gold!r}: under model='dirichlet' no category is the true one")
    check_numbers(0, 0.9, no_answer=no_answer)
    if no_answer and model != "dawid_skene":
        raise ValueError(f"no_answer={no_answer!r}: only raters of model='dawid_skene' may give none")
    check_whole(0, features=features, useless_features=useless_features)
    columns = features + useless_features
    if columns and model in ("cultural_consensus", "dirichlet", "ordinal"):
        raise ValueError(
            f"features={columns}: under model={model!r} no category is drawn that features could tell about"
        )
    rng = np.random.default_rng(random_seed)
    item = np.repeat(np.arange(items), answers)
    rounds = -(-answers // raters)  # different raters, and all of them again if there are too few
    raters_of = [[rng.permutation(raters) for _ in range(rounds)] for _ in range(items)]
    rater = np.concatenate([np.concatenate(orders)[:answers] for orders in raters_of])
    alpha = np.full(categories, prevalence_concentration)
    own = _features(rng, items, categories, features, useless_features) if columns else {}
    log_odds = own["features"] @ own["feature_effect"] if columns else None
    if model == "dirichlet":
        truth = {"plausibility": rng.dirichlet(alpha, items)}
        law = truth["plausibility"][item]
    elif model in EFFECTS:
        truth, law = EFFECTS[model](rng, Design(item, rater, items, raters, rng.dirichlet(alpha), log_odds))
    else:
        prevalence = rng.dirichlet(alpha)
        confusion = _confusion(rng, model, raters, categories)
        known, drawn = _true_categories(rng, Design(item, rater, items, raters, prevalence, log_odds))
        truth = {"prevalence": prevalence, "confusion": confusion, "true_category": drawn["true_category"]}
        law = confusion[rater, known]
    table = {"item": item, "rater": rater, "label": draw_columns(rng, law)}
    if no_answer:
        silent = rng.beta(SILENT * no_answer, SILENT * (1 - no_answer), (raters, categories))
        none = rng.random(len(item)) < silent[rater, truth["true_category"].astype(np.int64)[item]]
        truth, table["label"] = truth | {"no_answer": silent}, np.where(none, -1, table["label"])
    if gold:
        is_gold = rng.random(items) < gold
        table["gold"] = [int(truth["true_category"][i]) if is_gold[i] else None for i in item]
    attributes = ()
    if model == "shared_guess":
        attributes = ("kind",)
        table["kind"] = KINDS[families(raters)][rater]
    columns_read = {"gold": "gold" if gold else None, "rater_attributes": attributes}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)  # of those who give no answer
        none_is = (-1,) if no_answer else ()
        data = Labels.from_table(table, categories=range(categories), no_answer=none_is, **columns_read)
    if model == "multi_label":
        data = replace(data, categories=np.array(tag_sets([*"abcdef"][: categories.bit_length() - 1])))
    if not columns:
        return Simulated(data, truth)
    names = [f"feature {k + 1}" for k in range(columns)]
    table_of_items = {"item": data.items} | dict(zip(names, own["features"].T, strict=True))
    return Simulated(data, truth | {"feature_effect": own["feature_effect"]}, table_of_items)


def _confusion(rng: np.random.Generator, model: str, raters: int, n: int) -> np.ndarray:
    """Draw the confusion matrices of all raters, shape (rater, category, answer)."""
    diagonal = np.eye(n, dtype=bool)
    if model in ("dawid_skene", "multinomial"):
        drawn = dirichlet_rows(rng, confusion_concentrations(n), raters)
        return np.repeat(drawn[:1], raters, axis=0) if model == "multinomial" else drawn
    if model in ("one_coin", "class_conditional"):
        size = (raters, 1 if model == "one_coin" else n, 1)
        ability = rng.beta(RIGHT, WRONG, size)
        return np.where(diagonal, ability, (1 - ability) / (n - 1))
    mean = rng.normal(2.0 * diagonal, 1.0)  # hierarchical_dawid_skene
    odds = np.exp(rng.normal(mean, np.abs(rng.standard_normal((n, n))), (raters, n, n)))
    return odds / odds.sum(axis=2, keepdims=True)


def dirichlet_rows(rng: np.random.Generator, concentration: np.ndarray, count: int) -> np.ndarray:
    """Draw `count` matrices with Dirichlet rows, (count, category, answer); concentration (category, answer)."""
    drawn = rng.standard_gamma(np.broadcast_to(concentration, (count, *concentration.shape)))
    return drawn / drawn.sum(axis=2, keepdims=True)
