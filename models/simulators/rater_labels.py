"""Simulator of labels: one generative law for each model of labels."""

from typing import Literal

import numpy as np

from ..data.favoured import favoured_rows
from ..data.labels import Labels
from .label_effects import EFFECTS, Design
from .refusals import LARGEST, SMALLEST, refuse_number
from .simulated import Simulated

__all__ = ["LabelModel", "labels"]

LabelModel = Literal[
    "dawid_skene",
    "multinomial",
    "one_coin",
    "class_conditional",
    "hierarchical_dawid_skene",
    "dirichlet",
    "mace",
    "glad",
    "item_difficulty",
    "logistic_random_effects",
    "ordinal",
]

RIGHT, WRONG = 4.0, 2.0


def labels(
    *,
    model: LabelModel = "dawid_skene",
    items: int = 100,
    raters: int = 10,
    categories: int = 3,
    answers: int = 3,
    prevalence_concentration: float = 1.0,
    gold: float = 0.0,
    random_seed: int | np.random.Generator | None = None,
) -> Simulated[Labels]:
    """Simulate labels by raters, from the generative law of a model of labels.

    Generative law, for item i, rater k and each answer a of rater k to item i:

        T_i ~ Categorical(p),   y_a ~ Categorical(pi_k,T_i),   p ~ Dirichlet(prevalence_concentration)

    with confusion matrices pi by the model:

        dawid_skene               rows ~ Dirichlet, 4.8 on the diagonal and 8 in the whole row
        multinomial               the same, one matrix for all raters
        one_coin                  ability ~ Beta(4, 2) of each rater, other labels alike
        class_conditional         ability ~ Beta(4, 2) of each rater and category, other labels alike
        hierarchical_dawid_skene  log odds ~ Normal(zeta, Omega), zeta ~ Normal(2 on the diagonal, 1),
                                  Omega ~ HalfNormal(1)
        mace                      T_i with probability theta_k ~ Beta(2, 1), else from xi_k ~ Dirichlet(1)

    and other laws, with the default priors of the models:

        dirichlet                 no truth: y_a ~ Categorical(lambda_i),
                                  lambda_i ~ Dirichlet(prevalence_concentration)
        glad                      right with probability logistic(alpha_k beta_i),
                                  alpha_k and log beta_i ~ Normal(1, 1)
        item_difficulty           log odds of item i ~ Normal(eta, Chi) of its category, for all raters
        logistic_random_effects   log odds of rater k ~ Normal(zeta, Omega), minus the effect of item i,
                                  ~ Normal(0, Chi)
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
        Dirichlet concentration of the prevalence; of the plausibilities under "dirichlet"; unused by
        "ordinal".
    gold : float
        Share of items with a gold label.
    random_seed : int or numpy.random.Generator, optional
        Seed, or generator.

    Returns
    -------
    Simulated
        ``data``: Labels with integer ids. ``truth``: ``true_category`` (item), except under "dirichlet", and

        - dawid_skene, multinomial, one_coin, class_conditional, hierarchical_dawid_skene: ``prevalence``
          (category), ``confusion`` (rater, category, label);
        - dirichlet: ``plausibility`` (item, category);
        - mace: ``prevalence``, ``confusion``, ``competence`` (rater), ``spam`` (rater, label);
        - glad: ``prevalence``, ``ability`` (rater), ``easiness`` (item);
        - item_difficulty: ``prevalence``, ``effect_mean`` and ``effect_spread`` (category, contrast),
          ``effect`` (item, contrast);
        - logistic_random_effects: ``prevalence``, ``population_mean``, ``population_spread`` and
          ``effect_spread`` (category, contrast), ``log_odds`` (rater, category, contrast), ``effect`` (item,
          contrast);
        - ordinal: ``location`` (item), ``threshold`` (cut), ``scale``, ``rater_shift`` and ``rater_scale``
          (rater); ``true_category`` is a typical rater's answer.

        Rows of raters include those without an answer, who are not in ``data.raters``.

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
    et al. (2013), aclanthology N13-1132 (MACE). Whitehill et al. (2009), NIPS 22 (GLAD). Samejima (1969),
    Psychometrika monograph 17 (ordinal).
    """
    for name, value, least in (
        ("items", items, 1), ("raters", raters, 1), ("categories", categories, 2), ("answers", answers, 1),
    ):  # fmt: skip
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{name}={value!r} must be a whole number from {least}")
    if model not in LabelModel.__args__:
        raise ValueError(f"model={model!r} is not one of {', '.join(LabelModel.__args__)}")
    refuse_number("gold", gold, 0, 1)
    refuse_number("prevalence_concentration", prevalence_concentration, SMALLEST, LARGEST)
    if gold and model == "dirichlet":
        raise ValueError(f"gold={gold!r}: under model='dirichlet' no category is the true one")
    rng = np.random.default_rng(random_seed)
    item = np.repeat(np.arange(items), answers)
    rater = np.concatenate([_who(rng, raters, answers) for _ in range(items)])
    alpha = np.full(categories, prevalence_concentration)
    if model == "dirichlet":
        truth = {"plausibility": rng.dirichlet(alpha, items)}
        law = truth["plausibility"][item]
    elif model in EFFECTS:
        truth, law = EFFECTS[model](rng, Design(item, rater, items, raters, rng.dirichlet(alpha)))
    else:
        prevalence = rng.dirichlet(alpha)
        confusion = _confusion(rng, model, raters, categories)
        true_category = rng.choice(categories, items, p=prevalence)
        truth = {"prevalence": prevalence, "confusion": confusion, "true_category": true_category}
        law = confusion[rater, true_category[item]]
    label = (law.cumsum(axis=1)[:, :-1] < rng.random((len(item), 1))).sum(axis=1)
    table = {"item": item, "rater": rater, "label": label}
    if gold:
        told = rng.random(items) < gold
        table["gold"] = [int(truth["true_category"][i]) if told[i] else None for i in item]
    known = "gold" if "gold" in table else None
    return Simulated(Labels.from_table(table, gold=known, categories=range(categories)), truth)


def _who(rng: np.random.Generator, raters: int, answers: int) -> np.ndarray:
    """Draw the raters of an item: different ones, and all of them again if there are too few."""
    rounds = -(-answers // raters)
    return np.concatenate([rng.permutation(raters) for _ in range(rounds)])[:answers]


def _confusion(rng: np.random.Generator, model: str, raters: int, n: int) -> np.ndarray:
    """Draw the confusion matrices of all raters, shape (rater, category, label)."""
    diagonal = np.eye(n, dtype=bool)
    if model in ("dawid_skene", "multinomial"):
        drawn = rng.standard_gamma(np.broadcast_to(favoured_rows(n), (raters, n, n)))
        drawn /= drawn.sum(axis=2, keepdims=True)
        return np.repeat(drawn[:1], raters, axis=0) if model == "multinomial" else drawn
    if model in ("one_coin", "class_conditional"):
        size = (raters, 1 if model == "one_coin" else n, 1)
        ability = rng.beta(RIGHT, WRONG, size)
        return np.where(diagonal, ability, (1 - ability) / (n - 1))
    mean = rng.normal(2.0 * diagonal, 1.0)  # hierarchical_dawid_skene
    odds = np.exp(rng.normal(mean, np.abs(rng.standard_normal((n, n))), (raters, n, n)))
    return odds / odds.sum(axis=2, keepdims=True)
