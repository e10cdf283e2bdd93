"""Draws in which the categories have exchanged their names, and the same draws after `relabel`."""

import matplotlib.pyplot as plt
import numpy as np
from raterzoo import inference, models

labels = models.simulators.labels(
    model="one_coin", items=10, raters=8, categories=2, answers=8, random_seed=1
).data
flat = models.dawid_skene(labels, confusion_concentration=1.0)
tree = inference.sample(flat, random_seed=1, progressbar=False)


def mean_right(drawn):
    """Return the mean, over raters and categories, of the probability to be right, in every draw."""
    confusion = drawn["posterior"]["confusion"].to_numpy()
    return np.trace(confusion, axis1=-2, axis2=-1).mean(axis=-1).ravel() / 2


figure, panels = plt.subplots(1, 2, figsize=(7.5, 2.6), sharex=True, sharey=True, layout="constrained")
titles = ("as drawn, with a flat prior", "after inference.relabel")
for panel, title, drawn in zip(panels, titles, (tree, inference.relabel(tree)), strict=True):
    panel.hist(mean_right(drawn), np.linspace(0, 1, 51), color="#0072b2")
    panel.set_title(title, fontsize=10)
    panel.set_xlabel("mean probability of a right answer")
    panel.spines[["top", "right", "left"]].set_visible(False)
    panel.set_yticks([])
panels[0].set_ylabel("posterior draws")
