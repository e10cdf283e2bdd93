"""
A metric and its uncertainty
============================

How accurate are the predictions, if the truth is uncertain and the items are a sample?
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
vote = inference.majority_vote(labels)["plausibility"]
summary = evaluation.metric_intervals(evaluation.top_k_accuracy(1), tree, vote, random_seed=1)
plots.metric_intervals(summary)
