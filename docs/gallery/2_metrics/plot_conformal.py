"""
Conformal prediction sets
=========================

Sizes of the sets, and what they cover.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
vote = inference.majority_vote(labels)["plausibility"]
sets = evaluation.conformal_sets(
    tree, vote, calibration=vote["item"].values[:30], coverage=0.8, random_seed=1
)
plots.conformal(sets)
