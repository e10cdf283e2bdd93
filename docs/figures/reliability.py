"""Certainty of the seven printed cases for several reliabilities."""

import matplotlib.pyplot as plt
from raterzoo import evaluation, inference, models

rankings = models.published_ddx_cases()
trees = inference.sweep(
    lambda r: models.plackett_luce(rankings, reliability=r),
    [1, 2, 3, 5, 10],
    random_seed=1,
    progressbar=False,
)
certainty = {r: evaluation.annotation_certainty(tree) for r, tree in trees.items()}

figure, panel = plt.subplots(figsize=(6.5, 3.2), layout="constrained")
for item in rankings.items:
    panel.plot(
        list(certainty), [c.sel(item=item).item() for c in certainty.values()], marker="o", ms=4, label=item
    )
panel.set(xlabel="reliability of the raters", ylabel="annotation certainty", ylim=(0, 1.02))
panel.spines[["top", "right"]].set_visible(False)
panel.legend(fontsize=8, frameon=False, loc="center left", bbox_to_anchor=(1, 0.5))
