"""Raters: quality, agreement and worth."""
