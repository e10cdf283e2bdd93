"""Compiled arithmetic of scores."""
