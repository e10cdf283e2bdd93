"""Does the model fit? Discrepancies of the annotations against those of replicates."""
