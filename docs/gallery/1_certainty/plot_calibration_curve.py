"""
Certainty against the truth
===========================

Share of items that are right by the probability that was claimed, of items whose truth the posterior has not seen.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

simulated = models.simulators.labels(items=400, raters=12, answers=3, random_seed=1)
tree = inference.sample(models.dawid_skene(simulated.data), random_seed=1, progressbar=False)
truth = dict(
    zip(
        simulated.data.items.tolist(),
        simulated.data.categories[simulated.truth["true_category"]],
        strict=True,
    )
)
plots.calibration_curve(evaluation.calibration_curve(tree, truth, bins=6))
