"""Readers: a path or frame becomes columns, cells become codes and numbers."""
