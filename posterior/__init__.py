"""The contract of a posterior tree: its schema, raters, plausibilities, summaries, labels and errors."""
