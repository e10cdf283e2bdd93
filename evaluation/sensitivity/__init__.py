"""Sensitivity of a posterior to its prior and to the reliability."""
