"""Samplers and point estimates of scores."""
