"""The engine that every sampler shares: runs, trees, model graphs."""
