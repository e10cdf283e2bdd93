"""
Certainty of every item
=======================

How many items are certain? The least certain come first, by the truth's own draws.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)
certainty = evaluation.annotation_certainty(tree)
plots.sorted_certainty(certainty)
