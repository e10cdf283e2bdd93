"""Private parts of the samplers of scores for tests, imported here alone."""

from raterzoo.inference.scores.hierarchical import draw_hierarchy
from raterzoo.inference.scores.recognition import read_rater_scores

__all__ = ["draw_hierarchy", "read_rater_scores"]
