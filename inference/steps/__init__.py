"""PyMC steps, and readers that recognise in a PyMC model the conditionals they need."""
