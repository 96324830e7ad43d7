"""The flow on four tables, and what its parts are worth."""
