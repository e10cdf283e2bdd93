"""Forms of the truth of a draw: plausibilities, top labels, sets, rankings, groups."""
