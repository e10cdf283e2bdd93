"""
Certainty of the risk
=====================

Certainty of the group of categories, such as a risk, beside the expected value of every draw.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
low, medium, high = labels.categories
certainty = evaluation.annotation_certainty(tree, groups={low: "low", medium: "high", high: "high"})
plots.risk(certainty, evaluation.expected_value(tree, {low: 0, medium: 1, high: 2}))
