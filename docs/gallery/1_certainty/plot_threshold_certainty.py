"""
Certainty on which side of a threshold
======================================

For scores: is the item above the threshold?
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

scores = models.simulators.scores(items=60, raters=6, random_seed=1).data
tree = inference.sample(models.hierarchical_scores(scores), random_seed=1, progressbar=False)
plots.threshold_certainty(evaluation.threshold_certainty(tree, 0.0))
