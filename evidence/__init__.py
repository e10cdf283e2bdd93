"""Evidence that the samplers are right: calibration, exact invariance, joint laws, closed forms, and the bugs that they catch.

``python -m evidence`` runs all of it and writes the folder ``evidence``; ``--quick`` runs a little and writes nothing.
"""
