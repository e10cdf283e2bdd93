"""Survey equivalence from a posterior of item states."""
