"""What a model of raters says at given values of its parameters, and its laws written one answer at a time."""

from itertools import product

import numpy as np
import pymc as pm
from pytensor.compile.maker import function


def at_values(model, *values):
    """Return log p of every item's answers and the deterministics, given values of the free variables."""
    (observed,) = model.observed_RVs
    log_p = pm.logp(observed, model.rvs_to_values[observed])
    outputs = [log_p, *model.deterministics]
    compiled = function(model.free_RVs, outputs, mode="FAST_COMPILE", on_unused_input="ignore")
    log_p, *computed = compiled(*values)
    return log_p, dict(zip((rv.name for rv in model.deterministics), computed, strict=True))


def given_truth(labels, category, spam_of):
    """Yield, for every way in which answers may be spam, its probability, who told the truth and who spammed what.

    `spam_of` is (competence, spam), or None: then each way has probability one if it can be.
    """
    who = np.repeat(labels.annotation_rater, labels.count)
    label = np.repeat(labels.label_code, labels.count)
    truth = category[np.repeat(labels.annotation_item, labels.count)]
    open_ = np.flatnonzero(label == truth)  # the others are spam for certain
    for meant in product([0, 1], repeat=len(open_)):
        told = np.zeros(len(who), int)
        told[open_] = meant
        p = 1.0
        if spam_of is not None:
            competence, spam = spam_of
            p = np.where(told, competence[who], (1 - competence[who]) * spam[who, label]).prod()
        yield p, (who, told, label)


def truths(labels):
    """Yield every assignment of true categories that the gold labels allow."""
    n = len(labels.categories)
    for category in product(*([g] if g >= 0 else range(n) for g in labels.gold.tolist())):
        yield np.array(category)
