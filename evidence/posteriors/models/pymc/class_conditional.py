"""PyMC: one probability of the right label for each rater and true category."""

from raterzoo import models


def model(data):
    """Return the model of the data."""
    table = {name: data[name] for name in ("item", "rater", "label")}
    labels = models.Labels.from_table(table, categories=range(1, data["K"] + 1))
    return models.class_conditional(labels)
