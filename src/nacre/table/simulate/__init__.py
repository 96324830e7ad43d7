"""Made-up tables: people, intensive care, diagnosis codes, a clinic of four tables. Nobody is in them."""

from nacre.table.simulate.clinic import Simulated, clinic, clinic_database
from nacre.table.simulate.people import people, people_chunks, people_schema

__all__ = ["Simulated", "clinic", "clinic_database", "people", "people_chunks", "people_schema"]
