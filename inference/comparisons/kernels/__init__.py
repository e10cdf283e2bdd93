"""Compiled arithmetic of pairwise comparisons."""
