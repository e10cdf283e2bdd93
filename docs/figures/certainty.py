"""Two items with the same share of answers: the same plausibility, another certainty."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from raterzoo import evaluation, inference, models

counts = pd.DataFrame({"item": ["6 of 10 say yes", "60 of 100 say yes"], "yes": [6, 60], "no": [4, 40]})
labels = models.Labels.from_counts(counts)
tree = inference.sample(models.dirichlet(labels), random_seed=1, progressbar=False)
certainty = evaluation.annotation_certainty(tree)
yes = tree["posterior"]["plausibility"].sel(category="yes").stack(sample=("chain", "draw"))

figure, panels = plt.subplots(1, 2, figsize=(7.5, 2.6), sharex=True, sharey=True, layout="constrained")
bins = np.linspace(0, 1, 51)
for panel, item in zip(panels, labels.items, strict=True):
    draws = yes.sel(item=item).to_numpy()
    panel.hist(draws[draws > 0.5], bins, density=False, color="#0072b2", label="most raters would say yes")
    panel.hist(draws[draws <= 0.5], bins, density=False, color="#bbbbbb", label="most would say no")
    panel.set_title(f"{item}: {100 * certainty.sel(item=item).item():.0f} % certain", fontsize=10)
    panel.set_xlabel("share of all raters who would say yes")
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.set_yticks([])
panels[0].set_ylabel("probability")
panels[0].legend(fontsize=8, frameon=False)
