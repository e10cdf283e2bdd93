"""Compiled arithmetic of partial rankings."""
