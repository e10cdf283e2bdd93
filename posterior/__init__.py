"""The contract of a posterior tree: its schema, plausibilities, summaries, raters and errors."""
