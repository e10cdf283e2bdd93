"""Evaluation of the features of the items: their effects, and their worth in answers."""
