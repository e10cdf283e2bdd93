"""PyMC: scores of an item are normal draws."""

from raterzoo import models


def model(data):
    """Return the model of the data."""
    scores = models.Scores.from_table({name: data[name] for name in ("item", "rater", "score")})
    return models.normal_scores(scores, mean=data["mean_score"], rate=data["spread"] ** 2)
