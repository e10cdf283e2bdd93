"""Readers of what other tools export: a file becomes answers, and these a long table for the containers."""
