"""Private parts of the samplers of rankings for tests, imported here alone."""

from raterzoo.inference.rankings.recognition import distinct_annotations, worth_posterior

__all__ = ["distinct_annotations", "worth_posterior"]
