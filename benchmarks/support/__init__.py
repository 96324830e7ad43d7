"""Support points for regression."""
