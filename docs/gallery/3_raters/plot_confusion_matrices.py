"""
Confusion matrices
==================

What raters say, given the true category.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)
plots.confusion_matrices(evaluation.confusion_intervals(tree), raters=labels.raters[:4])
