"""
An item in the triangle
=======================

With three categories every draw of an item's plausibilities is a point.
"""

from raterzoo import inference, models
from raterzoo.evaluation import plots

counts = models.Labels.from_counts({"item": ["case 1"], "benign": [5], "atypical": [3], "malignant": [1]})
tree = inference.sample(models.dirichlet(counts), random_seed=1, progressbar=False)
plots.simplex(tree, "case 1")
