"""Samplers and point estimates of categorical labels."""
