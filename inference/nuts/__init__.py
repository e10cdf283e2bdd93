"""NUTS chain by chain, for runs that are written to a store and resumed."""
