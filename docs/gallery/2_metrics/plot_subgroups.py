"""
A metric by subgroup
====================

The same for groups of items, with a warning where they are few.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
vote = inference.majority_vote(labels)["plausibility"]
groups = vote["item"].copy(data=["first site"] * 40 + ["second site"] * 20)
summary = evaluation.metric_intervals(evaluation.top_k_accuracy(1), tree, vote, by=groups, random_seed=1)
plots.subgroups(summary)
