"""Models of numerical scores."""
