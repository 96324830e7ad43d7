"""Databases: people with histories, tables with keys."""
