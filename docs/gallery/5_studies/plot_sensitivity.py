"""
Sensitivity to the prior
========================

Which items would another prior judge otherwise?
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
plots.sensitivity(evaluation.prior_sensitivity(tree, random_seed=1))
