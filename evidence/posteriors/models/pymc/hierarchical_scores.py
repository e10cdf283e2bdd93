"""PyMC: items, and biases and variances of raters, from populations."""

from raterzoo import models


def model(data):
    """Return the model of the data."""
    scores = models.Scores.from_table({name: data[name] for name in ("item", "rater", "score")})
    return models.hierarchical_scores(scores, mean=data["mean_score"], spread=data["spread"])
