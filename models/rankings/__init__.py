"""Models of partial rankings."""
