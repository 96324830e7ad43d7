"""Sketches that several sites make apart and add."""
