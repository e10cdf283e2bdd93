"""Model of answers that are sets of tags: tags that go together, and raters with a sensitivity and specificity of each."""

from itertools import combinations
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
from pytensor.tensor.special import softmax

from .._arguments import LABEL_MODEL, PRIOR_LOGITS, documented
from .._catalog import Spec, recorded
from .._hierarchy import Number, annotation_model, prior_pair
from .._item_features import prior_of_truth
from .._prior_arguments import log_normal_prior, normal_prior, positive_pair
from ..data.labels import Labels
from ..data.reading.tag_sets import BETWEEN, bits_of_sets
from .observed import coords_of, observe_labels, require_identified_raters
from .population import SKILL_PRIOR, STRENGTH_PRIOR
from .tag_laws import PAIR_PRIOR, TAG_PRIOR, concentrations_of_rates, confusion_of_sets, log_odds_of_sets

__all__ = ["multi_label"]

TAG_LOG_ODDS, LOG_ODDS_RATIO = "tag_log_odds", "log_odds_ratio"
SKILL, STRENGTH = "rater_skill", "rater_strength"
RATES = "sensitivity", "specificity"
MOST_WITH_CONFUSION = 16  # sets: a matrix of 64 by 64 for each rater fills the memory of draws


@recorded
@documented(prior_logits=PRIOR_LOGITS, returns=LABEL_MODEL)
def multi_label(
    labels: Labels,
    *,
    tag_log_odds: tuple[Number, Number] = TAG_PRIOR,
    log_odds_ratio: tuple[Number, Number] = PAIR_PRIOR,
    skill_concentration: tuple[Number, Number] = SKILL_PRIOR,
    strength: tuple[Number, Number] = STRENGTH_PRIOR,
    prior_logits: Any = None,
) -> pm.Model:
    """Build the model of several labels at once: an item has a set of tags, and each tag is found or missed on its own.

    Generative law, for item i, rater k, tags t and v, and each answer a of rater k to item i, which is a set, as the truth is:

        w_t      ~ Normal(0, 2)
        r_tv     ~ Normal(0, 1.5)                     for every pair of tags
        p(T)     proportional to exp(sum_t w_t [t in T] + sum_tv r_tv ([t in T] - 1/2) ([v in T] - 1/2))
        u_k      ~ Beta(2, 1),   s_k ~ LogNormal(log 8, 1)
        q1_kt, q0_kt ~ Beta(s_k (1 + u_k) / 2, s_k (1 - u_k) / 2)
        T_i      ~ Categorical(p)                     summed out; known for gold items
        t in y_a with probability q1_kt if t is in T_i, else 1 - q0_kt; each tag independently

    ====================  ====================  =================================
    symbol                variable              dims
    ====================  ====================  =================================
    w                     tag_log_odds          tag
    r                     log_odds_ratio        tag_pair
    p                     prevalence            category
    u, s                  rater_skill,          rater
                          rater_strength
    q1, q0                sensitivity,          rater, tag
                          specificity
    p(y | T)              confusion             rater, category, answer
    p(T | all answers)    plausibility          item, category
    p(t in T | answers)   tag_plausibility      item, tag
    y                     observed_label        annotation
    ====================  ====================  =================================

    Parameters
    ----------
    labels : Labels
        Labels of identified raters, read with ``tags=``; the categories are all sets of tags.
    tag_log_odds, log_odds_ratio : pair of float, default (0, 2) and (0, 1.5)
        Mean and standard deviation of the normal priors: how common a tag is, and how two tags go together, given the others.
    skill_concentration : pair of float, default (2, 1)
        Beta prior of the skills, of being right beyond chance.
    strength : pair of float, default (log 8, 1)
        Mean and standard deviation of the log of the strengths: sensitivities and specificities of a rater spread about
        (1 + u) / 2 as if each were known from s answers.
    {prior_logits}

    {returns}

    Notes
    -----
    ``log_odds_ratio`` is log p(both) p(neither) / (p(one) p(other)), whatever the other tags are. ``confusion`` is left out
    above four tags.

    Examples
    --------
    >>> from raterzoo import models
    >>> table = {"item": [1, 1, 2, 2], "rater": ["Ann", "Bob"] * 2, "label": ["wet|cold", "wet", "none", "cold"]}
    >>> model = models.multi_label(models.Labels.from_table(table, tags=["wet", "cold"]))
    >>> model.named_vars_to_dims["sensitivity"], [*map(str, model.coords["category"])]
    (('rater', 'tag'), ['none', 'wet', 'cold', 'wet|cold'])

    References
    ----------
    Dawid and Skene (1979), JRSS C 28(1), doi:10.2307/2346806, for each tag; the law of the sets is the log-linear model with
    pairs of Cox (1972), The analysis of multivariate binary data, JRSS C 21(2), doi:10.2307/2346482.
    """
    require_identified_raters(labels, "multi_label")
    tags = labels.tags
    if not tags:
        raise ValueError(
            f"multi_label needs answers that are sets of tags, and these labels have {len(labels.categories):,} categories; "
            "read the table with tags=[...], or use models.dawid_skene"
        )
    n_tags, shape = len(tags), (len(labels.raters),)
    pairs = [BETWEEN.join(own) for own in combinations(tags, 2)]
    weight = prior_pair("tag_log_odds", tag_log_odds, (n_tags,), normal_prior)
    ratio = prior_pair("log_odds_ratio", log_odds_ratio, (len(pairs),), normal_prior)
    own = prior_pair("skill_concentration", skill_concentration, shape, positive_pair)
    spread = prior_pair("strength", strength, shape, log_normal_prior)
    coords = coords_of(labels, taken=("skill", "strength")) | {
        "tag": np.array(tags),
        "tag_pair": np.array(pairs),
    }
    with annotation_model(coords) as model:
        w, r = (
            pm.Normal(TAG_LOG_ODDS, *weight, dims="tag"),
            pm.Normal(LOG_ODDS_RATIO, *ratio, dims="tag_pair"),
        )
        own_p: Any = softmax(log_odds_of_sets(w, r, n_tags))
        prevalence: Any = pm.Deterministic("prevalence", own_p, dims="category")
        skill, s = pm.Beta(SKILL, *own, dims="rater"), pm.LogNormal(STRENGTH, *spread, dims="rater")
        about = concentrations_of_rates(skill, s)
        rates = [pm.Beta(name, *about, dims=("rater", "tag")) for name in RATES]
        confusion: Any = confusion_of_sets(rates[0], rates[1], n_tags)
        if len(labels.categories) <= MOST_WITH_CONFUSION:
            confusion = pm.Deterministic("confusion", confusion, dims=("rater", "category", "answer"))
        observe_labels(labels, prior_of_truth(labels, prevalence, None, prior_logits), confusion)
        of_tags = pt.dot(model["plausibility"], bits_of_sets(n_tags).astype(float))
        pm.Deterministic("tag_plausibility", of_tags, dims=("item", "tag"))
    return model


SPEC = Spec(
    name="multi_label",
    data="labels",
    summary="Items with several labels at once: tags that go together, found or missed one by one",
    methods=("gibbs", "nuts"),
    reference="Dawid and Skene 1979, doi:10.2307/2346806, by tag; Cox 1972, doi:10.2307/2346482",
    marks=("tag_log_odds", "log_odds_ratio"),
    shared_errors="independent",
    studies={"answers of several labels at once: boxes to tick, lists of tags": ""},
    assumes=(
        "Tags depend on each other in pairs. Given the true set, a rater finds or misses each tag on its own, with a sensitivity "
        "and a specificity that vary about one skill of the rater."
    ),
    needs="Named raters; two to six tags; several answers to most items.",
    fails="Raters give one tag in the place of another, or name only the most striking tag.",
)
