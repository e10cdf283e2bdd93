"""Survey equivalence: label counts, patterns, subsets, combiners, scores, curves and crossings."""
