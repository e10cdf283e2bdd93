"""Random streams of the compiled samplers for tests, imported here alone."""

from raterzoo.inference.kernels.random_streams import standard_exponential, standard_gamma
from raterzoo.inference.runs.run import stream

__all__ = ["standard_exponential", "standard_gamma", "stream"]
