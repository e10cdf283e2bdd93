"""Private parts of the samplers of labels for tests, imported here alone."""

from raterzoo.inference.labels.gibbs import draw_labels_model
from raterzoo.inference.labels.recognition import constant_prior, read_labels

__all__ = ["constant_prior", "draw_labels_model", "read_labels"]
