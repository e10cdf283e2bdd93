"""Sampling in shards of items: division, workers, and stores of the results."""
