"""Support points: a few points whose energy distance to a table is small, found privately (docs/methods)."""
