"""Pages of the papers: their figures and tables, printed and ours side by side."""
