"""Evidence that the samplers are right: calibration, exact invariance, joint laws, closed forms, and the bugs that they catch.

``python -m evidence`` runs what has not been run since the sources changed, and writes the folder ``evidence``.
"""
