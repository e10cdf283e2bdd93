"""Private parts of the laws for tests, imported here alone."""

from raterzoo.models.distributions.counted_labels import CountedLabels
from raterzoo.models.distributions.marginal_labels_kernels import Answers, answer_codes, answer_sweeps

__all__ = ["Answers", "CountedLabels", "answer_codes", "answer_sweeps"]
