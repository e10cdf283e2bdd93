"""Metrics of predictions over the draws of the truth."""
