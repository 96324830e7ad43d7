"""Databases: nested particles, fitted to the tables that the door `nested` gives."""
