"""Models of scores."""
