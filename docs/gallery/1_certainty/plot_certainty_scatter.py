"""
Certainties by two models
=========================

Every point is an item; off the diagonal the models disagree about how certain it is.
"""

from raterzoo import evaluation, inference, models
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)
other = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
plots.certainty_scatter(
    evaluation.annotation_certainty(tree),
    evaluation.annotation_certainty(other),
    labels=("dawid_skene", "dirichlet"),
)
