"""Processes, and pieces of containers for them."""
