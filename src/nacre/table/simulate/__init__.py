"""Made-up tables: people, intensive care, diagnosis codes. Nobody is in them."""

from nacre.table.simulate.people import people, people_chunks, people_schema

__all__ = ["people", "people_chunks", "people_schema"]
