"""Items sampled in shards by an executor."""
