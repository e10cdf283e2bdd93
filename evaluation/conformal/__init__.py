"""Conformal prediction sets calibrated on an uncertain truth."""
