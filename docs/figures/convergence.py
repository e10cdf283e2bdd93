"""R-hat of every item, of a run that is too short and of the default one."""

import warnings
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from raterzoo import inference, models

EXAMPLES = Path(__file__).parents[2] / "examples"
labels = models.Labels.from_table(pd.read_csv(EXAMPLES / "answers.csv"))
model = models.dawid_skene(labels)
runs = {"4 x 50 draws": {"draws": 50, "thin": 1}, "4 x 1,000 draws, by default": {}}

figure, panel = plt.subplots(figsize=(6.5, 3.0), layout="constrained")
for name, options in runs.items():
    with warnings.catch_warnings(action="ignore", category=inference.ConvergenceWarning):
        tree = inference.sample(model, random_seed=1, progressbar=False, **options)
    worst = inference.diagnose(tree)["r_hat"].sel(quantity="plausibility").to_numpy()
    panel.plot(np.sort(worst), label=f"{name}: {np.mean(worst > 1.01):.0%} of the items above")
panel.axhline(1.01, color="#777777", ls="--", lw=1, label="threshold 1.01")
panel.set(xlabel="items, sorted", ylabel="R-hat of the item's plausibilities")
panel.spines[["top", "right"]].set_visible(False)
panel.legend(fontsize=8, frameon=False)
