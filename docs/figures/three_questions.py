"""One classifier, three numbers: agreement with raters, accuracy by a joint model, and the same with few items by people."""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr
from raterzoo import evaluation, inference, models

ITEMS, FEW = 600, 150
rng = np.random.default_rng(1)
truth = rng.integers(0, 2, ITEMS)
metric = evaluation.top_k_accuracy(1)


def answers(right, raters=1):
    """Return answers (item, rater), right with a probability."""
    return np.where(rng.random((ITEMS, raters)) < right, truth[:, None], 1 - truth[:, None])


def labels_of(people):
    """Return the labels of people."""
    item, person = np.indices(people.shape)
    table = {"item": item.ravel(), "rater": np.char.add("person ", person.ravel().astype(str))}
    return models.Labels.from_table(table | {"label": people.ravel()}, categories=[0, 1])


def predictions_of(said, name):
    """Return predictions of all items."""
    return xr.DataArray(said, {"item": np.arange(ITEMS), "classifier": name}, ("item", "position"))


def posterior(labels):
    """Return the posterior of Dawid-Skene."""
    return inference.sample(models.dawid_skene(labels), random_seed=1, progressbar=False)


people = answers(0.8, 3)
classifier, judge = predictions_of(answers(0.88), "classifier"), predictions_of(answers(0.85), "judge")
first = evaluation.metric_intervals(metric, posterior(labels_of(people)), classifier)
joint = posterior(labels_of(people).with_predictions(classifier))
second = evaluation.metric_intervals(metric, joint, classifier)
some = labels_of(people[:FEW]).with_predictions(classifier.isel(item=slice(FEW)))
third = evaluation.rectified(metric, posterior(some), classifier, judge, random_seed=1).squeeze()
rows = {
    "1. agreement with what\nthe raters leave open": first.sel(source="both"),
    "2. accuracy, all items\nby three people": second.sel(source="both"),
    f"3. accuracy, {FEW} items by people,\nall by a judge": third.sel(estimate="rectified"),
}

figure, panel = plt.subplots(figsize=(6.5, 2.6), layout="constrained")
for place, row in enumerate(rows.values()):
    low, high = row["interval"].to_numpy().ravel()
    panel.plot([low, high], [-place, -place], color="#0072b2", lw=2)
    panel.plot(row["mean"].item(), -place, "o", color="#0072b2")
panel.axvline((classifier.to_numpy()[:, 0] == truth).mean(), color="#d55e00", ls="--", label="right in fact")
panel.set_yticks([0, -1, -2], rows, fontsize=8)
panel.set_xlabel("90 % interval of three numbers, each called accuracy")
panel.spines[["top", "right"]].set_visible(False)
panel.legend(fontsize=8, frameon=False)
