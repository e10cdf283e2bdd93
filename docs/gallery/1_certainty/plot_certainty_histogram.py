"""
Histogram of certainties
========================

How the certainties of the items are spread; the dashed line is their mean.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)
plots.certainty_histogram(evaluation.annotation_certainty(tree))
