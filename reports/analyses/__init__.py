"""Analyses: what a table says about each question of its kind, as frames, typed facts and sentences."""
