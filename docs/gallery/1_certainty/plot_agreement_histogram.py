"""
Agreement of annotators
=======================

How far the raters of an item agree, without a model.
"""

from raterzoo import models, papers
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
plots.agreement_histogram(papers.annotator_agreement(labels))
