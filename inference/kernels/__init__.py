"""Compiled kernels: pure functions of random streams and arrays, without PyMC.

Conventions: `rng` is the state of an xoshiro256++ stream, uint64 (4,), advanced in place
(see `random_streams`). A `table` of p(label) has row ``rater * n_labels + label``, column the true category.
"""
