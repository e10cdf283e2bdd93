"""
A leaderboard
=============

Ranks with intervals, and groups that cannot be told apart.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

votes = models.simulators.comparisons(items=12, raters=8, degree=6, random_seed=1).data
tree = inference.sample(models.bradley_terry(votes), random_seed=1, progressbar=False)
plots.leaderboard(evaluation.rank_intervals(tree), evaluation.tied_groups(tree))
