"""The parts of survey equivalence: labels, patterns of counts, combiners, scores, curves, crossings."""
