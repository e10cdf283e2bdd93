"""Private parts of the samplers of comparisons for tests, imported here alone."""

from raterzoo.inference.comparisons.kernels.centre import fit_laplace
from raterzoo.inference.comparisons.kernels.likelihood import pair_cells, pair_log_p
from raterzoo.inference.comparisons.pair_graph import pair_table

__all__ = ["fit_laplace", "pair_cells", "pair_log_p", "pair_table"]
