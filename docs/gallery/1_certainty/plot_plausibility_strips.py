"""
Plausibility of single items
============================

The posterior of the plausibilities of an item, draw by draw.
"""

from raterzoo import inference, models
from raterzoo.evaluation import plots

rankings = models.simulators.rankings(items=40, categories=6, raters=4, random_seed=1).data
tree = inference.sample(models.plackett_luce(rankings, reliability=3), random_seed=1, progressbar=False)
plots.plausibility_strips(tree, items=[0, 1, 2])
