"""Several tables and the keys between them: whose rows are whose, and what is modelled of each."""

from nacre.table.database.database import Database
from nacre.table.database.keys import Key

__all__ = ["Database", "Key"]
