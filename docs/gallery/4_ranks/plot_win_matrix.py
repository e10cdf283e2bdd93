"""
Who is better than whom
=======================

Probability that the item of the row is better than that of the column.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

votes = models.simulators.comparisons(items=12, raters=8, degree=6, random_seed=1).data
tree = inference.sample(models.bradley_terry(votes), random_seed=1, progressbar=False)
plots.win_matrix(evaluation.preference_probability(tree.posterior["quality"]))
