"""Plausibilities of two printed cases: one on which the raters nearly agree, and one on which they do not."""

from raterzoo import evaluation, inference, models

rankings = models.published_ddx_cases()
tree = inference.sample(models.plackett_luce(rankings, reliability=3), random_seed=1, progressbar=False)
figure = evaluation.plots.plausibility_strips(
    tree, ["fig3", "fig17b"], point={"IRN": inference.irn(rankings)}
)
