"""
How many raters is one worth?
=============================

Every rater in units of a usual one.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)
plots.rater_worth(evaluation.rater_worth(tree))
