"""Plausibility of all categories that nobody ranked together, under two priors."""

import matplotlib.pyplot as plt
from raterzoo import inference, models

rankings = models.published_ddx_cases()
priors = {
    "pooled, every category 1 / K (default)": {},
    "single, every category and OTHER 1": {"unranked": "single", "concentration": 1.0},
    "pooled, every category 1": {"concentration": 1.0},
}

figure, panel = plt.subplots(figsize=(6.5, 2.8), layout="constrained")
for row, (name, options) in enumerate(priors.items()):
    model = models.plackett_luce(rankings, reliability=3, **options)
    tree = inference.sample(model, random_seed=1, progressbar=False)
    plausibility = tree["posterior"]["plausibility"]
    other = plausibility.isel(candidate=(plausibility["category"] == "OTHER").to_numpy())
    middle = other.quantile([0.05, 0.5, 0.95], ("chain", "draw")).to_numpy()
    at = [k + 0.2 * row for k in range(len(rankings.items))]
    low, median, high = middle
    panel.errorbar(at, median, (median - low, high - median), fmt="o", ms=4, label=name)
panel.set_xticks(range(len(rankings.items)), rankings.items.tolist(), fontsize=8)
panel.set(ylabel="plausibility of OTHER", ylim=(0, 1))
panel.spines[["top", "right"]].set_visible(False)
panel.legend(fontsize=8, frameon=False)
