"""Compiled arithmetic of categorical labels."""
