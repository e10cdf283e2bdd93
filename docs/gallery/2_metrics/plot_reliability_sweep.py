"""
How far the raters are trusted
==============================

A metric over the reliability that the model gives the raters.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

rankings = models.simulators.rankings(items=40, categories=6, raters=4, random_seed=1).data
trees = inference.sweep(
    lambda r: models.plackett_luce(rankings, reliability=r), [1, 2, 5, 10], random_seed=1, progressbar=False
)
scores = inference.irn(rankings).to_dataframe("score")
predictions = evaluation.predictions_from_table(scores, item="item", category="category", score="score")
sweep = evaluation.reliability_sweep(trees, evaluation.top_k_accuracy(1), predictions)
plots.reliability_sweep(sweep, metric="top-1 accuracy")
