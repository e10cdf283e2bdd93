"""PyMC: labels as draws from the plausibilities of their item."""

from raterzoo import models


def model(data):
    """Return the model of the data."""
    table = {name: data[name] for name in ("item", "rater", "label")}
    labels = models.Labels.from_table(table, categories=range(1, data["K"] + 1))
    return models.dirichlet(labels)
