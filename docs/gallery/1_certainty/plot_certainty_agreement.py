"""
Certainty against agreement
===========================

Raters who agree are not the same as a truth that is certain: few answers may agree by chance.
"""

from raterzoo import inference, models, papers
from raterzoo.evaluation import plots

labels = models.simulators.labels(items=60, raters=8, answers=5, random_seed=1).data
tree = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
plots.certainty_agreement(papers.certainty_and_agreement(tree, labels))
