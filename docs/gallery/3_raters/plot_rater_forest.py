"""
Quality of raters
=================

What a single answer of each rater tells, with its interval.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)
quality = evaluation.rater_quality(tree)
plots.rater_forest(quality["information"], label="information in bits")
