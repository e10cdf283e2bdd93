"""Work that is divided by item among processes and machines."""
