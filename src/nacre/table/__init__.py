"""What the data is: the schema, its encoding to arrays, files and frames, and a simulated table.

The names here describe tables and load no other library; encoding, grids and files live in their own modules.
"""

from nacre.table.columns import Boolean, Categorical, Column, Datetime, Identifier, Numeric, Tensor
from nacre.table.conditions import Between, Condition
from nacre.table.rules import Dependency, Unit
from nacre.table.schema import Attestation, Schema

__all__ = [
    "Attestation",
    "Between",
    "Boolean",
    "Categorical",
    "Column",
    "Condition",
    "Datetime",
    "Dependency",
    "Identifier",
    "Numeric",
    "Schema",
    "Tensor",
    "Unit",
]
