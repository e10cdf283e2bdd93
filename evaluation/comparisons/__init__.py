"""Qualities and ranks of items that were compared in pairs."""
