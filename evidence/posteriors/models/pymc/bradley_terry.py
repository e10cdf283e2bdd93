"""PyMC: Bradley-Terry with a reliability for each rater."""

from raterzoo import models


def model(data):
    """Return the model of the data."""
    table = {name: data[name] for name in ("rater", "left", "right")}
    table["winner"] = [("left", "right", "tie")[outcome - 1] for outcome in data["outcome"]]
    votes = models.Comparisons.from_table(table, items=range(1, data["I"] + 1))
    return models.bradley_terry(votes)
