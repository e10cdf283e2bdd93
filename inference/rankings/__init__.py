"""Samplers and point estimates of partial rankings."""
