"""Generators for other shares than the table's (`iw-...`)."""
