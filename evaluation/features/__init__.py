"""What features of the items tell of their truth: effects of the features, and their worth in answers."""
