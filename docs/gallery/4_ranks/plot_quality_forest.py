"""
Qualities of items
==================

Qualities with intervals, the best on top.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

votes = models.simulators.comparisons(items=12, raters=8, degree=6, random_seed=1).data
tree = inference.sample(models.bradley_terry(votes), random_seed=1, progressbar=False)
plots.quality_forest(evaluation.rank_intervals(tree))
