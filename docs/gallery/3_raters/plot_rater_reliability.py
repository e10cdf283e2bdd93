"""
Reliability in comparisons
==========================

Judges of unequal reliability, relative to the others.
"""

from raterzoo import inference, models
from raterzoo.evaluation import plots

votes = models.simulators.comparisons(items=12, raters=8, degree=6, random_seed=1).data
tree = inference.sample(models.bradley_terry(votes), random_seed=1, progressbar=False)
plots.rater_reliability(tree.posterior["reliability"])
