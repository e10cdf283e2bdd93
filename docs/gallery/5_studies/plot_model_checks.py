"""
Does the model fit?
===================

Observed against replicated: what lies outside is not as the model says.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(model="shared_guess", items=100, raters=8, random_seed=1).data
tree = inference.sample(models.dawid_skene(labels), predictive=True, random_seed=1, progressbar=False)
plots.model_checks(evaluation.model_checks(tree))
