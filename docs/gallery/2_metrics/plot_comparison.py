"""
Two classifiers
===============

Which one is better, with what probability, and by how much?
"""

import xarray as xr
from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
vote = inference.majority_vote(labels)["plausibility"]
predictions = xr.concat([vote, 0.7 * vote + 0.1], "classifier").assign_coords(classifier=["vote", "pale"])
plots.comparison(evaluation.compare(evaluation.brier_score(), tree, predictions, random_seed=1))
