"""Compiled arithmetic: pure functions of generators and arrays, without PyMC."""
