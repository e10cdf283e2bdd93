"""Models of pairwise comparisons."""
