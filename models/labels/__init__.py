"""Models of categorical labels."""
