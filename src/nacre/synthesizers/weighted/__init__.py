"""Generators trained on weighted rows, for a law other than the one the table was drawn from. They promise nothing."""
