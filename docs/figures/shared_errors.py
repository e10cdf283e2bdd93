"""How many independent raters n raters are, whose errors on an item correlate."""

import matplotlib.pyplot as plt
import numpy as np

n = np.arange(1, 21)
figure, panel = plt.subplots(figsize=(6.0, 3.2), layout="constrained")
for rho in (0, 0.1, 0.35, 1):
    panel.plot(n, n / (1 + (n - 1) * rho), marker=".", label=f"correlation {rho:g}")
panel.set(xlabel="raters who answered an item", ylabel="independent raters they are worth")
panel.set_xticks([1, 5, 10, 15, 20])
panel.set_yticks([1, 5, 10, 15, 20])
panel.spines[["top", "right"]].set_visible(False)
panel.legend(fontsize=8, frameon=False)
