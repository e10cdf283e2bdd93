"""Certainty of the truth: annotation certainty, risk groups, thresholds on scores."""
