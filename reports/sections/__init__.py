"""Sections of a report, by what they are about."""
