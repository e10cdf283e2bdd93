"""Compiled kernels: pure functions of random streams and arrays, without PyMC.

Conventions: `rng` is the state of an xoshiro256++ stream, uint64 (4,), advanced in place
(see `random_streams`). A `table` of label probabilities has row ``rater * n_labels + label`` and one column
for each true category.
"""
