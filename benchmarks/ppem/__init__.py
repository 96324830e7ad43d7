"""Hidden columns."""
