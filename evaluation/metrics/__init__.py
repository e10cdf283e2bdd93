"""Metrics of predictions, and what a metric is."""
