"""Samplers and point estimates of pairwise comparisons."""
