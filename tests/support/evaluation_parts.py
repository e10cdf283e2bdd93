"""Private parts of evaluation for tests, imported here alone."""

from raterzoo.posterior.plausibility import Plausibility

__all__ = ["Plausibility"]
