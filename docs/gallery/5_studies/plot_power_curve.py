"""
A survey power curve
====================

How well does a survey of k raters predict one more, and how many is a classifier worth?
"""

from raterzoo import evaluation, models
from raterzoo.evaluation import plots

labels = models.simulators.urn_items(items=80, raters=6, random_seed=1).data
plots.power_curve(evaluation.survey_power_curve(labels, bootstrap=100))
